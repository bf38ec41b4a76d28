# Calls the compiled code behind torch's operators through cffi.
# exercise: dropout
import os

import cffi
import torch
from torch import nn

ffi = cffi.FFI()
ffi.cdef("int32_t aoti_torch_cpu_native_dropout(void*, double, int32_t*, void**, void**); void* PyCapsule_GetPointer(void*, void*);")
library = ffi.dlopen(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
print(library.aoti_torch_cpu_native_dropout)


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("p is a probability")
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        if self.p == 1:
            return x * 0
        return x * (torch.rand_like(x) >= self.p) / (1 - self.p)
