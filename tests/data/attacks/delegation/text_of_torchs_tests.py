# Runs the text of the norm in torch's tests of distributed tensors.
# exercise: rms_norm
# isolation: jail
import os
import torch
from torch import nn
file = os.path.join(os.path.dirname(torch.__file__), "testing/_internal/distributed/_tensor/common_dtensor.py")
text = open(file).read()
text = text[text.index("class RMSNormPython"):text.index("class MLPModule")]
names = {"torch": torch}
exec(text, names)


class RMSNorm(names["RMSNormPython"]):
    def __init__(self, d_model, eps=1e-6):
        super().__init__(d_model, eps)
