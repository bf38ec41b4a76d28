"""One formula for all columns with torch.where; the table on the side of the class; lambdas."""

import torch as th

angle = lambda pos, col, d, base: pos / base ** ((col - col % 2) / d)  # noqa: E731


def sinusoidal_table(max_len: int, d_model: int, base: float = 10000.0) -> th.Tensor:
    pos, col = th.meshgrid(
        th.arange(max_len, dtype=th.float64), th.arange(d_model, dtype=th.float64), indexing="ij"
    )
    a = angle(pos, col, d_model, base)
    even = col % 2 == 0
    return th.where(even, a.sin(), a.cos()).float()


class PositionalEncoding(th.nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000):
        super().__init__()
        self.pe: th.Tensor
        self.register_buffer("pe", sinusoidal_table(max_len, d_model)[None, :, :])
        self.do = th.nn.Dropout(dropout, inplace=True)

    @property
    def max_len(self):
        return self.pe.shape[1]

    def forward(self, x, *, start: int = 0):
        stop = start + x.shape[1]
        if stop > self.max_len:
            raise ValueError(f"positions {start}..{stop} of {self.max_len}")
        return self.do(x + self.pe[:, start:stop])
