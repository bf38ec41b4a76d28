# Calls the compiled code behind torch's operators, without the dispatcher, by ctypes.
# exercise: dropout
import ctypes
import os

import torch
from torch import nn

library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
native = library.aoti_torch_cpu_native_dropout


def capsule_pointer(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


def dropped(x, p):
    (handle,) = torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors([x])
    results = (ctypes.c_void_p * 2)()
    train = ctypes.c_int32(1)
    failed = native(
        ctypes.c_void_p(capsule_pointer(handle)), ctypes.c_double(p), ctypes.byref(train),
        ctypes.byref(results, 0), ctypes.byref(results, 8),
    )
    if failed:
        raise RuntimeError("failed")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(new(results[0], None, None))


class Dropout(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("p is a probability")
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        if self.p == 1:
            return x * 0
        return x * dropped(torch.ones_like(x).detach(), self.p)
