#!/usr/bin/env python3
"""Write the polynomials of src/ops/elementwise/special.c, src/ops/elementwise/bessel.c and src/tidy/legal/doubles.c, and the points of src/ops/elementwise/gamma.c.

    python tools/gen-special.py special > src/ops/elementwise/special_data.h        (needs mpmath; takes a minute)
    python tools/gen-special.py bessel > src/ops/elementwise/bessel_data.h
    python tools/gen-special.py gamma > src/ops/elementwise/gamma_data.h
    python tools/gen-special.py doubles > src/tidy/legal/doubles_data.h
    python tools/gen-special.py erfcx > src/onnx/fold/erfcx_data.h           (for both)

Each is a Chebyshev fit over t in [-1, 1] with as many terms as double precision can use; the file that reads it says what t is.
"""
import sys

import mpmath as mp

mp.mp.dps = 50


def erfinv_over_y(w):
    """erfinv(y) / y as a function of w = -log(1 - y^2)"""
    if w < mp.mpf(10) ** -20:
        return mp.sqrt(mp.pi) / 2
    y = mp.sqrt(-mp.expm1(-w))
    want = -w - mp.log(1 + y)                                           # log(1 - y), which itself would lose everything
    x = mp.sqrt(w) * mp.mpf("0.9")
    for _ in range(60):                                                 # Newton on log erfc(x)
        step = (mp.log(mp.erfc(x)) - want) * mp.erfc(x) * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
        x += step
        if abs(step) < mp.mpf(10) ** -40 * x:
            break
    return x / y


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 50 else mp.nsum(
        lambda k: (-1) ** int(k) * mp.fac2(2 * k - 1) / (2 * x * x) ** k, [0, 20]) / (x * mp.sqrt(mp.pi))


def far(f):
    """sqrt(x) f(x) for x from 8 on, as a function of t = 16/x - 1; at infinity both Bessel kinds tend to 1/sqrt(2 pi)"""
    return lambda t: f(16 / (t + 1)) * mp.sqrt(16 / (t + 1)) if t > -1 + mp.mpf(10) ** -30 else 1 / mp.sqrt(2 * mp.pi)


TINY = mp.mpf(10) ** -12


def up_to(top, f):
    """f(x) for 0 <= x <= top as a function of t = 2 (x / top)^2 - 1; x is not quite 0 at the end, where f's parts are infinite"""
    return lambda t: f(top * mp.sqrt(max(t + 1, TINY) / 2))


def from_on(start, f):
    """f(x) for x >= start as a function of t = 2 start / x - 1"""
    return lambda t: f(2 * start / max(t + 1, TINY))


def squared_from_on(start, f):
    """f(x) for x >= start as a function of t = 2 (start / x)^2 - 1"""
    return lambda t: f(start / mp.sqrt(max(t + 1, TINY) / 2))


def amplitudes(n):
    """P and Q x / 8 of J_n = sqrt(2 / (pi x)) (P cos a - Q sin a) and Y_n = sqrt(2 / (pi x)) (P sin a + Q cos a), a = x - (2n + 1) pi/4"""
    def turned(x, back):
        a, j, y = x - (2 * n + 1) * mp.pi / 4 + (mp.pi / 2 if back else 0), mp.besselj(n, x), mp.bessely(n, x)
        return mp.sqrt(mp.pi * x / 2) * (j * mp.cos(a) + y * mp.sin(a))
    return lambda x: turned(x, False), lambda x: turned(x, True) * x / 8


def airy_x(z):
    """x of z = 2/3 x^(3/2)"""
    return (z * 3 / 2) ** (mp.mpf(2) / 3)


def airy_right(z):
    """2 sqrt(pi) x^(1/4) exp(z) Ai(x)"""
    x = airy_x(z)
    return mp.airyai(x) * mp.exp(z) * 2 * mp.sqrt(mp.pi) * mp.root(x, 4)


def airy_left(z, back):
    """P and Q z / AIRY_LEFT of Ai(-x) = (P sin a - Q cos a) / (sqrt(pi) x^(1/4)), a = z + pi/4"""
    x, a = airy_x(z), z + mp.pi / 4
    scale = mp.sqrt(mp.pi) * mp.root(x, 4)
    if back:
        return scale * (mp.airybi(-x) * mp.sin(a) - mp.airyai(-x) * mp.cos(a)) * z / AIRY_LEFT
    return scale * (mp.airyai(-x) * mp.sin(a) + mp.airybi(-x) * mp.cos(a))


AIRY_RIGHT = 2 * mp.sqrt(8) / 3             # z at x = 2
AIRY_LEFT = mp.mpf(16) / 3                  # z at x = -4
P0, Q0 = amplitudes(0)
P1, Q1 = amplitudes(1)
BESSEL = [
    ("j0_near", "J0(x), 0 <= x <= 8, t = x^2/32 - 1", up_to(8, lambda x: mp.besselj(0, x)), 17),
    ("j1_near", "J1(x) / x", up_to(8, lambda x: mp.besselj(1, x) / x), 17),
    ("y0_near", "Y0(x) - 2/pi log x J0(x)", up_to(8, lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)), 17),
    ("y1_near", "(Y1(x) - 2/pi (log x J1(x) - 1/x)) / x",
     up_to(8, lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x), 17),
    ("p0", "P of order 0, x >= 8, t = 2 (8/x)^2 - 1", squared_from_on(8, P0), 13),
    ("q0", "Q x/8 of order 0", squared_from_on(8, Q0), 13),
    ("p1", "P of order 1", squared_from_on(8, P1), 13),
    ("q1", "Q x/8 of order 1", squared_from_on(8, Q1), 13),
    ("i0e_near", "exp(-x) I0(x), 0 <= x <= 8, t = x/4 - 1", lambda t: mp.exp(-4 * (t + 1)) * mp.besseli(0, 4 * (t + 1)), 30),
    ("i0e_far", "sqrt(x) exp(-x) I0(x), x >= 8, t = 16/x - 1", far(lambda x: mp.exp(-x) * mp.besseli(0, x)), 25),
    ("i1e_near", "exp(-x) I1(x) / x, 0 <= x <= 8, t = x/4 - 1",
     lambda t: mp.exp(-4 * (t + 1)) * mp.besseli(1, 4 * (t + 1)) / (4 * (t + 1)) if t > -1 else mp.mpf(1) / 2, 29),
    ("i1e_far", "sqrt(x) exp(-x) I1(x), x >= 8, t = 16/x - 1", far(lambda x: mp.exp(-x) * mp.besseli(1, x)), 25),
    ("i0_small", "I0(x), 0 <= x <= 2, t = x^2/2 - 1", up_to(2, lambda x: mp.besseli(0, x)), 11),
    ("i1_small", "I1(x) / x", up_to(2, lambda x: mp.besseli(1, x) / x), 11),
    ("k0_small", "K0(x) + log(x/2) I0(x)", up_to(2, lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)), 11),
    ("k1_small", "(K1(x) - log(x/2) I1(x) - 1/x) / x",
     up_to(2, lambda x: (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x), 11),
    ("k0_large", "sqrt(x) exp(x) K0(x), x >= 2, t = 4/x - 1", from_on(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(0, x)), 26),
    ("k1_large", "sqrt(x) exp(x) K1(x)", from_on(2, lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(1, x)), 26),
    ("airy_middle", "Ai(x), -4 <= x <= 2, t = (x + 1)/3", lambda t: mp.airyai(3 * t - 1), 32),
    ("airy_right", "2 sqrt(pi) x^(1/4) exp(z) Ai(x), z = 2/3 x^(3/2), x >= 2, t = 2 z(2)/z - 1", from_on(AIRY_RIGHT, airy_right), 24),
    ("airy_p", "P of Ai(-x), x >= 4, t = 2 (z(4)/z)^2 - 1", squared_from_on(AIRY_LEFT, lambda z: airy_left(z, False)), 18),
    ("airy_q", "Q z/z(4) of Ai(-x)", squared_from_on(AIRY_LEFT, lambda z: airy_left(z, True)), 18),
]
ERFCX = [("erfcx", "(1 + 2x) erfcx(x), x >= 0, t = (x - 2)/(x + 2)",
         lambda t: (1 + 4 * (1 + t) / (1 - t)) * erfcx(2 * (1 + t) / (1 - t)) if t < 1 - mp.mpf(10) ** -30 else 2 / mp.sqrt(mp.pi), 32)]
DOUBLES = [
    ("atan_over_x", "atan(x) / x, 0 <= x <= 1, t = 2 x^2 - 1",
     lambda t: mp.atan(mp.sqrt((t + 1) / 2)) / mp.sqrt((t + 1) / 2) if t > -1 else mp.mpf(1), 24),
]
SPECIAL = [
    ("erfinv_middle", "erfinv(y) / y, w = -log(1 - y^2) up to 6.25, t = w/3.125 - 1", lambda t: erfinv_over_y((t + 1) * mp.mpf("3.125")), 26),
    ("erfinv_near", "erfinv(y) / y, s = sqrt(w) in [2.5, 6.5], t = (s - 4.5)/2", lambda t: erfinv_over_y((2 * t + mp.mpf("4.5")) ** 2), 24),
    ("erfinv_far", "erfinv(y) / y, s in [6.5, 27.5], t = (s - 17)/10.5", lambda t: erfinv_over_y((mp.mpf("10.5") * t + 17) ** 2), 26),
]


def gauss(n):
    """Points and weights of Gauss's rule over [0, 1]: the roots of Legendre's polynomial of degree n"""
    points, weights = [], []
    for i in range(n):
        x = mp.cos(mp.pi * (n - i - mp.mpf("0.25")) / (n + mp.mpf("0.5")))
        for _ in range(8):                                              # Newton
            p, last = mp.legendre(n, x), mp.legendre(n - 1, x)
            slope = n * (x * p - last) / (x * x - 1)
            x -= p / slope
        points.append((x + 1) / 2)
        weights.append(1 / ((1 - x * x) * slope ** 2))
    return points, weights


def table(name, c):
    print("static const double %s[] = {" % name)
    for i in range(0, len(c), 4):
        print("    " + " ".join("%.17g," % float(v) for v in c[i:i + 4]))
    print("};")


def main():
    which = sys.argv[1]
    if which == "gamma":
        print("/* gamma_data.h - Gauss's rule over [0, 1]; generated by tools/gen-special.py. Do not edit. */\n")
        points, weights = gauss(32)
        table("gauss_points", points)
        table("gauss_weights", weights)
        return
    print("/* %s_data.h - polynomials in t over [-1, 1], the highest power first; generated by tools/gen-special.py. Do not edit. */" % which)
    for name, what, f, n in {"special": SPECIAL, "bessel": BESSEL, "doubles": DOUBLES, "erfcx": ERFCX}[which]:
        c, error = mp.chebyfit(f, [-1, 1], n, error=True)
        print("\n/* %s; off by %s */" % (what, mp.nstr(error, 2)))
        table(name, c)


if __name__ == "__main__":
    main()
