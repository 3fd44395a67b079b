// Stands in for the CUDA built-ins, so that a host compiler takes generated kernels as they are.
// `launch` walks the grid, one thread at a time; `launch_together` runs the threads of a block as threads of the host,
// for kernels that wait for each other.
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Macros of <cmath> with the names of members of the prelude.
#undef NAN
#undef INFINITY

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __restrict__ __restrict
#define __shared__ static
#define __syncthreads() barrier.wait()

namespace {
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
Index blockIdx;
thread_local Index threadIdx;

// Lets nobody go on until everybody has come.
class Barrier {
 public:
  void reset(unsigned threads) { threads_ = threads; }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const unsigned turn = turn_;
    if (++waiting_ == threads_) {
      waiting_ = 0;
      ++turn_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return turn != turn_; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  unsigned threads_ = 0, waiting_ = 0, turn_ = 0;
};
Barrier barrier;

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

template <class... P>
void launch_together(void (*kernel)(P...), void** arguments, unsigned blocks, unsigned threads) {
  barrier.reset(threads);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    std::vector<std::thread> block;
    for (unsigned i = 0; i < threads; ++i) {
      block.emplace_back([=] {
        threadIdx.x = i;
        call(kernel, arguments, std::index_sequence_for<P...>());
      });
    }
    for (std::thread& thread : block) thread.join();
  }
}
}  // namespace
