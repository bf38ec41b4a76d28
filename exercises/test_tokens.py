"""Public tests of tokens. Run them with: pytest exercises/test_tokens.py."""

import torch

from exercises.tokens import build_vocab, encode, one_hot, pad_batch, tokenize
from grader.feedback.comparison import Mismatch, assert_dtype, assert_matches, assert_unchanged
from grader.feedback.plain_data import assert_equals


def test_words() -> None:
    """Words come out in lower case, without . , ! ? and without empty ones.

    White space of any kind and length separates words; the four marks leave nothing behind.
    """
    for text, expected in (
        ("Hello, World!", ["hello", "world"]),
        ("two  spaces\tand\nlines ", ["two", "spaces", "and", "lines"]),
        ("one\r\nline\x0cmore", ["one", "line", "more"]),
        ("What ? 3.14", ["what", "314"]),
        ("Don't (ever) well-known", ["don't", "(ever)", "well-known"]),
        ('one; two: "three"', ["one;", "two:", '"three"']),
        ("", []),
    ):
        assert_equals(tokenize(text), expected, f"tokenize({text!r})")


def test_vocabulary() -> None:
    """Special tokens come first, then the distinct words, sorted.

    `sorted` compares strings letter by letter: "aa" comes before "b", although it is longer.
    """
    texts = ["The cat sat.", "the bat <pad>"]
    specials = ["<s>", "<pad>", "<UNK>"]
    expected = {"<s>": 0, "<pad>": 1, "<UNK>": 2, "bat": 3, "cat": 4, "sat": 5, "the": 6}
    found = build_vocab(texts, specials=specials)
    help = "In which order should the ids go through the specials and the words?"
    if set(found) != set(expected):
        help = "`tokenize` turns one text into its words. What does your loop iterate over?"
    assert_equals(found, expected, f"build_vocab({texts}, specials={specials})", help)
    found = build_vocab(text for text in ["b a", "c a"])
    what = "build_vocab(text for text in ['b a', 'c a'])"
    help = "A generator of texts can be read only once, and each word gets one id."
    assert_equals(found, {"a": 0, "b": 1, "c": 2}, what, help)
    help = "Does `sorted` compare the words themselves, or something else, such as their lengths?"
    found = build_vocab(["b aa"])
    assert_equals(found, {"aa": 0, "b": 1}, "build_vocab(['b aa'])", help)


def test_ids() -> None:
    """Each word from `tokenize` gets its id; any other gets `unknown`'s."""
    vocab = {"a": 0, "b": 5, "<unk>": 9}
    assert_equals(encode("B a, a", vocab), [5, 0, 0], f"encode('B a, a', {vocab})")
    found = encode("a zebra b", vocab, unknown="<unk>")
    if "<unk>" in map(str, found):
        raise Mismatch(f"encode returned {found}. All of it should be ids: '<unk>' has the id 9.")
    help = "'zebra' has no id, so it gets that of '<unk>', 9; every word has one id, in its place."
    assert_equals(found, [0, 9, 5], f"encode('a zebra b', {vocab}, unknown='<unk>')", help)
    help = "Which entry of the vocabulary has the id for unknown words? `unknown` names it."
    for number in (7, 0):
        vocab = {"a": 2, "?": number}
        found = encode("a zebra", vocab, unknown="?")
        assert_equals(found, [2, number], f"encode('a zebra', {vocab}, unknown='?')", help)
    found = encode("a", {"a": 0}, unknown="<unk>")
    help = "No word is unknown here, so the id of '<unk>' isn't needed."
    assert_equals(found, [0], "encode('a', {'a': 0}, unknown='<unk>')", help)


def test_an_unknown_word() -> None:
    """Without `unknown`, the error is a KeyError that names the word."""
    call = "encode('a zebra', {'a': 0})"
    try:
        found = encode("a zebra", {"a": 0})
    except KeyError as error:
        if "zebra" not in str(error):
            raise Mismatch(f"Your KeyError says {error}. It should name 'zebra'.") from None
    except ValueError as error:
        raise Mismatch(f"{call} raises ValueError. It should raise KeyError.") from error
    else:
        raise Mismatch(f"{call} gives {found}. It should raise KeyError.")


def test_a_batch() -> None:
    """Short rows are padded on the right; the lists are not modified."""
    sequences = [[16777217], [4, 0, 2], []]
    found = pad_batch(sequences, pad_id=1)
    expected = torch.tensor([[16777217, 1, 1], [4, 0, 2], [1, 1, 1]])
    what = f"pad_batch({[[16777217], [4, 0, 2], []]}, pad_id=1)"
    assert_dtype(found, torch.int64, what)
    help = "The longest row sets the length. The others end in `pad_id`, here 1."
    assert_matches(found, expected, what, axes=("batch", "length"), help=help)
    assert_equals(sequences, [[16777217], [4, 0, 2], []], "After pad_batch, the list of sequences")


def test_one_hot() -> None:
    """Each id becomes a float32 row with a single one, at its position."""
    ids = torch.tensor([[2, 0]])
    found = one_hot(ids, vocab_size=4)
    expected = torch.tensor([[[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])
    assert_dtype(found, torch.float32, "one_hot(tensor([[2, 0]]), 4)")
    help = "The result has the axes of the ids, plus a last one with a position for each id."
    axes = ("batch", "length", "id")
    assert_matches(found, expected, "one_hot(tensor([[2, 0]]), 4)", axes=axes, help=help)
    assert_unchanged(ids, torch.tensor([[2, 0]]), "ids")
    found = one_hot(torch.tensor(1), vocab_size=3)
    assert_matches(found, torch.tensor([0.0, 1.0, 0.0]), "one_hot(tensor(1), 3)", axes=("id",))
    found = one_hot(torch.tensor([1]), vocab_size=2)
    assert_matches(found, torch.tensor([[0.0, 1.0]]), "one_hot(tensor([1]), 2)", axes=axes[1:])
