// CUB's sum of u32, for the suite to call: a library of its own, with the runtime linked in.
#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>

extern "C" int suite_cub_sum(void *scratch, size_t *scratch_size, const void *x, void *out, size_t n, void *stream) {
    return (int)cub::DeviceReduce::Sum(scratch, *scratch_size, static_cast<const uint32_t *>(x), static_cast<uint32_t *>(out), n,
                                       static_cast<cudaStream_t>(stream));
}
