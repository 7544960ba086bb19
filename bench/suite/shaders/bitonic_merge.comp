#version 450
layout(local_size_x = 256) in;
layout(binding = 0) buffer Keys { uint keys[]; };
layout(push_constant) uniform Words { uint size, stride; };

void main() {
    uint i = gl_GlobalInvocationID.x, low = 2 * i - (i & (stride - 1));
    uint a = keys[low], b = keys[low + stride];
    bool up = (low & size) == 0;
    if (up == (a > b) && a != b) {
        keys[low] = b;
        keys[low + stride] = a;
    }
}
