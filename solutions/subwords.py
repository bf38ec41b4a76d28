"""Subwords: learn a vocabulary of word parts with byte-pair encoding.

A vocabulary of whole words never contains every word, and a vocabulary of characters makes texts
very long. Every large language model reads something in between: frequent words are one token, rare
ones are built from parts.

**Byte-pair encoding** (BPE) finds the parts. It starts from the bytes of the text in UTF-8, so
there are 256 tokens at the start, and no text in any language contains an unknown one. Then it
repeats one step: count all pairs of neighbouring tokens, and join the most frequent pair into a new
token, a **merge**. After a few hundred merges common words are one token each.

A text is first cut into **pieces**, roughly words, each with the space in front of it. Merges never
cross the border between two pieces; otherwise `dog.` and `dog!`, with whatever precedes them, would
soon be tokens of their own.

To **encode** a new text, the merges are applied to the bytes of each piece in the order in which
they were learned. To **decode**, the bytes of all tokens are joined and read as UTF-8.

## Formula

With `n(a, b)` for how often token `b` follows token `a` within a piece, one step of training is

    merge = the pair (a, b) with the largest n(a, b); of several, the largest (a, b)

where pairs compare as Python compares tuples of bytes: `(b"t", b"h") > (b"h", b"e")`, since `t`
comes after `h`. Byte `i` has the id `i`, and merge `i` has the id `256 + i`, counted from 0.

## Shapes

    text                          str
    merges                        list of tuples (bytes, bytes), in the order learned
    ids                           list of ints from 0 to 255 + the number of merges

## With a pencil

`"the then the"` has the pieces `the`, ` then` and ` the`. The pairs `t h` and `h e` both occur
three times, ` t` twice and `e n` once. `(t, h)` is larger than `(h, e)`, so it is joined first. Now
`th e` occurs three times and is the next merge. Then comes the space with `the`, twice.

    >>> merges = train_merges("the then the", 3)
    >>> merges
    [(b't', b'h'), (b'th', b'e'), (b' ', b'the')]
    >>> encode("then the", merges)
    [257, 110, 258]
    >>> decode([257, 110, 258], merges)
    'then the'
    >>> encode("é", merges)
    [195, 169]
    >>> decode([195], merges)
    '�'

110 is the byte of `n`. `é` is two bytes in UTF-8; one of them alone is not a character.

## What the exercise asks

- Texts are cut by `PIECES.findall(text)`, in `train_merges` and in `encode`. The pieces together
  are the whole text: spaces, tabs and line breaks included.
- A pair is counted as often as it occurs, in every piece of the text. In `aaa` the pair `a a`
  occurs twice; joined from the left it becomes `aa a`.
- Even pairs that occur only once are joined, until there are `count` merges or no pairs are left.
- `encode` applies, in each piece, the earliest learned merge that applies, wherever it does, then
  again the earliest, until none applies. Neither the longest token nor the leftmost pair comes
  first.
- `decode(encode(text, merges), merges) == text` for every text that can be written in UTF-8,
  including bytes never seen in training.
- Only `merges` made by `train_merges` are passed in, and no text is graded in which two merges make
  the same bytes.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Neural Machine Translation of Rare Words with Subword Units" by Sennrich, Haddow and
  Birch (2016): section 3.2.
- "Language Models are Unsupervised Multitask Learners" by Radford and others (2019), the GPT-2
  paper, section 2.2: why bytes, and why pieces.
- Python: `bytes`, `str.encode`, `bytes.decode`, `itertools.pairwise`, `collections.Counter`.
- PyTorch has no tokenizer of this kind.

## Questions to ask your code

- What is the last token of one piece, and the first of the next? Are they ever counted as a pair?
- Two pairs occur equally often. Which of them does your `max` return, and why?
- What is `b"the"[0]`, and what is `b"the"[0:1]`?
- In `aaaa`, how many tokens are left once `a a` has been joined?
- If a learned merge is `(b"h", b"e")` and an earlier one `(b"t", b"h")`, what becomes of `the`?
- A character of three bytes can end up in two tokens. Can each of them be decoded by itself?
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

# An optional space and what follows it up to the next white space, or a run of white space.
PIECES = re.compile(r" ?\S+|\s+")


def train_merges(text: str, count: int) -> list[tuple[bytes, bytes]]:
    """Learn which tokens to join, from a text.

    To start: turn one piece into a list of tokens of one byte each, and count its pairs.

    Args:
        text: Any text, even an empty one.
        count: How many merges to learn, 0 or more.

    Returns:
        The merges in the order learned, each a tuple of the two tokens that it joins. Fewer than
        `count` if no pair is left.
    """
    ### BEGIN SOLUTION
    # Why this way: a piece that occurs a thousand times is joined once and counted a thousand
    # times, which makes training as fast as there are different pieces.
    pieces = Counter(PIECES.findall(text))
    tokens = {piece: [bytes([byte]) for byte in piece.encode()] for piece in pieces}
    merges: list[tuple[bytes, bytes]] = []
    for _ in range(count):
        pairs: Counter[tuple[bytes, bytes]] = Counter()
        for piece, times in pieces.items():
            for pair in pairwise(tokens[piece]):
                pairs[pair] += times
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for row in tokens.values():
            place = 0
            while place < len(row) - 1:
                if (row[place], row[place + 1]) == best:
                    row[place : place + 2] = [row[place] + row[place + 1]]
                place += 1
    return merges
    ### END SOLUTION


def encode(text: str, merges: Sequence[tuple[bytes, bytes]]) -> list[int]:
    """Turn a text into ids.

    To start: encode a single piece, with a list of its bytes, and merge 0 alone.

    Args:
        text: Any text, even an empty one.
        merges: What `train_merges` returned.

    Returns:
        The ids of the tokens: 0 to 255 for a byte, `256 + i` for the result of merge `i`.
    """
    ### BEGIN SOLUTION
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids = {bytes([byte]): byte for byte in range(256)}
    ids |= {left + right: 256 + rank for (left, right), rank in ranks.items()}
    encoded: list[int] = []
    for piece in PIECES.findall(text):
        row = [bytes([byte]) for byte in piece.encode()]
        while applicable := [
            (ranks[pair], place) for place, pair in enumerate(pairwise(row)) if pair in ranks
        ]:
            _, place = min(applicable)
            row[place : place + 2] = [row[place] + row[place + 1]]
        encoded += [ids[token] for token in row]
    return encoded
    ### END SOLUTION


def decode(ids: Sequence[int], merges: Sequence[tuple[bytes, bytes]]) -> str:
    """Turn ids back into a text.

    To start: which bytes does each id stand for?

    Args:
        ids: The ids of tokens, in any order; none at all is fine.
        merges: What `train_merges` returned.

    Returns:
        The bytes of all tokens, joined and read as UTF-8. Bytes that are not valid UTF-8 become
        the replacement character `�`, as `errors="replace"` makes it.

    Raises:
        KeyError or IndexError: An id is neither a byte nor a merge.
    """
    ### BEGIN SOLUTION
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tokens |= {256 + rank: left + right for rank, (left, right) in enumerate(merges)}
    return b"".join(tokens[token] for token in ids).decode("utf-8", errors="replace")
    ### END SOLUTION
