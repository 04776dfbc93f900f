"""Exchanges memory with NumPy and PyTorch, in one process, by DLPack: dlpack.py MODULE. Exits with 77 where neither is installed."""

import ctypes
import gc
import sys

module = ctypes.CDLL(sys.argv[1])
module.give.restype = ctypes.c_void_p
module.take.restype = module.first_of_ours.restype = ctypes.c_double
module.take.argtypes = [ctypes.c_void_p]
module.add_to_ours.argtypes = [ctypes.c_double]

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_void_p]

NAME, USED = ctypes.create_string_buffer(b"dltensor"), ctypes.create_string_buffer(b"used_dltensor")    # a capsule does not copy its name


class Ours:
    """A tensor of xgrad, as the protocol of Python has it."""

    def __init__(self, transposed):
        self.transposed = transposed

    def __dlpack__(self, stream=None):
        return api.PyCapsule_New(module.give(self.transposed), ctypes.addressof(NAME), None)

    def __dlpack_device__(self):
        return 1, 0


def take(capsule):
    """Hands a capsule to xgrad, as a consumer does."""
    result = module.take(api.PyCapsule_GetPointer(capsule, b"dltensor"))
    if result != -1:
        api.PyCapsule_SetName(capsule, ctypes.addressof(USED))
    return result


def check(holds, what):
    if not holds:
        sys.exit(f"does not hold: {what}")


tried = []
try:
    import numpy

    tried.append("NumPy")
    here = numpy.from_dlpack(Ours(False))
    check(here.tolist() == [[0, 1, 2], [3, 4, 5]], "NumPy reads a tensor")
    module.add_to_ours(10)
    check(here[0, 0] == 10, "without a copy")
    turned = numpy.from_dlpack(Ours(True))
    check(turned.shape == (3, 2) and turned[2, 1] == 5, "transposed")
    array = numpy.arange(6.0).reshape(2, 3)
    references, capsule = sys.getrefcount(array), array.__dlpack__()
    check(sys.getrefcount(array) == references + 1, "a capsule keeps the array")
    check(take(capsule) == 225, "xgrad reads an array")
    check(sys.getrefcount(array) == references, "and releases it once")
    try:
        take(capsule)
        check(False, "a capsule that was taken is refused")
    except ValueError:
        pass
    check(array.tolist() == [[0, 3, 12], [27, 48, 75]], "and writes to it")
    check(take(numpy.arange(3, dtype=numpy.int32).__dlpack__()) == -1, "int32 is refused")
    del here, turned
    gc.collect()
except ImportError:
    pass
try:
    import torch
    import torch.utils.dlpack

    tried.append("PyTorch")
    here = torch.utils.dlpack.from_dlpack(Ours(False))
    check(here.tolist() == [[0, 1, 2], [3, 4, 5]], "PyTorch reads a tensor")
    here[0, 0] = 7
    check(module.first_of_ours() == 7, "and writes to it")
    tensor = torch.arange(6, dtype=torch.float64).reshape(2, 3).t()
    check(take(torch.utils.dlpack.to_dlpack(tensor)) == 225, "xgrad reads a tensor of PyTorch")
    check(tensor.t().tolist() == [[0, 3, 12], [27, 48, 75]], "and writes to it")
    check(take(torch.utils.dlpack.to_dlpack(torch.zeros(2, dtype=torch.float16))) == -1, "float16 is refused")
    del here
    gc.collect()
except ImportError:
    pass
print("exchanged memory with", " and ".join(tried)) if tried else print("skipped: neither NumPy nor PyTorch is installed")
sys.exit(0 if tried else 77)
