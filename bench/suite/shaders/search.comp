#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Keys { int64_t keys[]; };
layout(binding = 1) readonly buffer Queries { int64_t queries[]; };
layout(binding = 2) writeonly buffer Places { uint places[]; };
layout(push_constant) uniform Words { uint key_count, query_count; };

void main() {
    uint q = gl_GlobalInvocationID.x;
    if (q >= query_count)
        return;
    uint low = 0, high = key_count;
    int64_t query = queries[q];
    while (low < high) {
        uint middle = low + (high - low) / 2;
        if (keys[middle] < query)
            low = middle + 1;
        else
            high = middle;
    }
    places[q] = low;
}
