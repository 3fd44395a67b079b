//! Bits of floats, limits of types, tuples.

//@ to_bits f32
__device__ __forceinline__ u32 to_bits(f32 x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  u32 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

//@ to_bits f64
__device__ __forceinline__ u64 to_bits(f64 x) {
#ifdef __CUDA_ARCH__
  return u64(__double_as_longlong(x));
#else
  u64 bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

//@ from_bits f32
__device__ __forceinline__ f32 from_bits(u32 bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  f32 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

//@ from_bits f64
__device__ __forceinline__ f64 from_bits(u64 bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(i64(bits));
#else
  f64 x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

//@ real_t
// The type of the parts of a complex type; every other type itself.
template <class X, class = void>
struct real_of {
  using type = X;
};
template <class X>
struct real_of<X, decltype(void(&X::re))> {
  using type = decltype(X::re);
};
template <class X>
using real_t = typename real_of<X>::type;

//@ real_t any : real_t

//@ complex_t float : complex
template <class X>
using complex_t = complex<X>;

//@ limits
template <class X>
struct limits;

//@ limits bool : limits
template <>
struct limits<bool> {
  __device__ __forceinline__ static constexpr bool ZERO() { return false; }
  __device__ __forceinline__ static constexpr bool ONE() { return true; }
  __device__ __forceinline__ static constexpr bool MAX() { return true; }
  __device__ __forceinline__ static constexpr bool MIN() { return false; }
  __device__ __forceinline__ static constexpr u32 BITS() { return 8 * sizeof(bool); }
};

//@ limits uint : limits
template <>
struct limits<T> {
  __device__ __forceinline__ static constexpr T ZERO() { return 0; }
  __device__ __forceinline__ static constexpr T ONE() { return 1; }
  __device__ __forceinline__ static constexpr T MAX() { return T(~T(0)); }
  __device__ __forceinline__ static constexpr T MIN() { return 0; }
  __device__ __forceinline__ static constexpr u32 BITS() { return 8 * sizeof(T); }
};

//@ limits sint : limits
template <>
struct limits<T> {
  __device__ __forceinline__ static constexpr T ZERO() { return 0; }
  __device__ __forceinline__ static constexpr T ONE() { return 1; }
  __device__ __forceinline__ static constexpr T MAX() { return T((u64(1) << (8 * sizeof(T) - 1)) - 1); }
  __device__ __forceinline__ static constexpr T MIN() { return T(-MAX() - 1); }
  __device__ __forceinline__ static constexpr u32 BITS() { return 8 * sizeof(T); }
};

//@ limits f32 : limits from_bits(f32)
template <>
struct limits<f32> {
  __device__ __forceinline__ static constexpr f32 ZERO() { return 0.0f; }
  __device__ __forceinline__ static constexpr f32 ONE() { return 1.0f; }
  __device__ __forceinline__ static constexpr f32 MAX() { return 0x1.fffffep127f; }
  __device__ __forceinline__ static constexpr f32 MIN() { return -0x1.fffffep127f; }
  __device__ __forceinline__ static f32 INFINITY() { return from_bits(0x7f800000u); }
  __device__ __forceinline__ static f32 NEG_INFINITY() { return from_bits(0xff800000u); }
  __device__ __forceinline__ static f32 NAN() { return from_bits(0x7fc00000u); }
  __device__ __forceinline__ static constexpr f32 EPSILON() { return 0x1p-23f; }
  __device__ __forceinline__ static constexpr f32 MIN_POSITIVE() { return 0x1p-126f; }
  __device__ __forceinline__ static constexpr f32 PI() { return 0x1.921fb6p1f; }
  __device__ __forceinline__ static constexpr f32 E() { return 0x1.5bf0a8p1f; }
  __device__ __forceinline__ static constexpr f32 LN_2() { return 0x1.62e43p-1f; }
  __device__ __forceinline__ static constexpr f32 LN_10() { return 0x1.26bb1cp1f; }
  __device__ __forceinline__ static constexpr f32 SQRT_2() { return 0x1.6a09e6p0f; }
  __device__ __forceinline__ static constexpr f32 FRAC_1_SQRT_2() { return 0x1.6a09e6p-1f; }
  __device__ __forceinline__ static constexpr f32 FRAC_2_SQRT_PI() { return 0x1.20dd76p0f; }
  __device__ __forceinline__ static constexpr f32 FRAC_PI_2() { return 0x1.921fb6p0f; }
};

//@ limits f64 : limits from_bits(f64)
template <>
struct limits<f64> {
  __device__ __forceinline__ static constexpr f64 ZERO() { return 0.0; }
  __device__ __forceinline__ static constexpr f64 ONE() { return 1.0; }
  __device__ __forceinline__ static constexpr f64 MAX() { return 0x1.fffffffffffffp1023; }
  __device__ __forceinline__ static constexpr f64 MIN() { return -0x1.fffffffffffffp1023; }
  __device__ __forceinline__ static f64 INFINITY() { return from_bits(0x7ff0000000000000ull); }
  __device__ __forceinline__ static f64 NEG_INFINITY() { return from_bits(0xfff0000000000000ull); }
  __device__ __forceinline__ static f64 NAN() { return from_bits(0x7ff8000000000000ull); }
  __device__ __forceinline__ static constexpr f64 EPSILON() { return 0x1p-52; }
  __device__ __forceinline__ static constexpr f64 MIN_POSITIVE() { return 0x1p-1022; }
  __device__ __forceinline__ static constexpr f64 PI() { return 0x1.921fb54442d18p1; }
  __device__ __forceinline__ static constexpr f64 E() { return 0x1.5bf0a8b145769p1; }
  __device__ __forceinline__ static constexpr f64 LN_2() { return 0x1.62e42fefa39efp-1; }
  __device__ __forceinline__ static constexpr f64 LN_10() { return 0x1.26bb1bbb55516p1; }
  __device__ __forceinline__ static constexpr f64 SQRT_2() { return 0x1.6a09e667f3bcdp0; }
  __device__ __forceinline__ static constexpr f64 FRAC_1_SQRT_2() { return 0x1.6a09e667f3bcdp-1; }
  __device__ __forceinline__ static constexpr f64 FRAC_2_SQRT_PI() { return 0x1.20dd750429b6dp0; }
  __device__ __forceinline__ static constexpr f64 FRAC_PI_2() { return 0x1.921fb54442d18p0; }
};

//@ limits c64,c128 : limits
template <>
struct limits<T> {
  __device__ __forceinline__ static constexpr T ZERO() { return T(R(0)); }
  __device__ __forceinline__ static constexpr T ONE() { return T(R(1)); }
};

//@ tuple2
template <class A, class B>
struct tuple2 {
  A _0;
  B _1;
};

//@ tuple3
template <class A, class B, class C>
struct tuple3 {
  A _0;
  B _1;
  C _2;
};

//@ tuple4
template <class A, class B, class C, class D>
struct tuple4 {
  A _0;
  B _1;
  C _2;
  D _3;
};

//@ tuple5
template <class A, class B, class C, class D, class E>
struct tuple5 {
  A _0;
  B _1;
  C _2;
  D _3;
  E _4;
};

//@ tuple6
template <class A, class B, class C, class D, class E, class F>
struct tuple6 {
  A _0;
  B _1;
  C _2;
  D _3;
  E _4;
  F _5;
};

//@ tuple7
template <class A, class B, class C, class D, class E, class F, class G>
struct tuple7 {
  A _0;
  B _1;
  C _2;
  D _3;
  E _4;
  F _5;
  G _6;
};

//@ tuple8
template <class A, class B, class C, class D, class E, class F, class G, class H>
struct tuple8 {
  A _0;
  B _1;
  C _2;
  D _3;
  E _4;
  F _5;
  G _6;
  H _7;
};
