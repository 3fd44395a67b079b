//! Conversions: `cast<To>(from)` for every pair of dtypes.
//!
//! One rounding, ties to even, from the exact source value; float to integer truncates and saturates with NaN
//! to 0.

//@ cast
template <class To, class From>
__device__ To cast(From x);

//@ cast any same : cast
template <>
__device__ __forceinline__ T cast(U x) {
  return x;
}

//@ cast int,float int,bool : cast
template <>
__device__ __forceinline__ T cast(U x) {
  return T(x);
}

//@ cast float float : cast
template <>
__device__ __forceinline__ T cast(U x) {
  return T(x);
}

//@ cast bool int,float : cast
template <>
__device__ __forceinline__ T cast(U x) {
  return x != U(0);
}

//@ cast uint float : cast
template <>
__device__ __forceinline__ T cast(U x) {
  const U top = U(2) * U(u64(1) << (8 * sizeof(T) - 1));
  if (x >= top) return T(~T(0));
  // NaN fails the test.
  return x > U(0) ? T(x) : T(0);
}

//@ cast sint float : cast
template <>
__device__ __forceinline__ T cast(U x) {
  const u64 top = u64(1) << (8 * sizeof(T) - 1);
  if (x >= U(top)) return T(top - 1);
  if (x < -U(top)) return T(top);
  return x == x ? T(x) : T(0);
}

//@ cast f32 bf16 : cast from_bits(f32)
template <>
__device__ __forceinline__ f32 cast(bf16 x) {
  return from_bits(u32(x.bits) << 16);
}

//@ cast f32 f16 : cast from_bits,to_bits(f32)
template <>
__device__ __forceinline__ f32 cast(f16 x) {
#ifdef __CUDA_ARCH__
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
#else
  u32 magnitude = x.bits & 0x7fff, sign = u32(x.bits >> 15) << 31;
  // The product moves normal and subnormal numbers to f32's exponents, exactly.
  f32 finite = from_bits(magnitude << 13) * 0x1p112f;
  return from_bits(sign | (magnitude < 0x7c00 ? to_bits(finite) : 0x7f800000 | magnitude << 13));
#endif
}

//@ cast f32 f8e5m2 : cast cast(f32, f16)
template <>
__device__ __forceinline__ f32 cast(f8e5m2 x) {
  return cast<f32>(f16{u16(x.bits << 8)});
}

//@ cast f32 f8e4m3fn : cast from_bits,to_bits(f32)
template <>
__device__ __forceinline__ f32 cast(f8e4m3fn x) {
  u32 magnitude = x.bits & 0x7f, sign = u32(x.bits >> 7) << 31;
  f32 finite = from_bits(magnitude << 20) * 0x1p120f;
  return from_bits(sign | (magnitude < 0x7f ? to_bits(finite) : 0x7fc00000));
}

//@ round_magnitude : to_bits,from_bits(f32)
__device__ __forceinline__ u32 round_magnitude(
    f32 x, u32 drop, u32 bias, u32 magic, u32 limit, u32 overflow, u32 nan) {
  // `drop`: mantissa bits to drop; `bias`: difference of the exponent biases; `magic`: the number whose
  // last place is the least subnormal; magnitudes above `limit` become `overflow`.
  u32 a = to_bits(x) & 0x7fffffff;
  if (a > 0x7f800000) return nan;
  if (a > limit) return overflow;
  if (a < (bias + 1) << 23) return to_bits(from_bits(a) + from_bits(magic)) - magic;
  return (a + (1u << (drop - 1)) - 1 + (a >> drop & 1) - (bias << 23)) >> drop;
}

//@ cast f16 f32 : cast round_magnitude to_bits(f32)
template <>
__device__ __forceinline__ f16 cast(f32 x) {
#ifdef __CUDA_ARCH__
  f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
  return r;
#else
  u32 sign = to_bits(x) >> 16 & 0x8000;
  return {u16(sign | round_magnitude(x, 13, 112, 0x3f000000, 0x477fffff, 0x7c00, 0x7e00))};
#endif
}

//@ cast bf16 f32 : cast to_bits(f32)
template <>
__device__ __forceinline__ bf16 cast(f32 x) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  // The instruction for pairs, which runs at the rate of additions; that for single ones is as slow as a square root.
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(0.0f));
  return {u16(pair >> 16)};
#else
  u32 bits = to_bits(x);
  return {u16(x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fc0 | (bits >> 16 & 0x8000))};
#endif
}

//@ cast f8e4m3fn f32 : cast round_magnitude to_bits(f32)
template <>
__device__ __forceinline__ f8e4m3fn cast(f32 x) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 890
  u16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {u8(pair)};
#else
  u32 sign = to_bits(x) >> 24 & 0x80;
  return {u8(sign | round_magnitude(x, 20, 120, 0x46800000, 0x43e00000, 0x7e, 0x7f))};
#endif
}

//@ cast f8e5m2 f32 : cast round_magnitude to_bits(f32)
template <>
__device__ __forceinline__ f8e5m2 cast(f32 x) {
  u32 sign = to_bits(x) >> 24 & 0x80;
  return {u8(sign | round_magnitude(x, 21, 112, 0x43000000, 0x477fffff, 0x7c, 0x7f))};
}

//@ odd f64 : to_bits,from_bits(f32)
__device__ __forceinline__ f32 odd(f64 x) {
  // Rounds to odd: rounding the result again to at most 22 bits is as good as rounding x once.
  f32 near = f32(x);
  f64 there = ::fabs(f64(near)), here = ::fabs(x);
  bool even = (to_bits(near) & 1) == 0;
  return from_bits(to_bits(near) + (even && there < here) - (even && there > here));
}

//@ odd u64 : odd(f64)
__device__ __forceinline__ f32 odd(u64 x) {
  // Above 2^53 the low 11 bits only say whether the rest is exact.
  u64 folded = (x & ~u64(0x7ff)) | u64((x & 0x7ff) != 0) << 11;
  return odd(f64(x >> 53 == 0 ? x : folded));
}

//@ odd i64 : odd(u64)
__device__ __forceinline__ f32 odd(i64 x) {
  return x < 0 ? -odd(u64(0) - u64(x)) : odd(u64(x));
}

//@ cast small f64,i64,u64 : cast odd(U) cast(T, f32)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<T>(odd(x));
}

//@ cast small i32,u32 : cast odd(f64) cast(T, f32)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<T>(odd(f64(x)));
}

//@ cast small u8,i8,i16,u16,bool : cast cast(T, f32)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<T>(f32(x));
}

//@ cast bool,int,f64,small small : cast cast(f32, U) cast(T, f32)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<T>(cast<f32>(x));
}

//@ cast complex bool,int,float,small : cast type(T) cast(R, U)
template <>
__device__ __forceinline__ T cast(U x) {
  return T(cast<R>(x));
}

//@ cast int,float,small complex : cast type(U) cast(T, V)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<T>(x.re);
}

//@ cast bool complex : cast type(U) cast(bool, V)
template <>
__device__ __forceinline__ T cast(U x) {
  return cast<bool>(x.re) || cast<bool>(x.im);
}

//@ cast complex complex : cast type(T) type(U) cast(R, V)
template <>
__device__ __forceinline__ T cast(U x) {
  return T(cast<R>(x.re), cast<R>(x.im));
}
