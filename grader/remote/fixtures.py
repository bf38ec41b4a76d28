"""The modules, and other objects, that checks pass to a student's functions.

A check names one of them in a request, and it is made beside the student's code, where weights can
be put in and looked at afterwards, as with any module there. None knows what is expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from grader.remote import conditions
from grader.remote.trainable import Learner, MeanLoss, Momentum, Quadratic, Rates
from grader.remote.translator import Translator


class Listener(nn.Module):
    """A block of `Continuer`: each token hears all before it, each the fainter the further back."""

    def __init__(self, d_model: int) -> None:
        """Make the parameter `mix`."""
        super().__init__()
        self.mix = nn.Parameter(torch.randn(d_model, d_model))

    def forward(self, x: Tensor, cache: Any = None) -> Tensor:
        """`(B, L, d_model)`, of the tokens given; what came before is in the cache."""
        heard = x.unsqueeze(1)  # the one head of keys and values that a cache holds
        if cache is not None:
            heard, _ = cache.append(heard, heard)
        steps = torch.arange(heard.size(2), device=x.device)
        distance = steps[heard.size(2) - x.size(1) :, None] - steps
        fainter = (0.5 ** distance.clamp(min=0)).to(x.dtype) * (distance >= 0)
        return torch.tanh(fainter @ heard[:, 0] @ self.mix)


class Continuer(nn.Module):
    """A model of what comes next that offers what a `LanguageModel` offers, in few numbers.

    Positions go on from what the caches hold, of which each block needs its own. So a token read
    twice or not at all shows in the logits, and so does any wrong position or row.
    """

    def __init__(self, vocab_size: int, d_model: int, num_layers: int, max_len: int) -> None:
        """Make the parameters `token`, `place`, the blocks and `lm_head`."""
        super().__init__()
        self.token = nn.Parameter(torch.randn(vocab_size, d_model))
        self.place = nn.Parameter(torch.randn(max_len, d_model))
        self.blocks = nn.ModuleList(Listener(d_model) for _ in range(num_layers))
        # Not in the words of the exercise `language_model`: an edition holds this file.
        self.lm_head = nn.Linear(in_features=d_model, out_features=vocab_size, bias=False)

    def forward(self, ids: Tensor, caches: Any = None) -> Tensor:
        """Return logits `(B, L, vocab_size)` of the tokens given."""
        past = 0 if caches is None else caches[0].length
        if past + ids.size(1) > len(self.place):
            raise ValueError(f"{past + ids.size(1)} tokens are more than {len(self.place)}")
        x = self.token[ids] + self.place[past : past + ids.size(1)]
        for number, block in enumerate(self.blocks):
            x = x + block(x, None if caches is None else caches[number])
        logits: Tensor = self.lm_head(x)
        return logits


class Caching(nn.Module):
    """Uses a cache as a model does that goes on with other rows, and keeps all that it was given.

    What came out of each call goes back only after the last, so that a tensor which has changed in
    the meantime shows it.
    """

    def forward(self, cache: Any, rows: Tensor, *pieces: Tensor) -> list[Any]:
        """Return the results of `append`. `pieces` are keys and values by turns.

        Before the last of them, the cache goes on with these rows.
        """
        *earlier, last = zip(pieces[::2], pieces[1::2], strict=True)
        results = [cache.append(key, value) for key, value in earlier]
        cache.reorder(rows)
        return [*results, cache.append(*last)]


class Table(nn.Module):
    """An embedding."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Make the parameter `weight`, as torch's embedding does."""
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))


class Norm(nn.Module):
    """The scale and shift of a norm."""

    def __init__(self, d_model: int) -> None:
        """Make the parameters `weight` and `bias`, as torch's norms do."""
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(d_model)))


class Assortment(nn.Module):
    """Parameters of every sort: matrices in layers and by themselves, vectors, numbers, shared.

    `generator.weight` is `embedding.weight`. `frozen` takes no gradient. `table` is a buffer.
    Embedding and norm are none of torch's, which other exercises forbid in the same process.
    """

    table: Tensor

    def __init__(self, d_model: int, d_ff: int, vocab_size: int) -> None:
        """Make the parts, with torch's own numbers in them."""
        super().__init__()
        self.embedding = Table(vocab_size, d_model)
        self.linear = nn.Linear(d_model, d_ff)
        self.layers = nn.ModuleList(nn.Linear(d_ff, d_ff, bias=False) for _ in range(2))
        self.convolution = nn.Conv1d(d_ff, d_model, kernel_size=3)
        self.norm = Norm(d_model)
        self.scores = nn.Parameter(torch.randn(d_ff, d_model))
        self.frozen = nn.Parameter(torch.randn(d_model, d_ff), requires_grad=False)
        self.scale = nn.Parameter(torch.tensor(3.0))
        self.generator = nn.Linear(d_model, vocab_size)
        self.generator.weight = self.embedding.weight
        self.register_buffer("table", torch.randn(d_model, d_ff))
        # In a tuple, so that they are registered once, under the names above.
        self._made = tuple(self.parameters())

    @property
    def same_objects(self) -> bool:
        """Whether its parameters are the objects that were made with it."""
        now = tuple(self.parameters())
        return len(now) == len(self._made) and all(map(_is, now, self._made))


def _is(left: object, right: object) -> bool:
    return left is right


def _encoder_layer(*args: Any, second_eps: float, **kwargs: Any) -> nn.TransformerEncoderLayer:
    """Return torch's layer; its second norm has an eps of its own."""
    layer = nn.TransformerEncoderLayer(*args, **kwargs)
    layer.norm2.eps = second_eps
    return layer


class _Maker(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


_KINDS: Mapping[str, _Maker] = {
    "TransformerEncoderLayer": _encoder_layer,
    "Translator": Translator,
    "Continuer": Continuer,
    "Assortment": Assortment,
    "Quadratic": Quadratic,
    "Learner": Learner,
    "MeanLoss": MeanLoss,
    "Momentum": Momentum,
    "Rates": Rates,
    "Caching": Caching,
}


def make(kind: str, *args: Any, **kwargs: Any) -> object:
    """Return an object of this kind; a module is in training mode, as torch makes it."""
    made = _KINDS[kind](*args, **kwargs)
    if isinstance(made, nn.Module):
        conditions.given.update(made.modules())
    return made
