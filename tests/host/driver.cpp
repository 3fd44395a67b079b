// A CUDA driver that counts its calls and runs nothing: one device of compute capability 9.0, whose memory is the host's.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using Handle = void*;
using Address = unsigned long long;

extern "C" {
unsigned long gems_driver_calls = 0;
}

namespace {
thread_local Handle current = nullptr;
const Handle context = reinterpret_cast<Handle>(0x10);
Handle next_handle() {
  static size_t last = 0x100;
  return reinterpret_cast<Handle>(last += 16);
}
char* at(Address address) {
  return reinterpret_cast<char*>(address);
}
int attribute(int which) {
  switch (which) {
    case 75: return 9;
    case 76: return 0;
    case 16: return 132;
    case 39: return 2048;
    case 1: return 1024;
    default: return 65536;
  }
}
}  // namespace

#define CALL(name, parameters, ...) \
  extern "C" int name parameters {  \
    ++gems_driver_calls;            \
    __VA_ARGS__;                    \
    return 0;                       \
  }

// NVRTC asks for tables of the real driver; there are none.
extern "C" int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return 500;
}

CALL(cuInit, (unsigned))
CALL(cuDriverGetVersion, (int* version), *version = 13000)
CALL(cuGetErrorName, (int, const char** text), *text = "ERROR")
CALL(cuGetErrorString, (int, const char** text), *text = "error")
CALL(cuDeviceGetCount, (int* count), *count = 1)
CALL(cuDeviceGet, (int* device, int ordinal), *device = ordinal)
CALL(cuDeviceGetName, (char* name, int length, int), snprintf(name, size_t(length), "counting driver"))
CALL(cuDeviceGetAttribute, (int* value, int which, int), *value = attribute(which))
CALL(cuDeviceTotalMem_v2, (size_t* bytes, int), *bytes = size_t(1) << 36)
CALL(cuDevicePrimaryCtxRetain, (Handle* out, int), *out = context)
CALL(cuCtxGetCurrent, (Handle* out), *out = current)
CALL(cuCtxSetCurrent, (Handle to), current = to)
CALL(cuCtxSynchronize, ())
CALL(cuStreamCreate, (Handle* out, unsigned), *out = next_handle())
CALL(cuStreamDestroy_v2, (Handle))
CALL(cuStreamSynchronize, (Handle))
CALL(cuStreamQuery, (Handle))
CALL(cuStreamWaitEvent, (Handle, Handle, unsigned))
CALL(cuStreamGetCtx, (Handle, Handle* out), *out = context)
CALL(cuStreamGetCaptureInfo_v2, (Handle, int* status, void*, void*, void*, void*), *status = 0)
CALL(cuThreadExchangeStreamCaptureMode, (int*))
CALL(cuUserObjectCreate, (Handle* out, void*, void*, unsigned, unsigned), *out = next_handle())
CALL(cuUserObjectRelease, (Handle, unsigned))
CALL(cuGraphRetainUserObject, (Handle, Handle, unsigned, unsigned))
CALL(cuEventCreate, (Handle* out, unsigned), *out = next_handle())
CALL(cuEventRecord, (Handle, Handle))
CALL(cuEventQuery, (Handle))
CALL(cuEventSynchronize, (Handle))
CALL(cuEventElapsedTime, (float* ms, Handle, Handle), *ms = 1)
CALL(cuEventDestroy_v2, (Handle))
CALL(cuMemAlloc_v2, (Address* out, size_t bytes), *out = Address(aligned_alloc(256, (bytes + 255) / 256 * 256)))
CALL(cuMemFree_v2, (Address memory), free(at(memory)))
CALL(cuMemGetInfo_v2, (size_t* free_bytes, size_t* total), *free_bytes = *total = size_t(1) << 36)
CALL(cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t bytes, Handle), memcpy(at(to), from, bytes))
CALL(cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, Handle), memcpy(to, at(from), bytes))
CALL(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, Handle), memmove(at(to), at(from), bytes))
CALL(cuMemcpyPeerAsync, (Address to, Handle, Address from, Handle, size_t bytes, Handle), memmove(at(to), at(from), bytes))
CALL(cuMemsetD8Async, (Address to, unsigned char value, size_t bytes, Handle), memset(at(to), value, bytes))
CALL(cuModuleLoadDataEx, (Handle* out, const void*, unsigned, int*, void**), *out = next_handle())
CALL(cuModuleGetFunction, (Handle* out, Handle, const char*), *out = next_handle())
CALL(cuFuncGetAttribute, (int* value, int, Handle), *value = 0)
CALL(cuFuncSetAttribute, (Handle, int, int))
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, Handle, int, size_t), *blocks = 8)
CALL(cuLaunchKernelEx, (const void*, Handle, void**, void**))
CALL(cuLaunchKernel,
     (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**))
