"""Public tests of decoding. Run them with: pytest exercises/test_decoding.py."""

from itertools import pairwise
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.decoding import beam_search, greedy_decode
from grader.feedback.comparison import assert_defaults, assert_matches

AXES = ("batch", "target")
PAD, START, END, A, B = range(5)


class Chain(nn.Module):
    """A model that looks up the next token's probabilities in a table, by the last token alone.

    A row's first source id says which table the row uses. Logits are log-probabilities plus 100, so
    they have to be normalised, and their exp is infinite.
    """

    def __init__(
        self, *tables: dict[int, dict[int, float]], pad_id: int = PAD, start: int = START
    ) -> None:
        """Take tables of probabilities by last token; tokens not named are very unlikely."""
        super().__init__()
        self.tables = torch.full((len(tables), 5, 5), 1e-6)
        for number, table in enumerate(tables):
            for word, followers in table.items():
                for follower, probability in followers.items():
                    self.tables[number, word, follower] = probability
        self.pad_id = pad_id
        self.start = start

    def encode(self, src: Tensor) -> Tensor:
        """Return the ids themselves as memory, (B, Ls, 1)."""
        return src.unsqueeze(-1).float()

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Return the rows of the tables, back to front, (B, Lt, 5)."""
        if not (tgt[:, 0] == self.start).any():
            raise ValueError("decode needs all tokens so far, and the start token is missing here")
        if not memory.is_floating_point() or src.is_floating_point():
            order = "decode takes tgt, memory and src in this order: memory is what encode returned"
            raise ValueError(f"{order}, src are ids")
        if not len(tgt) == len(memory) == len(src):
            rows = f"{len(tgt)} rows of tgt, {len(memory)} of memory and {len(src)} of src"
            raise ValueError(f"decode was called with {rows}")
        if not torch.equal(memory[..., 0].long(), src):
            raise ValueError("decode was called with a memory that is not that of its source")
        return self.tables[src[:, 0]].gather(1, tgt.unsqueeze(-1).expand(-1, -1, 5)).flip(-1)

    def generator(self, x: Tensor) -> Tensor:
        """Return logits, (B, Lt, 5)."""
        return x.flip(-1).log() + 100

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits, (B, Lt, 5)."""
        memory = self.encode(src)
        return self.generator(self.decode(tgt, memory, src))


# Greedy appends a (0.6), then the end (0.5): 0.30. But b, then the end, has 0.4 * 0.9 = 0.36.
TREE = {
    START: {A: 0.6, B: 0.4},
    A: {END: 0.5, A: 0.3, B: 0.2},
    B: {END: 0.9, A: 0.06, B: 0.04},
}
# Writes b again and again, and never ends.
ENDLESS = {START: {B: 0.8, A: 0.2}, B: {B: 0.7, A: 0.3}, A: {A: 0.9, B: 0.1}}


def assert_written(found: Tensor, expected: Tensor, what: str, help: str = "") -> None:
    """Check that these tokens came back; more padding after them is fine."""
    if isinstance(found, Tensor) and found.dim() == 2 and found.size(1) > expected.size(1):
        room = found.size(1) - expected.size(1)
        expected = F.pad(expected, (0, room), value=PAD)
    assert_matches(found, expected, what, axes=AXES, help=help)


def less_likely(found: Any, expected: list[int], model: Chain) -> str:
    """Return by how much a sentence is less likely than the expected one; "" if it isn't."""

    def probability(ids: list[int]) -> float:
        whole = pairwise(ids[: ids.index(END) + 1] if END in ids else ids)
        return prod(model.tables[0, word, follower].item() for word, follower in whole)

    if not isinstance(found, Tensor) or found.dtype != torch.int64 or found.dim() != 2:
        return ""
    ids = found[0].tolist()
    if not all(0 <= word < 5 for word in ids) or probability(ids) >= probability(expected):
        return ""
    both = f"{probability(ids):.3g}, the expected one {probability(expected):.3g}"
    told = f"Your sentence has the probability {both}."
    if (END in ids) == (END in expected):
        return told
    ended, unended = ("Yours", "the other") if END in ids else ("The other", "yours")
    asks = "Which sentences are in your beam at the end, and among which does your code choose?"
    return f"{told} {ended} has ended, {unended} has not. {asks}"


def test_greedy_by_hand() -> None:
    """Greedy decoding appends a, the likelier token, and then the end."""
    found = greedy_decode(Chain(TREE), torch.tensor([[0, 3]]), START, END, max_len=6)
    help = (
        "The last position predicts the next token: the model's generator turns it into logits. "
        "Append the likelier token."
    )
    expected = torch.tensor([[START, A, END]])
    assert_written(found, expected, "greedy_decode", help)


def test_length_one_and_a_beam_of_one() -> None:
    """max_len=1 gives the start token alone; a beam of one is greedy."""
    for search in (greedy_decode, beam_search):
        found = search(Chain(TREE), torch.tensor([[0], [0]]), START, END, 1)
        expected = torch.tensor([[START], [START]])
        what = f"{search.__name__} with max_len=1"
        help = "A sentence has at most max_len tokens, and the start token is one of them."
        assert_matches(found, expected, what, axes=AXES, help=help)
    found = beam_search(Chain(TREE), torch.tensor([[0]]), START, END, 6, beam_size=1)
    what = "beam_search with beam_size=1"
    help = (
        "A beam keeps the likeliest. A beam of one keeps a, which has 0.6, and drops b, which "
        "has 0.4, nor anything less likely. After a it keeps the end."
    )
    assert_written(found, torch.tensor([[START, A, END]]), what, help)


def test_a_row_that_has_ended_is_filled() -> None:
    """A row that has ended is filled with `pad_id`, here 4."""
    found = greedy_decode(Chain(TREE, ENDLESS, pad_id=4), torch.tensor([[0], [1]]), START, END, 5)
    expected = torch.tensor([[START, A, END, 4, 4], [START, B, B, B, B]])
    help = "After its end, a row is filled with the model's pad_id until the last row has ended."
    assert_matches(found, expected, "greedy_decode", axes=AXES, help=help)


def test_any_id_may_be_generated() -> None:
    """The start token and padding may be generated; neither ends a sentence.

    Only `eos_id` does, whatever the other ids are.
    """
    table = {START: {PAD: 0.9, A: 0.1}, PAD: {A: 0.8, END: 0.2}, A: {START: 0.7, END: 0.3}}
    model, expected = Chain(table), [START, PAD, A, START, PAD]
    for search in (greedy_decode, beam_search):
        found = search(model, torch.tensor([[0]]), START, END, 5)
        help = less_likely(found, expected, model) if search is beam_search else ""
        assert_matches(found, torch.tensor([expected]), search.__name__, axes=AXES, help=help)


def test_the_start_token_may_have_any_id() -> None:
    """The start token has the id `bos_id`, here 4; padding has 0."""
    model = Chain({4: {A: 1.0}, A: {END: 1.0}}, start=4)
    for search in (greedy_decode, beam_search):
        found = search(model, torch.tensor([[0]]), 4, END, 5)
        what = f"{search.__name__} with bos_id=4"
        assert_written(found, torch.tensor([[4, A, END]]), what)


def test_a_beam_of_two_by_hand() -> None:
    """A beam of two finds b, then the end, which greedy decoding misses.

    0.4 * 0.9 = 0.36 is more than greedy's 0.6 * 0.5 = 0.30. In a batch, each row gives the same
    result as alone, even with a beam larger than the vocabulary.
    """
    help = (
        "Does a finished sentence stay in the beam unchanged, with its score? And is the score a "
        "sum of log-probabilities, rather than of logits?"
    )
    found = beam_search(Chain(TREE), torch.tensor([[0]]), START, END, 6, beam_size=2)
    assert_written(
        found,
        torch.tensor([[START, B, END]]),
        "beam_search with beam_size=2",
        help=help,
    )
    model = Chain(TREE, ENDLESS)
    expected = torch.tensor([[START, B, END, PAD], [START, B, B, B]])
    for beam_size in (2, 7):
        found = beam_search(model, torch.tensor([[0], [1]]), START, END, 4, beam_size)
        what = f"beam_search for two rows with beam_size={beam_size}"
        assert_matches(found, expected, what, axes=AXES, help=help)


def test_a_beam_wider_than_the_vocabulary() -> None:
    """A beam of seven keeps seven sentences, with five tokens only.

    After two steps, a followed by a, b or the start token has 0.6 / 3 = 0.2 each. b followed by a,
    b, the start token or padding has 0.4 times 0.3, 0.26, 0.24 and 0.2: the seventh has 0.08. The
    end is sure to follow it; all others have 0.04 and less two steps later.
    """
    third = dict.fromkeys((A, B, START), 1 / 3)
    follow = {A: 0.3, B: 0.26, START: 0.24, PAD: 0.2}
    model = Chain({START: {A: 0.6, B: 0.4}, A: third, B: follow, PAD: {END: 1.0}})
    found = beam_search(model, torch.tensor([[0]]), START, END, 5, beam_size=7)
    help = "How many sentences does your beam hold after the first step, and after the second?"
    assert_written(found, torch.tensor([[START, B, PAD, END]]), "beam_search", help)


def test_rows_do_not_compete() -> None:
    """Each row has a beam of its own: rows do not compete.

    In the first row a always has 0.6 and b 0.4, so after two steps the four sentences have
    0.6 * 0.6 = 0.36, 0.24, 0.24 and 0.4 * 0.4 = 0.16. In the second row b has 0.28, a 0.26, padding
    0.24 and the start token 0.22, so no sentence has more than 0.28 * 0.28 = 0.08.
    """
    sure, unsure = {A: 0.6, B: 0.4}, {B: 0.28, A: 0.26, PAD: 0.24, START: 0.22}
    tables = (dict.fromkeys((PAD, START, A, B), row) for row in (sure, unsure))
    found = beam_search(Chain(*tables), torch.tensor([[0], [1]]), START, END, 4, beam_size=2)
    expected = torch.tensor([[START, A, A, A], [START, B, B, B]])
    help = "When your code keeps the best, does it compare sentences of one row only?"
    assert_matches(found, expected, "beam_search for two rows", axes=AXES, help=help)


def test_finished_and_unfinished_compete() -> None:
    """Finished sentences stay in the beam; unfinished ones compete too.

    In the first table the end alone has 0.4 and wins. After two steps a, a leads with
    0.6 * 0.8 = 0.48, but two steps later 0.6 * 0.8 * 0.8 * 0.8 is only 0.31. Per token that would
    be more, but scores are not divided by the length. In the second table the end alone has 0.3,
    and a, a, which has not ended, wins with 0.7 * 0.9 = 0.63.
    """
    stays = {START: {END: 0.4, A: 0.6}, A: {A: 0.8, B: 0.2}, B: {A: 0.6, B: 0.4}}
    overtakes = {START: {END: 0.3, A: 0.7}, A: {A: 0.9, END: 0.1}}
    for table, length, expected in ((stays, 5, [START, END]), (overtakes, 3, [START, A, A])):
        model = Chain(table)
        found = beam_search(model, torch.tensor([[0]]), START, END, length, beam_size=2)
        help = less_likely(found, expected, model)
        check = assert_written if END in expected else assert_matches
        check(found, torch.tensor([expected]), "beam_search with beam_size=2", help=help)


def test_scores_are_not_divided_by_the_length() -> None:
    """A short sentence may win: its score is a sum, whatever the length.

    In the first table, the end alone has 0.4, and a followed by the end has 0.6 * 0.65 = 0.39. Per
    token the second would score higher. In the second table, a followed by the end has
    0.6 * 0.52 = 0.312 and a followed by b has 0.288, so the two best have 0.4 and 0.312.
    """
    for end, going_on, help in (
        (0.65, A, "Which two scores does your code compare at the end: 0.4 and 0.39?"),
        (
            0.52,
            B,
            "Does your code keep the two best of 0.4, 0.312 and 0.288? What does it compare?",
        ),
    ):
        table = {START: {END: 0.4, A: 0.6}, A: {END: end, going_on: 1 - end}, B: {A: 1.0}}
        found = beam_search(Chain(table), torch.tensor([[0]]), START, END, 5, beam_size=2)
        assert_written(found, torch.tensor([[START, END]]), "beam_search with beam_size=2", help)


def test_all_continuations_compete() -> None:
    """A beam keeps the best continuations, of whichever sentences.

    In the first table, the two best after two steps both continue a: a, a has 0.6 * 0.5 = 0.3, and
    a, end has 0.27, while b, a has only 0.2. A step later, a, a is down to half of its 0.3. In the
    second table, only the third likeliest token leads to the end, with 0.2; the others have
    0.5 * 0.25 = 0.125.
    """
    even = dict.fromkeys((PAD, START, A, B), 0.25)
    of_one = {START: {A: 0.6, B: 0.4}, A: {A: 0.5, END: 0.45, B: 0.05}, B: {A: 0.5, B: 0.5}}
    of_third = {START: {A: 0.5, B: 0.3, PAD: 0.2}, A: even, B: even, PAD: {END: 1.0}}
    for table, beam_size, expected in (
        (of_one, 2, [START, A, END]),
        (of_third, 3, [START, PAD, END]),
    ):
        found = beam_search(Chain(table), torch.tensor([[0]]), START, END, 4, beam_size=beam_size)
        what = f"beam_search with beam_size={beam_size}"
        help = "How many continuations of each sentence compete before the best are kept?"
        assert_written(found, torch.tensor([expected]), what, help)


def test_what_falls_out_of_the_beam_is_forgotten() -> None:
    """A finished sentence can drop out of the beam.

    In the first row, the end alone has 0.2. A step later a, a has 0.7 * 0.52 = 0.364 and a, b has
    0.336. Both are better, so they fill the beam of two. Their extensions have at most 0.189, less
    than 0.2, but the finished sentence is gone by then. The model and `src` are not modified.
    """
    table = {START: {A: 0.7, END: 0.2, B: 0.1}, A: {A: 0.52, B: 0.48}, B: {A: 0.51, B: 0.49}}
    model = Chain(table, TREE, pad_id=3).eval()
    src = torch.tensor([[0], [1]])
    found = beam_search(model, src, START, END, 4, beam_size=2)
    expected = torch.tensor([[START, A, A, A], [START, B, END, 3]])
    help = (
        "Short sentences are filled with the model's pad_id, here 3. And a finished sentence keeps "
        "its place only while it is among the two best."
    )
    assert_matches(found, expected, "beam_search with pad_id=3", axes=AXES, help=help)
    greedy_decode(model, src, START, END, 4)
    assert not model.training, "Your function took the model out of evaluation mode."
    assert_matches(src, torch.tensor([[0], [1]]), "src after the call", axes=AXES)


def test_the_defaults() -> None:
    """The default: a beam of four."""
    assert_defaults(beam_search, beam_size=4)
