//! f32 and f64: arithmetic, rounding and bits, exact or correctly rounded.
//!
//! Nothing here calls a math library, so every machine gives the same bits.

//@ add float
__device__ __forceinline__ T add(T x, T y) {
  return x + y;
}

//@ sub float
__device__ __forceinline__ T sub(T x, T y) {
  return x - y;
}

//@ mul float
__device__ __forceinline__ T mul(T x, T y) {
  return x * y;
}

//@ div float
__device__ __forceinline__ T div(T x, T y) {
  return x / y;
}

//@ neg float
__device__ __forceinline__ T neg(T x) {
  return -x;
}

//@ abs f32
__device__ __forceinline__ f32 abs(f32 x) {
  return ::fabsf(x);
}

//@ abs f64
__device__ __forceinline__ f64 abs(f64 x) {
  return ::fabs(x);
}

//@ rem f32
__device__ __forceinline__ f32 rem(f32 x, f32 y) {
  return ::fmodf(x, y);
}

//@ rem f64
__device__ __forceinline__ f64 rem(f64 x, f64 y) {
  return ::fmod(x, y);
}

//@ is_nan float
__device__ __forceinline__ bool is_nan(T x) {
  return x != x;
}

//@ is_infinite float : limits,abs(T)
__device__ __forceinline__ bool is_infinite(T x) {
  return abs(x) > limits<T>::MAX();
}

//@ is_finite float : limits,abs(T)
__device__ __forceinline__ bool is_finite(T x) {
  return abs(x) <= limits<T>::MAX();
}

//@ is_sign_negative float : to_bits(T)
__device__ __forceinline__ bool is_sign_negative(T x) {
  return to_bits(x) >> (8 * sizeof(T) - 1) != 0;
}

//@ copysign f32
__device__ __forceinline__ f32 copysign(f32 x, f32 y) {
  return ::copysignf(x, y);
}

//@ copysign f64
__device__ __forceinline__ f64 copysign(f64 x, f64 y) {
  return ::copysign(x, y);
}

//@ minimum f32 : is_sign_negative(f32)
__device__ __forceinline__ f32 minimum(f32 x, f32 y) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  f32 r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (x != x || y != y) return x + y;
  return x < y || (x == y && is_sign_negative(x)) ? x : y;
#endif
}

//@ minimum f64 : is_sign_negative(f64)
__device__ __forceinline__ f64 minimum(f64 x, f64 y) {
  if (x != x || y != y) return x + y;
  return x < y || (x == y && is_sign_negative(x)) ? x : y;
}

//@ maximum f32 : is_sign_negative(f32)
__device__ __forceinline__ f32 maximum(f32 x, f32 y) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  f32 r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (x != x || y != y) return x + y;
  return x > y || (x == y && !is_sign_negative(x)) ? x : y;
#endif
}

//@ maximum f64 : is_sign_negative(f64)
__device__ __forceinline__ f64 maximum(f64 x, f64 y) {
  if (x != x || y != y) return x + y;
  return x > y || (x == y && !is_sign_negative(x)) ? x : y;
}

//@ min f32 : is_sign_negative(f32)
__device__ __forceinline__ f32 min(f32 x, f32 y) {
#ifdef __CUDA_ARCH__
  f32 r;
  asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (y != y) return x;
  return x < y || (x == y && is_sign_negative(x)) ? x : y;
#endif
}

//@ min f64 : is_sign_negative(f64)
__device__ __forceinline__ f64 min(f64 x, f64 y) {
#ifdef __CUDA_ARCH__
  f64 r;
  asm("min.f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y));
  return r;
#else
  if (y != y) return x;
  return x < y || (x == y && is_sign_negative(x)) ? x : y;
#endif
}

//@ max f32 : is_sign_negative(f32)
__device__ __forceinline__ f32 max(f32 x, f32 y) {
#ifdef __CUDA_ARCH__
  f32 r;
  asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
#else
  if (y != y) return x;
  return x > y || (x == y && !is_sign_negative(x)) ? x : y;
#endif
}

//@ max f64 : is_sign_negative(f64)
__device__ __forceinline__ f64 max(f64 x, f64 y) {
#ifdef __CUDA_ARCH__
  f64 r;
  asm("max.f64 %0, %1, %2;" : "=d"(r) : "d"(x), "d"(y));
  return r;
#else
  if (y != y) return x;
  return x > y || (x == y && !is_sign_negative(x)) ? x : y;
#endif
}

//@ sqrt f32
__device__ __forceinline__ f32 sqrt(f32 x) {
  return ::sqrtf(x);
}

//@ sqrt f64
__device__ __forceinline__ f64 sqrt(f64 x) {
  return ::sqrt(x);
}

//@ hypot f32 : is_infinite,limits(f32) sqrt(f64)
__device__ __forceinline__ f32 hypot(f32 x, f32 y) {
  if (is_infinite(x) || is_infinite(y)) return limits<f32>::INFINITY();
  // Exact in f64 but for the square root and the conversion.
  return f32(sqrt(f64(x) * f64(x) + f64(y) * f64(y)));
}

//@ recip float
__device__ __forceinline__ T recip(T x) {
  return T(1) / x;
}

//@ rsqrt float : sqrt(T)
__device__ __forceinline__ T rsqrt(T x) {
  return T(1) / sqrt(x);
}

//@ floor f32
__device__ __forceinline__ f32 floor(f32 x) {
  return ::floorf(x);
}

//@ floor f64
__device__ __forceinline__ f64 floor(f64 x) {
  return ::floor(x);
}

//@ ceil f32
__device__ __forceinline__ f32 ceil(f32 x) {
  return ::ceilf(x);
}

//@ ceil f64
__device__ __forceinline__ f64 ceil(f64 x) {
  return ::ceil(x);
}

//@ trunc f32
__device__ __forceinline__ f32 trunc(f32 x) {
  return ::truncf(x);
}

//@ trunc f64
__device__ __forceinline__ f64 trunc(f64 x) {
  return ::trunc(x);
}

//@ round_ties_even f32
__device__ __forceinline__ f32 round_ties_even(f32 x) {
  return ::rintf(x);
}

//@ round_ties_even f64
__device__ __forceinline__ f64 round_ties_even(f64 x) {
  return ::rint(x);
}

//@ mul_add f32
__device__ __forceinline__ f32 mul_add(f32 x, f32 a, f32 b) {
  return ::fmaf(x, a, b);
}

//@ mul_add f64
__device__ __forceinline__ f64 mul_add(f64 x, f64 a, f64 b) {
  return ::fma(x, a, b);
}

//@ next_after float : to_bits,from_bits(T)
__device__ __forceinline__ T next_after(T x, T y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  const W sign = W(1) << (8 * sizeof(T) - 1);
  if (x == 0) return from_bits((to_bits(y) & sign) | 1);
  bool away = (x < y) == (x > 0);
  return from_bits(away ? to_bits(x) + 1 : to_bits(x) - 1);
}

//@ power_of_two : from_bits(f64)
__device__ __forceinline__ f64 power_of_two(i32 n) {
  return from_bits(u64(n + 1023) << 52);
}

//@ ldexp f32 : power_of_two
__device__ __forceinline__ f32 ldexp(f32 x, i32 n) {
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  // Exact in f64, so that only the conversion rounds.
  return f32(f64(x) * power_of_two(n));
}

//@ ldexp f64 : power_of_two
__device__ __forceinline__ f64 ldexp(f64 x, i32 n) {
  n = n < -2200 ? -2200 : n > 2200 ? 2200 : n;
  for (; n > 1023; n -= 1023) x *= power_of_two(1023);
  // A step down stops short of the subnormals by 53 bits: below that, the result is zero however it was
  // rounded.
  for (; n < -1022; n += 969) x *= power_of_two(-969);
  return x * power_of_two(n);
}

//@ frexp f32 : tuple2 to_bits,from_bits,limits,abs,ldexp(f32)
__device__ __forceinline__ tuple2<f32, i32> frexp(f32 x) {
  if (x == 0 || !(abs(x) <= limits<f32>::MAX())) return {x, 0};
  // Subnormal numbers are made normal first.
  i32 lift = abs(x) < limits<f32>::MIN_POSITIVE() ? 23 : 0;
  u32 bits = to_bits(ldexp(x, lift));
  i32 exponent = i32(bits >> 23 & 255);
  u32 fraction = (bits & ~(u32(255) << 23)) | u32(126) << 23;
  return {from_bits(fraction), exponent - 126 - lift};
}

//@ frexp f64 : tuple2 to_bits,from_bits,limits,abs,ldexp(f64)
__device__ __forceinline__ tuple2<f64, i32> frexp(f64 x) {
  if (x == 0 || !(abs(x) <= limits<f64>::MAX())) return {x, 0};
  // Subnormal numbers are made normal first.
  i32 lift = abs(x) < limits<f64>::MIN_POSITIVE() ? 52 : 0;
  u64 bits = to_bits(ldexp(x, lift));
  i32 exponent = i32(bits >> 52 & 2047);
  u64 fraction = (bits & ~(u64(2047) << 52)) | u64(1022) << 52;
  return {from_bits(fraction), exponent - 1022 - lift};
}

//@ div_trunc float : trunc(T)
__device__ __forceinline__ T div_trunc(T x, T y) {
  return trunc(x / y);
}

//@ div_floor float : rem,floor,copysign(T)
__device__ __forceinline__ T div_floor(T x, T y) {
  T quotient = x / y;
  if (y == 0) return quotient;
  T remainder = rem(x, y);
  T exact = (x - remainder) / y;
  if (remainder != 0 && (y < 0) != (remainder < 0)) exact -= 1;
  if (exact == 0) return copysign(T(0), quotient);
  T below = floor(exact);
  return exact - below > T(0.5) ? below + 1 : below;
}

//@ rem_floor float : rem(T)
__device__ __forceinline__ T rem_floor(T x, T y) {
  T remainder = rem(x, y);
  return remainder != 0 && (y < 0) != (remainder < 0) ? remainder + y : remainder;
}
