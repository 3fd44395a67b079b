//! Bool and integers.
//!
//! Nothing traps: arithmetic is done on unsigned numbers and cut back to the type, x/0 = 0, shifts take any
//! count.

//@ add int
__device__ __forceinline__ T add(T x, T y) {
  return T(W(x) + W(y));
}

//@ sub int
__device__ __forceinline__ T sub(T x, T y) {
  return T(W(x) - W(y));
}

//@ mul int
__device__ __forceinline__ T mul(T x, T y) {
  return T(W(x) * W(y));
}

//@ neg int
__device__ __forceinline__ T neg(T x) {
  return T(W(0) - W(x));
}

//@ abs uint
__device__ __forceinline__ T abs(T x) {
  return x;
}

//@ abs sint
__device__ __forceinline__ T abs(T x) {
  return x < 0 ? T(W(0) - W(x)) : x;
}

//@ div uint
__device__ __forceinline__ T div(T x, T y) {
  return y == 0 ? T(0) : T(x / y);
}

//@ div sint
__device__ __forceinline__ T div(T x, T y) {
  if (y == 0) return 0;
  return y == -1 ? T(W(0) - W(x)) : T(x / y);
}

//@ rem uint
__device__ __forceinline__ T rem(T x, T y) {
  return y == 0 ? T(0) : T(x % y);
}

//@ rem sint
__device__ __forceinline__ T rem(T x, T y) {
  return y == 0 || y == -1 ? T(0) : T(x % y);
}

//@ div_trunc int : div(T)
__device__ __forceinline__ T div_trunc(T x, T y) {
  return div(x, y);
}

//@ div_floor uint : div(T)
__device__ __forceinline__ T div_floor(T x, T y) {
  return div(x, y);
}

//@ div_floor sint : div,rem(T)
__device__ __forceinline__ T div_floor(T x, T y) {
  T remainder = rem(x, y);
  return T(W(div(x, y)) - W(remainder != 0 && (remainder < 0) != (y < 0)));
}

//@ rem_floor uint : rem(T)
__device__ __forceinline__ T rem_floor(T x, T y) {
  return rem(x, y);
}

//@ rem_floor sint : rem(T)
__device__ __forceinline__ T rem_floor(T x, T y) {
  T remainder = rem(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? T(W(remainder) + W(y)) : remainder;
}

//@ minimum int
__device__ __forceinline__ T minimum(T x, T y) {
  return x < y ? x : y;
}

//@ maximum int
__device__ __forceinline__ T maximum(T x, T y) {
  return x < y ? y : x;
}

//@ min int
__device__ __forceinline__ T min(T x, T y) {
  return x < y ? x : y;
}

//@ max int
__device__ __forceinline__ T max(T x, T y) {
  return x < y ? y : x;
}

//@ is_nan int,bool
__device__ __forceinline__ bool is_nan(T) {
  return false;
}

//@ bitand_ int,bool
__device__ __forceinline__ T bitand_(T x, T y) {
  return T(x & y);
}

//@ bitor_ int,bool
__device__ __forceinline__ T bitor_(T x, T y) {
  return T(x | y);
}

//@ bitxor int,bool
__device__ __forceinline__ T bitxor(T x, T y) {
  return T(x ^ y);
}

//@ not_ int
__device__ __forceinline__ T not_(T x) {
  return T(~x);
}

//@ shl int
__device__ __forceinline__ T shl(T x, T count) {
  // A negative count is a large one.
  return u64(count) < 8 * sizeof(T) ? T(W(x) << count) : T(0);
}

//@ shr uint
__device__ __forceinline__ T shr(T x, T count) {
  return count < 8 * sizeof(T) ? T(x >> count) : T(0);
}

//@ shr sint
__device__ __forceinline__ T shr(T x, T count) {
  return T(x >> (u64(count) < 8 * sizeof(T) ? count : T(8 * sizeof(T) - 1)));
}

//@ pow uint
__device__ __forceinline__ T pow(T x, T exponent) {
  T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = T(W(result) * W(x));
    x = T(W(x) * W(x));
  }
  return result;
}

//@ pow sint
__device__ __forceinline__ T pow(T x, T exponent) {
  if (x == 1 || x == -1) return exponent & 1 ? x : T(1);
  if (exponent < 0) return 0;
  T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = T(W(result) * W(x));
    x = T(W(x) * W(x));
  }
  return result;
}

//@ count_ones int
__device__ __forceinline__ u32 count_ones(T x) {
  u64 bits = u64(x) & (~u64(0) >> (64 - 8 * sizeof(T)));
#ifdef __CUDA_ARCH__
  return u32(__popcll(bits));
#else
  return u32(__builtin_popcountll(bits));
#endif
}

//@ leading_zeros int
__device__ __forceinline__ u32 leading_zeros(T x) {
  u64 bits = u64(x) & (~u64(0) >> (64 - 8 * sizeof(T)));
  if (bits == 0) return 8 * sizeof(T);
#ifdef __CUDA_ARCH__
  return u32(__clzll(bits)) - (64 - 8 * sizeof(T));
#else
  return u32(__builtin_clzll(bits)) - (64 - 8 * sizeof(T));
#endif
}

//@ trailing_zeros int
__device__ __forceinline__ u32 trailing_zeros(T x) {
  if (x == 0) return 8 * sizeof(T);
#ifdef __CUDA_ARCH__
  return u32(__ffsll(x)) - 1;
#else
  return u32(__builtin_ctzll(x));
#endif
}

//@ add bool
__device__ __forceinline__ bool add(bool x, bool y) {
  return x | y;
}

//@ sub bool
__device__ __forceinline__ bool sub(bool x, bool y) {
  return x ^ y;
}

//@ mul bool
__device__ __forceinline__ bool mul(bool x, bool y) {
  return x & y;
}

//@ div bool
__device__ __forceinline__ bool div(bool x, bool y) {
  return x & y;
}

//@ minimum bool
__device__ __forceinline__ bool minimum(bool x, bool y) {
  return x & y;
}

//@ maximum bool
__device__ __forceinline__ bool maximum(bool x, bool y) {
  return x | y;
}

//@ min bool
__device__ __forceinline__ bool min(bool x, bool y) {
  return x & y;
}

//@ max bool
__device__ __forceinline__ bool max(bool x, bool y) {
  return x | y;
}

//@ div_trunc bool
__device__ __forceinline__ bool div_trunc(bool x, bool y) {
  return x & y;
}

//@ div_floor bool
__device__ __forceinline__ bool div_floor(bool x, bool y) {
  return x & y;
}

//@ shr bool
__device__ __forceinline__ bool shr(bool x, bool y) {
  return x & !y;
}

//@ pow bool
__device__ __forceinline__ bool pow(bool x, bool y) {
  return x | !y;
}

//@ rem bool
__device__ __forceinline__ bool rem(bool, bool) {
  return false;
}

//@ rem_floor bool
__device__ __forceinline__ bool rem_floor(bool, bool) {
  return false;
}

//@ shl bool
__device__ __forceinline__ bool shl(bool x, bool) {
  return x;
}

//@ neg bool
__device__ __forceinline__ bool neg(bool x) {
  return x;
}

//@ abs bool
__device__ __forceinline__ bool abs(bool x) {
  return x;
}

//@ not_ bool
__device__ __forceinline__ bool not_(bool x) {
  return !x;
}

//@ count_ones bool
__device__ __forceinline__ u32 count_ones(bool x) {
  return x;
}

//@ leading_zeros bool
__device__ __forceinline__ u32 leading_zeros(bool x) {
  return 8 - x;
}

//@ trailing_zeros bool
__device__ __forceinline__ u32 trailing_zeros(bool x) {
  return x ? 0 : 8;
}
