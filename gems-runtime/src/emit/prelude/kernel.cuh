//! How kernels reach memory: vectors, divisions of indices, the turn of tiles.

//@ vec
// N elements that are loaded and stored as one. Narrow ones are kept in words: else a compiler splits them into
// registers of their own where two ways to load meet.
template <typename T, u32 N, bool IN_WORDS = (sizeof(T) < 4 && sizeof(T) * N % 4 == 0)>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  T at[N];
  __device__ __forceinline__ T get(u32 k) const {
    return at[k];
  }
  __device__ __forceinline__ void set(u32 k, T element) {
    at[k] = element;
  }
};
template <u32 BYTES>
struct bits_of {
  using type = u8;
};
template <>
struct bits_of<2> {
  using type = u16;
};
template <typename T, u32 N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec<T, N, true> {
  using bits = typename bits_of<sizeof(T)>::type;
  static constexpr u32 per_word = 4 / sizeof(T), width = 8 * sizeof(T);
  u32 words[N / per_word];
  __device__ __forceinline__ T get(u32 k) const {
    const bits element = bits(words[k / per_word] >> (k % per_word * width));
    return *reinterpret_cast<const T*>(&element);
  }
  __device__ __forceinline__ void set(u32 k, T element) {
    const u32 shift = k % per_word * width, mask = ((1u << width) - 1) << shift;
    u32& word = words[k / per_word];
    word = (word & ~mask) | u32(*reinterpret_cast<const bits*>(&element)) << shift;
  }
};

//@ divisor
// Divides indices of up to one bit less than I has by a multiplication.
template <typename I>
struct divisor {
  I extent, factor, shift;
};

//@ divide : divisor
__device__ __forceinline__ u32 divide(u32 n, divisor<u32> by) {
  return u32((u64(n << 1) * by.factor) >> 32) >> by.shift;
}
__device__ __forceinline__ u64 divide(u64 n, divisor<u64> by) {
#ifdef __CUDA_ARCH__
  return __umul64hi(n << 1, by.factor) >> by.shift;
#else
  return u64(((unsigned __int128)(n << 1) * by.factor) >> 64) >> by.shift;
#endif
}

//@ wait_for_earlier
// Waits until earlier kernels are done and their results can be seen: a launch may overlap their ends.
__device__ __forceinline__ void wait_for_earlier() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

//@ l2_policy
// When lines that were loaded leave L2: last, where a call streams many times what L2 holds. The lines that it writes then
// leave earlier; on an H200 the same bytes reach DRAM in less time.
__device__ __forceinline__ u64 l2_policy(bool streams) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ == 900
  u64 last, normal;
  asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(last));
  asm("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(normal));
  return streams ? last : normal;
#else
  return 0;
#endif
}

//@ load_line : vec
// N words from an aligned address.
template <u32 N>
__device__ __forceinline__ vec<u32, N> load_line(const vec<u32, N>* from, u64 policy) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ == 900
  vec<u32, N> line;
  u32* at = line.at;
  if constexpr (N == 4) {
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
                 : "l"(from), "l"(policy));
  } else if constexpr (N == 2) {
    asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(at[0]), "=r"(at[1])
                 : "l"(from), "l"(policy));
  } else {
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(at[0]) : "l"(from), "l"(policy));
  }
  return line;
#else
  return *from;
#endif
}

//@ load_whole : vec load_line
// N elements from an aligned address.
template <typename T, u32 N>
__device__ __forceinline__ vec<T, N> load_whole(const T* from, u64 policy) {
  constexpr u32 line = alignof(vec<T, N>);
  if constexpr (line < 4) {
    return *reinterpret_cast<const vec<T, N>*>(from);
  } else {
    constexpr u32 words = sizeof(T) * N / 4, step = line / 4;
    const vec<u32, step>* lines = reinterpret_cast<const vec<u32, step>*>(from);
    vec<u32, words> held;
#pragma unroll
    for (u32 k = 0; k < words / step; ++k) {
      const vec<u32, step> one = load_line(lines + k, policy);
#pragma unroll
      for (u32 j = 0; j < step; ++j) {
        held.at[k * step + j] = one.at[j];
      }
    }
    return *reinterpret_cast<const vec<T, N>*>(&held);
  }
}

//@ store_whole : vec
// N elements to an aligned address.
template <typename T, u32 N>
__device__ __forceinline__ void store_whole(T* to, const vec<T, N>& elements) {
  *reinterpret_cast<vec<T, N>*>(to) = elements;
}

//@ store_any : vec store_whole
// N elements to any address.
template <typename T, u32 N>
__device__ __forceinline__ void store_any(T* to, const vec<T, N>& elements) {
  if ((reinterpret_cast<u64>(to) & (alignof(vec<T, N>) - 1)) == 0) {
    store_whole(to, elements);
    return;
  }
#pragma unroll
  for (u32 k = 0; k < N; ++k) {
    to[k] = elements.get(k);
  }
}

//@ funnel
// The 32 bits from a bit of the pair (low, high) on.
__device__ __forceinline__ u32 funnel(u32 low, u32 high, u32 bit) {
#ifdef __CUDA_ARCH__
  u32 word;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bit));
  return word;
#else
  return u32(((u64(high) << 32) | low) >> bit);
#endif
}

//@ load_any : vec funnel load_line
// N elements from any address: whole lines and a shift. Reads no line in which no element of them lies.
template <typename T, u32 N>
__device__ __forceinline__ vec<T, N> load_any(const T* from, u64 policy) {
  constexpr u32 line = alignof(vec<T, N>);
  if constexpr (line < 4) {
    vec<T, N> elements;
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
      elements.set(k, from[k]);
    }
    return elements;
  } else {
    constexpr u32 words = sizeof(T) * N / 4, step = line / 4;
    const u32 past = u32(reinterpret_cast<u64>(from)) & (line - 1);
    const vec<u32, step>* lines = reinterpret_cast<const vec<u32, step>*>(reinterpret_cast<u64>(from) - past);
    vec<u32, words + step> held = {};
#pragma unroll
    for (u32 k = 0; k < words / step; ++k) {
      const vec<u32, step> one = load_line(lines + k, policy);
#pragma unroll
      for (u32 j = 0; j < step; ++j) {
        held.at[k * step + j] = one.at[j];
      }
    }
    if (past != 0) {
      const vec<u32, step> one = load_line(lines + words / step, policy);
#pragma unroll
      for (u32 j = 0; j < step; ++j) {
        held.at[words + j] = one.at[j];
      }
    }
    if constexpr (step == 4) {
      const bool by_two = (past & 8) != 0;
#pragma unroll
      for (u32 j = 0; j < words + 2; ++j) {
        held.at[j] = by_two ? held.at[j + 2] : held.at[j];
      }
    }
    if constexpr (step >= 2 && alignof(T) <= 4) {
      const bool by_one = (past & 4) != 0;
#pragma unroll
      for (u32 j = 0; j < words + 1; ++j) {
        held.at[j] = by_one ? held.at[j + 1] : held.at[j];
      }
    }
    vec<u32, words> shifted;
#pragma unroll
    for (u32 j = 0; j < words; ++j) {
      shifted.at[j] = alignof(T) < 4 ? funnel(held.at[j], held.at[j + 1], 8 * (past & 3)) : held.at[j];
    }
    return *reinterpret_cast<const vec<T, N>*>(&shifted);
  }
}

//@ backward : vec
// The elements in reverse order.
template <typename T, u32 N>
__device__ __forceinline__ vec<T, N> backward(const vec<T, N>& elements) {
  vec<T, N> turned;
#pragma unroll
  for (u32 k = 0; k < N; ++k) {
    turned.set(k, elements.get(N - 1 - k));
  }
  return turned;
}

//@ tile
// A tile of DOWN × ACROSS elements in shared memory. It is filled by vectors of V elements going down and read by vectors
// going across; groups of V columns are permuted from row group to row group, so that neither way has bank conflicts.
template <typename T, u32 ACROSS, u32 V>
struct tile {
  static constexpr u32 groups = ACROSS / V < 8 ? ACROSS / V : 8;
  __device__ __forceinline__ static u32 place(u32 down, u32 across) {
    return down * ACROSS + (((across / V) ^ ((down / V) & (groups - 1))) * V) + across % V;
  }
};

//@ fill_tile : vec tile
// Elements (down, across) to (down + V - 1, across + C - 1): C columns, so that a thread stores 4 bytes at once.
template <typename T, u32 ACROSS, u32 V, u32 C>
__device__ __forceinline__ void fill_tile(T* to, u32 down, u32 across, const vec<T, V>* columns) {
#pragma unroll
  for (u32 k = 0; k < V; ++k) {
    vec<T, C> row;
#pragma unroll
    for (u32 c = 0; c < C; ++c) {
      row.set(c, columns[c].get(k));
    }
    *reinterpret_cast<vec<T, C>*>(to + tile<T, ACROSS, V>::place(down + k, across)) = row;
  }
}

//@ read_tile : vec tile
// Elements (down, across) to (down, across + N - 1).
template <typename T, u32 ACROSS, u32 V, u32 N>
__device__ __forceinline__ vec<T, N> read_tile(const T* from, u32 down, u32 across) {
  vec<T, N> elements;
#pragma unroll
  for (u32 k = 0; k < N; k += V) {
    const vec<T, V> part = *reinterpret_cast<const vec<T, V>*>(from + tile<T, ACROSS, V>::place(down, across + k));
#pragma unroll
    for (u32 j = 0; j < V; ++j) {
      elements.set(k + j, part.get(j));
    }
  }
  return elements;
}
