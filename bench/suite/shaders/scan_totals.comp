#version 450
const uint BLOCK = 256;
layout(local_size_x = BLOCK) in;
layout(binding = 0) readonly buffer Totals { uint totals[]; };
layout(binding = 1) writeonly buffer Before { uint before_block[]; };
layout(push_constant) uniform Words { uint n; };
shared uint part[BLOCK];

void main() {
    uint l = gl_LocalInvocationID.x;
    part[l] = l < n ? totals[l] : 0;
    barrier();
    for (uint stride = 1; stride < BLOCK; stride *= 2) {
        uint before = l >= stride ? part[l - stride] : 0;
        barrier();
        part[l] += before;
        barrier();
    }
    if (l < n)
        before_block[l] = l > 0 ? part[l - 1] : 0;
}
