"""Tokens: turn a sentence into numbers.

A model computes with numbers, so a sentence has to become numbers before a model can read it. How
that is done decides what the model can tell apart: whatever gets lost here stays lost.

A sentence is cut into pieces, its **tokens**. Every distinct token has a number, its **id**, and
the dictionary from tokens to ids is the **vocabulary**. Here a token is a word. Large models use
shorter pieces, parts of words, but everything after the cutting is what you write here: a
vocabulary, ids, and batches whose rows all have the same length.

The vocabulary lists its words in *sorted* order, so that it comes out the same tomorrow and on any
other machine. The order of a set can change with every start of Python, and a model that gets
shuffled ids reads nonsense.

Some tokens are not words. They are called **special tokens** and come first: one that fills up
short sentences (**padding**), one that stands for every word missing from the vocabulary, later one
for the start of a sentence and one for its end. Padding needs an id of its own. Without special
tokens the first word of the alphabet would get id 0, and a mask that hides padding, id 0, would
hide that word too.

## Formula

    text           "Dog bites man. Man runs!"
    tokens         ["dog", "bites", "man", "man", "runs"]
    vocabulary     {"<pad>": 0, "<unk>": 1, "bites": 2, "dog": 3, "man": 4, "runs": 5}
    ids            [3, 2, 4, 4, 5]

    batch          [[3, 2, 4], [4, 5]]   becomes   3 2 4
                                                   4 5 0     padded on the right

    one-hot        one_hot(id)[k] = 1 if k = id, else 0      one_hot(2) = 0 0 1 0 0 0
                   one_hot(id) W = W[id]

An id is only a label: word 4 is not "twice word 2", so a model must not compute with ids. A one-hot
row has no such order. Multiplied by a matrix that has one row per word, it picks out that word's
row. An embedding is exactly this product, computed faster.

## Shapes

    tokens, ids of a sentence  lists with one entry per word
    pad_batch                  (B, L)             int64; L is the length of the longest sequence
    one_hot                    (..., vocab_size)  float32, for ids of any shape (...)

## With a pencil

    >>> tokenize("Dog bites man. Man runs!")
    ['dog', 'bites', 'man', 'man', 'runs']
    >>> vocab = build_vocab(["Dog bites man.", "Man runs!"], specials=["<pad>", "<unk>"])
    >>> vocab
    {'<pad>': 0, '<unk>': 1, 'bites': 2, 'dog': 3, 'man': 4, 'runs': 5}
    >>> batch = [encode("dog bites man", vocab), encode("cat runs", vocab, unknown="<unk>")]
    >>> batch
    [[3, 2, 4], [1, 5]]
    >>> pad_batch(batch, pad_id=vocab["<pad>"])
    tensor([[3, 2, 4],
            [1, 5, 0]])
    >>> one_hot(torch.tensor([2, 0]), vocab_size=4)
    tensor([[0., 0., 1., 0.],
            [1., 0., 0., 0.]])

## What the exercise asks

- Five functions: `tokenize`, `build_vocab`, `encode`, `pad_batch` and `one_hot`.
- `build_vocab` and `encode` cut texts with your own `tokenize`. Without texts, the vocabulary is
  the special tokens.
- An unknown token takes the id of `unknown`. If `unknown` is None, it raises a `KeyError` that
  contains the token.
- `pad_batch` takes sequences of very different lengths, `one_hot` takes ids of any shape, including
  a single id.
- Lists, dictionaries and ids that you are given are not modified.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 5.1, where words are cut into parts. The method is in
  "Neural Machine Translation of Rare Words with Subword Units" by Sennrich, Haddow and Birch
  (2016).
- Python: `str.split` without an argument, `str.replace`, `sorted`, `set`.
- PyTorch: `torch.nn.functional.one_hot` and `torch.nn.utils.rnn.pad_sequence`.

## Questions to ask your code

- What is `"a  b".split(" ")`, with two spaces? And what does a lone `!` become?
- Do training and inference use the same `tokenize`? A comma that only one of them deletes creates a
  word that the other doesn't know.
- `vocab.get(token, vocab[unknown])`: when does Python evaluate the second argument? What if there
  is no such entry, and no need for it? And what does `vocab.get(token) or …` give for the token
  with id 0?
- Does your code still work if somebody passes a generator, which can be read only once, instead of
  a list of texts?
- Do the lists passed to `pad_batch` have their old lengths afterwards?
- What is `torch.Tensor([16777217]).long()`? Which dtype does an id pass through there?
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor


def tokenize(text: str) -> list[str]:
    """Cut a text into words, in lower case.

    The four characters `. , ! ?` are deleted wherever they occur: `a.b` becomes `ab`. All other
    characters stay: `don't` is a single token. White space of any kind and length separates tokens:
    spaces, tabs, line breaks. No token is empty, and a text without words has no tokens.

    To start: strings have methods that replace characters, convert to lower case, and split.

    Args:
        text: Any text, including an empty one.

    Returns:
        The tokens, a list of strings, in the order of the text.
    """
    ### BEGIN SOLUTION
    # Why this way: what is deleted before split() can't leave an empty token, not even a lone "!".
    for mark in ".,!?":
        text = text.replace(mark, "")
    return text.lower().split()
    ### END SOLUTION


def build_vocab(texts: Iterable[str], specials: Sequence[str] = ()) -> dict[str, int]:
    """Give every token an id.

    The special tokens come first, unchanged and in their order, then the distinct tokens of the
    texts in the order of Python's `sorted`. A token that is also a special keeps the special's id.
    Ids count from 0, without gaps.

    To start: a set keeps one of each; `enumerate` counts.

    Args:
        texts: Anything that a `for` loop can read once: a list, a generator, an open file.
        specials: Tokens that are not words, such as `"<pad>"`; all different.

    Returns:
        The id of each token, a dictionary.
    """
    ### BEGIN SOLUTION
    found = {token for text in texts for token in tokenize(text)}
    words = [*specials, *sorted(found - set(specials))]
    return {word: number for number, word in enumerate(words)}
    ### END SOLUTION


def encode(text: str, vocab: Mapping[str, int], unknown: str | None = None) -> list[int]:
    """Turn a text into ids.

    To start: what should happen to a token that the vocabulary doesn't have? There are two cases.

    Args:
        text: Any text; `tokenize` cuts it.
        vocab: The id of each token; don't modify it. The ids may be any numbers.
        unknown: The token whose id stands for all tokens that are not in `vocab`. It may itself be
            missing from `vocab` as long as no unknown token occurs.

    Returns:
        The ids, a list of ints, one per token.

    Raises:
        KeyError: `unknown` is None and a token is not in `vocab`. The error names that token.
    """

    ### BEGIN SOLUTION
    # Why this way: `vocab.get(token, vocab[unknown])` would look up `unknown` for known tokens too.
    def id_of(token: str) -> int:
        return vocab[token] if unknown is None or token in vocab else vocab[unknown]

    return [id_of(token) for token in tokenize(text)]
    ### END SOLUTION


def pad_batch(sequences: Sequence[list[int]], pad_id: int = 0) -> Int[Tensor, "batch length"]:
    """Put sequences of different lengths into one tensor.

    To start: how long is the longest? `torch.full` creates a tensor full of one number, and
    `torch.tensor` turns lists into a tensor if all of them have the same length.

    Args:
        sequences: One or more lists of ids; some may be empty, not all. Don't modify them.
        pad_id: The number that fills up the short ones, on the right; any int.

    Returns:
        `(B, L)` in `torch.int64`, with `L` the length of the longest. Ids are exact, including
        those above 2^24, which float32 cannot tell apart.
    """
    ### BEGIN SOLUTION
    length = max(len(sequence) for sequence in sequences)
    rows = [[*sequence, *[pad_id] * (length - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.int64)
    ### END SOLUTION


def one_hot(ids: Int[Tensor, "..."], vocab_size: int) -> Float[Tensor, "... vocab_size"]:
    """Turn each id into a row of zeros with a single one, at the position of the id.

    So `one_hot(ids, V) @ W` is `W[ids]`, for any matrix `W` with `V` rows.

    To start: give the ids one more axis and compare them with all numbers from 0 to V - 1.

    Args:
        ids: Any shape, int64, from 0 to `vocab_size - 1`; other ids are never passed.
        vocab_size: How many tokens the vocabulary has.

    Returns:
        `(..., vocab_size)` in PyTorch's default dtype, which is float32.
    """
    ### BEGIN SOLUTION
    places = torch.arange(vocab_size, device=ids.device)
    return (ids[..., None] == places).to(torch.get_default_dtype())
    ### END SOLUTION
