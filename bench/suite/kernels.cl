/* The kernels of examples/ in OpenCL C, with the same workgroups. Buffers first, then words in the order of the suite's steps. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void empty(void) {}

__kernel void saxpy(__global const float *restrict x, __global float *restrict y, float a, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        y[i] = fma(a, x[i], y[i]);
}

__kernel void xor_key(__global const uchar *restrict key, __global uchar *restrict data, uint key_size, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        data[i] ^= key[i % key_size];
}

__kernel void xor_streams(__global const uint *restrict a, __global const uint *restrict b, __global uint *restrict out, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        out[i] = a[i] ^ b[i];
}

#define TILE 16
#define SIDE (TILE + 2)

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
stencil(__global const float *restrict now, __global float *restrict next, uint width, uint height, float rate) {
    __local float tile[SIDE * SIDE];
    uint l = get_local_id(1) * TILE + get_local_id(0);
    for (uint cell = l; cell < SIDE * SIDE; cell += TILE * TILE) {
        uint x = get_group_id(0) * TILE + cell % SIDE - 1, y = get_group_id(1) * TILE + cell / SIDE - 1;
        tile[cell] = x < width && y < height ? now[y * width + x] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) {
        uint at = (get_local_id(1) + 1) * SIDE + get_local_id(0) + 1;
        float around = (tile[at - 1] + tile[at + 1]) + (tile[at - SIDE] + tile[at + SIDE]);
        next[y * width + x] = fma(rate, fma(-4.0f, tile[at], around), tile[at]);
    }
}

static float log2_about(float v) {
    return (float)as_uint(v) * 0x1p-23f - 127.0f;
}

static uchar sample(float v) {
    return (uchar)(min(max(v, 0.0f), 1.0f) * 255.0f);
}

__kernel void mandelbrot(__global uchar *restrict image, uint width, uint height) {
    uint px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height)
        return;
    const uint limit = 400;
    float pixel = 0.012f / (float)width;
    float cx = -0.743f + ((float)px - (float)width * 0.5f) * pixel;
    float cy = 0.131f - ((float)py - (float)height * 0.5f) * pixel;
    float x = 0, y = 0, distance = 0;
    uint n = 0;
    while (n < limit && distance < 256.0f) {
        float next = fma(x, x, cx) - y * y;
        y = fma(2.0f * x, y, cy);
        x = next;
        distance = x * x + y * y;
        n++;
    }
    float t = 0;
    if (distance >= 256.0f) {
        t = ((float)n + 3.0f - log2_about(log2_about(distance))) / (float)limit;
        t = sqrt(max(t, 0.0f));
    }
    float u = 1.0f - t;
    uint at = (py * width + px) * 3;
    image[at] = sample(9.0f * u * t * t * t);
    image[at + 1] = sample(15.0f * u * u * t * t);
    image[at + 2] = sample(8.5f * u * u * u * t);
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
matmul(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, uint n) {
    __local float tile_a[TILE * TILE], tile_b[TILE * TILE];
    uint row = get_global_id(1), column = get_global_id(0), x = get_local_id(0), y = get_local_id(1);
    float sum = 0;
    for (uint k = 0; k < n; k += TILE) {
        tile_a[y * TILE + x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        tile_b[y * TILE + x] = k + y < n && column < n ? b[(k + y) * n + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < TILE; j++)
            sum = fma(tile_a[y * TILE + j], tile_b[j * TILE + x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

#define BODIES 64

__kernel __attribute__((reqd_work_group_size(BODIES, 1, 1))) void
nbody(__global const float *restrict mass, __global const float *restrict position, __global float *restrict velocity,
      __global float *restrict moved, float dt, float softening, uint n) {
    __local float tx[BODIES], ty[BODIES], tz[BODIES], tm[BODIES];
    uint i = get_global_id(0), l = get_local_id(0);
    float x = 0, y = 0, z = 0, ax = 0, ay = 0, az = 0;
    if (i < n) {
        x = position[3 * i];
        y = position[3 * i + 1];
        z = position[3 * i + 2];
    }
    for (uint first = 0; first < n; first += BODIES) {
        uint j = first + l;
        if (j < n) {
            tx[l] = position[3 * j];
            ty[l] = position[3 * j + 1];
            tz[l] = position[3 * j + 2];
            tm[l] = mass[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint count = min((uint)BODIES, n - first);
        for (uint k = 0; k < count; k++) {
            float dx = tx[k] - x, dy = ty[k] - y, dz = tz[k] - z;
            float r2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening)));
            float pull = tm[k] / (r2 * sqrt(r2));
            ax = fma(dx, pull, ax);
            ay = fma(dy, pull, ay);
            az = fma(dz, pull, az);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) {
        float vx = fma(dt, ax, velocity[3 * i]), vy = fma(dt, ay, velocity[3 * i + 1]);
        float vz = fma(dt, az, velocity[3 * i + 2]);
        velocity[3 * i] = vx;
        velocity[3 * i + 1] = vy;
        velocity[3 * i + 2] = vz;
        moved[3 * i] = fma(dt, vx, x);
        moved[3 * i + 1] = fma(dt, vy, y);
        moved[3 * i + 2] = fma(dt, vz, z);
    }
}

#define BLOCK 256

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void reduce(__global const float *restrict x,
                                                                      __global float *restrict sums, uint n) {
    __local float part[BLOCK];
    uint i = get_global_id(0), l = get_local_id(0);
    part[l] = i < n ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (l < stride)
            part[l] += part[l + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        sums[get_group_id(0)] = part[0];
}

#ifndef local_argument
#define local_argument __local
#endif

#define PIECE 16384
#define LAST 1024

static void add_parts(local_argument uint *part, uint l, uint count) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stride = count / 2; stride > 0; stride /= 2) {
        if (l < stride)
            part[l] += part[l + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void sum_pieces(__global const uint *restrict x, __global uint *restrict sums, uint n) {
    __local uint part[BLOCK];
    uint l = get_local_id(0), first = get_group_id(0) * PIECE + l, sum = 0;
    for (uint k = 0; k < PIECE; k += BLOCK)
        sum += first + k < n ? x[first + k] : 0;
    part[l] = sum;
    add_parts(part, l, BLOCK);
    if (l == 0)
        sums[get_group_id(0)] = part[0];
}

__kernel __attribute__((reqd_work_group_size(LAST, 1, 1))) void sum_total(__global const uint *restrict sums, __global uint *restrict out, uint n) {
    __local uint part[LAST];
    uint l = get_local_id(0), sum = 0;
    for (uint i = l; i < n; i += LAST)
        sum += sums[i];
    part[l] = sum;
    add_parts(part, l, LAST);
    if (l == 0)
        out[0] = part[0];
}

/* Hillis and Steele in workgroup memory. */
static void scan_part(local_argument uint *part, uint l) {
    for (uint stride = 1; stride < BLOCK; stride *= 2) {
        uint before = l >= stride ? part[l - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void
scan_blocks(__global const uint *restrict x, __global uint *restrict sums, __global uint *restrict totals, uint n,
            uint offset) {
    __local uint part[BLOCK];
    uint i = get_global_id(0), l = get_local_id(0);
    part[l] = i < n ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_part(part, l);
    if (i < n)
        sums[i + offset] = part[l];
    if (l == BLOCK - 1)
        totals[get_group_id(0)] = part[l];
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void scan_totals(__global const uint *restrict totals,
                                                                           __global uint *restrict before, uint n) {
    __local uint part[BLOCK];
    uint l = get_local_id(0);
    part[l] = l < n ? totals[l] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_part(part, l);
    if (l < n)
        before[l] = l > 0 ? part[l - 1] : 0;
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void
scan_finish(__global const uint *restrict before, __global uint *restrict sums, uint n, uint offset) {
    uint i = get_global_id(0);
    if (i < n)
        sums[i + offset] += before[get_group_id(0)];
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void histogram(__global const uchar *restrict data,
                                                                         __global uint *restrict counts, uint n) {
    __local uint mine[256];
    uint i = get_global_id(0), l = get_local_id(0);
    mine[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n)
        atomic_inc(&mine[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine[l] != 0)
        atomic_add(&counts[l], mine[l]);
}

#define RUN 512

static bool must_swap(uint low, uint size, uint a, uint b) {
    return ((low & size) == 0) == (a > b) && a != b;
}

__kernel __attribute__((reqd_work_group_size(RUN / 2, 1, 1))) void bitonic_blocks(__global uint *restrict keys) {
    __local uint run[RUN];
    uint first = get_group_id(0) * RUN, l = get_local_id(0);
    run[l] = keys[first + l];
    run[l + RUN / 2] = keys[first + l + RUN / 2];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint size = 2; size <= RUN; size *= 2)
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            uint low = 2 * l - (l & (stride - 1));
            uint a = run[low], b = run[low + stride];
            bool swap = must_swap(first + low, size, a, b);
            run[low] = swap ? b : a;
            run[low + stride] = swap ? a : b;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    keys[first + l] = run[l];
    keys[first + l + RUN / 2] = run[l + RUN / 2];
}

__kernel void bitonic_merge(__global uint *restrict keys, uint size, uint stride) {
    uint i = get_global_id(0), low = 2 * i - (i & (stride - 1));
    uint a = keys[low], b = keys[low + stride];
    if (must_swap(low, size, a, b)) {
        keys[low] = b;
        keys[low + stride] = a;
    }
}

__kernel void fnv1a(__global const uchar *restrict data, __global const uint *restrict offsets,
                  __global ulong *restrict hashes, uint count) {
    uint m = get_global_id(0);
    if (m >= count)
        return;
    ulong h = 0xcbf29ce484222325ul;
    uint end = offsets[m + 1];
    for (uint i = offsets[m]; i < end; i++)
        h = (h ^ data[i]) * 0x100000001b3ul;
    hashes[m] = h;
}

static uint word_at(__global const uchar *data, uint at) {
    return as_uint(vload4(0, data + at));
}

static uint round32(uint lane, uint v) {
    return rotate(lane + v * 0x85ebca77u, 13u) * 0x9e3779b1u;
}

__kernel void xxh32(__global const uchar *restrict data, __global const uint *restrict offsets,
                  __global uint *restrict hashes, uint seed, uint count) {
    const uint p1 = 0x9e3779b1u, p2 = 0x85ebca77u, p3 = 0xc2b2ae3du, p4 = 0x27d4eb2fu, p5 = 0x165667b1u;
    uint m = get_global_id(0);
    if (m >= count)
        return;
    uint at = offsets[m], end = offsets[m + 1], size = end - at, h = seed + p5;
    if (size >= 16) {
        uint a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
        for (; end - at >= 16; at += 16) {
            a = round32(a, word_at(data, at));
            b = round32(b, word_at(data, at + 4));
            c = round32(c, word_at(data, at + 8));
            d = round32(d, word_at(data, at + 12));
        }
        h = rotate(a, 1u) + rotate(b, 7u) + rotate(c, 12u) + rotate(d, 18u);
    }
    h += size;
    for (; end - at >= 4; at += 4)
        h = rotate(h + word_at(data, at) * p3, 17u) * p4;
    for (; at < end; at++)
        h = rotate(h + data[at] * p5, 11u) * p1;
    h = (h ^ h >> 15) * p2;
    h = (h ^ h >> 13) * p3;
    hashes[m] = h ^ h >> 16;
}

__constant uint constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint rotr(uint v, uint by) {
    return rotate(v, 32 - by);
}

__kernel void sha256(__global const uchar *restrict data, __global const uint *restrict offsets,
                   __global uchar *restrict digests, uint count) {
    uint m = get_global_id(0);
    if (m >= count)
        return;
    uint begin = offsets[m], size = offsets[m + 1] - begin, blocks = (size + 8) / 64 + 1;
    uint h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (uint block = 0; block < blocks; block++) {
        uint w[64];
        for (uint t = 0; t < 16; t++) {
            uint at = block * 64 + t * 4, v = 0;
            if (at + 4 <= size) {
                v = as_uint(vload4(0, data + begin + at).wzyx);
            } else {
                for (uint b = 0; b < 4; b++)
                    v = v << 8 | (at + b < size ? data[begin + at + b] : at + b == size ? 0x80 : 0);
            }
            w[t] = v;
        }
        if (block + 1 == blocks) {
            w[14] = size >> 29;
            w[15] = size << 3;
        }
        for (uint t = 16; t < 64; t++) {
            uint a = w[t - 15], b = w[t - 2];
            w[t] = (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10) + w[t - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[t - 16];
        }
        uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], i = h[7];
        for (uint t = 0; t < 64; t++) {
            uint t1 = i + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + bitselect(g, f, e) + constants[t] + w[t];
            uint t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            i = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
        h[4] += e;
        h[5] += f;
        h[6] += g;
        h[7] += i;
    }
    for (uint i = 0; i < 8; i++)
        vstore4(as_uchar4(h[i]).wzyx, 0, digests + 32 * m + 4 * i);
}

__kernel void dfa(__global const uchar *restrict data, __global const uint *restrict offsets,
                __global const ushort *restrict table, __global const uint *restrict rules, __global uint *restrict matched,
                __global uint *restrict first_match, uint count) {
    uint record = get_global_id(0);
    if (record >= count)
        return;
    uint begin = offsets[record], end = offsets[record + 1], state = 0;
    for (uint at = begin; at < end;) {
        state = table[state * 256 + data[at++]];
        uint rule = rules[state];
        if (rule != 0) {
            matched[record] = rule;
            first_match[record] = at - begin;
            break;
        }
    }
}

__kernel void search(__global const long *restrict keys, __global const long *restrict queries,
                   __global uint *restrict places, uint key_count, uint query_count) {
    uint q = get_global_id(0);
    if (q >= query_count)
        return;
    uint low = 0, high = key_count;
    long query = queries[q];
    while (low < high) {
        uint middle = low + (high - low) / 2;
        if (keys[middle] < query)
            low = middle + 1;
        else
            high = middle;
    }
    places[q] = low;
}
