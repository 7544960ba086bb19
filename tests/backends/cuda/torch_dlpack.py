#!/usr/bin/env python3
"""PyTorch tensors through DLPack: torch -> vyre -> torch, on the device, with no copy and equal bits.

    torch_dlpack.py LIBVYRE.so [BACKEND]

BACKEND is cuda (the default) or cpu. Says SKIP, and succeeds, where PyTorch or the backend is missing."""
import ctypes
import sys

PROGRAM = b"""program saxpy {
  param a : f32
  buffer x : f32 read
  buffer y : f32 read_write
  workgroup 256
  grid over y
  let i = global_id.x
  if i < len(y) { y[i] = fma(a, x[i], y[i]) }
}
"""
U64, U32, I32, SIZE, P = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32, ctypes.c_size_t, ctypes.c_void_p
TYPE_F32, RESIDENT = 11, 1


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 512), ("fix", ctypes.c_char * 256),
                ("where", ctypes.c_char * 256)]


class Resident(ctypes.Structure):
    _fields_ = [("owner", U64), ("id", U64)]


class Resource(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("data", P), ("length", SIZE), ("resident", Resident), ("offset", U64),
                ("size", U64)]


class Scalar(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("bits", U64)]


class Arguments(ctypes.Structure):
    _fields_ = [("params", ctypes.POINTER(Scalar)), ("param_count", SIZE), ("inputs", P), ("input_count", SIZE),
                ("counts", P), ("count_count", SIZE), ("kind", ctypes.c_int), ("sizes", U32 * 3)]


class View(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("elements", U64), ("is_read_only", ctypes.c_int)]


def skip(why):
    print("SKIP", why)
    sys.exit(0)


class Vyre:
    def __init__(self, library, backend):
        self.c = ctypes.CDLL(library)
        self.error = Error()
        self.c.vyre_module_program.restype = P
        self.c.vyre_module_program.argtypes = [P, SIZE]
        self.c.vyre_module_free.argtypes = self.c.vyre_backend_release.argtypes = [P]
        self.backend = P()
        if self.c.vyre_acquire(backend.encode(), ctypes.byref(self.backend), ctypes.byref(self.error)):
            skip(f"backend {backend}: {self.error.message.decode()}")
        module = P()
        self.check(self.c.vyre_text_parse(PROGRAM, SIZE(len(PROGRAM)), None, None, ctypes.byref(module),
                                          ctypes.byref(self.error)))
        self.module = module
        self.program = P(self.c.vyre_module_program(module, 0))

    def check(self, status):
        if status:
            raise RuntimeError(f"{status}: {self.error.message.decode()} Fix: {self.error.fix.decode()}")

    def close(self):
        self.c.vyre_module_free(self.module)
        self.c.vyre_backend_release(self.backend)

    def take(self, tensor):
        """A tensor as a resident buffer: what the capsule holds is vyre's from here on."""
        from torch.utils.dlpack import to_dlpack
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule = to_dlpack(tensor)
        pointer = api.PyCapsule_GetPointer(capsule, b"dltensor")
        api.PyCapsule_SetName(capsule, USED)
        handle, view = Resident(), View()
        self.check(self.c.vyre_resident_from_dlpack(self.backend, P(pointer), ctypes.byref(handle), ctypes.byref(view),
                                                    ctypes.byref(self.error)))
        assert view.type == TYPE_F32 and view.elements == tensor.numel()
        return handle

    def give(self, handle, shape):
        """A resident buffer as a tensor."""
        from torch.utils.dlpack import from_dlpack
        api = ctypes.pythonapi
        api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
        sizes, out = (ctypes.c_int64 * len(shape))(*shape), P()
        self.check(self.c.vyre_resident_to_dlpack(self.backend, handle, TYPE_F32, sizes, I32(len(shape)),
                                                  ctypes.byref(out), ctypes.byref(self.error)))
        return from_dlpack(api.PyCapsule_New(out, NAME, None))

    def join(self, stream):
        self.check(self.c.vyre_stream_join(self.backend, P(stream), ctypes.byref(self.error)))

    def allocate(self, size):
        handle = Resident()
        self.check(self.c.vyre_resident_allocate(self.backend, U64(size), None, ctypes.byref(handle),
                                                 ctypes.byref(self.error)))
        return handle

    def free(self, handle):
        return self.c.vyre_resident_free(self.backend, handle, ctypes.byref(self.error))

    def saxpy(self, a, x, y):
        scalar = Scalar(TYPE_F32, ctypes.c_uint32.from_buffer(ctypes.c_float(a)).value)
        arguments = Arguments(params=ctypes.pointer(scalar), param_count=1)
        bindings = (Resource * 2)(Resource(kind=RESIDENT, resident=x), Resource(kind=RESIDENT, resident=y))
        self.check(self.c.vyre_backend_dispatch_resident(self.backend, self.program, bindings, SIZE(2),
                                                         ctypes.byref(arguments), None, None, None,
                                                         ctypes.byref(self.error)))


NAME, USED = b"dltensor", b"used_dltensor"  # names of capsules are not copied: they stay


def main():
    try:
        import torch
    except ImportError:
        skip("PyTorch is not installed")
    backend = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    device = "cuda" if backend == "cuda" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        skip("PyTorch sees no CUDA device")
    vyre = Vyre(sys.argv[1], backend)
    torch.manual_seed(7)
    for count in (1, 1000, 1 << 20):
        # Whole numbers, small enough that one rounding and two give the same.
        x = torch.randint(-1000, 1000, (count + 1,), device=device).float()
        y = torch.randint(-1000, 1000, (count,), device=device).float()
        for part in (x[:count], x[1:]):  # the second starts between vectors
            expected, address = 3.0 * part + y, y.data_ptr()
            if device == "cuda":
                vyre.join(torch.cuda.current_stream().cuda_stream)
            hx, hy = vyre.take(part), vyre.take(y)
            vyre.saxpy(3.0, hx, hy)
            assert y.data_ptr() == address and torch.equal(y.view(torch.int32), expected.view(torch.int32))
            assert vyre.free(hx) == 0 and vyre.free(hy) == 0
        print(f"{count} elements: equal bits, in place")
    # The buffer is vyre's, the tensor torch's view of it.
    own = vyre.allocate(4 * 6000)
    tensor = vyre.give(own, (20, 300))
    assert tensor.shape == (20, 300) and tensor.device.type == device and not tensor.any()
    tensor.copy_(torch.arange(6000, device=device).view(20, 300))
    x = torch.ones(6000, device=device)
    if device == "cuda":
        vyre.join(torch.cuda.current_stream().cuda_stream)
    hx = vyre.take(x)
    vyre.saxpy(2.0, hx, own)
    assert torch.equal(tensor.flatten(), torch.arange(6000, device=device) + 2.0)
    assert vyre.free(own) != 0, "a buffer is freed under a tensor"
    del tensor
    assert vyre.free(own) == 0, vyre.error.message
    # What is refused is given back.
    try:
        vyre.take(torch.ones(10, 10, device=device).t())
    except RuntimeError as error:
        print("refused:", error)
    else:
        raise AssertionError("strides with gaps are taken")
    # A busy stream of torch's, joined: the dispatch comes behind it.
    if device == "cuda":
        big, z = torch.ones(64 << 20, device=device), torch.zeros(1000, device=device)
        hz, hx = vyre.take(z), vyre.take(torch.ones(1000, device=device))
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(200):
                big.mul_(1.0)
            z.fill_(5.0)
        vyre.join(stream.cuda_stream)
        busy = not stream.query()
        vyre.saxpy(1.0, hx, hz)
        assert torch.equal(z, torch.full((1000,), 6.0, device=device))
        print("a joined stream is waited for; it was", "busy" if busy else "idle")
    vyre.close()
    print("torch_dlpack: all of it holds")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: torch_dlpack.py LIBVYRE.so [BACKEND]")
    main()
