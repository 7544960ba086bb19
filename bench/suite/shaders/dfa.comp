#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Data { uint8_t data[]; };
layout(binding = 1) readonly buffer Offsets { uint offsets[]; };
layout(binding = 2) readonly buffer Table { uint16_t table[]; };
layout(binding = 3) readonly buffer Rules { uint rules[]; };
layout(binding = 4) writeonly buffer Matched { uint matched[]; };
layout(binding = 5) writeonly buffer First { uint first_match[]; };
layout(push_constant) uniform Words { uint count; };

void main() {
    uint record = gl_GlobalInvocationID.x;
    if (record >= count)
        return;
    uint begin = offsets[record], end = offsets[record + 1], state = 0;
    for (uint at = begin; at < end;) {
        state = uint(table[state * 256 + uint(data[at++])]);
        uint rule = rules[state];
        if (rule != 0) {
            matched[record] = rule;
            first_match[record] = at - begin;
            break;
        }
    }
}
