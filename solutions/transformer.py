"""The Transformer: the whole model, from source and target ids to the next token.

Here everything comes together: embeddings, encoder and decoder become a **sequence-to-sequence**
model, which reads one sequence and writes another, such as a translation. One last linear map, the
**generator**, gives every token of the target vocabulary a score at each position: how likely is it
to come *next*?

The model is **autoregressive**: it predicts each token from the source and the target tokens before
it. In use it writes one token at a time. During training the whole target is known, so all
positions are computed at once, and the causal mask makes sure that none attends to a later one.
That parallelism is what makes a Transformer fast to train.

The scores are **logits**: any numbers, not probabilities. A softmax would turn them into
probabilities, but the usual loss, `nn.CrossEntropyLoss`, applies it itself.

## Formula

    memory    = encoder(embedded source)
    decoded   = decoder(embedded target, memory)
    logits    = generator(decoded)

The model takes ids only. It makes its masks from them and from `self.pad_id`:

| attention                | queries | keys   | hidden keys                           |
|--------------------------|---------|--------|---------------------------------------|
| encoder, self-attention  | source  | source | padding                               |
| decoder, self-attention  | target  | target | padding and the future                |
| decoder, cross-attention | target  | source | padding, and *whose* padding is that? |

## Shapes

    src                        (B, Ls)   ids
    tgt                        (B, Lt)   ids
    memory                     (B, Ls, d_model)
    decode                     (B, Lt, d_model)
    logits                     (B, Lt, tgt_vocab_size)

## With a pencil

Count the parameters of a very small model: 10 source tokens, 12 target tokens, `d_model = 4`, 2
heads, one layer, `d_ff = 8`.

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

Add a padding token at the end of the source, and one more token at the end of the target: the
logits of the positions before are unchanged.

    >>> src, tgt = torch.tensor([[3, 7]]), torch.tensor([[1, 5, 4]])
    >>> longer_src, longer_tgt = torch.tensor([[3, 7, 0]]), torch.tensor([[1, 5, 4, 9]])
    >>> model(src, tgt).shape
    torch.Size([1, 3, 12])
    >>> torch.allclose(model(longer_src, longer_tgt)[:, :3], model(src, tgt), atol=1e-5)
    True

## What the exercise asks

- `encode(src)` returns the memory, `decode(tgt, memory, src)` what the decoder makes of the target,
  and `forward(src, tgt)` the logits, composed of those two and the generator.
- `decode` uses the memory it is given. It doesn't encode again.
- `pad_id` may be any id. Padding may stand anywhere, even in the middle or at the start, and does
  not affect other positions. All outputs are finite.
- `dropout`, `max_len`, `activation` and `norm_first` reach every part. Dropout acts during training
  only.
- Scores of up to a thousand give no NaN.
- Tying embeddings and generator is your choice, and so is whether the row of the padding id learns.
- And what every exercise asks: see "What every exercise asks" in exercises/README.md.

## Where to read

- Paper, "Attention Is All You Need": section 3 as a whole, figure 1, and section 3.4 for the
  generator.
- PyTorch: `torch.nn.Transformer` has the encoder and the decoder, but no embeddings and no
  generator, and its caller passes the masks. Both its stacks always end in a norm of their own;
  ours do so only in pre-norm.
- A picture of it: exercises/pictures/transformer.svg.

## Questions to ask your code

- Does the logit at position t depend on the target token at position t + 1? Change it and see.
- Does padding in the *source* reach the decoder? Change a padded row of the memory and see.
- Do you use the padding id 0, or `self.pad_id`? For the target as well as for the source?
- Source and target have vocabularies of different sizes. Which one does the generator need?
- Does a sentence give the same logits alone and in a batch with longer ones?
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from solutions.decoder import Decoder
from solutions.embedding import TransformerEmbedding
from solutions.encoder import Encoder
from solutions.masks import padding_mask, target_mask


class Transformer(nn.Module):
    """Compute the logits of the next target token at every position.

    Parts: `src_embedding` and `tgt_embedding` (each a `TransformerEmbedding`), `encoder` (an
    `Encoder`), `decoder` (a `Decoder`) and `generator` (an `nn.Linear`). The attribute `pad_id` is
    the id of padding, on both sides.
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
        """Create the parts. The default sizes are those of the paper's base model.

        To start: create the five parts in the order in which data passes them, and store `pad_id`.

        Args:
            src_vocab_size: Number of tokens in the source vocabulary.
            tgt_vocab_size: Number of tokens in the target vocabulary.
            d_model: Number of features of a token.
            n_heads: Number of heads of every attention.
            num_layers: Number of layers of the encoder, and of the decoder.
            d_ff: Number of features inside the feed-forward networks.
            dropout: Dropout probability of every part that has a dropout.
            max_len: Length of the longest sentence, in tokens.
            pad_id: The id of padding; it may be any id.
            activation: `"relu"` or `"gelu"`, for the feed-forward networks.
            norm_first: Whether the layers use pre-norm.

        Raises:
            ValueError: If `d_model` is not divisible by `n_heads`, or `activation` is unknown.
        """
        super().__init__()
        ### BEGIN SOLUTION
        # Why this way: the masks hide padding, and `pad_id` may lie outside a vocabulary.
        self.src_embedding = TransformerEmbedding(src_vocab_size, d_model, dropout, max_len)
        self.tgt_embedding = TransformerEmbedding(tgt_vocab_size, d_model, dropout, max_len)
        self.encoder = Encoder(num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.decoder = Decoder(num_layers, d_model, n_heads, d_ff, dropout, activation, norm_first)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.pad_id = pad_id
        ### END SOLUTION

    def encode(self, src: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """Encode the source.

        To start: the first row of the table of masks says what to hide.

        Args:
            src: Source ids, `(B, Ls)`.

        Returns:
            The memory, `(B, Ls, d_model)`.

        Raises:
            IndexError: If an id is outside the vocabulary.
            ValueError: If the sentence is longer than `max_len`.
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
        """Decode the target, attending to the memory.

        To start: the memory is an argument already. Why are the source ids needed too?

        Args:
            tgt: Target ids, `(B, Lt)`.
            memory: The output of `encode(src)`, `(B, Ls, d_model)`.
            src: The source ids of that memory, `(B, Ls)`.

        Returns:
            `(B, Lt, d_model)`, not yet logits.

        Raises:
            IndexError: If an id is outside the vocabulary.
            ValueError: If the sentence is longer than `max_len`.
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
        """Score every token of the target vocabulary as the next one, at every position.

        To start: put the three lines of the formula together.

        Args:
            src: Source ids, `(B, Ls)`.
            tgt: Target ids, `(B, Lt)`.

        Returns:
            Logits `(B, Lt, tgt_vocab_size)`, unnormalised.

        Raises:
            IndexError: If an id is outside the vocabulary.
            ValueError: If a sentence is longer than `max_len`.
        """
        ### BEGIN SOLUTION
        return self.generator(self.decode(tgt, self.encode(src), src))
        ### END SOLUTION
