#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer Before { uint before_block[]; };
layout(binding = 1) buffer Sums { uint sums[]; };
layout(push_constant) uniform Words { uint n, offset; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        sums[i + offset] += before_block[gl_WorkGroupID.x];
}
