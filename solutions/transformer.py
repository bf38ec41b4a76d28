"""The Transformer: from one sentence to the next word of another.

Everything comes together. The encoder reads the source sentence. The decoder looks at the result
and at the target words written so far. And for each place in the target, one last linear map, the
generator, gives every word of the target vocabulary a score: how likely is it to come *next*?

While training, the whole target is known, so all places are computed at once, and the mask sees to
it that none looks ahead. That is what makes a Transformer quick to train.

## Formula

    encode(src)               = encoder(src_embedding(src))
    decode(tgt, memory, src)  = decoder(tgt_embedding(tgt), memory)
    forward(src, tgt)         = generator(decode(tgt, encode(src), src))

The scores are *logits*: any numbers, not probabilities. A softmax would make probabilities of them,
but the usual loss, `nn.CrossEntropyLoss`, does that itself.

## Masks

You hand in ids only; the model makes its masks from them and from `self.pad_id`.

| attention                | looks at           | must not see                         |
|--------------------------|--------------------|--------------------------------------|
| encoder, self-attention  | the source         | padding                              |
| decoder, self-attention  | the target         | padding and the future               |
| decoder, cross-attention | the source, memory | padding, and *whose* padding is that? |

## Shapes

    src                        (B, Ls)   ids
    tgt                        (B, Lt)   ids
    memory                     (B, Ls, d_model)
    decode                     (B, Lt, d_model)
    logits                     (B, Lt, tgt_vocab_size)

## With a pencil

Count what a very small model can learn: 10 source words, 12 target words, `d_model = 4`, 2 heads,
one layer, `d_ff = 8`.

    embeddings                 10 * 4 + 12 * 4             =  88
    attention                  4 * (4 * 4 + 4)             =  80
    feed-forward               4 * 8 + 8 + 8 * 4 + 4       =  76
    norm                       4 + 4                       =   8
    encoder layer              80 + 76 + 2 * 8             = 172
    decoder layer              2 * 80 + 76 + 3 * 8         = 260
    generator                  4 * 12 + 12                 =  60
    together                   88 + 172 + 260 + 60         = 580

    >>> import torch
    >>> model = Transformer(10, 12, d_model=4, n_heads=2, num_layers=1, d_ff=8).eval()
    >>> sum(parameter.numel() for parameter in model.parameters())
    580

One more padding token at the end of the source, and one more word at the end of the target: the
scores for the places before are what they were.

    >>> src, tgt = torch.tensor([[3, 7]]), torch.tensor([[1, 5, 4]])
    >>> longer_src, longer_tgt = torch.tensor([[3, 7, 0]]), torch.tensor([[1, 5, 4, 9]])
    >>> model(src, tgt).shape
    torch.Size([1, 3, 12])
    >>> torch.allclose(model(longer_src, longer_tgt)[:, :3], model(src, tgt), atol=1e-5)
    True

## What else counts

The hidden checks look at all that is said here, and at this:

- Weights are loaded by name, so every parameter has the name and shape given here, and there are no
  others. Embeddings and generator may be tied, and whether the row of the padding id learns is your
  choice.
- Padding may stand anywhere, in the middle and at the start as well, and has no say in other
  places. All that comes out is finite.
- `decode` uses the memory that it is given, and `forward` is made of the other two and the
  generator.
- `dropout`, `max_len`, `activation` and `norm_first` reach every part. Dropout acts while training
  only.
- Scores of up to a thousand in size make no NaN.
- Gradients flow back to every parameter.
- After `.to(dtype)` the logits are of that dtype: float32, float64 or bfloat16.
- A tensor may be a transposed view, whose numbers lie in memory in another order. `reshape` works
  on it; `view` may not.
- What you are given stays as it was: no edits in place. So do the settings that all code shares,
  such as torch's default dtype.
- `copy.deepcopy` of the module works, and the next call may have another batch and another length.
- Slow is not wrong: a call may take 10 seconds of processor time, the exercise 60.

## Where to read

- Paper, "Attention Is All You Need": section 3 as a whole, figure 1, and section 3.4 for the
  generator.
- PyTorch: `torch.nn.Transformer` has the encoder and the decoder, but no embeddings and no
  generator, and it wants its masks handed in. Both its stacks always end in a norm of their own;
  ours do so only in pre-norm.

## Questions to ask your code

- Does the logit at place t depend on the target word at place t + 1? Change it and see.
- Does padding in the *source* reach the decoder? Change a padded row of the memory and see.
- Do you use the padding id 0, or `self.pad_id`? And for the target as well as for the source?
- Source and target have vocabularies of different sizes. Which of them does the generator need?
- Does a sentence give the same alone as in a batch with longer ones?
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from solutions.decoder import Decoder
from solutions.embedding import TransformerEmbedding
from solutions.encoder import Encoder
from solutions.masks import padding_mask, target_mask


class Transformer(nn.Module):
    """The whole model, from ids to logits.

    Its parts are `src_embedding` and `tgt_embedding` (each a `TransformerEmbedding`), `encoder` (an
    `Encoder`), `decoder` (a `Decoder`) and `generator` (an `nn.Linear`). Its attribute `pad_id` is
    the id that stands for padding, on both sides.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int = 512,
        n_heads: int = 8,
        num_layers: int = 6,
        d_ff: int = 2048,
        dropout: float = 0.1,
        max_len: int = 5000,
        pad_id: int = 0,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Makes the parts. The default sizes are the paper's base model.

        To start: make the five parts in the order of the data, and remember `pad_id`.

        Args:
            src_vocab_size: How many words the source language has.
            tgt_vocab_size: How many words the target language has.
            d_model: Features of a token.
            n_heads: Heads of every attention.
            num_layers: Layers of the encoder, and as many of the decoder.
            d_ff: Features inside the feed-forward networks.
            dropout: Probability of dropping, in every part that has a dropout.
            max_len: The longest sentence there may be.
            pad_id: The id that stands for padding; any id may be it.
            activation: `"relu"` or `"gelu"`, for the feed-forward networks.
            norm_first: Whether the layers normalise first.

        Raises:
            ValueError: `d_model` is not divisible by `n_heads`, or `activation` is another.
        """
        super().__init__()
        ### BEGIN SOLUTION
        # No padding_idx: the masks hide padding already, and pad_id may lie outside a vocabulary.
        self.src_embedding = TransformerEmbedding(src_vocab_size, d_model, dropout, max_len)
        self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout, max_len)
        self.encoder = Encoder(num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.decoder = Decoder(num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.pad_id = pad_id
        ### END SOLUTION

    def encode(self, src: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """Reads the source.

        To start: the first line of the table under "Masks" says what to hide.

        Args:
            src: Source ids, `(B, Ls)`.

        Returns:
            The memory, `(B, Ls, d_model)`.

        Raises:
            IndexError: an id is outside the vocabulary.
            ValueError: the sentence is longer than `max_len`.
        """
        ### BEGIN SOLUTION
        return self.encoder(self.src_embedding(src), padding_mask(src, self.pad_id))
        ### END SOLUTION

    def decode(
        self,
        tgt: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        src: Int[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Looks at the target so far and at the memory.

        To start: why are the source ids needed here, when the memory is there already?

        Args:
            tgt: Target ids, `(B, Lt)`.
            memory: What `encode(src)` has returned, `(B, Ls, d_model)`.
            src: The source ids of that memory, `(B, Ls)`.

        Returns:
            `(B, Lt, d_model)`, not yet logits.

        Raises:
            IndexError: an id is outside the vocabulary.
            ValueError: the sentence is longer than `max_len`.
        """
        ### BEGIN SOLUTION
        return self.decoder(
            self.tgt_embedding(tgt),
            memory,
            target_mask(tgt, self.pad_id),
            padding_mask(src, self.pad_id),
        )
        ### END SOLUTION

    def forward(
        self, src: Int[Tensor, "batch source"], tgt: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target tgt_vocab_size"]:
        """Scores every word of the target vocabulary as the next one, at every place.

        To start: one line, the last of the formula.

        Args:
            src: Source ids, `(B, Ls)`.
            tgt: Target ids, `(B, Lt)`.

        Returns:
            Logits `(B, Lt, tgt_vocab_size)`, unnormalised.

        Raises:
            IndexError: an id is outside the vocabulary.
            ValueError: a sentence is longer than `max_len`.
        """
        ### BEGIN SOLUTION
        return self.generator(self.decode(tgt, self.encode(src), src))
        ### END SOLUTION
