"""Public tests of subwords. Run them with: pytest exercises/test_subwords.py."""

from exercises.subwords import PIECES, decode, encode, train_merges
from grader.feedback.comparison import assert_raises
from grader.feedback.plain_data import assert_equals

TEXT = "the then the"
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the")]


def test_merges_by_hand() -> None:
    """The example under "With a pencil" in subwords.py, merge by merge."""
    help = "Which pairs are there, how often, and which of two equally frequent ones is greater?"
    for count in (1, 2, 3):
        found = train_merges(TEXT, count)
        if found[1:2] == [(b"th", b"h")]:
            help = (
                "After the first merge, `the` is `th`, `e`: `h` is part of the new token. Where "
                "does your code go on after it has joined two tokens?"
            )
        assert_equals(found, MERGES[:count], f"train_merges({TEXT!r}, {count})", help=help)


def test_pairs_are_counted_within_pieces() -> None:
    """No merge ends in a space: a space only comes at a piece's start.

    More merges are asked for than there are pairs. Punctuation is a part of its word.
    """
    expected = [(b" ", b"b"), (b" ", b"c"), (b" ", b"a")]
    help = f"The pieces are {PIECES.findall('a b a b c')}."
    assert_equals(train_merges("a b a b c", 10), expected, "train_merges('a b a b c', 10)", help)
    assert_equals(train_merges("", 3), [], "train_merges('', 3)")
    expected = [(b"a", b"."), (b" ", b"a.")]
    help = f"The pieces are {PIECES.findall('a. a.')}. Which are they for the exercise's pattern?"
    assert_equals(train_merges("a. a.", 2), expected, "train_merges('a. a.', 2)", help)


def test_overlapping_pairs() -> None:
    """`aaa` has the pair `a a` twice, and becomes `aa a`.

    With ` aaa` that makes four.
    """
    found = train_merges("aaa aaa bcbcbc", 2)
    help = "How often does `a a` occur in `aaa`? And what is `aaa` after the first merge?"
    call = "train_merges('aaa aaa bcbcbc', 2)"
    assert_equals(found, [(b"a", b"a"), (b"b", b"c")], call, help)
    found = train_merges("aaaaa", 2)
    assert_equals(found, [(b"a", b"a"), (b"aa", b"aa")], "train_merges('aaaaa', 2)", help)


def test_equally_frequent_pairs() -> None:
    """Of equally frequent pairs, the greatest is merged.

    After the first merge, `aa a b a` has three pairs that occur once: `b a` is the greatest.

    Then `aa a ba` has two, and `b"aa"` is greater than `b"a"`. Neither ids nor lengths matter.
    """
    expected = [(b"a", b"a"), (b"b", b"a"), (b"aa", b"a")]
    help = "Which of two tuples of bytes is the greater one for Python?"
    assert_equals(train_merges("aaaba", 3), expected, "train_merges('aaaba', 3)", help)


def test_any_text_is_bytes() -> None:
    """A text is its UTF-8 bytes, whatever characters it has.

    `É` is the two bytes C3 89, and occurs three times. The text begins with two pairs of newlines.
    """
    text = "\n\n\nÉÉ É"
    expected = [(b"\xc3", b"\x89"), (b"\n", b"\n")]
    help = f"The pieces are {PIECES.findall(text)}. What are the bytes of each?"
    assert_equals(train_merges(text, 2), expected, f"train_merges({text!r}, 2)", help)


def test_ids_by_hand() -> None:
    """Merge i has the id 256 + i; a single byte has its own value as its id.

    The three merges have the ids 256, 257 and 258, in the order in which they were learned.
    """
    for text, expected in (
        ("then the", [257, 110, 258]),
        ("th", [256]),
        ("eh", [101, 104]),
        (" the\nthe", [258, 10, 257]),
        ("  the", [32, 32, 257]),
        ("", []),
    ):
        assert_equals(encode(text, MERGES), expected, f"encode({text!r}, {MERGES})")


def test_the_earliest_merge_comes_first() -> None:
    """With the merges `b c` and `a b`, `abc` is `a` and `bc`."""
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"d")]
    help = "Which of the merges was learned first?"
    for text, expected in (("abc", [97, 256]), ("abd", [258]), ("abcab", [97, 256, 257])):
        assert_equals(encode(text, merges), expected, f"encode({text!r}, {merges})", help)
    help = "`a a` occurs twice in `aaa`. Which of the two is joined?"
    found = encode("aaa", [(b"a", b"a")])
    assert_equals(found, [256, 97], "encode('aaa', [(b'a', b'a')])", help)


def test_each_call_has_its_own_merges() -> None:
    """Without merges `the` is three bytes, whatever was merged before."""
    help = "What does a second call, with other merges, find from the first?"
    for merges, ids in ((MERGES, [257]), ([], [116, 104, 101]), (MERGES[:1], [256, 101])):
        assert_equals(encode("the", merges), ids, f"encode('the', {merges})", help)
        assert_equals(decode(ids, merges), "the", f"decode({ids}, {merges})", help)


def test_back_and_forth() -> None:
    """What was encoded can be decoded, whatever its characters.

    Id 256 + i stands for what merge i joins; ids below 256 are single bytes. A character that
    training never saw becomes several of those.
    """
    help = "Which id does the first merge have?"
    assert_equals(decode([256], MERGES), "th", f"decode([256], {MERGES})", help)
    for text in (TEXT, "  two\n\tlines ", "naïve ☃ 🙂", ""):
        ids = encode(text, MERGES)
        assert_equals(decode(ids, MERGES), text, f"decode({ids}, {MERGES})")


def test_bytes_that_are_not_text() -> None:
    """Half of a character becomes the replacement character.

    A character may be spread over several tokens.
    """
    for ids, expected in (
        ([195, 169], "é"),
        ([116, 195], "t\ufffd"),
        ([257, 255, 110], "the\ufffdn"),
    ):
        help = "Are all bytes joined before they are read as UTF-8?"
        assert_equals(decode(ids, MERGES), expected, f"decode({ids}, {MERGES})", help)


def test_an_unknown_id() -> None:
    """With three merges, there is no id 259."""
    with assert_raises(LookupError, f"decode([104, 259], {MERGES})"):
        decode([104, 259], MERGES)
