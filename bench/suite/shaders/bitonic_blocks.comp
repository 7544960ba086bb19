#version 450
const uint RUN = 512;
layout(local_size_x = 256) in;
layout(binding = 0) buffer Keys { uint keys[]; };
shared uint run[RUN];

void main() {
    uint first = gl_WorkGroupID.x * RUN, l = gl_LocalInvocationID.x;
    run[l] = keys[first + l];
    run[l + RUN / 2] = keys[first + l + RUN / 2];
    barrier();
    for (uint size = 2; size <= RUN; size *= 2)
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            uint low = 2 * l - (l & (stride - 1));
            uint a = run[low], b = run[low + stride];
            bool up = ((first + low) & size) == 0;
            bool swap = up == (a > b) && a != b;
            run[low] = swap ? b : a;
            run[low + stride] = swap ? a : b;
            barrier();
        }
    keys[first + l] = run[l];
    keys[first + l + RUN / 2] = run[l + RUN / 2];
}
