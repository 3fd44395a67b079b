// Stands in for the CUDA built-ins, so that a host compiler takes generated kernels as they are.
// One thread runs at a time; `launch` walks the grid. The threads of a block are fibers: at a barrier, one gives way to
// the next, and the first goes on when all have come there or ended.
#include <ucontext.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

// Macros of <cmath> with the names of members of the prelude.
#undef NAN
#undef INFINITY

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline)) inline
#define __launch_bounds__(threads)
#define __restrict__ __restrict

namespace {
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
Index gridDim, blockIdx, threadIdx;

template <class... P, std::size_t... I>
void call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_cv_t<P>*>(arguments[I])...);
}

// One thread of a block.
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool ended = false;
};
Fiber* current = nullptr;
ucontext_t scheduler;
void (*body)() = nullptr;

[[maybe_unused]] void __syncthreads() {
  swapcontext(&current->context, &scheduler);
}

void run_fiber() {
  body();
  current->ended = true;
  swapcontext(&current->context, &scheduler);
}

// Runs a block whose threads meet at barriers.
void run_block(unsigned threads) {
  constexpr std::size_t bytes = 256 << 10;
  static std::unique_ptr<Fiber[]> fibers(new Fiber[1024]);
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = fibers[t];
    if (!fiber.stack) {
      fiber.stack.reset(new char[bytes]);
    }
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = bytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool any = true; any;) {
    any = false;
    for (unsigned t = 0; t < threads; ++t) {
      if (!fibers[t].ended) {
        any = true;
        threadIdx.x = t;
        current = &fibers[t];
        swapcontext(&scheduler, &current->context);
      }
    }
  }
}

template <class... P>
void launch(void (*kernel)(P...), void** arguments, unsigned blocks, unsigned threads, bool barriers) {
  static void (*call_kernel)(P...);
  static void** call_arguments;
  call_kernel = kernel;
  call_arguments = arguments;
  body = [] { call(call_kernel, call_arguments, std::index_sequence_for<P...>()); };
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    if (barriers) {
      run_block(threads);
      continue;
    }
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
      body();
    }
  }
}
}  // namespace
