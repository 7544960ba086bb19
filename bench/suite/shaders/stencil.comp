#version 450
const uint TILE = 16, SIDE = TILE + 2;
layout(local_size_x = TILE, local_size_y = TILE) in;
layout(binding = 0) readonly buffer Now { float now[]; };
layout(binding = 1) writeonly buffer Next { float next[]; };
layout(push_constant) uniform Words { uint width, height; float rate; };
shared float tile[SIDE * SIDE];

void main() {
    for (uint cell = gl_LocalInvocationIndex; cell < SIDE * SIDE; cell += TILE * TILE) {
        uint x = gl_WorkGroupID.x * TILE + cell % SIDE - 1, y = gl_WorkGroupID.y * TILE + cell / SIDE - 1;
        float heat = 0;
        if (x < width && y < height)
            heat = now[y * width + x];
        tile[cell] = heat;
    }
    barrier();
    if (gl_GlobalInvocationID.x < width && gl_GlobalInvocationID.y < height) {
        uint at = (gl_LocalInvocationID.y + 1) * SIDE + gl_LocalInvocationID.x + 1;
        precise float around = (tile[at - 1] + tile[at + 1]) + (tile[at - SIDE] + tile[at + SIDE]);
        next[gl_GlobalInvocationID.y * width + gl_GlobalInvocationID.x] =
            fma(rate, fma(-4.0, tile[at], around), tile[at]);
    }
}
