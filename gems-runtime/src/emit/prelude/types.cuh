//! Element types, in the global namespace, named as dtypes are.
//!
//! Floats of one and two bytes only hold bits: they are converted, never computed with.

//@ integers
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

//@ type f8e4m3fn,f8e5m2
struct T {
  u8 bits;
};

//@ type f16,bf16
struct T {
  u16 bits;
};

//@ complex
template <class R>
struct complex {
  R re, im;
  complex() = default;
  __device__ __forceinline__ explicit constexpr complex(R re) : re(re), im() {}
  __device__ __forceinline__ constexpr complex(R re, R im) : re(re), im(im) {}
};
template <class R>
__device__ __forceinline__ bool operator==(complex<R> x, complex<R> y) {
  return x.re == y.re && x.im == y.im;
}
template <class R>
__device__ __forceinline__ bool operator!=(complex<R> x, complex<R> y) {
  return !(x == y);
}

//@ type complex : complex
using T = complex<R>;
