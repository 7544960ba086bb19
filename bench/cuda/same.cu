/* The OpenCL kernels of the suite as CUDA C, line by line: the code of nvcc for programs in the shape of libvyre's. */

#define __kernel extern "C" __global__
#define __global
#define __local __shared__
#define local_argument /* in CUDA a pointer parameter has no address space */
#define __constant __constant__ const
#define restrict __restrict__
#define reqd_work_group_size(x, y, z) launch_bounds((x) * (y) * (z))
#define CLK_LOCAL_MEM_FENCE
#define barrier(fence) __syncthreads()
#define wzyx reversed()
#define static static __device__ __forceinline__

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct bytes4 {
    uchar x, y, z, w;
    __device__ bytes4 reversed() const { return {w, z, y, x}; }
};

static bytes4 vload4(int, const uchar *from) { return {from[0], from[1], from[2], from[3]}; }
static void vstore4(bytes4 v, int, uchar *to) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}
static uint as_uint(bytes4 v) { return v.x | v.y << 8 | v.z << 16 | (uint)v.w << 24; }
static uint as_uint(float v) { return __float_as_uint(v); }
static bytes4 as_uchar4(uint v) { return {(uchar)v, (uchar)(v >> 8), (uchar)(v >> 16), (uchar)(v >> 24)}; }

static uint pick(uint3 v, int dimension) { return dimension == 0 ? v.x : dimension == 1 ? v.y : v.z; }
static uint pick(dim3 v, int dimension) { return dimension == 0 ? v.x : dimension == 1 ? v.y : v.z; }
static uint get_local_id(int d) { return pick(threadIdx, d); }
static uint get_group_id(int d) { return pick(blockIdx, d); }
static uint get_global_id(int d) { return get_group_id(d) * pick(blockDim, d) + get_local_id(d); }

static uint rotate(uint v, uint by) { return __funnelshift_l(v, v, by); }
static uint bitselect(uint a, uint b, uint which) { return (a & ~which) | (b & which); }
static void atomic_inc(uint *at) { atomicAdd(at, 1u); }
static void atomic_add(uint *at, uint by) { atomicAdd(at, by); }

#include "../suite/kernels.cl"
