"""The constants of lib/math.vyre for exponentials in fixed point (Python with mpmath): (2^f - 1) / f on [0, 1].

The polynomial interpolates at Chebyshev points; its coefficients are rounded to multiples of 2^-64. tools/math/regenerate runs this.
"""
from mpmath import ceil, cos, expm1, floor, log, lu_solve, matrix, mp, mpf, pi

COUNT = 12
mp.prec = 400


def wanted(f):
    return expm1(log(2) * f) / f


points = [(1 + cos((2 * k + 1) * pi / (2 * COUNT))) / 2 for k in range(COUNT)]
powers = matrix([[f**k for k in range(COUNT)] for f in points])
solution = lu_solve(powers, matrix([wanted(f) for f in points]))
numbers = [int(floor(solution[k] * 2**64 + mpf(1) / 2)) for k in range(COUNT)]
assert sum(numbers) < 2**64  # so that no sum of the evaluation overflows
worst = max(abs(f * (sum(n * f**k for k, n in enumerate(numbers)) / mpf(2) ** 64 - wanted(f))) for f in (mpf(i) / 4096 for i in range(1, 4097)))

print("// log2(e) 2^63 and log2(10) 2^62.")
print(f"const FIXED_LOG2E : u64 = {int(floor(2**63 / log(2))):#x}")
print(f"const FIXED_LB10 : u64 = {int(floor(2**62 * log(10) / log(2))):#x}")
print(f"// (2^f - 1) / f for 0 <= f < 1, times 2^64: error of 2^f below 2^{float(ceil(log(worst, 2) * 10) / 10):.1f}")
for k, number in enumerate(numbers):
    print(f"const FIXED_EXP2_C{k + 1} : u64 = {number:#x}")
