"""Tokens: from a sentence to numbers.

A model calculates with numbers. So before it can read a sentence, somebody has to cut it into
pieces, the *tokens*, and give each different piece a number of its own, its *id*. Here a token is a
word. Large models cut finer, into parts of words, but from there on everything is as you write it
here: a vocabulary, ids, and batches in which all rows are equally long.

## From text to ids

    text           "Dog bites man. Man runs!"
    tokens         ["dog", "bites", "man", "man", "runs"]
    vocabulary     {"<pad>": 0, "<unk>": 1, "bites": 2, "dog": 3, "man": 4, "runs": 5}
    ids            [3, 2, 4, 4, 5]

The vocabulary is a dictionary: each token once, with ids that count from 0. The words are *sorted*,
so that a vocabulary made tomorrow, or on another machine, is the same one. A set does not care
about order: its order can change with every start of Python, and a model whose ids have been
shuffled reads nonsense.

Some tokens are no words. They are called *specials* and come first: one that fills up short
sentences (padding), one that stands for every word that the vocabulary does not have, later one for
the beginning and one for the end. Padding has to have an id that no word has. Without specials the
first word of the alphabet gets the id 0, and a mask that hides the padding id 0 hides that word,
too.

## From ids to a batch

    [[3, 2, 4], [4, 5]]   becomes   3 2 4
                                    4 5 0        padded on the right, to the longest

    one_hot(2, vocab_size=6)  is    0 0 1 0 0 0

A one-hot row has a 1 at the place of the id and 0 everywhere else. Multiplied with a matrix that
has a row for each word, it picks out that word's row. This is all that an embedding is: a product
with one-hot rows, in a way that is faster. The id itself would not do as an input, since word 4 is
not twice word 2.

## Shapes

    tokens, ids of a sentence  lists, as long as the sentence has words
    pad_batch                  (B, L)             int64; L is the length of the longest
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

## What else counts

The hidden checks look at all that is said here, and at this:

- `build_vocab` and `encode` cut texts with your own `tokenize`. Without texts, the vocabulary is
  the specials.
- The error for an unknown token is a `KeyError` with that token in it.
- `pad_batch` takes sequences of very different lengths, `one_hot` ids of any shape, a single id
  included.
- What you are given stays as it was: lists, dictionary and ids. So do the settings that all code
  shares, such as torch's default dtype.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## What may not be used

`F.one_hot` and `nn.utils.rnn.pad_sequence` would do two of the five for you; here they cost the
exercise. All of Python is fine, and so are `torch.zeros`, `torch.full`, `torch.eye`, `scatter_` and
comparisons.

## Where to read

- Paper, "Attention Is All You Need": section 5.1, which cuts words into parts. How that is done
  says "Neural Machine Translation of Rare Words with Subword Units" by Sennrich, Haddow and Birch
  (2016).
- Python: `str.split` without an argument, `str.replace`, `sorted`, `set`.
- PyTorch: `torch.nn.functional.one_hot` and `torch.nn.utils.rnn.pad_sequence`.

## Questions to ask your code

- What is `"a  b".split(" ")`, with two spaces? And what becomes of a lone `!`?
- Does training and use go through the same `tokenize`? A comma that only one of them deletes makes
  a word that the other does not know.
- `vocab.get(token, vocab[unknown])`: when is the second one looked up? What if there is no such
  entry, and no need of it? And `vocab.get(token) or …`, for the token with the id 0?
- Can somebody give you a generator, which runs once, in place of a list of texts?
- Do the lists that were given to `pad_batch` still have their own lengths afterwards?
- What is `torch.Tensor([16777217]).long()`? Which dtype does an id go through there?
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor


def tokenize(text: str) -> list[str]:
    """Cuts a text into words, in lower case.

    The four characters `. , ! ?` are deleted, wherever they stand: `a.b` becomes `ab`. All others
    stay: `don't` is one token. White space of any kind and length separates tokens: spaces, tabs,
    ends of lines. No token is empty, and a text without words has no tokens.

    To start: methods of a string replace characters, make it lower case, and split it.

    Args:
        text: Any text, empty ones too.

    Returns:
        The tokens, a list of strings, in the order of the text.
    """
    ### BEGIN SOLUTION
    for mark in ".,!?":
        text = text.replace(mark, "")
    return text.lower().split()
    ### END SOLUTION


def build_vocab(texts: Iterable[str], specials: Sequence[str] = ()) -> dict[str, int]:
    """Numbers all tokens that occur.

    First come the specials, as they are and in their order, then the distinct tokens of the texts
    in the order of Python's `sorted`. A token that is also a special keeps the special's id. Ids
    count from 0, without gaps.

    To start: a set keeps one of each; `enumerate` counts.

    Args:
        texts: Anything that a `for` can go through once: a list, a generator, an open file.
        specials: Tokens that are no words, such as `"<pad>"`; no two alike.

    Returns:
        The id of each token, a dictionary.
    """
    ### BEGIN SOLUTION
    found = {token for text in texts for token in tokenize(text)}
    words = [*specials, *sorted(found - set(specials))]
    return {word: number for number, word in enumerate(words)}
    ### END SOLUTION


def encode(text: str, vocab: Mapping[str, int], unknown: str | None = None) -> list[int]:
    """Turns a text into ids.

    To start: what should happen to a token that the vocabulary does not have? There are two cases.

    Args:
        text: Any text; it is cut by `tokenize`.
        vocab: The id of each token; it stays as it was. The ids may be any.
        unknown: The token whose id stands for all tokens that are not in `vocab`. It need not be in
            `vocab` itself as long as none of those occurs.

    Returns:
        The ids, a list of ints, one for each token.

    Raises:
        KeyError: `unknown` is None and a token is not in `vocab`. The error names that token.
    """

    ### BEGIN SOLUTION
    def id_of(token: str) -> int:
        return vocab[token] if unknown is None or token in vocab else vocab[unknown]

    return [id_of(token) for token in tokenize(text)]
    ### END SOLUTION


def pad_batch(sequences: Sequence[list[int]], pad_id: int = 0) -> Int[Tensor, "batch length"]:
    """Puts sequences of different lengths into one tensor.

    To start: how long is the longest? `torch.full` makes a tensor full of one number, and
    `torch.tensor` makes one of lists that are all equally long.

    Args:
        sequences: One or more lists of ids; some may be empty, not all. They stay as they were.
        pad_id: The number that fills up the short ones, on the right; any int.

    Returns:
        `(B, L)` in `torch.int64`, with `L` the length of the longest. Ids are exact, also those
        above 2^24, which float32 cannot tell apart.
    """
    ### BEGIN SOLUTION
    length = max(len(sequence) for sequence in sequences)
    rows = [[*sequence, *[pad_id] * (length - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.int64)
    ### END SOLUTION


def one_hot(ids: Int[Tensor, "..."], vocab_size: int) -> Float[Tensor, "... vocab_size"]:
    """Makes of each id a row of zeros with a single one, at the place of the id.

    So `one_hot(ids, V) @ W` is `W[ids]`, for any matrix `W` of `V` rows.

    To start: compare the ids, with an axis more, to all the numbers there are.

    Args:
        ids: Any shape, int64, from 0 to `vocab_size - 1`; others are not asked for. They stay as
            they were.
        vocab_size: How many tokens the vocabulary has.

    Returns:
        `(..., vocab_size)` in PyTorch's default dtype, which is float32.
    """
    ### BEGIN SOLUTION
    places = torch.arange(vocab_size, device=ids.device)
    return (ids[..., None] == places).to(torch.get_default_dtype())
    ### END SOLUTION
