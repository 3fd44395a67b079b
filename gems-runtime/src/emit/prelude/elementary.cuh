//! Elementary and special functions of f32 and f64.
//!
//! Those of the platform's library, with the special values of C99; special functions of f32 are computed in
//! f64.

//@ exp f32 : to_bits,from_bits(f32)
// To 0.9 ulps, and to 0.52 just beyond a power of two, which sigmoid needs; CUDA's function has 1.7.
__device__ __forceinline__ f32 exp(f32 x) {
  // Beyond these, the result is 0 or infinite all the same; NaN passes.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  // In the lowest bits of a sum with 1.5·2^23 stands an integer.
  const f32 round = 12582912.0f;
  const f32 rounded = ::fmaf(x, 1.44269504f, round);
  const f32 n = rounded - round;
  const f32 r = ::fmaf(n, 1.90465432e-9f, ::fmaf(n, -0.693147182f, x));
  f32 p = 1.9875691e-4f;
  p = ::fmaf(p, r, 1.3982e-3f);
  p = ::fmaf(p, r, 8.333452e-3f);
  p = ::fmaf(p, r, 4.1665796e-2f);
  p = ::fmaf(p, r, 0.16666665f);
  p = ::fmaf(p, r, 0.5f);
  p = ::fmaf(p, r, 1.0f);
  p = ::fmaf(p, r, 1.0f);
  // In two steps, the first of which is exact: the result may be subnormal or need 2^128.
  const i32 power = i32(to_bits(rounded) - to_bits(round)), half = power >> 1;
  return p * from_bits(u32(half + 127) << 23) * from_bits(u32(power - half + 127) << 23);
}

//@ exp f64
__device__ __forceinline__ f64 exp(f64 x) {
  return ::exp(x);
}

//@ exp2 f32
__device__ __forceinline__ f32 exp2(f32 x) {
  // CUDA's function is not exact for integers whose power is subnormal.
  return x < -126 ? ::exp2f(x + 24) * 0x1p-24f : ::exp2f(x);
}

//@ exp2 f64
__device__ __forceinline__ f64 exp2(f64 x) {
  return ::exp2(x);
}

//@ exp_m1 f32
__device__ __forceinline__ f32 exp_m1(f32 x) {
  return ::expm1f(x);
}

//@ exp_m1 f64
__device__ __forceinline__ f64 exp_m1(f64 x) {
  return ::expm1(x);
}

//@ ln f32
__device__ __forceinline__ f32 ln(f32 x) {
  return ::logf(x);
}

//@ ln f64
__device__ __forceinline__ f64 ln(f64 x) {
  return ::log(x);
}

//@ log2 f32
__device__ __forceinline__ f32 log2(f32 x) {
  return ::log2f(x);
}

//@ near_integer : round_ties_even,abs(f64)
__device__ __forceinline__ f64 near_integer(f64 x) {
  // CUDA's logarithms miss integers by an ulp.
  f64 integer = round_ties_even(x);
  return abs(x - integer) <= 0x1p-52 * abs(integer) ? integer : x;
}

//@ log2 f64 : near_integer
__device__ __forceinline__ f64 log2(f64 x) {
  return near_integer(::log2(x));
}

//@ log10 f32
__device__ __forceinline__ f32 log10(f32 x) {
  // In f64, because CUDA's function for f32 misses integers.
  return f32(::log10(f64(x)));
}

//@ log10 f64 : near_integer
__device__ __forceinline__ f64 log10(f64 x) {
  return near_integer(::log10(x));
}

//@ ln_1p f32
__device__ __forceinline__ f32 ln_1p(f32 x) {
  return ::log1pf(x);
}

//@ ln_1p f64
__device__ __forceinline__ f64 ln_1p(f64 x) {
  return ::log1p(x);
}

//@ sin f32
__device__ __forceinline__ f32 sin(f32 x) {
  return ::sinf(x);
}

//@ sin f64
__device__ __forceinline__ f64 sin(f64 x) {
  return ::sin(x);
}

//@ cos f32
__device__ __forceinline__ f32 cos(f32 x) {
  return ::cosf(x);
}

//@ cos f64
__device__ __forceinline__ f64 cos(f64 x) {
  return ::cos(x);
}

//@ tan f32
__device__ __forceinline__ f32 tan(f32 x) {
  return ::tanf(x);
}

//@ tan f64
__device__ __forceinline__ f64 tan(f64 x) {
  return ::tan(x);
}

//@ asin f32
__device__ __forceinline__ f32 asin(f32 x) {
  return ::asinf(x);
}

//@ asin f64
__device__ __forceinline__ f64 asin(f64 x) {
  return ::asin(x);
}

//@ acos f32
__device__ __forceinline__ f32 acos(f32 x) {
  return ::acosf(x);
}

//@ acos f64
__device__ __forceinline__ f64 acos(f64 x) {
  return ::acos(x);
}

//@ atan f32
__device__ __forceinline__ f32 atan(f32 x) {
  return ::atanf(x);
}

//@ atan f64
__device__ __forceinline__ f64 atan(f64 x) {
  return ::atan(x);
}

//@ sinh f32
__device__ __forceinline__ f32 sinh(f32 x) {
  return ::sinhf(x);
}

//@ sinh f64
__device__ __forceinline__ f64 sinh(f64 x) {
  return ::sinh(x);
}

//@ cosh f32
__device__ __forceinline__ f32 cosh(f32 x) {
  return ::coshf(x);
}

//@ cosh f64
__device__ __forceinline__ f64 cosh(f64 x) {
  return ::cosh(x);
}

//@ tanh f32
__device__ __forceinline__ f32 tanh(f32 x) {
  return ::tanhf(x);
}

//@ tanh f64
__device__ __forceinline__ f64 tanh(f64 x) {
  return ::tanh(x);
}

//@ asinh f32
__device__ __forceinline__ f32 asinh(f32 x) {
  return ::asinhf(x);
}

//@ asinh f64
__device__ __forceinline__ f64 asinh(f64 x) {
  return ::asinh(x);
}

//@ acosh f32
__device__ __forceinline__ f32 acosh(f32 x) {
  return ::acoshf(x);
}

//@ acosh f64
__device__ __forceinline__ f64 acosh(f64 x) {
  return ::acosh(x);
}

//@ atanh f32
__device__ __forceinline__ f32 atanh(f32 x) {
  return ::atanhf(x);
}

//@ atanh f64
__device__ __forceinline__ f64 atanh(f64 x) {
  return ::atanh(x);
}

//@ cbrt f32
__device__ __forceinline__ f32 cbrt(f32 x) {
  return ::cbrtf(x);
}

//@ cbrt f64
__device__ __forceinline__ f64 cbrt(f64 x) {
  return ::cbrt(x);
}

//@ pow f32
__device__ __forceinline__ f32 pow(f32 x, f32 y) {
  return ::powf(x, y);
}

//@ pow f64 : abs,trunc,mul_add(f64)
__device__ __forceinline__ f64 pow(f64 x, f64 y) {
  f64 power = ::pow(x, y), size = abs(y);
  if (size > 1100 || y != trunc(y)) return power;
  // CUDA's function misses exact powers by an ulp; products tell whether they are exact.
  f64 result = 1, square = x;
  for (i32 n = i32(size);;) {
    if (n & 1) {
      f64 next = result * square;
      if (mul_add(result, square, -next) != 0 || !(abs(next) > 0x1p-900)) return power;
      result = next;
    }
    n >>= 1;
    if (n == 0) return y < 0 ? 1 / result : result;
    f64 next = square * square;
    if (mul_add(square, square, -next) != 0 || !(next > 0x1p-900)) return power;
    square = next;
  }
}

//@ hypot f64
__device__ __forceinline__ f64 hypot(f64 x, f64 y) {
  const f64 r = ::hypot(x, y), a = ::fabs(x), b = ::fabs(y);
  const f64 most = a > b ? a : b, least = a > b ? b : a;
  // CUDA's is infinite at the end of the range also where the greater one is the result.
  return least < most * 0x1p-27 && most <= 0x1.fffffffffffffp1023 ? most : r;
}

//@ atan2 f32
__device__ __forceinline__ f32 atan2(f32 x, f32 y) {
  return ::atan2f(x, y);
}

//@ atan2 f64
__device__ __forceinline__ f64 atan2(f64 x, f64 y) {
  return ::atan2(x, y);
}

//@ erf f32
__device__ __forceinline__ f32 erf(f32 x) {
  return ::erff(x);
}

//@ erf f64
__device__ __forceinline__ f64 erf(f64 x) {
  return ::erf(x);
}

//@ erfc f32
__device__ __forceinline__ f32 erfc(f32 x) {
  return ::erfcf(x);
}

//@ erfc f64
__device__ __forceinline__ f64 erfc(f64 x) {
  return ::erfc(x);
}

//@ lgamma float
__device__ __forceinline__ T lgamma(T x) {
  return T(::lgamma(f64(x)));
}

//@ tgamma float
__device__ __forceinline__ T tgamma(T x) {
  return T(::tgamma(f64(x)));
}

//@ hankel : tuple2 sin,cos,sqrt,mul_add(f64)
// J and Y of order 0 or 1 from 16 on: P·cos t - Q·sin t and P·sin t + Q·cos t, by the amplitude, t = x - (n/2 + 1/4)·pi,
// P and xQ by minimax polynomials in 1/x^2, least coefficients last. CUDA's functions round the angle there, and
// lose half of their digits around 10^8.
__device__ __forceinline__ tuple2<f64, f64> hankel(f64 x, i32 order) {
  const f64 ps[2][7] = {
      {1912.2537702915433, -104.71985263861133, 6.060854396378726, -0.5724841358991344, 0.11215208869566758,
       -0.07031249999740245, 0.9999999999999999},
      {-2089.4680900123635, 115.88469894808863, -6.869682667442544, 0.6765739279774573, -0.1441955448553255,
       0.11718749999719438, 1.0}};
  const f64 qs[2][7] = {
      {-10714.518612731305, 516.4699385932361, -24.294514805942242, 1.7276153899823747, -0.22710793120434797,
       0.07324218748327484, -0.12499999999999935},
      {11631.712991183773, -566.4225534982871, 27.156452077417253, -1.9934112860295194, 0.2775763707664605,
       -0.10253906248202255, 0.3749999999999993}};
  if (x > 0x1.fffffffffffffp1023) return {0, 0};
  const f64 inverse = 1 / x, square = inverse * inverse;
  f64 p = 0, q = 0;
  for (i32 k = 0; k < 7; ++k) {
    p = mul_add(p, square, ps[order][k]);
    q = mul_add(q, square, qs[order][k]);
  }
  const f64 amplitude = 0.5641895835477563 / sqrt(x), sine = sin(x), cosine = cos(x);
  p *= amplitude;
  q *= amplitude * inverse;
  const f64 sum = sine + cosine, rest = sine - cosine;
  if (order == 0) return {p * sum - q * rest, p * rest + q * sum};
  return {p * rest + q * sum, q * rest - p * sum};
}

//@ bessel_j0 float : hankel
__device__ __forceinline__ T bessel_j0(T x) {
  const f64 size = ::fabs(f64(x));
  return T(size >= 16 ? hankel(size, 0)._0 : ::j0(size));
}

//@ bessel_j1 float : hankel
__device__ __forceinline__ T bessel_j1(T x) {
  const f64 size = ::fabs(f64(x));
  return T(size >= 16 ? ::copysign(1.0, f64(x)) * hankel(size, 1)._0 : ::j1(f64(x)));
}

//@ bessel_y0 float : hankel
__device__ __forceinline__ T bessel_y0(T x) {
  return T(x >= 16 ? hankel(f64(x), 0)._1 : ::y0(f64(x)));
}

//@ bessel_y1 float : hankel
__device__ __forceinline__ T bessel_y1(T x) {
  return T(x >= 16 ? hankel(f64(x), 1)._1 : ::y1(f64(x)));
}

//@ sin_pi float : limits,rem,abs,round_ties_even,sin,cos,is_sign_negative(T)
__device__ __forceinline__ T sin_pi(T x) {
  T turn = rem(abs(x), T(2));
  if (turn != turn) return turn;
  T quarters = round_ties_even(turn + turn);
  T angle = limits<T>::PI() * (turn - T(0.5) * quarters);
  i32 quarter = i32(quarters) & 3;
  T size = quarter & 1 ? cos(angle) : sin(angle);
  // Subtracting from zero makes the zeros positive before they take the sign of x.
  T value = quarter & 2 ? T(0) - size : size;
  return is_sign_negative(x) ? -value : value;
}

//@ cos_pi float : limits,rem,abs,round_ties_even,sin,cos(T)
__device__ __forceinline__ T cos_pi(T x) {
  T turn = rem(abs(x), T(2));
  if (turn != turn) return turn;
  T quarters = round_ties_even(turn + turn);
  T angle = limits<T>::PI() * (turn - T(0.5) * quarters);
  i32 quarter = i32(quarters) & 3;
  T size = quarter & 1 ? sin(angle) : cos(angle);
  return quarter == 1 || quarter == 2 ? T(0) - size : size;
}

//@ normal_cdf float : limits,mul_add,erfc(T)
// erfc(-x/sqrt 2)/2, with the argument's rounding taken back where it counts: erfc(t + d) is erfc(t)·(1 - 2td).
__device__ __forceinline__ T normal_cdf(T x) {
  const T root = limits<T>::FRAC_1_SQRT_2();
  const T t = -x * root;
  const T tail = erfc(t);
  const T rest = mul_add(-root, root, T(0.5)) * root;
  const T delta = mul_add(-x, root, -t) - x * rest;
  return T(0.5) * (t > T(1) && tail > T(0) ? tail * (T(1) - T(2) * t * delta) : tail);
}

//@ exp2_near
// 2^x to 2 ulps; results below the normal numbers are 0.
__device__ __forceinline__ f32 exp2_near(f32 x) {
#ifdef __CUDA_ARCH__
  f32 y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return ::exp2f(x);
#endif
}

//@ recip_near
// 1/x to 1 ulp for normal numbers.
__device__ __forceinline__ f32 recip_near(f32 x) {
#ifdef __CUDA_ARCH__
  f32 y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

//@ exp_short f32
__device__ __forceinline__ f32 exp_short(f32 x) {
  return ::expf(x);
}

//@ tanh_short f32 : exp2_near recip_near
// tanh to a relative 1.2e-6, for results in bf16: 1 - 2/(e^2x + 1), and x·(1 + c·x^2 + d·x^4) near 0.
__device__ __forceinline__ f32 tanh_short(f32 x) {
  const f32 far = ::fmaf(-2.0f, recip_near(exp2_near(x * 2.885390082f) + 1.0f), 1.0f);
  const f32 square = x * x;
  const f32 near = x * ::fmaf(square, ::fmaf(square, 0.13038301f, -0.33329707f), 1.0f);
  return ::fabsf(x) < 0.2f ? near : far;
}

//@ erfc_short f32 : exp2_near recip_near
// erfc to a relative 1e-6, and 6e-6 in the far tail, for results in bf16: e^-x^2·t·p(t) with t = 1/(1 + 0.375·|x|).
__device__ __forceinline__ f32 erfc_short(f32 x) {
  const f32 t = recip_near(::fmaf(0.375f, ::fabsf(x), 1.0f));
  f32 p = -0.13508418f;
  p = ::fmaf(p, t, 0.38789615f);
  p = ::fmaf(p, t, -0.12953761f);
  p = ::fmaf(p, t, 0.28301758f);
  p = ::fmaf(p, t, 0.16668211f);
  p = ::fmaf(p, t, 0.21568559f);
  p = ::fmaf(p, t, 0.21133974f);
  // The exponential is kept 2^32 times too large, so that only the product becomes subnormal.
  const f32 power = exp2_near(::fmaf(x * x, -1.442695041f, 32.0f));
  const f32 tail = (p * t * 0x1p-32f) * power;
  return x < 0 ? 2.0f - tail : tail;
}

//@ normal_cdf_short f32 : exp2_near recip_near
// The same for the normal distribution, with all factors in the coefficients.
__device__ __forceinline__ f32 normal_cdf_short(f32 x) {
  const f32 t = recip_near(::fmaf(0.26516504f, ::fabsf(x), 1.0f));
  f32 p = -0.13508418f * 0x1p-33f;
  p = ::fmaf(p, t, 0.38789615f * 0x1p-33f);
  p = ::fmaf(p, t, -0.12953761f * 0x1p-33f);
  p = ::fmaf(p, t, 0.28301758f * 0x1p-33f);
  p = ::fmaf(p, t, 0.16668211f * 0x1p-33f);
  p = ::fmaf(p, t, 0.21568559f * 0x1p-33f);
  p = ::fmaf(p, t, 0.21133974f * 0x1p-33f);
  const f32 tail = p * t * exp2_near(::fmaf(x * x, -0.72134752f, 32.0f));
  return x > 0 ? 1.0f - tail : tail;
}
