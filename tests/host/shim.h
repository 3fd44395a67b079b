// Stands in for the CUDA built-ins, so that a host compiler takes generated kernels as they are.
// One thread runs at a time; `launch` walks the grid.
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

// Macros of <cmath> with the names of members of the prelude.
#undef NAN
#undef INFINITY

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline)) inline
#define __launch_bounds__(threads)
#define __restrict__ __restrict

namespace {
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
Index blockIdx, threadIdx;

template <class... P, std::size_t... I>
void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
}

template <class... P>
void launch(void (*kernel)(P...), void** arguments, unsigned blocks, unsigned threads) {
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
      call(kernel, arguments, std::index_sequence_for<P...>());
    }
  }
}
}  // namespace
