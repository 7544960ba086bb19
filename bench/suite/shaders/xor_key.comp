#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer Key { uint8_t key[]; };
layout(binding = 1) buffer Data { uint8_t data[]; };
layout(push_constant) uniform Words { uint key_size, n; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        data[i] = data[i] ^ key[i % key_size];
}
