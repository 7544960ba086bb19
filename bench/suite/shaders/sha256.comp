#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Data { uint8_t data[]; };
layout(binding = 1) readonly buffer Offsets { uint offsets[]; };
layout(binding = 2) writeonly buffer Digests { uint8_t digests[]; };
layout(push_constant) uniform Words { uint count; };
const uint K[64] = uint[64](
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u);

uint rotr(uint v, int by) {
    return v >> by | v << (32 - by);
}

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m >= count)
        return;
    uint begin = offsets[m], size = offsets[m + 1] - begin, blocks = (size + 8) / 64 + 1;
    uint h[8] = uint[8](0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu,
                        0x5be0cd19u);
    uint w[64];
    for (uint block = 0; block < blocks; block++) {
        for (uint t = 0; t < 16; t++) {
            uint v = 0;
            for (uint b = 0; b < 4; b++) {
                uint at = block * 64 + t * 4 + b;
                v = v << 8;
                if (at < size)
                    v |= uint(data[begin + at]);
                else if (at == size)
                    v |= 0x80;
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
            uint t1 = i + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t];
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
    for (uint i = 0; i < 32; i++)
        digests[32 * m + i] = uint8_t(h[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
}
