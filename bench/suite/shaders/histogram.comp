#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer Data { uint8_t data[]; };
layout(binding = 1) buffer Counts { uint counts[]; };
layout(push_constant) uniform Words { uint n; };
shared uint mine[256];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    mine[l] = 0;
    barrier();
    if (i < n)
        atomicAdd(mine[uint(data[i])], 1);
    barrier();
    if (mine[l] != 0)
        atomicAdd(counts[l], mine[l]);
}
