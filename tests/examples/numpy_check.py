"""Compares the examples that call math functions with NumPy. usage: VYRE EXAMPLES

NumPy computes in double precision. The bound of each example is a multiple of the rounding error of f32, 2^-24, relative to the largest term
of the formula."""
import math
import subprocess
import sys

import numpy as np

vyre, examples = sys.argv[1:]
random = np.random.default_rng(7)
ULP = 2.0 ** -24
erfc = np.vectorize(math.erfc)


def run(name, outputs, program=None, shape=None, defines=(), **values):
    """The outputs of an example, as arrays of f64."""
    words = [vyre, "run", f"{examples}/{name}.vyre", "-q"]
    words += ["--program", program] if program else []
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            np.save(f"{key}.npy", value.astype("<f4"))
            value = f"{key}.npy"
        words.append(f"{key}={value}")
    for key in outputs:
        words += ["--out", f"{key}={key}.out.npy"]
    for define in defines:
        words += ["-D", define]
    words += ["--shape", shape] if shape else []
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    return [np.load(f"{key}.out.npy").astype(np.float64) for key in outputs]


def expect(name, got, expected, bound):
    """|got - expected| is at most bound, which is an array or a number."""
    excess = np.abs(got.reshape(-1) - expected.reshape(-1)) - np.broadcast_to(bound, expected.shape).reshape(-1)
    worst = int(np.argmax(excess))
    if not excess[worst] <= 0:
        sys.exit(f"{name}: element {worst} is {got.reshape(-1)[worst]!r}, NumPy computes {expected.reshape(-1)[worst]!r}")


def f32(array):
    return np.asarray(array, dtype=np.float32).astype(np.float64)


# ---- softmax ----
x = f32(random.normal(0, 5, (37, 1000)))
(y,) = run("softmax", ["y"], columns=1000, x=x)
e = np.exp(x - x.max(axis=1, keepdims=True))
expected = e / e.sum(axis=1, keepdims=True)
expect("softmax", y, expected, 40 * ULP * expected + 1e-38)

# ---- layer norm ----
gain, bias = f32(random.normal(1, 0.2, 1000)), f32(random.normal(0, 1, 1000))
(y,) = run("layer_norm", ["y"], epsilon=1e-5, x=x, gain=gain, bias=bias)
mean = x.mean(axis=1, keepdims=True)
normal = (x - mean) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
expect("layer_norm", y, normal * gain + bias, 20 * ULP * (np.abs(normal * gain) + np.abs(bias) + 1))

# ---- GELU ----
x = f32(np.concatenate([random.normal(0, 3, 4000), [0.0, -10.0, 10.0, 1e-30]]))
(y,) = run("gelu", ["y"], program="gelu", x=x)
expected = 0.5 * x * erfc(-x / math.sqrt(2))
expect("gelu", y, expected, (8 + 2 * x * x) * ULP * np.abs(expected) + 1e-44)  # erfc magnifies the rounding of its operand by x^2
(y,) = run("gelu", ["y"], program="gelu_tanh", x=x)
expected = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
expect("gelu_tanh", y, expected, 8 * ULP * np.abs(x) + 1e-44)

# ---- Black-Scholes ----
n = 2000
spot, strike = f32(random.uniform(50, 150, n)), f32(random.uniform(50, 150, n))
years, volatility = f32(random.uniform(0.1, 3, n)), f32(random.uniform(0.05, 0.6, n))
rate = float(np.float32(0.03))
call, put = run("black_scholes", ["call", "put"], rate=0.03, spot=spot, strike=strike, years=years, volatility=volatility)


def cdf(v):
    return 0.5 * erfc(-v / math.sqrt(2))


spread = volatility * np.sqrt(years)
d1 = (np.log(spot / strike) + (rate + 0.5 * volatility ** 2) * years) / spread
d2 = d1 - spread
discounted = strike * np.exp(-rate * years)
bound = 60 * ULP * (spot + strike)  # the two terms cancel
expect("call", call, spot * cdf(d1) - discounted * cdf(d2), bound)
expect("put", put, discounted * cdf(-d2) - spot * cdf(-d1), bound)

# ---- FFT ----
x = f32(random.normal(0, 1, (5, 1024, 2)))
(y,) = run("fft", ["y"], x=x.reshape(-1))
expected = np.fft.fft(x[..., 0] + 1j * x[..., 1])
expected = np.stack([expected.real, expected.imag], axis=-1)
expect("fft", y, expected, 4 * 10 * ULP * math.sqrt(2 * 1024))  # 10 stages; the norm of a row is sqrt(2 * 1024)

# ---- gravity ----
n = 150
mass, position, velocity = f32(random.uniform(0.1, 2, n)), f32(random.normal(0, 1, (n, 2))), f32(random.normal(0, 1, (n, 2)))
dt, softening = float(np.float32(0.01)), float(np.float32(0.05))
changed, moved = run("gravity", ["velocity", "moved"], dt=0.01, softening=0.05, mass=mass, position=position.reshape(-1),
                     velocity=velocity.reshape(-1))
d = position[None, :, :] - position[:, None, :]
pull = dt * mass[None, :] * ((d ** 2).sum(axis=2) + softening) ** -1.5
v = velocity + (d * pull[..., None]).sum(axis=1)
bound = n * ULP * (np.abs(velocity) + (np.abs(d) * pull[..., None]).sum(axis=1))
expect("gravity velocity", changed, v, bound)
expect("gravity position", moved, position + dt * v, dt * bound + 2 * ULP * (np.abs(position) + dt * np.abs(v)))

# ---- ray tracer: the same scene with other code, vectorised; a pixel at an edge may differ ----
width, height = 160, 120
(image,) = run("raytrace", ["image"], shape=f"image={height},{width},3", defines=[f"WIDTH={width}", f"HEIGHT={height}"])
centres = np.array([[-1.1, 0.8, 0.2], [0.9, 1.1, 1.2], [0.15, 0.35, -1.1]])
radii = np.array([0.8, 1.1, 0.35])
colours = np.array([[0.9, 0.25, 0.2], [0.8, 0.85, 0.9], [0.95, 0.8, 0.2]])
mirrors = np.array([0.25, 0.7, 0.1])
sun = np.array([0.48, 0.8, -0.36])


def trace(o, d):
    """Distance and object (3: the floor, -1: nothing) of one ray."""
    best, thing = (-o[1] / d[1], 3) if d[1] < -1e-4 else (math.inf, -1)
    for number in range(3):
        away = o - centres[number]
        b = away @ d
        root = b * b - (away @ away - radii[number] ** 2)
        if root > 0 and 1e-3 < -b - math.sqrt(root) < best:
            best, thing = -b - math.sqrt(root), number
    return best, thing


def colour(o, d, bounces):
    distance, thing = trace(o, d)
    if thing < 0:
        t = min(max((d[1] + 0.1) / 0.8, 0), 1)
        t = t * t * (3 - 2 * t)
        return np.array([0.95, 0.95, 0.98]) * (1 - t) + np.array([0.35, 0.55, 0.95]) * t
    o = o + distance * d
    if thing == 3:
        normal, mirror = np.array([0.0, 1.0, 0.0]), 0.15
        base = np.full(3, 0.25 if (math.floor(o[0]) + math.floor(o[2])) % 2 else 0.85)
    else:
        normal, base, mirror = (o - centres[thing]) / radii[thing], colours[thing], mirrors[thing]
    bounced = d - 2 * (d @ normal) * normal
    light = max(normal @ sun, 0) if trace(o, sun)[1] in (-1, 3) else 0
    shine = max(bounced @ sun, 0) ** 60 if light > 0 else 0
    own = (1 - mirror) * base * (0.2 + 0.8 * light) + shine
    return own + (mirror * colour(o, bounced, bounces - 1) if bounces > 1 else 0)


differ = 0
pixels = [(int(px), int(py)) for px, py in zip(random.integers(0, width, 1500), random.integers(0, height, 1500))]
for px, py in pixels:
    ray = np.array([(px + 0.5 - width / 2) / height, (height / 2 - py - 0.5) / height - 0.15, math.sqrt(1.2)])
    rgb = np.clip(colour(np.array([0, 1.4, -4.5]), ray / math.sqrt(ray @ ray), 4), 0, 1) ** (1 / 2.2) * 255
    differ += bool(np.abs(image.reshape(height, width, 3)[py, px] - rgb).max() > 1.5)
if differ > len(pixels) // 50:
    sys.exit(f"raytrace: {differ} of {len(pixels)} pixels differ")
print(f"all agree; raytrace: {differ} of {len(pixels)} pixels differ")
