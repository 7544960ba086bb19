#version 450
const uint BLOCK = 256;
layout(local_size_x = BLOCK) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) writeonly buffer Sums { uint sums[]; };
layout(binding = 2) writeonly buffer Totals { uint totals[]; };
layout(push_constant) uniform Words { uint n, offset; };
shared uint part[BLOCK];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    part[l] = i < n ? x[i] : 0;
    barrier();
    for (uint stride = 1; stride < BLOCK; stride *= 2) {
        uint before = l >= stride ? part[l - stride] : 0;
        barrier();
        part[l] += before;
        barrier();
    }
    if (i < n)
        sums[i + offset] = part[l];
    if (l == BLOCK - 1)
        totals[gl_WorkGroupID.x] = part[l];
}
