"""Public tests of decoding. Run them with: pytest exercises/test_decoding.py."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.decoding import beam_search, greedy_decode
from grader.feedback.comparison import assert_matches

AXES = ("batch", "target")
PAD, START, END, A, B = range(5)


class Chain(nn.Module):
    """A model by whose table the next word depends on the last one only, and on the row.

    A row's first source id says which of the tables is the row's. Logits are logarithms plus 100,
    so that they are no log-probabilities, and their exp is infinite.
    """

    def __init__(self, *tables: dict[int, dict[int, float]], pad_id: int = PAD) -> None:
        """Each table has a row of probabilities for a word; words not named are very unlikely."""
        super().__init__()
        self.tables = torch.full((len(tables), 5, 5), 1e-6)
        for number, table in enumerate(tables):
            for word, followers in table.items():
                for follower, probability in followers.items():
                    self.tables[number, word, follower] = probability
        self.pad_id = pad_id

    def encode(self, src: Tensor) -> Tensor:
        """The memory is the ids themselves, (B, Ls, 1)."""
        return src.unsqueeze(-1).float()

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """The rows of the tables, (B, Lt, 5)."""
        if not torch.equal(memory[..., 0].long(), src):
            raise ValueError("the memory given to decode is not that of the source given to it")
        return self.tables[src[:, 0]].gather(1, tgt.unsqueeze(-1).expand(-1, -1, 5))

    def generator(self, x: Tensor) -> Tensor:
        """Logits (B, Lt, 5)."""
        return x.log() + 100

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits (B, Lt, 5)."""
        memory = self.encode(src)
        return self.generator(self.decode(tgt, memory, src))


# Greedy takes a (0.6), then the end (0.5): 0.30. But b, then the end, is 0.4 * 0.9 = 0.36.
TREE = {
    START: {A: 0.6, B: 0.4},
    A: {END: 0.5, A: 0.3, B: 0.2},
    B: {END: 0.9, A: 0.06, B: 0.04},
}
# Starts, says b twice or more, never ends.
ENDLESS = {START: {B: 0.8, A: 0.2}, B: {B: 0.7, A: 0.3}, A: {A: 0.9, B: 0.1}}


def assert_written(found: Tensor, expected: Tensor, what: str, help: str = "") -> None:
    """These words were written; more padding behind them does no harm."""
    if isinstance(found, Tensor) and found.dim() == 2 and found.size(1) > expected.size(1):
        room = found.size(1) - expected.size(1)
        expected = F.pad(expected, (0, room), value=PAD)
    assert_matches(found, expected, what, axes=AXES, help=help)


def test_greedy_by_hand() -> None:
    """Greedy takes a, the likelier one, and then the end."""
    found = greedy_decode(Chain(TREE), torch.tensor([[0, 3]]), START, END, max_len=6)
    assert_written(found, torch.tensor([[START, A, END]]), "result of greedy_decode")


def test_a_row_that_has_ended_is_filled() -> None:
    """While one row goes on, the other gets the model's `pad_id`, here 4."""
    found = greedy_decode(Chain(TREE, ENDLESS, pad_id=4), torch.tensor([[0], [1]]), START, END, 5)
    expected = torch.tensor([[START, A, END, 4, 4], [START, B, B, B, B]])
    help = "After its end, a row gets the model's pad_id until the last row has ended, too."
    assert_matches(found, expected, "result of greedy_decode", axes=AXES, help=help)


def test_any_word_may_come() -> None:
    """The start word and padding are words as others are: they end nothing."""
    table = {START: {PAD: 0.9, A: 0.1}, PAD: {A: 0.8, END: 0.2}, A: {START: 0.7, END: 0.3}}
    expected = torch.tensor([[START, PAD, A, START, PAD]])
    for search in (greedy_decode, beam_search):
        found = search(Chain(table), torch.tensor([[0]]), START, END, 5)
        assert_matches(found, expected, f"result of {search.__name__}", axes=AXES)


def test_a_beam_of_two_by_hand() -> None:
    """A beam of two finds b, then the end, which greedy does not.

    0.4 * 0.9 = 0.36 is more than greedy's 0.6 * 0.5 = 0.30. And two rows find together what each
    finds alone, also with more hypotheses than there are words.
    """
    help = (
        "Does what has ended stay as it is, with its score? And is a score the sum of "
        "log-probabilities? Logits are none yet."
    )
    found = beam_search(Chain(TREE), torch.tensor([[0]]), START, END, 6, beam_size=2)
    assert_written(
        found,
        torch.tensor([[START, B, END]]),
        "result of beam_search with beam_size=2",
        help=help,
    )
    model = Chain(TREE, ENDLESS)
    expected = torch.tensor([[START, B, END, PAD], [START, B, B, B]])
    for beam_size in (2, 7):
        found = beam_search(model, torch.tensor([[0], [1]]), START, END, 4, beam_size)
        what = f"result of beam_search for two rows with beam_size={beam_size}"
        assert_matches(found, expected, what, axes=AXES, help=help)


def test_one_place_and_a_beam_of_one() -> None:
    """With max_len=1 there is the start word alone; a beam of one is greedy."""
    for search in (greedy_decode, beam_search):
        found = search(Chain(TREE), torch.tensor([[0], [0]]), START, END, 1)
        expected = torch.tensor([[START], [START]])
        what = f"result of {search.__name__} with max_len=1"
        assert_matches(found, expected, what, axes=AXES)
    found = beam_search(Chain(TREE), torch.tensor([[0]]), START, END, 6, beam_size=1)
    what = "result of beam_search with beam_size=1"
    assert_written(found, torch.tensor([[START, A, END]]), what)


def test_finished_and_unfinished_compete() -> None:
    """What has ended stays in the beam; what has not competes, too.

    In the first table the end comes at once with 0.4. Two steps long, a, a leads with 0.6 * 0.8 =
    0.48, so who drops what has ended loses it; but 0.6 * 0.8 * 0.8 * 0.8 is only 0.31. Per word
    that would be more, but scores are not divided by the length. In the second, the end at once
    has 0.3, and a, a, which has not ended, 0.7 * 0.9 = 0.63.
    """
    stays = {START: {END: 0.4, A: 0.6}, A: {A: 0.8, B: 0.2}, B: {A: 0.6, B: 0.4}}
    found = beam_search(Chain(stays), torch.tensor([[0]]), START, END, 5, beam_size=2)
    what = "result of beam_search with beam_size=2"
    assert_written(found, torch.tensor([[START, END]]), what)
    overtakes = {START: {END: 0.3, A: 0.7}, A: {A: 0.9, END: 0.1}}
    found = beam_search(Chain(overtakes), torch.tensor([[0]]), START, END, 3, beam_size=2)
    assert_matches(found, torch.tensor([[START, A, A]]), what, axes=AXES)


def test_what_falls_out_of_the_beam_is_forgotten() -> None:
    """A finished one may lose its place in the beam.

    In the first row the end at once has 0.2. A step later a, a has 0.7 * 0.52 = 0.364 and a, b has
    0.336: both are better, and a beam of two is full. What comes of them has 0.189 at most, less
    than 0.2, but then it is too late. The model and `src` are afterwards as they were.
    """
    table = {START: {A: 0.7, END: 0.2, B: 0.1}, A: {A: 0.52, B: 0.48}, B: {A: 0.51, B: 0.49}}
    model = Chain(table, TREE, pad_id=3).eval()
    src = torch.tensor([[0], [1]])
    found = beam_search(model, src, START, END, 4, beam_size=2)
    expected = torch.tensor([[START, A, A, A], [START, B, END, 3]])
    assert_matches(found, expected, "result of beam_search with pad_id=3", axes=AXES)
    greedy_decode(model, src, START, END, 4)
    assert not model.training, "The model was in evaluation mode, and is not after your function."
    assert_matches(src, torch.tensor([[0], [1]]), "src after the call", axes=AXES)
