#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Data { uint8_t data[]; };
layout(binding = 1) readonly buffer Offsets { uint offsets[]; };
layout(binding = 2) writeonly buffer Hashes { uint hashes[]; };
layout(push_constant) uniform Words { uint seed, count; };
const uint P1 = 0x9e3779b1u, P2 = 0x85ebca77u, P3 = 0xc2b2ae3du, P4 = 0x27d4eb2fu, P5 = 0x165667b1u;

uint rotl(uint v, int by) {
    return v << by | v >> (32 - by);
}

uint word_at(uint at) {
    return uint(data[at]) | uint(data[at + 1]) << 8 | uint(data[at + 2]) << 16 | uint(data[at + 3]) << 24;
}

uint round32(uint lane, uint v) {
    return rotl(lane + v * P2, 13) * P1;
}

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m >= count)
        return;
    uint at = offsets[m], end = offsets[m + 1], size = end - at, h = seed + P5;
    if (size >= 16) {
        uint a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
        for (; end - at >= 16; at += 16) {
            a = round32(a, word_at(at));
            b = round32(b, word_at(at + 4));
            c = round32(c, word_at(at + 8));
            d = round32(d, word_at(at + 12));
        }
        h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
    }
    h += size;
    for (; end - at >= 4; at += 4)
        h = rotl(h + word_at(at) * P3, 17) * P4;
    for (; at < end; at++)
        h = rotl(h + uint(data[at]) * P5, 11) * P1;
    h = (h ^ h >> 15) * P2;
    h = (h ^ h >> 13) * P3;
    hashes[m] = h ^ h >> 16;
}
