#version 450
const uint BLOCK = 256;
layout(local_size_x = BLOCK) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Sums { float sums[]; };
layout(push_constant) uniform Words { uint n; };
shared float part[BLOCK];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    part[l] = i < n ? x[i] : 0.0;
    barrier();
    for (uint stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (l < stride)
            part[l] += part[l + stride];
        barrier();
    }
    if (l == 0)
        sums[gl_WorkGroupID.x] = part[0];
}
