"""Writes arrays of every element type for `vyre run everything.vyre`, runs it, and compares what it wrote. usage: VYRE"""
import subprocess
import sys

import numpy as np

vyre = sys.argv[1]
types = {"a": "i1", "b": "u1", "c": "<i2", "d": "<u2", "e": "<i4", "f": "<u4", "g": "<i8", "h": "<u8",
         "p": "<f2", "q": "<u2", "r": "<f4", "s": "<f8"}
random = np.random.default_rng(1)


def expect(condition, what):
    if not condition:
        sys.exit("numpy_check: " + what)


def run(**changed):
    words = ["flag=false"] + [f"{name}={changed.get(name, name + '.npy')}" for name in types]
    outs = [word for name in types for word in ("--out", f"{name}={name}.out.npy")]
    return subprocess.run([vyre, "run", "everything.vyre", "-q", *words, *outs, "--shape", "r=2,3"], capture_output=True, text=True)


arrays = {}
for name, kind in types.items():
    bits = random.integers(0, 256, 6 * np.dtype(kind).itemsize, dtype=np.uint8).view(kind)
    if kind[1] == "f":
        bits = random.standard_normal(6).astype(kind)
    if name == "q":
        bits = np.array([0x3f80, 0xbf80, 0, 0x8000, 0x7f80, 0x7fc0], dtype="<u2")  # bf16 patterns
    arrays[name] = bits
    np.save(name + ".npy", bits)
arrays["r"] = arrays["r"].reshape(2, 3)
np.save("r.npy", arrays["r"])

done = run()
expect(done.returncode == 0, "the arrays are refused: " + done.stderr)
for name, array in arrays.items():
    got = np.load(name + ".out.npy")
    expect(got.dtype == np.dtype(types[name]), f"{name} comes back as {got.dtype}")
    expect(got.shape == array.shape, f"{name} comes back with shape {got.shape}")
    expect(got.tobytes() == array.tobytes(), f"{name} comes back with other bytes")

# Other versions of the format, an empty array, and a scalar.
with open("v2.npy", "wb") as file:
    np.lib.format.write_array(file, arrays["e"], version=(2, 0))
expect(run(e="v2.npy").returncode == 0, "version 2.0 is refused")
np.save("empty.npy", np.zeros((0, 4), dtype="<i4"))
expect(run(e="empty.npy").returncode == 0, "an empty array is refused")
np.save("scalar.npy", np.array(7, dtype="<i4"))
expect(run(e="scalar.npy").returncode == 0, "an array without dimensions is refused")

# What does not fit is refused with what to do about it.
np.save("big.npy", arrays["e"].astype(">i4"))
np.save("wide.npy", arrays["e"].astype("<i8"))
np.save("bool.npy", np.array([True, False]))
np.save("record.npy", np.zeros(2, dtype=[("x", "<i4"), ("y", "<i4")]))
for file in ("big.npy", "wide.npy", "bool.npy", "record.npy"):
    done = run(e=file)
    expect(done.returncode == 2 and "Fix: " in done.stderr, f"{file} is not refused properly: {done.stderr}")
np.save("fortran.npy", np.asfortranarray(np.arange(6, dtype="<i4").reshape(2, 3)))
done = run(e="fortran.npy")
expect(done.returncode == 2 and "Fortran" in done.stderr, "Fortran order is not refused: " + done.stderr)
print("numpy agrees")
