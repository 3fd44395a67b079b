//@ vec
// N elements that are loaded and stored as one.
template <typename T, u32 N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  T at[N];
};
