#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Data { uint8_t data[]; };
layout(binding = 1) readonly buffer Offsets { uint offsets[]; };
layout(binding = 2) writeonly buffer Hashes { uint64_t hashes[]; };
layout(push_constant) uniform Words { uint count; };

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m >= count)
        return;
    uint64_t h = 0xcbf29ce484222325ul;
    uint end = offsets[m + 1];
    for (uint i = offsets[m]; i < end; i++)
        h = (h ^ uint64_t(data[i])) * 0x100000001b3ul;
    hashes[m] = h;
}
