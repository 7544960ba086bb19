/* The kernels of the suite, hand-tuned with simple means: several elements per thread, 16-byte accesses, registers
 * before shared memory before global. Results are those of the programs: integers in any order, floats in the order of
 * the program. hand.c launches them. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define KERNEL extern "C" __global__ void
#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

/* ---- elements ---- */

KERNEL saxpy(const float4 *__restrict__ x, float4 *__restrict__ y, float a, u32 n) {
    u32 i = thread();
    if (i < n / 4) {
        float4 p = x[i], q = y[i];
        y[i] = make_float4(fmaf(a, p.x, q.x), fmaf(a, p.y, q.y), fmaf(a, p.z, q.z), fmaf(a, p.w, q.w));
    }
    if (i < n % 4) {
        u32 at = n / 4 * 4 + i;
        ((float *)y)[at] = fmaf(a, ((const float *)x)[at], ((float *)y)[at]);
    }
}

static __device__ __forceinline__ uint4 operator^(uint4 p, uint4 q) { return make_uint4(p.x ^ q.x, p.y ^ q.y, p.z ^ q.z, p.w ^ q.w); }

/* A key of a multiple of 16 bytes: all bytes of a vector are combined with consecutive ones of the key. */
KERNEL xor_key(const uint4 *__restrict__ key, uint4 *__restrict__ data, u32 key_size, u32 n) {
    u32 i = thread();
    if (i < n / 16) {
        data[i] = data[i] ^ key[i % (key_size / 16)];
    }
    if (i < n % 16) {
        u32 at = n / 16 * 16 + i;
        ((u8 *)data)[at] ^= ((const u8 *)key)[at % key_size];
    }
}

/* One, two or four vectors per thread, a block apart; and loads and stores with streaming hints. hand.c uses the
 * fastest. */
template <int VECTORS, bool STREAMING>
static __device__ __forceinline__ void xor_vectors(const uint4 *__restrict__ a, const uint4 *__restrict__ b, uint4 *__restrict__ out, u32 n) {
    u32 first = blockIdx.x * blockDim.x * VECTORS + threadIdx.x, count = n / 4;
    uint4 p[VECTORS], q[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        u32 i = first + k * blockDim.x;
        if (i < count) {
            p[k] = STREAMING ? __ldcs(a + i) : a[i];
            q[k] = STREAMING ? __ldcs(b + i) : b[i];
        }
    }
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        u32 i = first + k * blockDim.x;
        if (i < count && STREAMING)
            __stcs(out + i, p[k] ^ q[k]);
        else if (i < count)
            out[i] = p[k] ^ q[k];
    }
    if (thread() < n % 4) {
        u32 at = n / 4 * 4 + thread();
        ((u32 *)out)[at] = ((const u32 *)a)[at] ^ ((const u32 *)b)[at];
    }
}

#define XOR_STREAMS(name, vectors, streaming)                                                                          \
    KERNEL name(const uint4 *__restrict__ a, const uint4 *__restrict__ b, uint4 *__restrict__ out, u32 n) {            \
        xor_vectors<vectors, streaming>(a, b, out, n);                                                                 \
    }
XOR_STREAMS(xor_streams_1, 1, false)
XOR_STREAMS(xor_streams_2, 2, false)
XOR_STREAMS(xor_streams_4, 4, false)
XOR_STREAMS(xor_streams_1_once, 1, true)
XOR_STREAMS(xor_streams_2_once, 2, true)
XOR_STREAMS(xor_streams_4_once, 4, true)

static __device__ __forceinline__ float cell(float left, float right, float up, float down, float at, float rate) {
    return fmaf(rate, fmaf(-4.0f, at, (left + right) + (up + down)), at);
}

/* Four cells of a row per thread; neighbours are read again from the cache. Width is a multiple of 4. */
KERNEL stencil(const float *__restrict__ now, float *__restrict__ next, u32 width, u32 height, float rate) {
    u32 x = thread() * 4, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const float *row = now + (size_t)y * width + x;
    const float4 none = make_float4(0, 0, 0, 0);
    float4 at = *(const float4 *)row;
    float4 up = y > 0 ? *(const float4 *)(row - width) : none;
    float4 down = y + 1 < height ? *(const float4 *)(row + width) : none;
    float left = x > 0 ? row[-1] : 0, right = x + 4 < width ? row[4] : 0;
    *(float4 *)(next + (size_t)y * width + x) =
        make_float4(cell(left, at.y, up.x, down.x, at.x, rate), cell(at.x, at.z, up.y, down.y, at.y, rate),
                    cell(at.y, at.w, up.z, down.z, at.z, rate), cell(at.z, right, up.w, down.w, at.w, rate));
}

static __device__ __forceinline__ float log2_about(float v) { return (float)__float_as_uint(v) * 0x1p-23f - 127.0f; }

static __device__ __forceinline__ u8 sample(float v) { return (u8)(fminf(fmaxf(v, 0.0f), 1.0f) * 255.0f); }

KERNEL mandelbrot(u8 *__restrict__ image, u32 width, u32 height) {
    u32 px = thread(), py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    const u32 limit = 400;
    float pixel = 0.012f / (float)width;
    float cx = -0.743f + ((float)px - (float)width * 0.5f) * pixel;
    float cy = 0.131f - ((float)py - (float)height * 0.5f) * pixel;
    float x = 0, y = 0, distance = 0;
    u32 n = 0;
    while (n < limit && distance < 256.0f) {
        float next = fmaf(x, x, cx) - y * y;
        y = fmaf(2.0f * x, y, cy);
        x = next;
        distance = x * x + y * y;
        n++;
    }
    float t = 0;
    if (distance >= 256.0f) {
        t = ((float)n + 3.0f - log2_about(log2_about(distance))) / (float)limit;
        t = sqrtf(fmaxf(t, 0.0f));
    }
    float u = 1.0f - t;
    u8 *to = image + ((size_t)py * width + px) * 3;
    to[0] = sample(9.0f * u * t * t * t);
    to[1] = sample(15.0f * u * u * t * t);
    to[2] = sample(8.5f * u * u * u * t);
}

/* ---- products ---- */

/* A block of 256 computes 64 by 64 results, 4 by 4 per thread: each sum is one chain over k, as in the program. */
#define SIDE 64
#define DEPTH 16

KERNEL __launch_bounds__(256) matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, u32 n) {
    __shared__ float as[DEPTH][SIDE + 4], bs[DEPTH][SIDE];
    u32 tid = threadIdx.x, row = blockIdx.y * SIDE, column = blockIdx.x * SIDE, ty = tid / 16 * 4, tx = tid % 16 * 4;
    float sums[4][4] = {};
    for (u32 k = 0; k < n; k += DEPTH) {
        for (u32 i = tid; i < SIDE * DEPTH; i += 256) {
            u32 r = row + i / DEPTH, at = k + i % DEPTH, kb = k + i / SIDE, cb = column + i % SIDE;
            as[i % DEPTH][i / DEPTH] = r < n && at < n ? a[(size_t)r * n + at] : 0;
            bs[i / SIDE][i % SIDE] = kb < n && cb < n ? b[(size_t)kb * n + cb] : 0;
        }
        __syncthreads();
#pragma unroll
        for (u32 j = 0; j < DEPTH; j++) {
            float4 p = *(const float4 *)&as[j][ty], q = *(const float4 *)&bs[j][tx];
            const float left[4] = {p.x, p.y, p.z, p.w}, right[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int y = 0; y < 4; y++)
#pragma unroll
                for (int x = 0; x < 4; x++)
                    sums[y][x] = fmaf(left[y], right[x], sums[y][x]);
        }
        __syncthreads();
    }
    for (u32 y = 0; y < 4; y++)
        for (u32 x = 0; x < 4; x++)
            if (row + ty + y < n && column + tx + x < n)
                c[(size_t)(row + ty + y) * n + column + tx + x] = sums[y][x];
}

#define BODIES 128

KERNEL __launch_bounds__(BODIES) nbody(const float *__restrict__ mass, const float *__restrict__ position,
                                       float *__restrict__ velocity, float *__restrict__ moved, float dt,
                                       float softening, u32 n) {
    __shared__ float4 tile[BODIES];
    u32 i = thread(), l = threadIdx.x;
    float x = 0, y = 0, z = 0, ax = 0, ay = 0, az = 0;
    if (i < n) {
        x = position[3 * i];
        y = position[3 * i + 1];
        z = position[3 * i + 2];
    }
    for (u32 first = 0; first < n; first += BODIES) {
        u32 j = first + l;
        if (j < n)
            tile[l] = make_float4(position[3 * j], position[3 * j + 1], position[3 * j + 2], mass[j]);
        __syncthreads();
        u32 count = min((u32)BODIES, n - first);
#pragma unroll 4
        for (u32 k = 0; k < count; k++) {
            float4 body = tile[k];
            float dx = body.x - x, dy = body.y - y, dz = body.z - z;
            float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
            float pull = body.w / (r2 * sqrtf(r2));
            ax = fmaf(dx, pull, ax);
            ay = fmaf(dy, pull, ay);
            az = fmaf(dz, pull, az);
        }
        __syncthreads();
    }
    if (i < n) {
        float vx = fmaf(dt, ax, velocity[3 * i]), vy = fmaf(dt, ay, velocity[3 * i + 1]);
        float vz = fmaf(dt, az, velocity[3 * i + 2]);
        velocity[3 * i] = vx;
        velocity[3 * i + 1] = vy;
        velocity[3 * i + 2] = vz;
        moved[3 * i] = fmaf(dt, vx, x);
        moved[3 * i + 1] = fmaf(dt, vy, y);
        moved[3 * i + 2] = fmaf(dt, vz, z);
    }
}

/* ---- sums ---- */

/* A warp adds 256 elements: eight consecutive ones per lane, neighbours first, in the order of the program. */
KERNEL reduce(const float *__restrict__ x, float *__restrict__ sums, u32 n) {
    u32 block = thread() / 32, lane = threadIdx.x % 32, at = block * 256 + lane * 8;
    if (block * 256 >= n)
        return;
    float v[8];
    if (at + 8 <= n) {
        float4 p = *(const float4 *)(x + at), q = *(const float4 *)(x + at + 4);
        v[0] = p.x, v[1] = p.y, v[2] = p.z, v[3] = p.w, v[4] = q.x, v[5] = q.y, v[6] = q.z, v[7] = q.w;
    } else {
        for (u32 i = 0; i < 8; i++)
            v[i] = at + i < n ? x[at + i] : 0;
    }
    float sum = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
#pragma unroll
    for (u32 stride = 1; stride < 32; stride *= 2)
        sum += __shfl_down_sync(ALL_LANES, sum, stride);
    if (lane == 0)
        sums[block] = sum;
}

/* Prefix sums of 4096 elements per block: sums of blocks, sums before each block, then the elements. */
#define PER_THREAD 16
#define SCAN_THREADS 256
#define SCAN_BLOCK (PER_THREAD * SCAN_THREADS)

static __device__ __forceinline__ u32 warp_inclusive(u32 v) {
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (u32 stride = 1; stride < 32; stride *= 2) {
        u32 before = __shfl_up_sync(ALL_LANES, v, stride);
        v += lane >= stride ? before : 0;
    }
    return v;
}

/* The sum before the thread, and the total of the block. */
static __device__ __forceinline__ u32 block_exclusive(u32 v, u32 *total) {
    __shared__ u32 warps[32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, inclusive = warp_inclusive(v);
    __syncthreads();
    if (lane == 31)
        warps[warp] = inclusive;
    __syncthreads();
    if (warp == 0)
        warps[lane] = warp_inclusive(lane < blockDim.x / 32 ? warps[lane] : 0);
    __syncthreads();
    *total = warps[blockDim.x / 32 - 1];
    return inclusive - v + (warp ? warps[warp - 1] : 0);
}

static __device__ __forceinline__ void load16(const u32 *x, u32 at, u32 n, u32 *v) {
    if (at + PER_THREAD <= n) {
#pragma unroll
        for (u32 i = 0; i < PER_THREAD; i += 4) {
            uint4 p = *(const uint4 *)(x + at + i);
            v[i] = p.x, v[i + 1] = p.y, v[i + 2] = p.z, v[i + 3] = p.w;
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < PER_THREAD; i++)
            v[i] = at + i < n ? x[at + i] : 0;
    }
}

KERNEL __launch_bounds__(SCAN_THREADS) scan_sums(const u32 *__restrict__ x, u32 *__restrict__ totals, u32 n) {
    u32 v[PER_THREAD], sum = 0, total;
    load16(x, thread() * PER_THREAD, n, v);
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++)
        sum += v[i];
    block_exclusive(sum, &total);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}

KERNEL __launch_bounds__(1024) scan_before(u32 *totals, u32 count) {
    u32 before = 0;
    for (u32 first = 0; first < count; first += 1024) {
        u32 i = first + threadIdx.x, v = i < count ? totals[i] : 0, total;
        u32 sum = block_exclusive(v, &total);
        if (i < count)
            totals[i] = before + sum;
        before += total;
    }
}

KERNEL __launch_bounds__(SCAN_THREADS) scan_all(const u32 *__restrict__ x, const u32 *__restrict__ before, u32 *__restrict__ sums, u32 n) {
    u32 v[PER_THREAD], at = thread() * PER_THREAD, sum = 0, total;
    load16(x, at, n, v);
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++)
        v[i] = sum += v[i];
    u32 base = before[blockIdx.x] + block_exclusive(sum, &total);
    if (at + PER_THREAD <= n) {
#pragma unroll
        for (u32 i = 0; i < PER_THREAD; i += 4)
            *(uint4 *)(sums + at + i) = make_uint4(base + v[i], base + v[i + 1], base + v[i + 2], base + v[i + 3]);
    } else {
#pragma unroll
        for (u32 i = 0; i < PER_THREAD; i++)
            if (at + i < n)
                sums[at + i] = base + v[i];
    }
}

/* A table for each of eight warps, as many blocks as fit, 16-byte loads. */
KERNEL __launch_bounds__(256) histogram(const u8 *__restrict__ data, u32 *__restrict__ counts, u32 n) {
    __shared__ u32 tables[8][256];
    u32 *mine = tables[threadIdx.x / 32], stride = gridDim.x * blockDim.x;
    for (u32 w = 0; w < 8; w++)
        tables[w][threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = thread(); i < n / 16; i += stride) {
        uint4 v = ((const uint4 *)data)[i];
        const u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int shift = 0; shift < 32; shift += 8)
                atomicAdd(&mine[words[k] >> shift & 255], 1u);
    }
    for (u32 i = n / 16 * 16 + thread(); i < n; i += stride)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    u32 sum = 0;
    for (u32 w = 0; w < 8; w++)
        sum += tables[w][threadIdx.x];
    if (sum)
        atomicAdd(&counts[threadIdx.x], sum);
}

/* ---- sorting: the same network; strides that fit stay in shared memory ---- */

#define RUN 2048

static __device__ __forceinline__ void compare(u32 *run, u32 first, u32 l, u32 size, u32 stride) {
    u32 low = 2 * l - (l & (stride - 1)), a = run[low], b = run[low + stride];
    bool swap = (((first + low) & size) == 0) == (a > b) && a != b;
    run[low] = swap ? b : a;
    run[low + stride] = swap ? a : b;
}

KERNEL __launch_bounds__(RUN / 2) bitonic_sort(u32 *__restrict__ keys) {
    __shared__ u32 run[RUN];
    u32 first = blockIdx.x * RUN, l = threadIdx.x;
    run[l] = keys[first + l];
    run[l + RUN / 2] = keys[first + l + RUN / 2];
    for (u32 size = 2; size <= RUN; size *= 2)
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            compare(run, first, l, size, stride);
        }
    __syncthreads();
    keys[first + l] = run[l];
    keys[first + l + RUN / 2] = run[l + RUN / 2];
}

KERNEL bitonic_far(u32 *__restrict__ keys, u32 size, u32 stride) {
    u32 i = thread(), low = 2 * i - (i & (stride - 1)), a = keys[low], b = keys[low + stride];
    if (((low & size) == 0) == (a > b) && a != b) {
        keys[low] = b;
        keys[low + stride] = a;
    }
}

/* All strides below RUN of one size. */
KERNEL __launch_bounds__(RUN / 2) bitonic_near(u32 *__restrict__ keys, u32 size) {
    __shared__ u32 run[RUN];
    u32 first = blockIdx.x * RUN, l = threadIdx.x;
    run[l] = keys[first + l];
    run[l + RUN / 2] = keys[first + l + RUN / 2];
    for (u32 stride = RUN / 2; stride > 0; stride /= 2) {
        __syncthreads();
        compare(run, first, l, size, stride);
    }
    __syncthreads();
    keys[first + l] = run[l];
    keys[first + l + RUN / 2] = run[l + RUN / 2];
}

/* ---- messages: one per thread, read by aligned words ---- */

/* Four bytes at any address: each of the two words read contains at least one of them, so both are inside the array's
 * last word. */
static __device__ __forceinline__ u32 word_at(const u8 *data, u32 at) {
    const u32 *words = (const u32 *)(data - ((u64)data & 3));
    u32 byte = at + (u32)((u64)data & 3), i = byte / 4, shift = byte % 4 * 8;
    return shift ? __funnelshift_r(words[i], words[i + 1], shift) : words[i];
}

KERNEL fnv1a(const u8 *__restrict__ data, const u32 *__restrict__ offsets, u64 *__restrict__ hashes, u32 count) {
    const u64 prime = 0x100000001b3ull;
    u32 m = thread();
    if (m >= count)
        return;
    u64 h = 0xcbf29ce484222325ull;
    u32 i = offsets[m], end = offsets[m + 1];
    for (; i < end && i % 4; i++)
        h = (h ^ data[i]) * prime;
    for (; i + 4 <= end; i += 4) {
        u32 word = *(const u32 *)(data + i);
#pragma unroll
        for (int shift = 0; shift < 32; shift += 8)
            h = (h ^ (word >> shift & 255)) * prime;
    }
    for (; i < end; i++)
        h = (h ^ data[i]) * prime;
    hashes[m] = h;
}

static __device__ __forceinline__ u32 rotl(u32 v, u32 by) { return __funnelshift_l(v, v, by); }

static __device__ __forceinline__ u32 round32(u32 lane, u32 v) { return rotl(lane + v * 0x85ebca77u, 13) * 0x9e3779b1u; }

KERNEL xxh32(const u8 *__restrict__ data, const u32 *__restrict__ offsets, u32 *__restrict__ hashes, u32 seed, u32 count) {
    const u32 p1 = 0x9e3779b1u, p2 = 0x85ebca77u, p3 = 0xc2b2ae3du, p4 = 0x27d4eb2fu, p5 = 0x165667b1u;
    u32 m = thread();
    if (m >= count)
        return;
    u32 at = offsets[m], end = offsets[m + 1], size = end - at, h = seed + p5;
    if (size >= 16) {
        u32 a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
        for (; end - at >= 16; at += 16) {
            a = round32(a, word_at(data, at));
            b = round32(b, word_at(data, at + 4));
            c = round32(c, word_at(data, at + 8));
            d = round32(d, word_at(data, at + 12));
        }
        h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
    }
    h += size;
    for (; end - at >= 4; at += 4)
        h = rotl(h + word_at(data, at) * p3, 17) * p4;
    for (; at < end; at++)
        h = rotl(h + data[at] * p5, 11) * p1;
    h = (h ^ h >> 15) * p2;
    h = (h ^ h >> 13) * p3;
    hashes[m] = h ^ h >> 16;
}

static __constant__ const u32 constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static __device__ __forceinline__ u32 rotr(u32 v, u32 by) { return __funnelshift_r(v, v, by); }

static __device__ __forceinline__ u32 big_endian(u32 v) { return __byte_perm(v, 0, 0x0123); }

/* The schedule is a window of sixteen words. */
KERNEL sha256(const u8 *__restrict__ data, const u32 *__restrict__ offsets, u32 *__restrict__ digests, u32 count) {
    u32 m = thread();
    if (m >= count)
        return;
    u32 begin = offsets[m], size = offsets[m + 1] - begin, blocks = (size + 8) / 64 + 1;
    u32 h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (u32 block = 0; block < blocks; block++) {
        u32 w[16];
#pragma unroll
        for (u32 t = 0; t < 16; t++) {
            u32 at = block * 64 + t * 4, v = 0;
            if (at + 4 <= size) {
                v = big_endian(word_at(data, begin + at));
            } else if (at <= size) {
                for (u32 b = 0; b < 4; b++)
                    v = v << 8 | (at + b < size ? data[begin + at + b] : at + b == size ? 0x80 : 0);
            }
            w[t] = v;
        }
        if (block + 1 == blocks) {
            w[14] = size >> 29;
            w[15] = size << 3;
        }
        u32 a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], i = h[7];
#pragma unroll
        for (u32 t = 0; t < 64; t++) {
            if (t >= 16) {
                u32 p = w[(t + 1) % 16], q = w[(t + 14) % 16];
                w[t % 16] += (rotr(q, 17) ^ rotr(q, 19) ^ q >> 10) + w[(t + 9) % 16] + (rotr(p, 7) ^ rotr(p, 18) ^ p >> 3);
            }
            u32 t1 = i + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) | (~e & g)) + constants[t] + w[t % 16];
            u32 t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            i = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += i;
    }
    uint4 *to = (uint4 *)(digests + 8 * (size_t)m);
    to[0] = make_uint4(big_endian(h[0]), big_endian(h[1]), big_endian(h[2]), big_endian(h[3]));
    to[1] = make_uint4(big_endian(h[4]), big_endian(h[5]), big_endian(h[6]), big_endian(h[7]));
}

/* One record, until a state has a rule. */
static __device__ __forceinline__ void follow(const u8 *__restrict__ data, const u32 *__restrict__ offsets, const u16 *__restrict__ table, const u32 *__restrict__ rules,
                                              u32 *__restrict__ matched, u32 *__restrict__ first_match, u32 record) {
    u32 begin = offsets[record], end = offsets[record + 1], state = 0;
    for (u32 at = begin; at < end;) {
        state = table[state * 256 + data[at++]];
        u32 rule = rules[state];
        if (rule != 0) {
            matched[record] = rule;
            first_match[record] = at - begin;
            break;
        }
    }
}

/* The table (32 KiB for 64 states) is in shared memory; a block claims records until none are left. */
#define TABLE (64 * 256)

KERNEL __launch_bounds__(256) dfa(const u8 *__restrict__ data, const u32 *__restrict__ offsets, const u16 *__restrict__ table,
                                  const u32 *__restrict__ rules, u32 *__restrict__ matched, u32 *__restrict__ first_match, u32 count) {
    __shared__ u16 states[TABLE];
    __shared__ u32 ends[TABLE / 256];
    for (u32 i = threadIdx.x; i < TABLE / 8; i += blockDim.x)
        ((uint4 *)states)[i] = ((const uint4 *)table)[i];
    if (threadIdx.x < TABLE / 256)
        ends[threadIdx.x] = rules[threadIdx.x];
    __syncthreads();
    for (u32 record = thread(); record < count; record += gridDim.x * blockDim.x)
        follow(data, offsets, states, ends, matched, first_match, record);
}

KERNEL dfa_cached(const u8 *__restrict__ data, const u32 *__restrict__ offsets, const u16 *__restrict__ table, const u32 *__restrict__ rules,
                  u32 *__restrict__ matched, u32 *__restrict__ first_match, u32 count) {
    if (thread() < count)
        follow(data, offsets, table, rules, matched, first_match, thread());
}

KERNEL search(const i64 *__restrict__ keys, const i64 *__restrict__ queries, u32 *__restrict__ places, u32 key_count, u32 query_count) {
    u32 q = thread();
    if (q >= query_count)
        return;
    u32 low = 0, high = key_count;
    i64 query = queries[q];
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (keys[middle] < query)
            low = middle + 1;
        else
            high = middle;
    }
    places[q] = low;
}

/* ---- for the host measurements ---- */

KERNEL tiny(u32 *p) {
    if (threadIdx.x == 0)
        p[blockIdx.x] += 1;
}

KERNEL flip(uint4 *x, u32 n) {
    u32 i = thread();
    if (i < n / 4) {
        uint4 v = x[i];
        x[i] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
    }
}
