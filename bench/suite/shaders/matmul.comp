#version 450
const uint TILE = 16;
layout(local_size_x = TILE, local_size_y = TILE) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Words { uint n; };
shared float tile_a[TILE * TILE], tile_b[TILE * TILE];

void main() {
    uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    float sum = 0;
    for (uint k = 0; k < n; k += TILE) {
        float from_a = 0, from_b = 0;
        if (row < n && k + x < n)
            from_a = a[row * n + k + x];
        if (k + y < n && column < n)
            from_b = b[(k + y) * n + column];
        tile_a[y * TILE + x] = from_a;
        tile_b[y * TILE + x] = from_b;
        barrier();
        for (uint j = 0; j < TILE; j++)
            sum = fma(tile_a[y * TILE + j], tile_b[j * TILE + x], sum);
        barrier();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}
