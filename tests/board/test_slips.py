"""What a newcomer reads first: slips in right answers, and the message that leads to each."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from grader.board import known, pointers, probe, search, time_limit
from grader.board.progress import Progress
from grader.board.rendering import fitted, messages
from grader.board.workspace import Workspace
from grader.curriculum import NAMES, stubs
from tests.tools.copies import copied

Read = Callable[..., str]
_AFTER = """            x = layer(x, mask)
        if self.norm is not None:
            x = self.norm(x)
"""
_INSIDE = _AFTER.replace("\n    ", "\n        ")


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all public tests and all answers."""
    folder = copied(tmp_path_factory.mktemp("desk"), "exercises") / "exercises"
    for name in NAMES:
        answer = stubs.solution(name).replace("from solutions.", "from exercises.")
        (folder / f"{name}.py").write_text(answer, encoding="utf-8")
    return folder


@pytest.fixture
def read(solved: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Read]:
    """A function that makes edits of an answer and returns what the board says, in one line."""
    kept = {name: item for name, item in sys.modules.items() if name.split(".")[0] == "exercises"}
    for name in kept:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(solved.parent))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    linecache.clearcache()
    workspace = Workspace(solved, solved.parent)
    edited: dict[Path, str] = {}

    def said(
        exercise: str, *edits: tuple[str, str], whole: bool = False, pointed: bool = False
    ) -> str:
        file = workspace.code_path(exercise)
        text = edited.setdefault(file, file.read_text(encoding="utf-8"))
        for old, new in edits:
            assert old in text
            text = text.replace(old, new, 1)
        file.write_text(text, encoding="utf-8")
        progress = Progress(exercise, tuple(workspace.tests(exercise)))
        for result in probe.run(workspace, exercise):
            progress.add(result)
        if pointed:
            module = partial(probe.module, workspace, exercise)
            pointers.point(exercise, progress.failures(), workspace, module)
        lines = list(fitted(messages({exercise: progress}, 80, in_full=False)))
        shown = ["".join(piece for piece, _ in line) for line in lines]
        assert max(map(len, shown)) <= 80
        return "\n".join(shown) if whole else " ".join(" ".join(shown).split())

    yield said
    for file, text in edited.items():
        file.write_text(text, encoding="utf-8")
    for name in [name for name in sys.modules if name.split(".")[0] == "exercises"]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "old", "new", "says", "line"),
    [
        (
            "encoder",
            "lambda y: self.self_attn(y, y, y, mask)",
            "self.self_attn(x, x, x, mask)",
            "pass the function itself, or a `lambda`, not what it returns.",
            "x = self.sublayers[0](x, self.self_attn(x, x, x, mask))",
        ),
        (
            "encoder",
            "FeedForward(d_model, d_ff, ",
            "FeedForward(d_ff, d_model, ",
            "`feed_forward.linear1.weight` of EncoderLayer(6, 2, 8) has shape (6, 8); it should "
            "have (8, 6). Are two sizes swapped",
            "self.feed_forward = FeedForward(d_ff, d_model, dropout, activation)",
        ),
        (
            "embedding",
            "PositionalEncoding(d_model, dropout, max_len)",
            "PositionalEncoding(d_model, max_len, dropout)",
            "`PositionalEncoding` is made with dropout=5 and max_len=0.1. Are two arguments "
            "swapped? Its `def` line has them in this order: d_model, dropout, max_len.",
            "self.position = PositionalEncoding(d_model, max_len, dropout)",
        ),
        (
            "multi_head",
            "return self.out_proj(merge_heads(heads))",
            "self.out_proj(merge_heads(heads))",
            "ends without a `return`, so it returns None.",
            "self.out_proj(merge_heads(heads))",
        ),
        (
            "multi_head",
            "return x.transpose(1, 2).flatten(2)",
            "x = x.transpose(1, 2).flatten(2)",
            "`merge_heads` ends without a `return`, so it returns None.",
            "x = x.transpose(1, 2).flatten(2)",
        ),
        (
            "decoder",
            "memory, memory, memory_mask",
            "memory, memory, tgt_mask",
            "The mask does not fit the scores: on axis 3, counted after broadcasting, the scores "
            "have size 5, the mask 4. The last axis is that of the keys",
            "self.cross_attn(y, memory, memory, tgt_mask)",
        ),
        (
            "feed_forward",
            "self.dropout(self.activation(self.linear1(x)))",
            "nn.functional.dropout(self.activation(self.linear1(x)), 0.1)",
            "Dropout acts in evaluation mode, where nothing should be dropped.",
            "hidden = nn.functional.dropout(",
        ),
        (
            "encoder",
            "LayerNorm(d_model) if norm_first else None",
            "LayerNorm(d_model)",
            "parameters that do not belong to it: `norm.weight`, `norm.bias`. `norm`, after the "
            "layers, is a LayerNorm in pre-norm and None in post-norm.",
            "self.norm = LayerNorm(d_model)",
        ),
        (
            "encoder",
            "LayerNorm(d_model) if norm_first else None",
            "None",
            "has no parameter `norm.weight`. All it has belong to `layers`.",
            "self.norm = None",
        ),
        (
            "dropout",
            "return x * kept * scale",
            "x *= kept * scale\n        return x",
            "Your code changes x:",
            "x *= kept * scale",
        ),
        (
            "decoder",
            "self.sublayers[2]",
            "self.sublayers[1]",
            "With freshly initialised norms, the output is right.",
            "return self.sublayers[1](x, self.feed_forward)",
        ),
        (
            "decoder",
            "SublayerConnection(d_model, dropout, norm_first)",
            "SublayerConnection(d_model, dropout)",
            "These are the numbers of norm_first=False. Is it passed on?",
            "",
        ),
        (
            "encoder",
            "return self.sublayers[1](x, self.feed_forward)",
            "return self.sublayers[1](x, lambda y: 2 * self.feed_forward(y))",
            "right with `self_attn`, not with `feed_forward`.",
            "return self.sublayers[1](x, lambda y: 2 * self.feed_forward(y))",
        ),
        (
            "multi_head",
            "attention(q, k, v, mask, self.dropout)",
            "attention(q, k, v, self.dropout, mask)",
            "`attention` is called with Dropout, a module, for `mask`. Is each argument in its "
            "place? Its `def` line has them in this order: query, key, value, mask, dropout.",
            "heads, _ = attention(q, k, v, self.dropout, mask)",
        ),
        (
            "transformer",
            "self.decode(tgt, self.encode(src), src)",
            "self.decode(tgt, src, self.encode(src))",
            "`decode` is called with a tensor of whole numbers for `memory` and a tensor of "
            "floating-point numbers for `src`. Are two arguments swapped?",
            "return self.generator(self.decode(tgt, src, self.encode(src)))",
        ),
        (
            "masks",
            "causal_mask(ids.size(1), ids.device)",
            "causal_mask(ids, ids.device)",
            "`causal_mask` is called with a tensor of whole numbers for `length`.",
            "return padding_mask(ids, pad_id) & causal_mask(ids, ids.device)",
        ),
        (
            "feed_forward",
            "self.activation(self.linear1(x))",
            "self.activation(x)",
            "`linear2` of FeedForward was made for 2 features and gets 1: the shape of its input "
            "is (1, 2, 1).",
            "return self.linear2(hidden)",
        ),
        (
            "transformer",
            "self.decoder = Decoder(num_layers, d_model, n_heads",
            "self.decoder = Decoder(d_model, num_layers, n_heads",
            "`q_proj` of MultiHeadAttention was made for 2 features and gets 8",
            "",
        ),
        (
            "multi_head",
            "batch, length, d_model = x.shape\n",
            "batch, length, d_model = x.shape()\n",
            "`shape` is a tuple, not a function: it takes square brackets or none.",
            "batch, length, d_model = x.shape()",
        ),
        (
            "softmax",
            "x - x.amax(dim=dim, keepdim=True))",
            "x - x.max(dim=dim, keepdim=True))",
            "`max` with a `dim` returns two things, the values and their indices.",
            "x.max(dim=dim, keepdim=True)",
        ),
        (
            "feed_forward",
            'nn.ReLU() if activation == "relu" else nn.GELU()',
            'nn.ReLU if activation == "relu" else nn.GELU',
            "keeps the class `nn.ReLU`. So `self.activation(self.linear1(x))` makes a layer and",
            "hidden = self.dropout(self.activation(self.linear1(x)))",
        ),
        (
            "encoder",
            "for _ in range(num_layers)",
            "for _ in num_layers",
            "A loop cannot iterate over a single number. `range(n)` counts from 0 to n - 1.",
            "activation, norm_first) for _ in num_layers)",
        ),
        (
            "by_hand",
            "projected.chunk(3, dim=-1)",
            "projected.chunk(3)",
            "`chunk` and `split` split axis 0 by default",
            "for third in projected.chunk(3))",
        ),
        (
            "decoding",
            "torch.cat([tgt, word.unsqueeze(1)], dim=1)",
            "torch.cat([tgt, word], dim=1)",
            "Tensors can be joined only if they have the same number of axes; these have 2 and 1.",
            "tgt = torch.cat([tgt, word], dim=1)",
        ),
        (
            "optimiser",
            "if gradient is None:\n                        continue",
            "if False:\n                        continue",
            "`gradient` is None here. Is a `return` missing, was an argument not given, or may it "
            "be None",
            'state["m"] = beta1 * state["m"] + (1 - beta1) * gradient',
        ),
        (
            "positional",
            "x.size(1), self.pe.size(0)",
            "x.size(0), self.pe.size(0)",
            "Shapes in this line: x (2, 4, 6), self.pe (10, 6); length is 2.",
            "return self.dropout(x + self.pe[:length])",
        ),
        (
            "feed_forward",
            '("relu", "gelu"):',
            '("relu", "gelu", "sigmoid"):',
            'FeedForward(3, 5, activation="sigmoid") raises nothing; it should raise ValueError.',
            "",
        ),
        (
            "decoding",
            "model.generator(model.decode(tgt, memory, src)[:, -1])",
            "model.decode(tgt, memory, src)[:, -1]",
            "the model's generator turns it into logits",
            "",
        ),
        (
            "decoder",
            "layer(x, memory, tgt_mask, memory_mask)",
            "layer(x, memory, memory_mask, tgt_mask)",
            "The mask does not fit the scores",
            "x = layer(x, memory, memory_mask, tgt_mask)",
        ),
        (
            "multi_head",
            "self.dropout = nn.Dropout(dropout)",
            "self.dropout = dropout",
            "`attention` is called with dropout=0.0, where a function or a layer belongs.",
            "heads, _ = attention(q, k, v, mask, self.dropout)",
        ),
        (
            "multi_head",
            "raise ValueError(f",
            "ValueError(f",
            "`ValueError(…)` only creates the error: `raise ValueError(…)` raises it.",
            "ValueError(f",
        ),
        (
            "feed_forward",
            "nn.Linear(d_ff, d_model)",
            "nn.Linear(d_ff, d_model, bias=False)",
            "has no parameter `linear2.bias`.",
            "self.linear2 = nn.Linear(d_ff, d_model, bias=False)",
        ),
        (
            "linear",
            "torch.empty(out_features).uniform_",
            "torch.empty(in_features).uniform_",
            "The parameter `bias` of Linear(3, 2, bias=True) has shape (3,); it should have (2,).",
            "self.bias = nn.Parameter(torch.empty(in_features)",
        ),
        (
            "positional",
            "dtype=torch.float64)[:, None]",
            "dtype=torch.float64)",
            "position (3,), exponent (2,). Should one of them be a column, `[:, None]`",
            "angle = position / base**exponent",
        ),
        (
            "layer_norm",
            "torch.ones(d_model)",
            "torch.ones(1, d_model)",
            "The shape of your `weight` of a new LayerNorm(8) is (1, 8)",
            "self.weight = nn.Parameter(torch.ones(1, d_model))",
        ),
        (
            "encoder",
            "range(num_layers)",
            "range(num_layers - 1)",
            "has the length 2; there should be 3 layers.",
            "range(num_layers - 1)",
        ),
        (
            "decoder",
            "range(num_layers)",
            "range(1)",
            "has the length 1; there should be 3 layers.",
            "range(1)",
        ),
        (
            "training",
            "is_word = labels != pad_id",
            "is_word = labels == pad_id",
            "Your loss is NaN, like the mean of no numbers at all.",
            "",
        ),
        (
            "optimiser",
            'beta1 * state["m"]',
            'beta2 * state["m"]',
            "Which beta does each line use?",
            "",
        ),
        (
            "language_model",
            "if tie_weights:",
            "if not tie_weights:",
            "With tie_weights=True, embedding and lm_head of LanguageModel hold two parameters.",
            "language_model.py:",
        ),
        (
            "encoder",
            "lambda y: self.self_attn(y, y, y, mask)",
            "lambda y: self.self_attn(x, x, x, mask)",
            "right with `feed_forward`, not with `self_attn`.",
            "x = self.sublayers[0](x, lambda y: self.self_attn(x, x, x, mask))",
        ),
        (
            "encoder",
            "x = self.sublayers[0](x, lambda",
            "x = x + self.sublayers[0](x, lambda",
            "is nothing else added or normalised?",
            "",
        ),
        (
            "sublayer",
            "self.norm(x + self.dropout(sublayer(x)))",
            "self.norm(x + self.dropout(sublayer))",
            "A function is used here where its result is needed.",
            "return self.norm(x + self.dropout(sublayer))",
        ),
        (
            "tokens",
            "return vocab[token] if unknown is None or token in vocab else vocab[unknown]",
            "return vocab.get(token) or vocab[unknown]",
            "A dictionary is looked up with the key None.",
            "return vocab.get(token) or vocab[unknown]",
        ),
        (
            "tokens",
            "for token in tokenize(text)]",
            "for token in text.split()]",
            "The dictionary has no key 'B'.",
            "for token in text.split()]",
        ),
        (
            "feed_forward",
            'nn.ReLU() if activation == "relu" else nn.GELU()',
            "activation",
            "`self.activation` is called like a function here, but it holds a text, 'relu'.",
            "hidden = self.dropout(self.activation(self.linear1(x)))",
        ),
        (
            "optimiser",
            "gradient.mul_(max_norm / norm)",
            "gradient.mul_(max_norm / gradient.norm())",
            "Each gradient is clipped by itself. What is their norm taken together?",
            "",
        ),
        (
            "softmax",
            "log_p.gather(-1, labels.unsqueeze(-1)).mean()",
            "log_p[labels].mean()",
            "Each row gives one number, the one at its label.",
            "return -log_p[labels].mean()",
        ),
        (
            "decoder",
            "            x = layer(x, memory, tgt_mask, memory_mask)",
            "            memory = layer(x, memory, tgt_mask, memory_mask)",
            "Its x is what the one before it returns; the memory is the same for all.",
            "",
        ),
        (
            "encoder",
            "for layer in self.layers:",
            "for layer in self.layers[1:]:",
            "Is each layer used once",
            "",
        ),
        (
            "encoder",
            "nn.ModuleList(\n            SublayerConnection(d_model, dropout, norm_first) for _ in "
            "range(2)\n        )",
            "[SublayerConnection(d_model, dropout, norm_first) for _ in range(2)]",
            "Is it in an nn.ModuleList?",
            "self.sublayers = [SublayerConnection(d_model, dropout, norm_first)",
        ),
        (
            "layer_norm",
            "self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias",
            "self.bias * (x - mean) / torch.sqrt(variance + self.eps) + self.weight",
            "Which of the two parameters multiplies, and which is added?",
            "return self.bias *",
        ),
        (
            "decoding",
            "logits.argmax(dim=-1)",
            "logits.argmax()",
            "`argmax` without a `dim` returns a single index into all numbers",
            "",
        ),
        (
            "attention",
            "query @ key.transpose",
            "query @ query.transpose",
            "is each made from the right input?",
            "return weights @ value, weights",
        ),
        (
            "rms_norm",
            "mean(dim=-1, keepdim=True)",
            "mean(dim=-1)",
            "`mean_square` (1, 2) is computed on line ",
            "mean_square = x.square().mean(dim=-1)",
        ),
        (
            "decoding",
            "logits.argmax(dim=-1).masked_fill(",
            "logits.argmax(dim=0)\n        word = word.masked_fill(",
            "`word` (5,) is computed on lines 138 and 139, from logits (1, 5) and has_ended (1,).",
            "word = logits.argmax(dim=0)",
        ),
        (
            "training",
            "warmup**-1.5",
            "warmup**1.5",
            "the two terms are 1 and 0.125. Which of the three differs in your code?",
            "",
        ),
    ],
    ids=[
        "a result for a function", "sizes exchanged", "dropout and max_len", "no return",
        "no return in a helper", "another mask", "always dropped", "a norm too many",
        "a norm too few", "in place", "one norm twice", "norm_first lost", "one half wrong",
        "mask and dropout", "memory and src", "a tensor for a size", "the wrong layer",
        "sizes of a part", "a shape called", "max with two results", "a class for a layer",
        "a number for a range", "chunks of the batch", "too few axes", "None for a tensor",
        "the shapes", "sigmoid", "no generator", "masks exchanged in the stack",
        "a number for a layer", "no raise", "no bias", "two lines make the bias",
        "no column", "an axis too many", "a layer too few", "one layer", "only the padding",
        "another beta", "tied the wrong way round",
        "attention of the outer x", "a residual too many", "a sublayer not called", "id 0 is false",
        "another tokenizer", "a text called", "each clipped alone", "other rows", "another memory",
        "a layer skipped", "a plain list", "weight for bias", "no axis", "no key",
        "no keepdim", "greedy over the batch", "another power",
    ],
)  # fmt: skip
def test_the_first_message_leads_to_the_slip(
    read: Read, exercise: str, old: str, new: str, says: str, line: str
) -> None:
    panel = read(exercise, (old, new))
    assert says in panel
    assert line in panel


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        (" / math.sqrt(query.size(-1))", "", "The scores are too large: what are they divided by?"),
        (
            "math.sqrt(query.size(-1))",
            "query.size(-1)",
            "do you divide by d_k, or by its square root?",
        ),
        ("/ math.sqrt(query", "* math.sqrt(query", "do you divide or multiply?"),
        ("softmax(dim=-1)", "softmax(dim=-2)", "Over which axis does your softmax run?"),
        ("scores.softmax(dim=-1)", "scores", "What turns them into weights that sum to one?"),
        (
            "math.sqrt(query.size(-1))",
            "math.sqrt(query.size(0))",
            "The scores are 1.41 times as large as they should be: what are they divided by?",
        ),
        ("math.sqrt(query", "(3 * query", "The scores are 0.167 times as large"),
        ("masked_fill(~mask", "masked_fill(mask", "The mask is False where a key is hidden."),
        ("return weights @ value, weights", "return weights, weights @ value", "output first"),
    ],
)
def test_attention_asks_what_the_numbers_suggest(read: Read, old: str, new: str, asks: str) -> None:
    panel = read("attention", (old, new))
    assert asks in panel
    assert panel.count("What are the scores divided by?") == 0


def test_one_panel_with_the_whole_row(read: Read) -> None:
    """Of eight features all are shown, and of the tests that fail the first."""
    panel = read("layer_norm", ("correction=0", "correction=1"), whole=True)
    assert panel.count("layer_norm: ") == 2
    assert "more tests fail, perhaps for the same reason. To see all:" in panel
    (row,) = (line for line in panel.splitlines() if line.startswith("    length 0  -1.403*"))
    assert len(row.split()) == 2 + 8
    assert "Every number is 0.9354 times the expected one." in " ".join(panel.split())
    assert len(panel.splitlines()) < 30


@pytest.mark.parametrize(
    ("exercise", "old", "new", "asks"),
    [
        ("dropout", "return x * kept * scale", "return x * kept", "By what factor"),
        ("dropout", ">= self.p", "< self.p", "Is the share p kept instead of dropped?"),
        ("dropout", "not self.training", "self.training", "Does your code check `self.training`"),
        ("layer_norm", "torch.ones(d_model)", "torch.zeros(d_model)", "of a new LayerNorm(8)"),
        ("layer_norm", "self.weight * (x - mean)", "self.weight * x - mean", "Check the brackets."),
        ("softmax", "shifted - shifted.exp", "x - shifted.exp", "subtracted in both places?"),
        ("attention", "torch.finfo(scores.dtype).min)", "1e-9)", "the lowest of all?"),
        ("training", "-of_label + smoothing * -", "of_label + smoothing * ", "minus sign missing"),
        ("swiglu", "gate * torch.sigmoid(gate)", "gate", "Does the gate go through SiLU?"),
        ("rope", "torch.stack(turned, dim=-1).flatten(-2)", "torch.cat(turned, -1)", "Which order"),
        ("rms_norm", ".square().mean(", ".square().sum(",
         "By which number do you divide the sum of the four squares?"),
        ("kv_cache", "[self.keys, key]", "[key, self.keys]", "after the old ones, or before?"),
        ("encoder", _AFTER, _INSIDE, "after the last layer"),
    ],
)  # fmt: skip
def test_what_the_numbers_suggest_is_asked(
    read: Read, exercise: str, old: str, new: str, asks: str
) -> None:
    panel = read(exercise, (old, new))
    assert asks in panel


@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        (
            "language_model",
            "        self.d_head = d_model // n_heads\n",
            "",
            "No line of `LanguageModel.__init__` assigns `self.d_head`. It assigns `max_len`,",
        ),
        (
            "layer_norm",
            "        self.eps = eps\n",
            "",
            "`LayerNorm.__init__` takes `eps` and does not keep it.",
        ),
        (
            "multi_head",
            "self.n_heads = n_heads",
            "self.n_head = n_heads",
            "`MultiHeadAttention` has no `n_heads`, but it has `n_head`. Is one of them",
        ),
    ],
)
def test_a_missing_attribute_is_looked_for_in_the_constructor(
    read: Read, exercise: str, old: str, new: str, says: str
) -> None:
    """What `__init__` takes and what it assigns say more than that something isn't there."""
    assert says in read(exercise, (old, new))


def test_a_misspelled_name_is_told_with_what_it_should_be(read: Read) -> None:
    panel = read("attention", ("query.size(-1)", "qeury.size(-1)"))
    assert "`qeury` is not defined here. Did you mean `query`?" in panel


@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        (
            "sublayer",
            "LayerNorm(d_model)",
            "LayerNorm(d_model, dropout)",
            "`LayerNorm` is made with `dropout` for `eps`.",
        ),
        (
            "encoder",
            "x = self.sublayers[0](x, lambda y: self.self_attn(y, y, y, mask))",
            "x = self.self_attn(x, x, x, mask)",
            "`self.sublayers` gets 2 parts here, and no line uses `self.sublayers[0]`.",
        ),
        (
            "decoder",
            "        x = self.sublayers[1](x, lambda y: self.cross_attn(y, memory, memory, "
            "memory_mask))\n",
            "",
            "`self.cross_attn` is made here and used nowhere.",
        ),
    ],
)
def test_facts_of_the_source_come_before_questions(
    read: Read, exercise: str, old: str, new: str, says: str
) -> None:
    """A setting in another's place, a layer that nothing uses, an argument that nothing reads."""
    assert says in read(exercise, (old, new), pointed=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "old", "new", "says", "never"),
    [
        (
            "swiglu",
            "nn.Linear(d_model, d_ff, bias=bias)",
            "nn.Linear(d_model, 2 * d_ff // 3, bias=bias)",
            "it should have (5, 3). Which sizes do you create it with",
            "default of `bias`",
        ),
        (
            "training_loop",
            "range(1, steps + 1)",
            "range(1, steps + len(batches) + 1)",
            "Your list has 7. Does fit stop after `steps` steps",
            "Which batch belongs to step 1",
        ),
        (
            "encoder",
            "        x = self.sublayers[0](x, lambda y: self.self_attn(y, y, y, mask))\n"
            "        return self.sublayers[1](x, self.feed_forward)",
            "        x = self.sublayers[1](x, self.feed_forward)\n"
            "        return self.sublayers[0](x, lambda y: self.self_attn(y, y, y, mask))",
            "which box of the encoder does x enter first, and which one in your `forward`?",
            "Is there one around each sublayer",
        ),
        (
            "transformer",
            "Encoder(num_layers, d_model, n_heads, d_ff,",
            "Encoder(num_layers, d_model, n_heads, 4 * d_model,",
            "`encoder.layers.0.feed_forward.linear1.weight` of Transformer(10, 12, d_model=4, "
            "d_ff=8) has shape (16, 4); it should have (8, 4).",
            "part by part",
        ),
        (
            "decoder",
            "x = layer(x, memory, tgt_mask, memory_mask)",
            "x = layer(x, memory.detach(), tgt_mask, memory_mask)",
            "There is no gradient of memory",
            "has a norm after its layers",
        ),
        (
            "optimiser",
            "            with torch.enable_grad():\n                loss = closure()",
            "            with torch.no_grad():\n                loss = closure()",
            "The result has no connection to the parameters. Your code has `torch.no_grad`",
            "detach",
        ),
        (
            "kv_cache",
            "self.keys, self.values = self.keys[rows], self.values[rows]",
            "self.keys[: len(rows)], self.values[: len(rows)] = self.keys[rows], self.values[rows]",
            "and what earlier calls left in `self.keys` and `self.values`.",
            "and what the call is given",
        ),
        (
            "tiled_attention",
            "    largest = query.new_full((*query.shape[:-1], 1), lowest)",
            "    results = []\n    largest = query.new_zeros((*query.shape[:-1], 1))",
            "What is its running maximum",
            "`results`",
        ),
        (
            "dropout",
            "kept = torch.rand(x.shape, device=x.device) >= self.p",
            "kept = (torch.rand(x.shape, device=x.device) >= self.p).float()",
            "What is the dtype of each tensor that you make or combine with x",
            "eval()",
        ),
    ],
    ids=[
        "a shape", "steps", "the order", "a wide network", "a gradient", "no_grad", "what is kept",
        "an empty list", "a dtype",
    ],
)  # fmt: skip
def test_what_is_right_is_not_asked_about(
    read: Read, exercise: str, old: str, new: str, says: str, never: str
) -> None:
    """A test that checks several things asks about the one that is wrong."""
    panel = read(exercise, (old, new), pointed=True)
    assert says in panel
    assert never not in panel


@pytest.mark.parametrize(
    ("exercise", "edits", "says", "never"),
    [
        (
            "transformer",
            [
                (
                    "return self.encoder(self.src_embedding(src), padding_mask(src, self.pad_id))",
                    "self.mask = padding_mask(src, self.pad_id)\n"
                    "        return self.encoder(self.src_embedding(src), self.mask)",
                ),
                ("            padding_mask(src, self.pad_id),\n        )", "self.mask)"),
            ],
            "`Transformer.__init__` does not assign `self.mask`. `Transformer.encode` does",
            "which of them does",
        ),
        (
            "rope",
            [
                (
                    "    across, up = ",
                    "    if x.dim() == 4:\n        cos, sin = cos[:, None], sin[:, None]\n"
                    "    across, up = ",
                )
            ],
            "`sin` (5, 1, 2) is computed on lines 142 and 144, from angles (5, 2).",
            "and cos",
        ),
    ],
    ids=["made by another method", "in a branch"],
)
def test_where_it_comes_from_is_told(
    read: Read, exercise: str, edits: list[tuple[str, str]], says: str, never: str
) -> None:
    """An attribute that another method assigns, and a shape that a branch has made."""
    panel = read(exercise, *edits, pointed=True)
    assert says in panel
    assert never not in panel


def test_a_list_of_the_class_is_named_and_not_what_it_leads_to(read: Read) -> None:
    """All caches append to one list, so their tensors don't fit together."""
    edits = (
        ("    def __init__(self) -> None:", "    held = []\n\n    def __init__(self) -> None:"),
        (
            "        if self.keys is None or",
            "        self.held.append(key)\n        if self.keys is None or",
        ),
        ("self.keys is None or self.values is None", "len(self.held) == 1"),
    )
    panel = read("kv_cache", *edits, pointed=True)
    assert "`held` is created once, for the class: all objects of `KVCache` share it." in panel


def test_a_sure_mistake_asks_in_place_of_what_such_errors_mean(read: Read) -> None:
    """The question is the mistake's own, and the shapes are those of the student's line."""
    panel = read(
        "decoder", ("memory, memory, memory_mask", "memory, memory, tgt_mask"), pointed=True
    )
    assert "Which of the two masks says which source tokens may be attended to?" in panel
    assert "Whose mask is this" not in panel
    assert "memory (2, 5, 6), tgt_mask (2, 4, 4)" in panel


@pytest.mark.full
def test_a_known_mistake_asks_its_own_question_and_points_to_its_line(read: Read) -> None:
    """Where the public test only sees that a number is wrong, the known mistakes see more."""
    known.load("kv_cache")
    edit = ("past + torch.arange(length, device=device)", "torch.arange(length, device=device)")
    panel = read("kv_cache", edit, pointed=True)
    assert "Look at this line: " in panel
    assert "query = torch.arange(length, device=device)" in panel
    assert "return (key <=" not in panel


@pytest.mark.full
def test_a_sure_mistake_is_asked_about_whatever_the_students_own_error_says(read: Read) -> None:
    """`append` refuses a shape, but what went wrong is that `reorder` left the values alone."""
    panel = read(
        "kv_cache",
        (
            "self.keys, self.values = self.keys[rows], self.values[rows]",
            "self.keys = self.keys[rows]",
        ),
        pointed=True,
    )
    assert "After reorder, which row of the values belongs to the first row of the keys?" in panel
    assert "in KVCache.reorder" in panel


@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        ("encoder", "x = layer(x, mask)", "return layer(x, mask)", "inside the loop"),
        ("encoder", "x = layer(x, mask)", "out = layer(x, mask)", "`out` gets a value here that"),
        ("attention", "scores = scores.masked_fill", "scores.masked_fill", "is lost"),
        ("multi_head", "return self.out_proj(merge_heads(heads))", "return merge_heads(heads)",
         "`self.out_proj` is made here and used nowhere."),
        ("layer_norm", "self.eps = eps", "self.eps = 1e-5", "`eps` is an argument of `LayerNorm."),
        ("kv_cache", "self.keys, self.values = self.keys[rows]", "keys, values = self.keys[rows]",
         "Nothing reads the new value of `keys` and `values` after this line"),
        ("masks", "padding_mask(ids, pad_id) &", "padding_mask(ids) &",
         "`pad_id` is not passed on to `padding_mask` here, so the default, 0, is used."),
        ("dropout", "if not self.training", "if not self.train", "`self.train` is a method"),
    ],
)  # fmt: skip
def test_what_leads_nowhere_is_named(
    read: Read, monkeypatch: pytest.MonkeyPatch, exercise: str, old: str, new: str, says: str
) -> None:
    """Where no known mistake gives a line, the file may show one that computes for nothing."""
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    assert says in read(exercise, (old, new), pointed=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        (
            "transformer", "self.decode(tgt, self.encode(src), src)",
            "self.decode(src, self.encode(src), tgt)",
            "`self.decode` is called with `src` for `tgt` and `tgt` for `src`. Are two arguments "
            "swapped? Its `def` line has them in this order: tgt, memory, src.",
        ),
        (
            "multi_head", "heads, _ = attention(", "weights, heads = attention(",
            "`attention` returns `weights` as its second result; this line unpacks it as the",
        ),
        (
            "positional", "(max_len, d_model))", "(d_model, max_len))",
            "`sinusoidal_table` is called with `d_model` for `max_len` and `max_len` for",
        ),
        (
            "transformer", "Decoder(num_layers, d_model, n_heads, d_ff,",
            "Decoder(d_model, n_heads, d_ff, num_layers,",
            "`Decoder` is made with `d_model` for `num_layers`, `n_heads` for `d_model`, `d_ff`",
        ),
        (
            "transformer", "TransformerEmbedding(src_vocab_size, d_model, dropout, max_len)",
            "TransformerEmbedding(src_vocab_size, d_model, max_len, dropout)",
            "`TransformerEmbedding` is made with dropout=20 and max_len=0.1. Are two arguments",
        ),
    ],
)  # fmt: skip
def test_arguments_in_each_others_place_are_named(
    read: Read, monkeypatch: pytest.MonkeyPatch, exercise: str, old: str, new: str, says: str
) -> None:
    """The error comes up elsewhere; the call is where the names are."""
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    said = read(exercise, (old, new), pointed=True)
    assert says in said
    assert new in said


@pytest.mark.full(seconds=40)
def test_a_known_mistake_points_to_the_line_behind_an_error(read: Read) -> None:
    """Two tensors meet in attention; the wrong one was made three lines above the call."""
    known.load("multi_head")
    panel = read("multi_head", ("self.k_proj(key)", "self.k_proj(query)"), pointed=True)
    assert "In a product `a @ b`, b" in panel
    assert "Look at line " in panel
    assert "k = split_heads(self.k_proj(query), self.n_heads)" in panel
    assert "return weights @ value, weights" in panel  # where the error came up


def test_without_the_known_mistakes_the_public_test_asks(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    panel = read("kv_cache", ("key <= query", "key < query"), pointed=True)
    assert "Is it this line" not in panel


def test_a_message_about_a_method_points_into_it(read: Read) -> None:
    """`forward` calls `decode`; what `decode` returns is made in `decode`."""
    panel = read(
        "transformer",
        ("return self.generator(self.decode(", "return (self.decode("),
        ("return self.decoder(", "return (lambda *given: self.generator(self.decoder(*given)))("),
    )
    assert "The shape of your Transformer.decode output" in panel
    assert "in Transformer.decode return (lambda" in panel


def test_a_question_is_about_the_function_whose_test_failed(read: Read) -> None:
    """`gelu` takes any `approximate` here, which is not why the numbers of `tanh` are wrong."""
    panel = read(
        "activations",
        ("2 * torch.sigmoid(2 * x) - 1", "2 * torch.sigmoid(x) - 1"),
        ('if approximate == "tanh":', "if True:"),
        pointed=True,
    )
    assert "numbers in your tanh are wrong" in panel
    assert "approximate" not in panel


@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        (
            "sampling",
            'torch.full_like(logits, float("-inf")).scatter(-1, kept.indices, kept.values)',
            'logits.masked_fill(logits < kept.values.min(), float("-inf"))',
            "how many thresholds does your code compute, and how many should there be?",
        ),
        (
            "training_loop",
            "batches[(step - 1) % len(batches)]",
            "batches[step - 1]",
            "Here `batches` has 2 items and `step` is 3.",
        ),
        (
            "kv_cache",
            "held.shape[:2] != new.shape[:2]",
            "held.shape != new.shape",
            "In the condition of the `raise`: held (1, 1, 2, 1), new (1, 1, 1, 1).",
        ),
    ],
)
def test_no_panel_shows_numbers_alone(
    read: Read, exercise: str, old: str, new: str, says: str
) -> None:
    """Where nothing is known about the mistake, the test's own text says what is expected."""
    assert says in read(exercise, (old, new), pointed=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "old", "new", "says"),
    [
        (
            "optimiser",
            "        super().__init__(params, defaults)",
            "        self.params, self.defaults = params, defaults",
            "`AdamW.__init__` doesn't call `super().__init__(…)`",
        ),
        (
            "decoder",
            "return self.sublayers[2](x, self.feed_forward)",
            "self.sublayers[2](x, self.feed_forward)\n        return x",
            "in DecoderLayer.forward self.sublayers[2](x, self.feed_forward)",
        ),
        (
            "transformer",
            "target_mask(tgt, self.pad_id)",
            "padding_mask(tgt, self.pad_id)",
            "Which positions of the logits change, and which may change?",
        ),
        ("dropout", "self.p = p", "self.p = 0.5", "These are the numbers of p = 0.5."),
        (
            "decoding",
            "model.decode(tgt, memory, src)",
            "model.decode(tgt[:, -1:], memory, src)",
            "decode needs all tokens so far, and the start token is missing here",
        ),
    ],
)
def test_the_cause_is_told_and_no_other_mistake(
    read: Read, exercise: str, old: str, new: str, says: str
) -> None:
    """What an error came from, what is dropped, and what the numbers are those of."""
    assert says in read(exercise, (old, new), pointed=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "edits", "says", "never"),
    [
        (
            "optimiser",
            [
                (" for parameter in parameters if parameter.grad is not None]",
                 " for parameter in parameters]"),
                ("        return loss\n", ""),
            ],
            "norm = torch.cat(",
            "ends without a `return`",
        ),
        (
            "attention",
            [
                ("key.transpose(-2, -1)", "key.transpose(1, 2)"),
                ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
                ("scores.softmax(dim=-1)", "scores.softmax(dim=1)"),
            ],
            "`key.transpose(1, 2)` needs at least three axes. Here `key` has only two.",
            "return weights @ value, weights",
        ),
        (
            "multi_head",
            [
                ("self.k_proj(key)", "self.k_proj(query)"),
                ("self.v_proj(value)", "self.v_proj(query)"),
                ("mask, self.dropout)", "mask)"),
            ],
            "Your MultiHeadAttention output is wrong",
            "`self.dropout` is made here",
        ),
        (
            "masks",
            [
                (
                    "torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()",
                    "torch.triu(torch.ones(length, length), diagonal=1).bool()",
                )
            ],
            "The shape of your causal_mask(3) is (3, 3)",
            "visible or hidden",
        ),
        (
            "sampling",
            [("1, generator=generator).squeeze(-1)", "1)")],
            "it should be (40000,), one id for each row.",
            "has no effect",
        ),
        (
            "positional",
            [
                ('self.register_buffer("pe", sinusoidal_table(max_len, d_model))',
                 "self.pe = nn.Parameter(sinusoidal_table(max_len, d_model), requires_grad=False)"),
                ("if length > max_len:", "if False:"),
            ],
            "PositionalEncoding(6) has parameters that do not belong to it: `pe`.",
            "What does a slice return",
        ),
        (
            "attention",
            [
                ("key.transpose(-2, -1)", "key.T"),
                ("    if dropout is not None:\n        weights = dropout", "    weights = dropout"),
            ],
            "`dropout` is None if it is not given.",
            "matrix product",
        ),
        (
            "encoder",
            [
                ("SublayerConnection(d_model, dropout, norm_first)",
                 "SublayerConnection(d_model, norm_first)"),
                ("LayerNorm(d_model) if norm_first else None", "LayerNorm(d_model)"),
            ],
            "has parameters that do not belong to it: `norm.weight`, `norm.bias`.",
            "for `dropout`",
        ),
        (
            "sampling",
            [("        best = logits.argmax(dim=-1, keepdim=True)\n", ""),
             ("torch.zeros_like(logits).scatter(-1, best, 1.0)", "logits.argmax(-1)")],
            "in with_temperature",
            "def with_temperature(",
        ),
        (
            "optimiser",
            [("loss = closure()\n", "loss = closure()\n                twice = 2 * loss\n"),
             ("(1 - beta2) * gradient**2", "(1 - beta2) * gradient")],
            "The first step has size lr",
            "twice",
        ),
        (
            "multi_head",
            [("self.out_proj = nn.Linear(d_model, d_model, bias=bias)",
              "self.out_proj = nn.Linear(d_model, d_model)"),
             ("dropout: float = 0.0", "dropout: float = 0.1")],
            "parameters that do not belong to it: `out_proj.bias`",
            "for `dropout`",
        ),
    ],
    ids=["another function", "another line", "unused dropout", "a shape and what True means",
         "a shape and generator", "a parameter and a length", "None and a product",
         "a parameter and dropout", "one of several returns", "a line that did not run",
         "a bias and attention's weights"],
)  # fmt: skip
def test_nothing_else_is_joined_to_a_failure(
    read: Read, exercise: str, edits: list[tuple[str, str]], says: str, never: str
) -> None:
    """Of several slips, the panel names only those that can be why its test fails."""
    panel = read(exercise, *edits, pointed=True)
    assert says in panel
    assert never not in panel


@pytest.mark.parametrize(
    ("exercise", "edits", "says", "line"),
    [
        (
            "attention",
            [("math.sqrt(query.size(-1))", "math.sqrt(key.size(-2))")],
            "with a different axis in place of the second `-2`, all tests pass.",
            "scores = query @ key.transpose(-2, -1) / math.sqrt(key.size(-2))",
        ),
        (
            "encoder",
            [(_AFTER, _INSIDE)],
            "in a different block, all tests pass.",
            "if self.norm is not None:",
        ),
    ],
)
def test_a_line_is_found_with_an_edit_of_which_the_tests_pass(
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
    exercise: str,
    edits: list[tuple[str, str]],
    says: str,
    line: str,
) -> None:
    """The wrong numbers come out elsewhere, and no known mistake is at hand."""
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    panel = read(exercise, *edits, pointed=True)
    assert "Look at this line: with " in panel
    assert says in panel
    assert line in panel


_REORDER = "            self.keys, self.values = self.keys[rows], self.values[rows]"
_IN_PLACE = f"""            if len(rows) == len(self.keys):
                self.keys.copy_(self.keys[rows])
                self.values.copy_(self.values[rows])
            else:
    {_REORDER}"""
_ID = "        return vocab[token] if unknown is None or token in vocab else vocab[unknown]"
_KEY_ERROR = """        if token not in vocab and unknown is None:
            raise KeyError(f"{unknown!r} is missing")
        return vocab[token] if token in vocab else vocab[unknown]"""


@pytest.mark.parametrize(
    ("exercise", "edit", "says", "line", "never"),
    [
        # With `>`, other calls would raise; what helps is that this case is never taken.
        (
            "kv_cache",
            (_REORDER, _IN_PLACE),
            "with a different condition in place of `len(rows) == len(self.keys)`, all tests pass.",
            "if len(rows) == len(self.keys):",
            "different comparison",
        ),
        # The error would name the token, and something else.
        (
            "tokens",
            (_ID, _KEY_ERROR),
            "Is it this line, or one near it?",
            'raise KeyError(f"{unknown!r} is missing")',
            "one more argument",
        ),
    ],
)
def test_an_edit_by_which_the_tests_pass_by_chance_is_not_told(
    read: Read, exercise: str, edit: tuple[str, str], says: str, line: str, never: str
) -> None:
    """The answers to other calls than those of the tests confirm an edit, or rule it out."""
    panel = read(exercise, edit, pointed=True)
    assert says in panel
    assert line in panel
    assert never not in panel


def test_the_shapes_in_a_line_are_told_with_its_number_where_another_one_is_shown(
    read: Read,
) -> None:
    edit = ("layer(x, memory, tgt_mask, memory_mask)", "layer(x, memory, memory_mask, tgt_mask)")
    panel = read("decoder", edit, pointed=True)
    assert "`layer` is called with `memory_mask` for `tgt_mask`" in panel
    assert re.search(r"Shapes in line \d+: y", panel)
    assert "lambda y: self.cross_attn(" in panel


def test_an_attribute_of_one_branch_is_told_at_the_condition(read: Read) -> None:
    """The line that assigns it never runs, and the test asks for it."""
    panel = read(
        "linear",
        ("        self.bias: nn.Parameter | None = None\n", ""),
        (
            "y if self.bias is None else y + self.bias",
            'y + self.bias if hasattr(self, "bias") else y',
        ),
        pointed=True,
    )
    assert "assigns `self.bias` only under `if bias`" in panel
    assert "has no attribute 'bias', which the test reads" in panel


def test_after_a_search_the_tests_use_the_code_as_it_is(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    panel = read("attention", ("dim=-1", "dim=-2"), pointed=True)
    assert "all tests pass" in panel
    module = sys.modules["exercises.test_attention"]
    assert module.attention is sys.modules["exercises.attention"].attention


@pytest.mark.parametrize(
    ("exercise", "edits", "line"),
    [
        (
            "tokens",
            [
                (
                    "return {word: number for number, word in enumerate(words)}",
                    "vocab = {}\n    for word in words:\n        vocab[word] = hash(word)\n"
                    "    return vocab",
                )
            ],
            "vocab[word] = hash(word)",
        ),
        (
            "linear",
            [
                (
                    "self.weight = nn.Parameter(torch.empty(out_features, in_features)"
                    ".uniform_(-bound, bound))",
                    "w = torch.empty(out_features, in_features)\n        w.normal_(0, bound)\n"
                    "        self.weight = nn.Parameter(w)",
                )
            ],
            "w.normal_(0, bound)",
        ),
        (
            "layer_norm",
            [("mean = x.mean", "mean = x.detach().mean")],
            "mean = x.detach().mean",
        ),
        (
            "dropout",
            [("return x * kept * scale", "return x * kept * (scale + 0.125 * self.p)")],
            "return x * kept * (scale + 0.125 * self.p)",
        ),
        (
            "by_hand",
            [
                ("return steps | {", "return {**steps, "),
                ("output = normalised(norm1 + forwarded, layer.norm2)", "output = norm1 ** 2"),
            ],
            "output = norm1 ** 2",
        ),
    ],
    ids=["a variable", "a parameter", "off the graph", "one of two", "a dictionary"],
)
def test_the_line_is_the_one_that_makes_the_result(
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
    exercise: str,
    edits: list[tuple[str, str]],
    line: str,
) -> None:
    """A variable that is returned, or wrapped in a parameter, has its numbers from a line above."""
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    assert line in read(exercise, *edits, pointed=True)


def test_nothing_is_tried_on_a_file_that_acts_when_it_is_imported(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would train its model, or write its file, for each edit."""
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    last = "    return weights @ value, weights"
    calls = (last, f"{last}\n\n\nprint('imported')\n")
    assert "Look at" not in read("attention", ("dim=-1", "dim=-2"), calls, pointed=True)


def test_no_line_is_searched_for_where_hints_end_before_it(
    read: Read, solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    file = solved / "assignment.toml"
    before = file.read_text(encoding="utf-8") if file.exists() else None
    file.write_text('exercises = ["attention"]\nhints = "question"\n', encoding="utf-8")
    try:
        assert "Look at" not in read("attention", ("dim=-1", "dim=-2"), pointed=True)
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_text(before, encoding="utf-8")


def test_a_part_under_another_name_is_told_with_the_names_there_are(read: Read) -> None:
    """`linear2` is no misspelling of `linear1`."""
    panel = read(
        "feed_forward", ("self.linear1 = ", "self.first = "), ("self.linear1(", "self.first(")
    )
    assert "`FeedForward` has no `linear1`, which the exercise asks for." in panel
    assert "`first`" in panel
    assert "misspelled" not in panel


@pytest.mark.full(but=("kv_cache", "sampling"))
@pytest.mark.parametrize(
    ("exercise", "old", "new", "says", "line", "never"),
    [
        (
            "grouped_query",
            "            key, value = cache.append(key, value)",
            "            cache.append(key, value)",
            "What does append return, and what does your code do with it?",
            "cache.append(key, value)",
            "Is this the mask of the sequence",
        ),
        (
            "transformer",
            "        return self.decoder(\n            self.tgt_embedding(tgt),\n"
            "            memory,\n            target_mask(tgt, self.pad_id),\n"
            "            padding_mask(src, self.pad_id),",
            "        x = self.tgt_embedding(tgt)\n"
            "        first = target_mask(tgt, self.pad_id)\n"
            "        second = padding_mask(tgt, self.pad_id)\n"
            "        return self.decoder(\n            x,\n            memory,\n"
            "            first,\n            second,",
            "`second` (2, 1, 1, 4) is computed on line",
            "second = padding_mask(tgt, self.pad_id)",
            "`first` (2, 1, 4, 4) is computed",
        ),
        (
            "transformer",
            "self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout, max_len)",
            "self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout)",
            "`max_len` is not passed on to `TransformerEmbedding` here, so the default, 5000,",
            "self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout)",
            "class Transformer",
        ),
        (
            "kv_cache",
            "held.shape[:2] != new.shape[:2] or held.size(3) != new.size(3)",
            "held.shape[:2] != new.shape[:2]",
            "Here only the number of features of the key differs. Which condition of yours",
            "if held.shape[:2] != new.shape[:2]:",
            "class KVCache",
        ),
        (
            "kv_cache",
            "self.keys, self.values = self.keys[rows], self.values[rows]",
            "self.keys[rows]",
            "Nothing keeps what `self.keys[rows]` computes here",
            "self.keys[rows]",
            "def ",
        ),
        (
            "language_model",
            "if past + length > self.max_len:",
            "if length > self.max_len:",
            "max_len tokens are cached and one more arrives. Does your code raise",
            "if length > self.max_len:",
            "class Block",
        ),
        (
            "sampling",
            "logits = model(unread, caches)[:, -1]",
            "logits = model(ids, caches)[:, -1]",
            "the model was given tokens that its caches hold already",
            "logits = model(ids, caches)[:, -1]",
            "ids = torch.cat(",
        ),
        (
            "training_loop",
            "value = loss(model(src, decoder_input), labels)",
            "logits = model(src, tgt)\n    value = loss(logits, labels)",
            "`logits` (1, 3, 1) is computed on line",
            "logits = model(src, tgt)",
            "labels[",
        ),
        (
            "training_loop",
            'for group in optimiser.param_groups:\n            group["lr"] = rate(step)',
            "optimiser.lr = rate(step)",
            "Nothing reads `optimiser.lr`",
            "optimiser.lr = rate(step)",
            "Which batch belongs to step 1",
        ),
        (
            "subwords",
            "if (row[place], row[place + 1]) == best:",
            "if (row[place + 1], row[place + 2]) == best:",
            "`row` has 3 items and `place` is 1.",
            "if (row[place + 1], row[place + 2]) == best:",
            "return",
        ),
        (
            "tiled_attention",
            "largest = new_largest",
            "pass",
            "no line of the loop gives `largest` a new value.",
            "new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))",
            "return output",
        ),
        (
            "tiled_attention",
            "here = slice(start, start + block)",
            "here = slice(start, start + block - 1)",
            "The last key is left out. Where does a block end?",
            "",
            "Which maximum",
        ),
        (
            "swiglu",
            "self.down_proj(gate * torch.sigmoid(gate) * self.up_proj(x))",
            "gate * torch.sigmoid(gate) * self.up_proj(x)",
            "`self.down_proj` is made here and used nowhere.",
            "return gate * torch.sigmoid(gate) * self.up_proj(x)",
            "Is it this line, or one near it?",
        ),
        (
            "decoding",
            "best.append(max(beam)[1])",
            "best.append(max([one for one in beam if eos_id in one[1]] or beam)[1])",
            "Your sentence has the probability 0.216, the expected one 0.454. Yours has ended",
            "",
            "filled with",
        ),
        (
            "transformer",
            "return self.generator(self.decode(tgt, self.encode(src), src))",
            "return self.generator(self.decode(tgt, self.encode(src), src)[:, -1])",
            "a next token is predicted at every position of the target",
            "",
            "whose id is 12",
        ),
        (
            "decoder",
            "x = self.sublayers[1](x, lambda",
            "x = self.sublayers[1](memory, lambda",
            "The shape of your DecoderLayer output",
            "",
            "class DecoderLayer",
        ),
    ],
)
def test_the_panel_shows_the_line_that_helps(
    read: Read, exercise: str, old: str, new: str, says: str, line: str, never: str
) -> None:
    """It says what is sure, and no line is shown that is only a guess."""
    panel = read(exercise, (old, new), pointed=True)
    assert says in panel
    assert line in panel
    assert never not in panel


def test_what_an_earlier_test_left_in_the_class_is_told(read: Read) -> None:
    """The test that fails doesn't run the line that fills the attribute; all others do."""
    panel = read(
        "kv_cache",
        ("        self.keys: Tensor | None = None\n", "        pass\n"),
        ("        self.values: Tensor | None = None\n", ""),
        ("    length: int\n", "    length: int\n    keys = None\n    values = None\n"),
        ("self.keys, self.values = key, value", "KVCache.keys, KVCache.values = key, value"),
        pointed=True,
    )
    assert "`KVCache.keys` belongs to the class, so all objects of `KVCache` share it." in panel


def test_arguments_that_are_only_passed_on_are_told_where_they_were_swapped(read: Read) -> None:
    """A `def` line without types doesn't say what it expects, so the error comes out further in."""
    panel = read(
        "language_model",
        (
            'angles: Float[Tensor, "length d_head//2"] | None = None,\n'
            '        mask: Bool[Tensor, "..."] | None = None,\n'
            "        cache: KVCache | None = None,",
            "angles=None,\n        mask=None,\n        cache=None,",
        ),
        ("x = block(x, angles, mask, caches[", "x = block(x, mask, angles, caches["),
        pointed=True,
    )
    assert "`Block` is called with a tensor of booleans for `angles`" in panel
    assert "in this order: x, angles, mask, cache." in panel
    assert "x = block(x, mask, angles," in panel


@pytest.mark.parametrize(
    ("exercise", "edit", "says", "line"),
    [
        (
            "multi_head",
            ("self.v_proj(value)", "self.k_proj(value)"),
            "`self.v_proj` is made here and used nowhere.",
            "self.k_proj(value)",
        ),
        (
            "positional",
            ("return self.dropout(x + ", "return (x + "),
            "`self.dropout` is made here and used nowhere.",
            "return (x + ",
        ),
    ],
)
def test_beside_what_is_unused_the_line_is_that_which_should_use_it(
    read: Read, exercise: str, edit: tuple[str, str], says: str, line: str
) -> None:
    panel = read(exercise, edit, pointed=True)
    assert says in panel
    assert "Look at line " in panel
    assert line in panel


def test_a_maximum_of_all_numbers_is_found_where_each_row_has_its_own(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    panel = read("softmax", ("x.amax(dim=dim, keepdim=True)", "x.max()"), pointed=True)
    assert "x.max()" in panel
    assert "all tests pass" in panel


def test_nothing_is_tried_on_code_that_hangs(
    read: Read, solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limit, "SECONDS", 1.0)
    monkeypatch.setattr(search, "SECONDS_BEFORE", 1.0)
    read("softmax", ("log_p = log_softmax(logits)", "while True: logits = logits"))
    runs = search.Runs(Workspace(solved, solved.parent), "softmax")
    assert not runs.lines("test_softmax_by_hand")
    assert runs.search(["test_softmax_by_hand"]) is None


def test_lists_that_have_changed_are_shown_with_the_line_that_changes_them(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "is_at_hand", lambda _: False)
    made = (
        "    rows = [[*sequence, *[pad_id] * (length - len(sequence))] for sequence in sequences]\n"
    )
    loop = "    for row in sequences:\n        row += [pad_id] * (length - len(row))\n"
    panel = read("tokens", (made, f"{loop}    rows = sequences\n"), pointed=True)
    assert "After pad_batch, the list of sequences is" in panel
    assert "row += [pad_id] * (length - len(row))" in panel
