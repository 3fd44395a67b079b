//! Complex numbers with parts of f32 or f64.
//!
//! Branch cuts are Kahan's, special values those of C99's Annex G, but multiplication does not recover
//! infinities. Division and the functions of c64 are computed in c128 and rounded once.

//@ add c64,c128
__device__ __forceinline__ T add(T x, T y) {
  return {x.re + y.re, x.im + y.im};
}

//@ sub c64,c128
__device__ __forceinline__ T sub(T x, T y) {
  return {x.re - y.re, x.im - y.im};
}

//@ mul c64,c128
__device__ __forceinline__ T mul(T x, T y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

//@ neg c64,c128
__device__ __forceinline__ T neg(T z) {
  return {-z.re, -z.im};
}

//@ abs c64,c128 : hypot(R)
__device__ __forceinline__ R abs(T z) {
  return hypot(z.re, z.im);
}

//@ re bool,int,float
__device__ __forceinline__ T re(T x) {
  return x;
}

//@ re c64,c128
__device__ __forceinline__ R re(T z) {
  return z.re;
}

//@ im bool,int,float
__device__ __forceinline__ T im(T x) {
  return T(0);
}

//@ im c64,c128
__device__ __forceinline__ R im(T z) {
  return z.im;
}

//@ with_im bool,int,float
__device__ __forceinline__ T with_im(T x, T) {
  return x;
}

//@ with_im c64
__device__ __forceinline__ c64 with_im(c64 z, f32 im) {
  return {z.re, im};
}

//@ with_im c128
__device__ __forceinline__ c128 with_im(c128 z, f64 im) {
  return {z.re, im};
}

//@ conj bool,int,float
__device__ __forceinline__ T conj(T x) {
  return x;
}

//@ conj c64,c128
__device__ __forceinline__ T conj(T z) {
  return {z.re, -z.im};
}

//@ arg float : limits(T)
__device__ __forceinline__ T arg(T x) {
  return x != x ? x : x < 0 ? limits<T>::PI() : T(0);
}

//@ arg c64,c128 : atan2(R)
__device__ __forceinline__ R arg(T z) {
  return atan2(z.im, z.re);
}

//@ to_complex float : complex
__device__ __forceinline__ complex<T> to_complex(T re, T im) {
  return complex<T>(re, im);
}

//@ larger_part : abs(f64)
__device__ __forceinline__ f64 larger_part(c128 z) {
  f64 re = abs(z.re), im = abs(z.im);
  return re < im ? im : re;
}

//@ smith_part : abs(f64)
__device__ __forceinline__ f64 smith_part(f64 p, f64 q, c128 y, f64 ratio, f64 divisor) {
  // (p + q * ratio) / divisor, where ratio = y.im / y.re may have underflowed.
  if (ratio == 0) {
    // Multiplying first cannot overflow here, dividing first can.
    f64 rest = abs(q) > 1 ? q * y.im / y.re : y.im * (q / y.re);
    return (p + rest) / divisor;
  }
  f64 product = q * ratio;
  return product == 0 ? p / divisor + q / divisor * ratio : (p + product) / divisor;
}

//@ smith : abs(f64) smith_part
__device__ __forceinline__ c128 smith(c128 x, c128 y) {
  // Right if no square of a part overflows or underflows.
  f64 re = abs(y.re), im = abs(y.im);
  if (re == 0 && im == 0) return {x.re / re, x.im / im};
  if (im <= re) {
    f64 ratio = y.im / y.re, divisor = y.re + y.im * ratio;
    return {smith_part(x.re, x.im, y, ratio, divisor), smith_part(x.im, -x.re, y, ratio, divisor)};
  }
  c128 turned = {y.im, y.re};
  f64 ratio = y.re / y.im, divisor = y.im + y.re * ratio;
  return {smith_part(x.im, x.re, turned, ratio, divisor), smith_part(-x.re, x.im, turned, ratio, divisor)};
}

//@ div c128 : larger_part smith limits(f64)
__device__ __forceinline__ c128 div(c128 x, c128 y) {
  const f64 big = limits<f64>::MAX() / 2, small = 0x1p-969, lift = 0x1p105;
  f64 size_x = larger_part(x), size_y = larger_part(y), scale = 1;
  if (size_x >= big) x = {x.re * 0.5, x.im * 0.5}, scale *= 2;
  if (size_y >= big) y = {y.re * 0.5, y.im * 0.5}, scale *= 0.5;
  if (size_x <= small) x = {x.re * lift, x.im * lift}, scale /= lift;
  if (size_y <= small) y = {y.re * lift, y.im * lift}, scale *= lift;
  c128 quotient = smith(x, y);
  return {quotient.re * scale, quotient.im * scale};
}

//@ div c64 : smith cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 div(c64 x, c64 y) {
  return cast<c64>(smith(cast<c128>(x), cast<c128>(y)));
}

//@ recip c128 : div(c128) is_infinite,copysign(f64)
__device__ __forceinline__ c128 recip(c128 z) {
  if (is_infinite(z.re) || is_infinite(z.im)) return {copysign(0.0, z.re), copysign(0.0, -z.im)};
  return div(c128(1), z);
}

//@ sqrt c128 : is_infinite,copysign,limits,hypot,sqrt,abs(f64) larger_part
__device__ __forceinline__ c128 sqrt(c128 z) {
  const f64 inf = limits<f64>::INFINITY(), nan = limits<f64>::NAN();
  if (is_infinite(z.im)) return {inf, z.im};
  if (is_infinite(z.re)) {
    f64 rest = z.im != z.im ? nan : 0;
    if (z.re > 0) return {z.re, copysign(rest, z.im)};
    return {rest, copysign(inf, z.im)};
  }
  if (z.re != z.re || z.im != z.im) return {nan, nan};
  f64 size = larger_part(z);
  if (size == 0) return {0, z.im};
  f64 scale = size > 0x1p1021 ? 0.25 : size < 0x1p-960 ? 0x1p108 : 1;
  f64 root = size > 0x1p1021 ? 2 : size < 0x1p-960 ? 0x1p-54 : 1;
  f64 re = z.re * scale, im = z.im * scale;
  f64 large = sqrt(0.5 * (abs(re) + hypot(re, im)));
  f64 small = abs(im) / (2 * large);
  if (re >= 0) return {large * root, copysign(small, im) * root};
  return {small * root, copysign(large, im) * root};
}

//@ rsqrt c128 : sqrt,recip(c128)
__device__ __forceinline__ c128 rsqrt(c128 z) {
  return recip(sqrt(z));
}

//@ polar : limits(f64)
__device__ __forceinline__ c128 polar(f64 full, f64 half, f64 c, f64 s) {
  // full * (c, s), where half * half = full even if that overflows.
  if (full == limits<f64>::INFINITY()) return {half * c * half, half * s * half};
  return {full * c, full * s};
}

//@ exp_of_no_angle : limits(f64)
__device__ __forceinline__ c128 exp_of_no_angle(f64 re) {
  // The exponential of a number whose imaginary part is infinite or NaN.
  if (re == limits<f64>::NEG_INFINITY()) return {0, 0};
  f64 nan = limits<f64>::NAN();
  return {re == limits<f64>::INFINITY() ? re : nan, nan};
}

//@ exp c128 : exp,is_finite,sin,cos(f64) exp_of_no_angle polar
__device__ __forceinline__ c128 exp(c128 z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (!is_finite(z.im)) return exp_of_no_angle(z.re);
  return polar(exp(z.re), exp(0.5 * z.re), cos(z.im), sin(z.im));
}

//@ exp2 c128 : exp2,is_finite,limits,mul_add,sin,cos(f64) exp_of_no_angle polar
__device__ __forceinline__ c128 exp2(c128 z) {
  if (z.im == 0) return {exp2(z.re), z.im};
  if (!is_finite(z.im)) return exp_of_no_angle(z.re);
  // The angle and what its rounding lost.
  const f64 ln_2 = limits<f64>::LN_2(), ln_2_rest = 0x1.abc9e3b39803fp-56;
  f64 angle = z.im * ln_2, rest = mul_add(z.im, ln_2, -angle) + z.im * ln_2_rest;
  f64 s = sin(angle), c = cos(angle);
  return polar(exp2(z.re), exp2(0.5 * z.re), c - rest * s, s + rest * c);
}

//@ exp_m1 c128 : exp(c128) exp_m1,is_finite,sin,cos,exp(f64)
__device__ __forceinline__ c128 exp_m1(c128 z) {
  if (z.im == 0) return {exp_m1(z.re), z.im};
  // Not for NaN, either.
  if (!(is_finite(z.im) && z.re < 700)) {
    c128 full = exp(z);
    return {full.re - 1, full.im};
  }
  f64 s = sin(0.5 * z.im);
  return {exp_m1(z.re) * cos(z.im) - 2 * s * s, exp(z.re) * sin(z.im)};
}

//@ ln_abs : hypot,abs,ln,ln_1p,limits(f64)
__device__ __forceinline__ f64 ln_abs(f64 x, f64 y) {
  // ln |x + iy| without overflow, underflow or cancellation near 1.
  f64 r = hypot(x, y);
  if (r > 0.5 && r < 2) {
    x = abs(x), y = abs(y);
    f64 large = x < y ? y : x, small = x < y ? x : y;
    return 0.5 * ln_1p((large - 1) * (large + 1) + small * small);
  }
  if (r > 0x1p1022) return ln(hypot(0.5 * x, 0.5 * y)) + limits<f64>::LN_2();
  if (r < 0x1p-960) return ln(hypot(0x1p108 * x, 0x1p108 * y)) - 108 * limits<f64>::LN_2();
  return ln(r);
}

//@ ln c128 : ln_abs atan2(f64)
__device__ __forceinline__ c128 ln(c128 z) {
  return {ln_abs(z.re, z.im), atan2(z.im, z.re)};
}

//@ log2 c128 : ln(c128) limits(f64)
__device__ __forceinline__ c128 log2(c128 z) {
  z = ln(z);
  return {z.re / limits<f64>::LN_2(), z.im / limits<f64>::LN_2()};
}

//@ log10 c128 : ln(c128) limits(f64)
__device__ __forceinline__ c128 log10(c128 z) {
  z = ln(z);
  return {z.re / limits<f64>::LN_10(), z.im / limits<f64>::LN_10()};
}

//@ ln_1p c128 : ln_abs hypot,ln_1p,atan2(f64)
__device__ __forceinline__ c128 ln_1p(c128 z) {
  f64 re = 1 + z.re, r = hypot(re, z.im);
  f64 log = r > 0.5 && r < 2 ? 0.5 * ln_1p(z.re * (z.re + 2) + z.im * z.im) : ln_abs(re, z.im);
  return {log, atan2(z.im, re)};
}

//@ sinh c128 : is_finite,is_infinite,abs,exp,sin,cos,sinh,cosh,copysign,limits(f64)
__device__ __forceinline__ c128 sinh(c128 z) {
  const f64 nan = limits<f64>::NAN();
  if (z.im == 0) return {sinh(z.re), z.im};
  if (z.re == 0) return {z.re, sin(z.im)};
  if (!is_finite(z.im)) return {is_infinite(z.re) ? z.re : nan, nan};
  if (abs(z.re) > 709) {
    f64 half = exp(0.5 * abs(z.re));
    return {0.5 * half * cos(z.im) * copysign(half, z.re), 0.5 * half * sin(z.im) * half};
  }
  return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)};
}

//@ cosh c128 : is_finite,is_infinite,abs,exp,sin,cos,sinh,cosh,copysign,limits(f64)
__device__ __forceinline__ c128 cosh(c128 z) {
  const f64 nan = limits<f64>::NAN();
  if (z.im == 0) return {cosh(z.re), z.im * (z.re != z.re ? 1.0 : copysign(1.0, z.re))};
  if (z.re == 0) return {cos(z.im), is_finite(z.im) ? z.re * sin(z.im) : z.re};
  if (!is_finite(z.im)) return {is_infinite(z.re) ? limits<f64>::INFINITY() : nan, nan};
  if (abs(z.re) > 709) {
    f64 half = exp(0.5 * abs(z.re));
    return {0.5 * half * cos(z.im) * half, 0.5 * half * sin(z.im) * copysign(half, z.re)};
  }
  return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)};
}

//@ tanh c128 : is_finite,is_infinite,copysign,abs,sin,cos,exp,tan,sinh,cosh,limits(f64)
__device__ __forceinline__ c128 tanh(c128 z) {
  const f64 nan = limits<f64>::NAN();
  if (z.re != z.re) return {z.re, z.im == 0 ? z.im : nan};
  if (!is_finite(z.im)) {
    if (is_infinite(z.re)) return {copysign(1.0, z.re), 0};
    return {z.re == 0 ? z.re : nan, nan};
  }
  if (abs(z.re) > 22) return {copysign(1.0, z.re), 4 * sin(z.im) * cos(z.im) * exp(-2 * abs(z.re))};
  f64 t = tan(z.im), beta = 1 + t * t, s = sinh(z.re), divisor = 1 + beta * s * s;
  return {beta * cosh(z.re) * s / divisor, t / divisor};
}

//@ turn
__device__ __forceinline__ c128 turn(c128 z) {
  return {-z.im, z.re};
}

//@ turn_back
__device__ __forceinline__ c128 turn_back(c128 z) {
  return {z.im, -z.re};
}

//@ sin c128 : sinh(c128) turn turn_back
__device__ __forceinline__ c128 sin(c128 z) {
  return turn_back(sinh(turn(z)));
}

//@ cos c128 : cosh(c128) turn
__device__ __forceinline__ c128 cos(c128 z) {
  return cosh(turn(z));
}

//@ tan c128 : tanh(c128) turn turn_back
__device__ __forceinline__ c128 tan(c128 z) {
  return turn_back(tanh(turn(z)));
}

//@ asin c128 : abs,atan2,asinh,copysign,limits(f64) sqrt(c128) ln_abs
__device__ __forceinline__ c128 asin(c128 z) {
  f64 x = abs(z.re), y = abs(z.im);
  if (x == 0 && y != y) return z;
  f64 re, im;
  // Beyond, 1 is nothing beside the square.
  if (x < 1e10 && y < 1e10) {
    c128 p = sqrt(c128(1 - x, -y)), q = sqrt(c128(1 + x, y));
    re = atan2(x, p.re * q.re - p.im * q.im), im = asinh(p.re * q.im - p.im * q.re);
  } else {
    re = atan2(x, y), im = ln_abs(x, y) + limits<f64>::LN_2();
  }
  return {copysign(re, z.re), copysign(im, z.im)};
}

//@ acos c128 : abs,atan2,asinh,copysign,limits(f64) sqrt(c128) ln_abs
__device__ __forceinline__ c128 acos(c128 z) {
  f64 x = z.re, y = abs(z.im);
  if (x == 0 && y != y) return {limits<f64>::FRAC_PI_2(), y};
  f64 re, im;
  // Beyond, 1 is nothing beside the square.
  if (abs(x) < 1e10 && y < 1e10) {
    c128 p = sqrt(c128(1 - x, -y)), q = sqrt(c128(1 + x, y));
    re = 2 * atan2(p.re, q.re), im = asinh(p.re * q.im - p.im * q.re);
  } else {
    re = atan2(y, x), im = ln_abs(x, y) + limits<f64>::LN_2();
  }
  return {re, copysign(im, -z.im)};
}

//@ atanh c128 : abs,is_infinite,atan2,ln,ln_1p,hypot,copysign,limits(f64) ln_abs
__device__ __forceinline__ c128 atanh(c128 z) {
  const f64 nan = limits<f64>::NAN(), right = limits<f64>::FRAC_PI_2();
  f64 x = abs(z.re), y = abs(z.im), re, im;
  if (x < 1e150 && y < 1e150) {
    im = 0.5 * atan2(2 * y, (1 - x) * (1 + x) - y * y);
    // At 1 the square of a small y would underflow.
    re = x == 1 ? 0.5 * (ln_abs(2, y) - ln(y)) : 0.25 * ln_1p(4 * x / ((1 - x) * (1 - x) + y * y));
  } else if (is_infinite(x) || is_infinite(y)) {
    re = 0, im = y != y ? nan : right;
  } else if (x != x || y != y) {
    re = x == 0 ? x : nan, im = nan;
  } else {
    f64 half = hypot(0.5 * x, 0.5 * y);
    re = 0.5 * (0.5 * x / half) / half, im = right;
  }
  return {copysign(re, z.re), copysign(im, z.im)};
}

//@ atan c128 : atanh(c128) turn turn_back
__device__ __forceinline__ c128 atan(c128 z) {
  return turn_back(atanh(turn(z)));
}

//@ asinh c128 : asin(c128) turn turn_back
__device__ __forceinline__ c128 asinh(c128 z) {
  return turn_back(asin(turn(z)));
}

//@ acosh c128 : acos(c128) abs,copysign(f64)
__device__ __forceinline__ c128 acosh(c128 z) {
  c128 angle = acos(z);
  return {abs(angle.im), copysign(angle.re, z.im)};
}

//@ is_product c128 : abs,trunc,is_infinite(f64)
// Whether a power is by squaring: of infinite numbers, products are NaN where powers are not.
__device__ __forceinline__ bool is_product(c128 z, c128 w) {
  const bool is_small_integer = w.im == 0 && abs(w.re) <= 64 && w.re == trunc(w.re);
  return is_small_integer && (w.re == 0 || !(is_infinite(z.re) || is_infinite(z.im)));
}

//@ pow c128 : mul,recip,exp,ln,is_product(c128) abs,floor(f64)
__device__ __forceinline__ c128 pow(c128 z, c128 w) {
  if (is_product(z, w)) {
    c128 result = c128(1);
    f64 left = abs(w.re);
    while (left > 0) {
      f64 half = floor(0.5 * left);
      if (half + half != left) result = mul(result, z);
      z = mul(z, z);
      left = half;
    }
    return w.re < 0 ? recip(result) : result;
  }
  if (z.re == 0 && z.im == 0 && w.re > 0) return c128();
  return exp(mul(w, ln(z)));
}

//@ recip c64 : recip(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 recip(c64 z) {
  return cast<c64>(recip(cast<c128>(z)));
}

//@ sqrt c64 : sqrt(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 sqrt(c64 z) {
  return cast<c64>(sqrt(cast<c128>(z)));
}

//@ rsqrt c64 : rsqrt(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 rsqrt(c64 z) {
  return cast<c64>(rsqrt(cast<c128>(z)));
}

//@ exp c64 : exp(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 exp(c64 z) {
  return cast<c64>(exp(cast<c128>(z)));
}

//@ exp2 c64 : exp2(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 exp2(c64 z) {
  return cast<c64>(exp2(cast<c128>(z)));
}

//@ exp_m1 c64 : exp_m1(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 exp_m1(c64 z) {
  return cast<c64>(exp_m1(cast<c128>(z)));
}

//@ ln c64 : ln(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 ln(c64 z) {
  return cast<c64>(ln(cast<c128>(z)));
}

//@ log2 c64 : log2(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 log2(c64 z) {
  return cast<c64>(log2(cast<c128>(z)));
}

//@ log10 c64 : log10(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 log10(c64 z) {
  return cast<c64>(log10(cast<c128>(z)));
}

//@ ln_1p c64 : ln_1p(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 ln_1p(c64 z) {
  return cast<c64>(ln_1p(cast<c128>(z)));
}

//@ sinh c64 : sinh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 sinh(c64 z) {
  return cast<c64>(sinh(cast<c128>(z)));
}

//@ cosh c64 : cosh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 cosh(c64 z) {
  return cast<c64>(cosh(cast<c128>(z)));
}

//@ tanh c64 : tanh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 tanh(c64 z) {
  return cast<c64>(tanh(cast<c128>(z)));
}

//@ sin c64 : sin(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 sin(c64 z) {
  return cast<c64>(sin(cast<c128>(z)));
}

//@ cos c64 : cos(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 cos(c64 z) {
  return cast<c64>(cos(cast<c128>(z)));
}

//@ tan c64 : tan(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 tan(c64 z) {
  return cast<c64>(tan(cast<c128>(z)));
}

//@ asin c64 : asin(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 asin(c64 z) {
  return cast<c64>(asin(cast<c128>(z)));
}

//@ acos c64 : acos(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 acos(c64 z) {
  return cast<c64>(acos(cast<c128>(z)));
}

//@ atanh c64 : atanh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 atanh(c64 z) {
  return cast<c64>(atanh(cast<c128>(z)));
}

//@ atan c64 : atan(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 atan(c64 z) {
  return cast<c64>(atan(cast<c128>(z)));
}

//@ asinh c64 : asinh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 asinh(c64 z) {
  return cast<c64>(asinh(cast<c128>(z)));
}

//@ acosh c64 : acosh(c128) cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 acosh(c64 z) {
  return cast<c64>(acosh(cast<c128>(z)));
}

//@ narrow_atan
__device__ __forceinline__ f32 narrow_atan(f32 x) {
  // Of x >= 0 by the steps of fdlibm: that of a number close by, what its rounding lost, and the difference.
  f32 near = 0, rest = 0;
  if (x >= 2.4375f) near = 0x1.921fb4p+0f, rest = 0x1.4442dp-24f, x = -1 / x;
  else if (x >= 1.1875f) near = 0x1.f730bcp-1f, rest = 0x1.281f68p-25f, x = (x - 1.5f) / (1 + 1.5f * x);
  else if (x >= 0.6875f) near = 0x1.921fb4p-1f, rest = 0x1.4442dp-25f, x = (x - 1) / (x + 1);
  else if (x >= 0.4375f) near = 0x1.dac67p-2f, rest = 0x1.586ed2p-28f, x = (2 * x - 1) / (2 + x);
  f32 z = x * x, w = z * z;
  f32 odd = 0.04976878f + w * 0.01628582f;
  odd = z * (0.33333334f + w * (0.14285715f + w * (0.09090887f + w * (0.06661073f + w * odd))));
  f32 even = -0.07691876f + w * (-0.058335703f + w * -0.03653157f);
  even = w * (-0.2f + w * (-0.111111104f + w * even));
  return near - ((x * (odd + even) - rest) - x);
}

//@ narrow_ln : ln(c128) ln(f64) hypot,is_finite,abs,copysign,limits(f32) narrow_atan cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 narrow_ln(c64 z) {
  // Of z != 0, rounded where the C library of PyTorch does.
  c64 log = cast<c64>(ln(cast<c128>(z)));
  f32 size = hypot(z.re, z.im);
  // Near 1 the distance from it counts, and the size of subnormal numbers has few digits.
  if ((size >= 0x1p-126f && size <= 0.5f) || (size >= 2 && is_finite(size))) log.re = f32(ln(f64(size)));
  if (is_finite(z.re) && is_finite(z.im)) {
    f32 angle = narrow_atan(abs(z.im / z.re));
    if (z.re < 0) angle = limits<f32>::PI() - (angle - -0x1.777a5cp-24f);
    log.im = copysign(angle, z.im);
  }
  return log;
}

//@ pow c64 : pow,exp,is_product(c128) mul(c64) narrow_ln cast(c128, c64) cast(c64, c128)
__device__ __forceinline__ c64 pow(c64 z, c64 w) {
  if (is_product(cast<c128>(z), cast<c128>(w)) || (z.re == 0 && z.im == 0)) {
    return cast<c64>(pow(cast<c128>(z), cast<c128>(w)));
  }
  c64 exponent = mul(w, narrow_ln(z));
  return cast<c64>(exp(cast<c128>(exponent)));
}
