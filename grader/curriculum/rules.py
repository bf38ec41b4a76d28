"""The from-scratch rule as data: what may not be used in which exercise, and why.

Every readable name stands for its targets, which `grader.remote.guard` explains: operators of
torch's dispatcher, Python functions, classes. Python functions are listed only where the operators
behind them are allowed ones, or where torch has a second implementation written in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Targets = Mapping[str, tuple[str, ...]]

# What a student may come across. The rest of torch's ways to the same thing goes without saying.
_STATED = ("F.", "nn.", "torch.tanh", "torch.relu", "torch.onnx.ops.rotary")

# Where an exercise's own text says what may not be used.
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
    or it needs what others forbid.
    """

    exercise: str
    forbidden: Targets = field(default_factory=dict)
    why: str = ""
    probe: str = ""
    apart: bool = False

    @property
    def stated(self) -> str:
        """The rule in two sentences, as stub and notebook say it; "" where there is none."""
        names = [name for name in self.forbidden if name.startswith(_STATED)]
        return f"Not to be used here: {', '.join(names)}. {self.why}" if names else ""

    def message(self, names: Sequence[str]) -> str:
        """What the student is told who used these names."""
        return (
            f"Your code uses {_listed(names)}, which may not be used in {self.exercise}. {self.why}"
        )


def rule(exercise: str) -> Rule:
    """The rule of an exercise; an exercise without one may use anything."""
    forbidden, why = _RULES.get(exercise, ({}, ""))
    return Rule(exercise, forbidden, why, _PROBES.get(exercise, ""), exercise in _APART)


def together(exercises: Iterable[str]) -> dict[str, list[str]]:
    """What any of these exercises forbids, as plain data for the process that holds their code."""
    found: dict[str, dict[str, None]] = {}
    for exercise in exercises:
        for name, targets in rule(exercise).forbidden.items():
            found.setdefault(name, {}).update(dict.fromkeys(targets))
    return {name: list(targets) for name, targets in found.items()}


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


_APART = frozenset({"linear", "activations", "dropout", "by_hand"})

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
    ),
    "nn.RMSNorm": ("torch.nn:RMSNorm.forward",),
    "F.rms_norm": (
        "aten::rms_norm",
        "aten::_fused_rms_norm",
        "torch._decomp.decompositions:_fused_rms_norm",
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
        "torch._decomp.decompositions:native_batch_norm_helper",
    ),
    "nn.GroupNorm": ("torch.nn:GroupNorm.forward",),
    "F.group_norm": (
        "aten::group_norm",
        "aten::native_group_norm",
        "torch._refs.nn.functional:group_norm",
        "torch._refs:native_group_norm",
    ),
    "nn.InstanceNorm": ("torch.nn.modules.instancenorm:_InstanceNorm.forward",),
    "F.instance_norm": ("aten::instance_norm",),
    # TorchScript has norms of its own for tensors in MKL-DNN's layout.
    "Tensor.to_mkldnn": ("aten::to_mkldnn",),
}

_RULES: dict[str, tuple[Targets, str]] = {
    "tokens": (
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
        "Here you write the padding and the one-hot rows yourself.",
    ),
    "masks": (
        _SQUARE_SUBSEQUENT_MASK,
        "Here you make the mask yourself; torch.ones, tril, triu and comparisons are fine.",
    ),
    "attention": (
        _ATTENTION,
        "Here you write attention yourself; matrix products, einsum and softmax are fine.",
    ),
    "multi_head": (
        _ATTENTION,
        "Here you split, attend and merge yourself; your own attention and nn.Linear are fine.",
    ),
    "rope": (
        {"torch.onnx.ops.rotary_embedding": ("torch.onnx.ops._impl:rotary_embedding_23._init_fn",)},
        "Here you turn the pairs yourself; sin, cos, stack and complex numbers are fine.",
    ),
    "embedding": (
        _EMBEDDING,
        "Here the table is an nn.Parameter of your own; indexing it is fine.",
    ),
    "layer_norm": (
        _NORMS,
        "Here you write the normalisation yourself; mean, var, sqrt and rsqrt are fine.",
    ),
    "linear": (
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
        "Here you write the product and the bias yourself; matmul and einsum are fine.",
    ),
    "activations": (
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
        "Here you write the formula yourself; exp, erf, sigmoid and clamp are fine.",
    ),
    "dropout": (
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
        },
        "Here you draw the zeros and rescale yourself; torch.rand and torch.bernoulli are fine.",
    ),
    "feed_forward": (
        {
            "nn.TransformerEncoderLayer": ("torch.nn:TransformerEncoderLayer",),
            "nn.TransformerDecoderLayer": ("torch.nn:TransformerDecoderLayer",),
            "torch._transformer_encoder_layer_fwd": ("aten::_transformer_encoder_layer_fwd",),
        },
        "Here you put the two layers together yourself; nn.Linear, nn.Dropout and F.relu are fine.",
    ),
    "sublayer": (
        _NORMS,
        "The norm here is the LayerNorm that you write in layer_norm.",
    ),
    "encoder": (
        _ATTENTION,
        "Here you build the layer from your own MultiHeadAttention; nn.Linear is fine.",
    ),
    "decoder": (
        _ATTENTION,
        "Here you build the layer from your own MultiHeadAttention; nn.Linear is fine.",
    ),
    "transformer": (
        _ATTENTION,
        "Here you build the model from your own Encoder and Decoder; nn.Linear is fine.",
    ),
    "by_hand": (
        {**_NORMS, "nn.LayerNorm": ("torch.nn:LayerNorm.forward",), **_PARTS_OF_A_LAYER},
        "Here you compute every step from the raw weights; layer.activation, F.linear, F.softmax, "
        "F.relu and F.gelu are fine.",
    ),
    "training": (
        {
            "F.cross_entropy(label_smoothing=...)": ("aten::cross_entropy_loss if smoothed",),
            "F.linear_cross_entropy": ("torch.nn.functional:linear_cross_entropy",),
        },
        "Here you smooth the labels yourself; F.log_softmax, F.nll_loss and F.cross_entropy "
        "without label_smoothing are fine.",
    ),
}

_ATTEND = "F.scaled_dot_product_attention(x, x, x)"
_NORMALISE = "F.layer_norm(x, (2,))"
_PROBES = {
    "tokens": "F.one_hot(torch.zeros(1, dtype=torch.long), 2)",
    "masks": "nn.Transformer.generate_square_subsequent_mask(2)",
    "attention": _ATTEND,
    "multi_head": _ATTEND,
    "embedding": "F.embedding(torch.zeros(1, dtype=torch.long), x[0, 0])",
    "layer_norm": _NORMALISE,
    "linear": "F.linear(x, x[0, 0])",
    "activations": "F.relu(x)",
    "dropout": "F.dropout(x)",
    "feed_forward": "nn.TransformerEncoderLayer(2, 1, 2)",
    "sublayer": _NORMALISE,
    "encoder": _ATTEND,
    "decoder": _ATTEND,
    "transformer": _ATTEND,
    "by_hand": _NORMALISE,
    "training": "F.cross_entropy(x[0, 0], torch.zeros(2).long(), label_smoothing=0.5)",
}
