//! Functions on stored bits: they see -0, the sign of NaN and every subnormal of the stored type.

//@ bits_neg small
__device__ __forceinline__ T bits_neg(T x) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return T{W(x.bits ^ sign)};
}

//@ bits_abs small
__device__ __forceinline__ T bits_abs(T x) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return T{W(x.bits & ~sign)};
}

//@ bits_copysign small
__device__ __forceinline__ T bits_copysign(T x, T y) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return T{W((x.bits & ~sign) | (y.bits & sign))};
}

//@ bits_is_sign_negative small
__device__ __forceinline__ bool bits_is_sign_negative(T x) {
  return x.bits >> (8 * sizeof(T) - 1) != 0;
}

//@ bits_neg float : to_bits,from_bits(T)
__device__ __forceinline__ T bits_neg(T x) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return from_bits(to_bits(x) ^ sign);
}

//@ bits_abs float : to_bits,from_bits(T)
__device__ __forceinline__ T bits_abs(T x) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return from_bits(to_bits(x) & ~sign);
}

//@ bits_copysign float : to_bits,from_bits(T)
__device__ __forceinline__ T bits_copysign(T x, T y) {
  const W sign = W(1) << (8 * sizeof(T) - 1);
  return from_bits((to_bits(x) & ~sign) | (to_bits(y) & sign));
}

//@ bits_is_sign_negative float : to_bits(T)
__device__ __forceinline__ bool bits_is_sign_negative(T x) {
  return to_bits(x) >> (8 * sizeof(T) - 1) != 0;
}

//@ bits_next_after float : next_after(T)
__device__ __forceinline__ T bits_next_after(T x, T y) {
  return next_after(x, y);
}

//@ bits_next_after small : cast(f32, T)
__device__ __forceinline__ T bits_next_after(T x, T y) {
  f32 from = cast<f32>(x), to = cast<f32>(y);
  if (from != from) return x;
  if (to != to || from == to) return y;
  const W sign = W(1) << (8 * sizeof(T) - 1);
  if (from == 0) return T{W((y.bits & sign) | 1)};
  bool away = (from < to) == (from > 0);
  return T{W(away ? x.bits + 1 : x.bits - 1)};
}

//@ bits_neg int : neg(T)
__device__ __forceinline__ T bits_neg(T x) {
  return neg(x);
}

//@ bits_abs int : abs(T)
__device__ __forceinline__ T bits_abs(T x) {
  return abs(x);
}

//@ bits_copysign uint
__device__ __forceinline__ T bits_copysign(T x, T) {
  return x;
}

//@ bits_copysign sint : abs,neg(T)
__device__ __forceinline__ T bits_copysign(T x, T y) {
  return y < 0 ? neg(abs(x)) : abs(x);
}

//@ bits_is_sign_negative uint
__device__ __forceinline__ bool bits_is_sign_negative(T) {
  return false;
}

//@ bits_is_sign_negative sint
__device__ __forceinline__ bool bits_is_sign_negative(T x) {
  return x < 0;
}

//@ bits_next_after int
__device__ __forceinline__ T bits_next_after(T x, T y) {
  return T(x + (x < y) - (x > y));
}
