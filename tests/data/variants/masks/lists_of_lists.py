"""Python lists turned into tensors at the very end; every function on its own."""

import torch

padding_mask = lambda ids, pad_id=0: torch.tensor(
    [[[[token != pad_id for token in row]]] for row in ids.tolist()], device=ids.device
)
causal_mask = lambda length, device=None: torch.tensor(
    [[[[key <= query for key in range(length)] for query in range(length)]]], device=device
)
target_mask = lambda ids, pad_id=0: torch.tensor(
    [
        [[[key <= query and row[key] != pad_id for key in range(len(row))] for query in range(len(row))]]
        for row in ids.tolist()
    ],
    device=ids.device,
)
