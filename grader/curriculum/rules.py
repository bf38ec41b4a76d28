"""The from-scratch rule as data: what may not be used in which exercise, and why.

Every readable name stands for its targets, which `grader.remote.guard` explains: operators of
torch's dispatcher, Python functions, classes. A Python function is listed only where the operators
behind it are allowed, or where torch has a second implementation written in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Targets = Mapping[str, tuple[str, ...]]

# What a student may come across. Torch's other ways to the same result are forbidden, not listed.
_STATED = (
    "F.",
    "nn.",
    "torch.tanh",
    "torch.relu",
    "torch.optim",
    "torch.distributions",
    "torch.onnx.ops.rotary",
    "torch.logsumexp",
    "torch.logaddexp",
    "torch.logcumsumexp",
)

# The section of an exercise's text that states the rule.
RULE_HEADING = "## What may not be used"

AT_IMPORT = (
    "This happened while the file was imported. If the line only compares your answer with "
    'torch\'s, put it under `if __name__ == "__main__":` or in a test: there it costs nothing.'
)


@dataclass(frozen=True)
class Rule:
    """What may not be used in one exercise. `why` tells the student what to do instead.

    `probe` is a forbidden call, as an expression over `torch`, `F`, `nn` and a tensor `x` of shape
    (1, 1, 2, 2): a process that carries it out has been tampered with.

    An exercise that is `apart` has a process of its own: its rule forbids ordinary tools of others,
    or it needs what others forbid. That process may take `memory` bytes on top of what Python and
    torch hold, if that is asked here.
    """

    exercise: str
    forbidden: Targets = field(default_factory=dict)
    why: str = ""
    probe: str = ""
    apart: bool = False
    memory: int | None = None

    @property
    def names(self) -> list[str]:
        """The forbidden names that a student may come across."""
        return [name for name in self.forbidden if name.startswith(_STATED) and " " not in name]

    @property
    def stated(self) -> str:
        """The rule as stub and notebook state it; "" where there is none."""
        names = [f"`{name}`" for name in self.names]
        return f"{listed(names)}. {self.why}" if names else ""

    def message(self, names: Sequence[str]) -> str:
        """Return the message to a student who used these names."""
        return (
            f"Your code uses {listed(names)}, which may not be used in {self.exercise}. {self.why}"
        )


def rule(exercise: str) -> Rule:
    """Return the rule of an exercise; an exercise without one may use anything."""
    return _BY_EXERCISE.get(exercise) or Rule(exercise)


def together(exercises: Iterable[str]) -> dict[str, list[str]]:
    """Return what any of these exercises forbids, as plain data for the process with their code."""
    names: dict[str, dict[str, None]] = {}
    for exercise in exercises:
        for name, targets in rule(exercise).forbidden.items():
            names.setdefault(name, {}).update(dict.fromkeys(targets))
    return {name: list(targets) for name, targets in names.items()}


def memory(exercises: Iterable[str]) -> int | None:
    """Return how many bytes a process for these exercises may take, None for the usual limit."""
    return min((most for exercise in exercises if (most := rule(exercise).memory)), default=None)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them, such as "a, b and c"; there is at least one."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


_SQUARE_SUBSEQUENT_MASK: Targets = {
    "nn.Transformer.generate_square_subsequent_mask": (
        "torch.nn:Transformer.generate_square_subsequent_mask",
        "torch.nn.modules.transformer:_generate_square_subsequent_mask",
    ),
    "torch.nn.attention.bias": ("torch.nn.attention.bias:CausalBias",),
}

_ATTENTION: Targets = {
    "F.scaled_dot_product_attention": (
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_attention_math",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "torch._decomp.decompositions:scaled_dot_product_flash_attention_for_cpu",
    ),
    "flex_attention": (
        "torch._higher_order_ops.flex_attention:FlexAttentionHOP.__call__",
        "torch._higher_order_ops.flex_attention:math_attention",
        "torch._higher_order_ops.flex_attention:_math_attention_inner",
        "torch._higher_order_ops.flex_attention:sdpa_dense",
    ),
    "torch.onnx.ops.attention": ("torch.onnx.ops._impl:attention_23._init_fn",),
    "F.multi_head_attention_forward": (
        "torch.nn.functional:multi_head_attention_forward",
        # Its parts are named too, since a copy of its code leads to them.
        "torch.nn.functional:_mha_shape_check",
        "torch.nn.functional:_in_projection",
        "torch.nn.functional:_in_projection_packed",
    ),
    "nn.MultiheadAttention": ("torch.nn:MultiheadAttention",),
    "torch._native_multi_head_attention": (
        "aten::_native_multi_head_attention",
        "aten::_transform_bias_rescale_qkv",
    ),
    "nn.TransformerEncoderLayer": ("torch.nn:TransformerEncoderLayer",),
    "nn.TransformerDecoderLayer": ("torch.nn:TransformerDecoderLayer",),
    "nn.TransformerEncoder": ("torch.nn:TransformerEncoder",),
    "nn.TransformerDecoder": ("torch.nn:TransformerDecoder",),
    "nn.Transformer": ("torch.nn:Transformer",),
    "torch._transformer_encoder_layer_fwd": ("aten::_transformer_encoder_layer_fwd",),
}

_PARTS_OF_A_LAYER: Targets = {
    name: targets for name, targets in _ATTENTION.items() if not name.startswith("nn.")
} | {
    "nn.TransformerEncoderLayer.forward": (
        "torch.nn:TransformerEncoderLayer.forward",
        "torch.nn:TransformerEncoderLayer._sa_block",
        "torch.nn:TransformerEncoderLayer._ff_block",
    ),
    "nn.TransformerDecoderLayer.forward": (
        "torch.nn:TransformerDecoderLayer.forward",
        "torch.nn:TransformerDecoderLayer._ff_block",
    ),
    "nn.MultiheadAttention.forward": ("torch.nn:MultiheadAttention.forward",),
    "nn.Linear.forward": ("torch.nn:Linear.forward if given linear",),
    "nn.Dropout.forward": ("torch.nn:Dropout.forward if given dropout",),
}

_EMBEDDING: Targets = {
    "nn.Embedding": ("torch.nn:Embedding",),
    "F.embedding": ("aten::embedding", "torch._decomp.decompositions:embedding"),
    "nn.EmbeddingBag": ("torch.nn:EmbeddingBag",),
    "F.embedding_bag": (
        "aten::embedding_bag",
        "aten::_embedding_bag",
        "aten::_embedding_bag_forward_only",
    ),
}

_NORMS: Targets = {
    "nn.LayerNorm": ("torch.nn:LayerNorm",),
    "F.layer_norm": ("aten::layer_norm", "torch._refs.nn.functional:layer_norm"),
    "torch.native_layer_norm": (
        "aten::native_layer_norm",
        "torch._refs:native_layer_norm",
        "torch._refs:_normalize",
        # Over ragged rows it is written in Python, out of ordinary operators.
        "torch.nested._internal.ops:native_layer_norm_default",
        # The gradient for the scale is made of the normalised numbers.
        "torch._decomp.decompositions:*layer_norm*",
        "torch._decomp.decompositions_for_jvp:native_layer_norm_backward",
        "torch.nested._internal.ops:native_layer_norm_backward_default",
    ),
    # Of twice as many channels as there are, it divides by the root of their mean square.
    "torch.nn.functional.local_response_norm": ("torch.nn.functional:local_response_norm",),
    "nn.RMSNorm": ("torch.nn:RMSNorm.forward",),
    "F.rms_norm": (
        "aten::rms_norm",
        "aten::_fused_rms_norm",
        "torch._decomp.decompositions:*rms_norm*",
    ),
    "nn.BatchNorm": ("torch.nn.modules.batchnorm:_BatchNorm.forward",),
    "F.batch_norm": (
        "aten::batch_norm",
        "aten::native_batch_norm",
        "aten::_batch_norm_impl_index",
        "aten::_batch_norm_with_update",
        "aten::_batch_norm_with_update_functional",
        "aten::_batch_norm_no_update",
        "aten::_native_batch_norm_legit",
        "aten::_native_batch_norm_legit_functional",
        "aten::_native_batch_norm_legit_no_training",
        # Not what torch compiles when `torch.func.jvp` is first used: `cudnn_batch_norm_backward`.
        "torch._decomp.decompositions:*native_batch_norm*",
        "torch._decomp.decompositions:_batch_norm*",
        "torch._decomp.decompositions:batch_norm_backward",
        "torch._decomp.decompositions:cudnn_batch_norm",
    ),
    "nn.GroupNorm": ("torch.nn:GroupNorm.forward",),
    "F.group_norm": (
        "aten::group_norm",
        "aten::native_group_norm",
        "torch._refs.nn.functional:group_norm",
        "torch._refs:native_group_norm",
        "torch._decomp.decompositions:*group_norm*",
    ),
    "nn.InstanceNorm": ("torch.nn.modules.instancenorm:_InstanceNorm.forward",),
    "F.instance_norm": ("aten::instance_norm",),
    # TorchScript has norms of its own for tensors in MKL-DNN's layout.
    "Tensor.to_mkldnn": ("aten::to_mkldnn",),
}

# Torch's optimisers but AdamW, by the module in torch.optim that has the function behind each.
_UPDATES = {
    "adadelta": "Adadelta",
    "_adafactor": "Adafactor",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "asgd": "ASGD",
    "_muon": "Muon",
    "nadam": "NAdam",
    "radam": "RAdam",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
}

_OPTIMISERS: Targets = {
    "torch.optim's other optimisers": (
        *(f"torch.optim:{kind}" for kind in _UPDATES.values()),
        "torch.optim:LBFGS",
        "torch.optim:SparseAdam",
    ),
    # After Adam, from which it is derived: the last replacement determines the name.
    "torch.optim.AdamW": ("torch.optim:AdamW", "torch.optim.adamw:adamw"),
    "torch.optim's functions": (
        *(
            f"torch.optim.{module}:{form}{module.removeprefix('_')}"
            for module in _UPDATES
            for form in ("", "_single_tensor_", "_multi_tensor_")
            if (module, form) != ("_muon", "_multi_tensor_")
        ),
        "torch.optim.adam:_fused_adam",
        "torch.optim._functional:sparse_adam",
        "aten::_fused_adagrad",
        "aten::_fused_adam",
        "aten::_fused_adamw",
        "aten::_fused_sgd",
    ),
    "torch.optim.lr_scheduler": (
        "torch.optim.lr_scheduler:LRScheduler",
        "torch.optim.lr_scheduler:OneCycleLR._annealing_cos",
        "torch.optim.swa_utils:SWALR._cosine_anneal",
    ),
    "nn.utils.clip_grad_norm_": ("torch.nn.utils.clip_grad:clip_grad_norm_",),
    "nn.utils.clip_grads_with_norm_": ("torch.nn.utils.clip_grad:_clip_grads_with_norm_",),
    "nn.utils.get_total_norm": ("torch.nn.utils.clip_grad:_get_total_norm",),
}

# Every way to divide exponentials by their sum, or to take the logarithm of that sum.
_SOFTMAX: Targets = {
    "F.softmax": (
        "aten::softmax",
        "aten::_softmax",
        "aten::_safe_softmax",
        "aten::_masked_softmax",
        "aten::_sparse_softmax",
        "aten::_nested_tensor_softmax_with_shape",
        "aten::special_softmax",
        "torch._refs:softmax",
        "torch._refs.nn.functional:softmax",
        "torch._decomp.decompositions:_softmax",
    ),
    "nn.Softmax": ("torch.nn:Softmax", "torch.nn:Softmax2d"),
    # Stated nowhere: who meets it is looking for it.
    "SoftmaxTransform of torch.distributions": (
        "torch.distributions.transforms:SoftmaxTransform._call",
    ),
    "F.log_softmax": (
        "aten::log_softmax",
        "aten::_log_softmax",
        "aten::_sparse_log_softmax",
        "aten::special_log_softmax",
        "torch._refs:log_softmax",
        "torch._refs.nn.functional:log_softmax",
        "torch._decomp.decompositions:_log_softmax",
    ),
    "nn.LogSoftmax": ("torch.nn:LogSoftmax",),
    "F.softmin": ("torch.nn.functional:softmin",),
    "nn.Softmin": ("torch.nn:Softmin",),
    "F.gumbel_softmax": ("torch.nn.functional:gumbel_softmax",),
    "torch.logsumexp": (
        "aten::logsumexp",
        "aten::special_logsumexp",
        "torch._refs:logsumexp",
    ),
    "torch.logaddexp": (
        "aten::logaddexp",
        "aten::logaddexp2",
        "torch._refs:logaddexp",
        "torch._refs:logaddexp2",
    ),
    "torch.logcumsumexp": ("aten::logcumsumexp", "aten::_logcumsumexp"),
    "F.cross_entropy": ("aten::cross_entropy_loss",),
    "nn.CrossEntropyLoss": ("torch.nn:CrossEntropyLoss.forward",),
    "F.linear_cross_entropy": ("torch.nn.functional:linear_cross_entropy",),
    "nn.AdaptiveLogSoftmaxWithLoss": ("torch.nn:AdaptiveLogSoftmaxWithLoss",),
    # Of one label and no blank, its loss is that label's logarithm.
    "F.ctc_loss": ("aten::ctc_loss", "aten::_ctc_loss"),
}

_GATES: Targets = {
    "F.silu": ("aten::silu", "torch._decomp.decompositions:silu"),
    "nn.SiLU": ("torch.nn:SiLU",),
    "F.glu": ("aten::glu", "torch._refs.nn.functional:glu"),
    "nn.GLU": ("torch.nn:GLU",),
    # Fused behind a product with one, it is called swish.
    "fused activations": (
        "mkldnn::_linear_pointwise",
        "mkldnn::_convolution_pointwise",
        "mkldnn::_convolution_pointwise_",
        "mkldnn::_convolution_transpose_pointwise",
    ),
}

_ATTEND = "F.scaled_dot_product_attention(x, x, x)"
_NORMALISE = "F.layer_norm(x, (2,))"

_RULES = (
    Rule(
        "tokens",
        {
            "F.one_hot": ("aten::one_hot", "torch._decomp.decompositions:one_hot"),
            "nn.utils.rnn.pad_sequence": (
                "torch.nn.utils.rnn:pad_sequence",
                "aten::pad_sequence",
                "torch._decomp.decompositions:pad_sequence",
            ),
            "torch._pad_packed_sequence": (
                "aten::_pad_packed_sequence",
                "aten::_pack_padded_sequence_backward",
            ),
            "nested.to_padded_tensor": (
                "aten::to_padded_tensor",
                "aten::nested_to_padded_tensor",
                "aten::_jagged_to_padded_dense_forward",
            ),
        },
        "Write the padding and the one-hot rows yourself; all of Python, `torch.zeros`, "
        "`torch.full`, `torch.eye`, `scatter_` and comparisons are fine.",
        probe="F.one_hot(torch.zeros(1, dtype=torch.long), 2)",
    ),
    Rule(
        "masks",
        _SQUARE_SUBSEQUENT_MASK,
        "Make the mask yourself; `torch.ones`, `tril`, `triu` and comparisons are fine.",
        probe="nn.Transformer.generate_square_subsequent_mask(2)",
    ),
    Rule(
        "attention",
        _ATTENTION,
        "Write attention yourself; matrix products, `einsum` and `softmax` are fine.",
        probe=_ATTEND,
    ),
    Rule(
        "multi_head",
        _ATTENTION,
        "Split, attend and merge yourself; your own `attention` and `nn.Linear` are fine.",
        probe=_ATTEND,
    ),
    Rule(
        "grouped_query",
        _ATTENTION,
        "Share the heads and attend yourself; your own `attention`, `apply_rotary` and `nn.Linear` "
        "are fine.",
        probe=_ATTEND,
    ),
    Rule(
        "language_model",
        {**_ATTENTION, **_NORMS, **_GATES},
        "Build the model from your own `GroupedQueryAttention`, `RMSNorm` and `SwiGLU`; "
        "`nn.Embedding` and `nn.Linear` are fine.",
        probe=_ATTEND,
        apart=True,  # its tokens are in nn.Embedding, which embedding forbids
    ),
    Rule(
        "rope",
        {"torch.onnx.ops.rotary_embedding": ("torch.onnx.ops._impl:rotary_embedding_23._init_fn",)},
        "Rotate the pairs yourself; `sin`, `cos`, `stack` and complex numbers are fine.",
    ),
    Rule(
        "embedding",
        _EMBEDDING,
        "Make the table an `nn.Parameter` of your own; indexing it is fine.",
        probe="F.embedding(torch.zeros(1, dtype=torch.long), x[0, 0])",
    ),
    Rule(
        "layer_norm",
        _NORMS,
        "Write the normalisation yourself; `mean`, `var`, `sqrt` and `rsqrt` are fine.",
        probe=_NORMALISE,
    ),
    Rule(
        "softmax",
        {
            **_SOFTMAX,
            # With the identity for keys and values, attention is a softmax.
            **{name: targets for name, targets in _ATTENTION.items() if "nn." not in name},
            "nn.MultiheadAttention": ("torch.nn:MultiheadAttention.forward",),
        },
        "Write the exponentials and their sum yourself; `exp`, `amax`, `sum`, `log` and `gather` "
        "are fine.",
        probe="F.softmax(x, -1)",
        apart=True,
    ),
    Rule(
        "tiled_attention",
        {**_ATTENTION, **_SOFTMAX},
        "Keep a running maximum and sum yourself; matrix products, `einsum`, `exp`, `amax` and "
        "`maximum` are fine.",
        probe="F.softmax(x, -1)",
        apart=True,
        # Less than the scores of the long input in the exercise's checks need, and plenty for a
        # block.
        memory=64 << 20,
    ),
    Rule(
        "rms_norm",
        _NORMS,
        "Write the normalisation yourself; `mean`, `square`, `sqrt` and `rsqrt` are fine.",
        probe="F.rms_norm(x, (2,))",
    ),
    Rule(
        "swiglu",
        _GATES,
        "Write the gate yourself; `nn.Linear`, `torch.sigmoid` and `exp` are fine.",
        probe="F.silu(x)",
    ),
    Rule(
        "linear",
        {
            "nn.Linear": ("torch.nn:Linear",),
            "F.linear": (
                "aten::linear",
                "aten::mkldnn_linear",
                "mkldnn::_linear_pointwise",
                "mkl::_mkl_linear",
                # Weights are rounded there. Two that are rounded make one that is not.
                "aten::fbgemm_linear_fp16_*",
                "quantized::linear_*fp16*",
                "onednn::linear_*fp16",
            ),
            "nn.Bilinear": ("torch.nn:Bilinear",),
            "F.bilinear": ("aten::bilinear",),
        },
        "Write the product and the bias yourself; `@`, `matmul`, `einsum` and `nn.init` are fine.",
        probe="F.linear(x, x[0, 0])",
        apart=True,
    ),
    Rule(
        "activations",
        {
            "nn.Tanh": ("torch.nn:Tanh",),
            "torch.tanh": (
                "aten::tanh",
                "aten::tanh_",
                "aten::_foreach_tanh",
                "aten::_foreach_tanh_",
                "torch._refs:tanh",
            ),
            "nn.ReLU": ("torch.nn:ReLU",),
            "F.relu": (
                "aten::relu",
                "aten::relu_",
                "aten::_addmm_activation",
                "torch._refs.nn.functional:relu",
            ),
            # With a slope, threshold or scale of zero, these are it as well.
            "F.relu under another name": (
                "aten::_add_relu",
                "aten::elu",
                "aten::hinge_embedding_loss",
                "aten::leaky_relu",
                "aten::prelu",
                "aten::_prelu_kernel",
                "aten::relu6",
                "aten::rrelu",
                "aten::rrelu_with_noise",
                "aten::threshold",
                "torch._decomp.decompositions:_prelu_kernel",
                "torch._decomp.decompositions:_prelu_kernel_backward",
                "torch._decomp.decompositions:leaky_relu_backward",
                "torch._decomp.decompositions:threshold_backward",
                "torch._refs.nn.functional:elu",
                "torch._refs.nn.functional:hinge_embedding_loss",
                "torch._refs.nn.functional:leaky_relu",
                "torch._refs.nn.functional:prelu",
                "torch._refs.nn.functional:relu6",
                "torch._refs.nn.functional:threshold",
            ),
            # Fused behind a product with one, or in a cell with open gates, they are all three.
            "fused activations": (
                "mkldnn::_linear_pointwise",
                "mkldnn::_convolution_pointwise",
                "mkldnn::_convolution_pointwise_",
                "mkldnn::_convolution_transpose_pointwise",
                "mkldnn_prepacked::conv2d_run",
                "quantized::linear_relu_dynamic_fp16",
                "onednn::linear_relu_dynamic_fp16",
            ),
            "recurrent layers": (
                "aten::lstm",
                "aten::lstm_cell",
                "aten::gru",
                "aten::gru_cell",
                "aten::rnn_tanh",
                "aten::rnn_tanh_cell",
                "aten::rnn_relu",
                "aten::rnn_relu_cell",
                "aten::mkldnn_rnn_layer",
            ),
            "nn.GELU": ("torch.nn:GELU",),
            "F.gelu": ("aten::gelu", "aten::gelu_", "torch._refs.nn.functional:gelu"),
        },
        "A ReLU by another name counts too, such as `F.threshold` or `F.leaky_relu` with a zero in "
        "it. "
        "Write the formulas yourself; `exp`, `expm1`, `erf`, `erfc`, `sigmoid`, `clamp`, `maximum` "
        "and `where` are fine.",
        probe="F.relu(x)",
        apart=True,
    ),
    Rule(
        "dropout",
        {
            "nn.Dropout": ("torch.nn.modules.dropout:_DropoutNd",),
            "F.dropout": (
                "aten::dropout",
                "aten::dropout_",
                "torch._refs.nn.functional:dropout",
                "torch._decomp.decompositions:dropout",
                "torch._decomp.decompositions:native_dropout",
                "torch._decomp.decompositions:_fused_dropout_decomposition",
            ),
            "F.dropout1d": ("aten::feature_dropout", "aten::feature_dropout_"),
            "F.alpha_dropout": (
                "aten::alpha_dropout",
                "aten::alpha_dropout_",
                "torch._refs.nn.functional:alpha_dropout",
            ),
            "F.feature_alpha_dropout": (
                "aten::feature_alpha_dropout",
                "aten::feature_alpha_dropout_",
            ),
            "torch.native_dropout": ("aten::native_dropout",),
            # With the identity for values, its dropout_p is dropout.
            "torch.nn.functional.scaled_dot_product_attention": (
                "aten::scaled_dot_product_attention",
                "aten::_scaled_dot_product_attention_math",
            ),
        },
        "Draw the zeros and rescale yourself; `torch.rand` and `torch.bernoulli` are fine.",
        probe="F.dropout(x)",
        apart=True,
    ),
    Rule(
        "feed_forward",
        {
            "nn.TransformerEncoderLayer": ("torch.nn:TransformerEncoderLayer",),
            "nn.TransformerDecoderLayer": ("torch.nn:TransformerDecoderLayer",),
            "torch._transformer_encoder_layer_fwd": ("aten::_transformer_encoder_layer_fwd",),
        },
        "Put the two maps together yourself; `nn.Linear`, `nn.Dropout`, `F.relu` and `F.gelu` are "
        "fine.",
        probe="nn.TransformerEncoderLayer(2, 1, 2)",
    ),
    Rule(
        "sublayer",
        _NORMS,
        "Use the `LayerNorm` that you wrote in layer_norm.",
        probe=_NORMALISE,
    ),
    Rule(
        "encoder",
        _ATTENTION,
        "Build the layer from your own `MultiHeadAttention`; `nn.Linear` is fine.",
        probe=_ATTEND,
    ),
    Rule(
        "decoder",
        _ATTENTION,
        "Build the layer from your own `MultiHeadAttention`; `nn.Linear` is fine.",
        probe=_ATTEND,
    ),
    Rule(
        "transformer",
        _ATTENTION,
        "Build the model from your own `Encoder` and `Decoder`; `nn.Linear` is fine.",
        probe=_ATTEND,
    ),
    Rule(
        "by_hand",
        {**_NORMS, "nn.LayerNorm": ("torch.nn:LayerNorm.forward",), **_PARTS_OF_A_LAYER},
        "Compute every step from the raw weights; `layer.activation`, `F.linear`, `F.softmax`, "
        "`F.relu` and `F.gelu` are fine.",
        probe=_NORMALISE,
        apart=True,
    ),
    Rule(
        "training",
        {
            "F.cross_entropy(label_smoothing=...)": ("aten::cross_entropy_loss if smoothed",),
            "F.linear_cross_entropy": ("torch.nn.functional:linear_cross_entropy",),
        },
        "Smooth the labels yourself; `F.log_softmax`, `F.nll_loss`, `F.kl_div`, `F.cross_entropy` "
        "without `label_smoothing` and all of `nn.init` are fine.",
        probe="F.cross_entropy(x[0, 0], torch.zeros(2).long(), label_smoothing=0.5)",
    ),
    Rule(
        "optimiser",
        _OPTIMISERS,
        "Write the update yourself; the base class `torch.optim.Optimizer`, norms and "
        "`torch._foreach_…` are fine.",
        probe="nn.utils.clip_grad_norm_(nn.Parameter(x[0]), 1.0)",
        apart=True,
    ),
    Rule(
        "sampling",
        {"torch.distributions": ("torch.distributions.distribution:Distribution",)},
        "Filter and draw yourself; `torch.multinomial`, `topk`, `sort`, `cumsum` and `softmax` are "
        "fine.",
        probe="torch.distributions.Categorical(logits=x)",
    ),
)
_BY_EXERCISE = {rule.exercise: rule for rule in _RULES}
