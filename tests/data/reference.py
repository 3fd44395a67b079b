#!/usr/bin/env python3
"""Writes reference.txt and slopes.txt: values of functions in balls that Arb has proven, to 107 bits.

A line is a function's name, its arguments and the value, as the nearest double and the nearest double to the rest, all
in hexadecimal. The functions that `gems accuracy` measures ops against are tested with the first; the second has the
derivatives of ops, under the names of the ops.

    pip install python-flint==0.9.0
    python3 reference.py > reference.txt
    python3 reference.py slopes > slopes.txt
"""

import math
import random
import sys
from flint import arb, ctx

BITS = 130
draw = random.Random(1)


def lgamma(x):
    return abs(x.gamma()).log() if x < 0 else x.lgamma()


def root_of_two():
    return arb(2).sqrt()


def ndtr(x):
    return (-x / root_of_two()).erfc() / 2


def erfcx(x):
    return (x * x).exp() * x.erfc()


def ndtri(p):
    # Not erfinv at 1 − 2p, which is as far from p as p is small.
    return -root_of_two() * (2 * p).erfcinv()


def polygamma(n, x):
    n = round(float(n))
    shift = arb(0)
    while x < 1:
        shift += x ** -(n + 1)
        x = x + 1
    value = arb(math.factorial(n)) * (arb(n + 1).zeta(x) + shift)
    return value if n % 2 else -value


def polynomial(first, step):
    def value(x, n):
        before, last = arb(1), first(x)
        for k in range(1, round(float(n))):
            before, last = last, step(k, x, last, before)
        return last
    return value


def hypot(x, y):
    return (x * x + y * y).sqrt()


def spread(low, high, count=16, signs=(1, -1)):
    """Powers of two with fractions between these exponents."""
    return [draw.choice(signs) * draw.uniform(1, 2) * 2.0 ** draw.uniform(low, high) for _ in range(count)]


def within(low, high, count=12):
    return [draw.uniform(low, high) for _ in range(count)]


tiny = spread(-1000, -30, 6)
near_one = [1 - 2**-53, 1 + 2**-52, 1 - 1e-9, 1 + 1e-9]
everywhere = tiny + spread(-30, 10, 24) + spread(10, 1000, 6)
positive = [abs(x) for x in everywhere]
moderate = tiny + spread(-20, 9, 30)
inside = tiny + within(-1, 1) + [s * x for x in near_one if x < 1 for s in (1, -1)]
half_line = [abs(x) for x in moderate]
zeros_of_gamma = [1 + 2**-52, 2 - 2**-52, 2 + 1e-8, 1.4616321449683622, -2.4570247382208006, -0.5040830082644554]
negative = [x for x in within(-40, 0, 16) + [-1e-300, -2 + 1e-9, -7 - 2**-40]]
of_gamma = half_line + zeros_of_gamma + negative + spread(10, 500, 4, (1,))
far = within(20, 120, 12) + spread(5, 30, 8, (1,)) + [2.404825557695773, 3.8317059702075125, 49.9, 50.1]

UNARY = {
    "exp": (arb.exp, tiny + spread(-20, 9.3, 24)),
    "exp_m1": (arb.expm1, tiny + spread(-70, 9.3, 24)),
    "ln": (arb.log, positive + near_one),
    "log2": (lambda x: x.log() / arb(2).log(), positive + near_one),
    "log10": (lambda x: x.log() / arb(10).log(), positive + near_one),
    "ln_1p": (arb.log1p, positive + spread(-70, -1, 16)),
    "sin": (arb.sin, everywhere + [math.pi, 355.0, 6381956970095103 * 2.0**797]),
    "cos": (arb.cos, everywhere + [math.pi / 2, 6381956970095103 * 2.0**797]),
    "tan": (arb.tan, everywhere + [math.pi / 2, math.pi, 6381956970095103 * 2.0**797]),
    "asin": (arb.asin, inside),
    "acos": (arb.acos, inside),
    "atan": (arb.atan, everywhere),
    "sinh": (arb.sinh, tiny + spread(-20, 9.3, 20)),
    "cosh": (arb.cosh, tiny + spread(-20, 9.3, 20)),
    "tanh": (arb.tanh, everywhere),
    "asinh": (arb.asinh, everywhere),
    "acosh": (arb.acosh, [1 + abs(x) for x in spread(-50, 10, 16)] + spread(10, 1000, 6, (1,))),
    "atanh": (arb.atanh, inside),
    "sin_pi": (arb.sin_pi, tiny + spread(-20, 40, 20)),
    "cos_pi": (arb.cos_pi, spread(-20, 40, 20) + [0.5 + 2**-53, 1.5 - 2**-52]),
    "erf": (arb.erf, tiny + within(-6, 6, 24)),
    "erfc": (arb.erfc, tiny + within(-6, 25, 30) + [2.999, 3.001]),
    "erfcx": (erfcx, tiny + within(-25, 40, 30) + spread(5, 13, 6, (1,))),
    "erfinv": (arb.erfinv, inside + [0.499, 0.501]),
    "ndtr": (ndtr, tiny + within(-35, 9, 24)),
    "ndtri": (ndtri, [abs(x) for x in inside] + spread(-900, -1, 12, (1,)) + [0.5 - 2**-54, 0.249, 0.251, 0.749, 0.751]),
    "log_ndtr": (lambda x: ndtr(x).log(), tiny + within(-60, 35, 30)),
    "lgamma": (lgamma, of_gamma),
    "digamma": (arb.digamma, of_gamma),
    "i0": (lambda x: x.bessel_i(0), moderate + [49.9, 50.1]),
    "i1": (lambda x: x.bessel_i(1), moderate + [49.9, 50.1]),
    "i0e": (lambda x: x.bessel_i(0) * (-abs(x)).exp(), moderate),
    "i1e": (lambda x: x.bessel_i(1) * (-abs(x)).exp(), moderate),
    "k0": (lambda x: x.bessel_k(0), half_line + within(45, 55)),
    "k1": (lambda x: x.bessel_k(1), half_line + within(45, 55)),
    "k0e": (lambda x: x.bessel_k(0) * x.exp(), half_line),
    "k1e": (lambda x: x.bessel_k(1) * x.exp(), half_line),
    "j0": (lambda x: x.bessel_j(0), moderate + far),
    "j1": (lambda x: x.bessel_j(1), moderate + far),
    "y0": (lambda x: x.bessel_y(0), half_line + far),
    "y1": (lambda x: x.bessel_y(1), half_line + far),
    "airy_ai": (arb.airy_ai, tiny + within(-40, 60, 40) + spread(3, 60, 8, (-1,)) + [-17.99, -18.01, 17.99, 18.01, -2.338107410459767]),
}

BINARY = {
    "pow": (lambda x, y: x**y, [(abs(x), y) for x, y in zip(spread(-8, 8, 20), spread(-6, 6, 20))]
            + [(1 + 1e-12, 1e14), (2.5, 300.5), (10.0, -290.25)]),
    "hypot": (hypot, list(zip(spread(-20, 20, 12), spread(-20, 20, 12)))),
    "zeta": (lambda s, q: s.zeta(q), [(1 + abs(s), abs(q)) for s, q in zip(spread(-20, 6, 24), spread(-10, 10, 24))]
             + [(52.36, 523.5), (53.77, 803.7), (2.0, 1.0), (30.0, 0.01)]),
    "polygamma": (polygamma, [(float(n), x) for n in (1, 2, 5, 20) for x in within(-12, 30, 8) + [0.001, 1e3, -500.25, -1000.5, -1e-40, -3 - 2**-50]]),
}


shapes = [2.0 ** draw.uniform(-30, 12) for _ in range(40)]
gamma_pairs = [(a, a * 2.0 ** draw.choice([draw.uniform(-1, 1), draw.uniform(-6, 4)])) for a in shapes]
BINARY["igamma"] = (lambda a, x: x.gamma_lower(a, regularized=1), gamma_pairs)
BINARY["igammac"] = (lambda a, x: x.gamma_upper(a, regularized=1), gamma_pairs)

degrees = [(x, float(n)) for n in (1, 2, 5, 30, 200) for x in within(-1.2, 1.2, 4)]
BINARY["chebyshev_t"] = (lambda x, n: x.chebyshev_t(round(float(n))), degrees)
BINARY["chebyshev_u"] = (lambda x, n: x.chebyshev_u(round(float(n))), degrees)
BINARY["legendre_p"] = (lambda x, n: x.legendre_p(n), degrees)
BINARY["laguerre_l"] = (lambda x, n: x.laguerre_l(n), [(4 * abs(x), n) for x, n in degrees])
BINARY["hermite_h"] = (lambda x, n: x.hermite_h(n), [(4 * x, min(n, 100.0)) for x, n in degrees])


draw = random.Random(2)
whole_line = tiny + spread(-20, 5, 24)
both_tails = within(-38, 8, 24) + within(-5, 5)


def phi(x):
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def scaled(function):
    return lambda x: function(x) * x.exp()


def mish_slope(x):
    t = (1 + x.exp()).log().tanh()
    return t + x * sigmoid(x) * (1 - t * t)


def gelu_tanh_slope(x):
    u = (2 / arb.pi()).sqrt() * (x + arb("0.044715") * x**3)
    change = (2 / arb.pi()).sqrt() * (1 + 3 * arb("0.044715") * x**2)
    return sigmoid(2 * u) + 2 * x * sigmoid(2 * u) * sigmoid(-2 * u) * change


SLOPES = {
    "sigmoid": (lambda x: sigmoid(x) * sigmoid(-x), whole_line + within(-700, 700)),
    "tanh": (lambda x: 1 / x.cosh() ** 2, whole_line),
    "expm1": (arb.exp, whole_line + within(-700, 700)),
    "logit": (lambda x: 1 / (x * (1 - x)), [abs(x) for x in inside]),
    "asin": (lambda x: 1 / (1 - x * x).sqrt(), inside),
    "acosh": (lambda x: 1 / (x * x - 1).sqrt(), [1 + abs(x) for x in spread(-50, 10, 16)] + spread(10, 60, 6, (1,))),
    "atanh": (lambda x: 1 / (1 - x * x), inside),
    "sinc": (lambda x: ((arb.pi() * x).cos() - (arb.pi() * x).sin() / (arb.pi() * x)) / x, whole_line + within(0.2, 0.3)),
    "tanhshrink": (lambda x: x.tanh() ** 2, spread(-400, -30, 6) + spread(-20, 5)),
    "softsign": (lambda x: 1 / (1 + abs(x)) ** 2, whole_line),
    "log_sigmoid": (lambda x: sigmoid(-x), whole_line + within(-700, 700)),
    "silu": (lambda x: sigmoid(x) + x * sigmoid(x) * sigmoid(-x), both_tails + within(-700, -38)),
    "mish": (mish_slope, both_tails + within(-700, -38)),
    "gelu": (lambda x: (-x / root_of_two()).erfc() / 2 + x * phi(x), both_tails),
    "gelu_tanh": (gelu_tanh_slope, within(-20, 8, 24)),
    "softplus": (sigmoid, whole_line),
    "erf": (lambda x: 2 / arb.pi().sqrt() * (-x * x).exp(), tiny + within(-26, 26, 24)),
    "erfc": (lambda x: -2 / arb.pi().sqrt() * (-x * x).exp(), tiny + within(-26, 26, 24)),
    "erfinv": (lambda x: arb.pi().sqrt() / 2 * (x.erfinv() ** 2).exp(), inside),
    "special_erfcx": (lambda x: 2 * x * erfcx(x) - 2 / arb.pi().sqrt(), within(-25, 60, 30) + spread(5, 12, 12, (1,))),
    "special_ndtr": (phi, tiny + within(-37, 37, 24)),
    "special_ndtri": (lambda p: (2 * arb.pi()).sqrt() * (ndtri(p) ** 2 / 2).exp(), [abs(x) for x in inside if x < 1] + spread(-900, -1, 12, (1,))),
    "special_log_ndtr": (lambda x: phi(x) / ndtr(x), within(-60, 35, 30) + spread(6, 12, 8, (-1,))),
    "lgamma": (arb.digamma, of_gamma),
    "digamma": (lambda x: polygamma(arb(1), x), half_line + zeros_of_gamma[:4] + spread(10, 500, 4, (1,))),
    "i0": (lambda x: x.bessel_i(1), moderate),
    "special_i0e": (lambda x: (x.bessel_i(1) - x.sgn() * x.bessel_i(0)) * (-abs(x)).exp(), moderate),
    "special_i1": (lambda x: x.bessel_i(0) - x.bessel_i(1) / x, moderate),
    "special_i1e": (lambda x: (x.bessel_i(0) - x.bessel_i(1) / x - x.sgn() * x.bessel_i(1)) * (-abs(x)).exp(), moderate),
    "special_modified_bessel_k0": (lambda x: -x.bessel_k(1), half_line),
    "special_modified_bessel_k1": (lambda x: -x.bessel_k(0) - x.bessel_k(1) / x, half_line),
    "special_scaled_modified_bessel_k0": (scaled(lambda x: x.bessel_k(0) - x.bessel_k(1)), half_line),
    "special_scaled_modified_bessel_k1": (
        scaled(lambda x: x.bessel_k(1) * (1 - 1 / x) - x.bessel_k(0)), half_line),
    "special_bessel_j0": (lambda x: -x.bessel_j(1), moderate + far),
    "special_bessel_j1": (lambda x: x.bessel_j(0) - x.bessel_j(1) / x, moderate + far),
    "special_bessel_y0": (lambda x: -x.bessel_y(1), half_line + far),
    "special_bessel_y1": (lambda x: x.bessel_y(0) - x.bessel_y(1) / x, half_line + far),
    "special_spherical_bessel_j0": (lambda x: (x.cos() - x.sin() / x) / x, tiny + spread(-20, 9, 24) + [0.499, 0.501]),
    "special_airy_ai": (
        lambda x: x.airy_ai(derivative=1),
        tiny + within(-40, 60, 40) + within(60, 100, 8) + spread(3, 60, 12, (-1,)) + [-4.01, -3.99, 1.99, 2.01, -1.018792971647471],
    ),
}


def split(ball):
    """The nearest double to the middle, and to the rest."""
    middle = ball.mid()
    high = float(middle)
    if high == 0 or math.isinf(high):
        return high, 0.0
    return high, float((middle - arb(high)).mid())


def line(name, function, arguments):
    ctx.prec = 200
    while True:
        ball = function(*map(arb, arguments))
        if ball.rel_accuracy_bits() >= BITS or ball.is_exact():
            break
        ctx.prec *= 2
        assert ctx.prec < 1 << 16, (name, arguments, ball)
    high, low = split(ball)
    # The rest would be no normal number, or the value no number at all.
    if not 1e-270 < abs(high) < 1e300:
        return None
    return " ".join([name] + [x.hex() for x in [*arguments, high, low]])


tables = [SLOPES] if sys.argv[1:] == ["slopes"] else [UNARY, BINARY]
for name, (function, points) in [row for table in tables for row in table.items()]:
    for point in points:
        text = line(name, function, point if isinstance(point, tuple) else (point,))
        if text:
            print(text)
