#version 450
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Words { float a; uint n; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        y[i] = fma(a, x[i], y[i]);
}
