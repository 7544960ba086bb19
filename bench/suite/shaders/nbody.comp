#version 450
const uint TILE = 64;
layout(local_size_x = TILE) in;
layout(binding = 0) readonly buffer Mass { float mass[]; };
layout(binding = 1) readonly buffer Position { float position[]; };
layout(binding = 2) buffer Velocity { float velocity[]; };
layout(binding = 3) writeonly buffer Moved { float moved[]; };
layout(push_constant) uniform Words { float dt, softening; uint n; };
shared float tx[TILE], ty[TILE], tz[TILE], tm[TILE];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    float x = 0, y = 0, z = 0, ax = 0, ay = 0, az = 0;
    if (i < n) {
        x = position[3 * i];
        y = position[3 * i + 1];
        z = position[3 * i + 2];
    }
    for (uint first = 0; first < n; first += TILE) {
        uint j = first + l;
        if (j < n) {
            tx[l] = position[3 * j];
            ty[l] = position[3 * j + 1];
            tz[l] = position[3 * j + 2];
            tm[l] = mass[j];
        }
        barrier();
        uint count = min(TILE, n - first);
        for (uint k = 0; k < count; k++) {
            float dx = tx[k] - x, dy = ty[k] - y, dz = tz[k] - z;
            float r2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening)));
            float pull = tm[k] / (r2 * sqrt(r2));
            ax = fma(dx, pull, ax);
            ay = fma(dy, pull, ay);
            az = fma(dz, pull, az);
        }
        barrier();
    }
    if (i < n) {
        float vx = fma(dt, ax, velocity[3 * i]), vy = fma(dt, ay, velocity[3 * i + 1]);
        float vz = fma(dt, az, velocity[3 * i + 2]);
        velocity[3 * i] = vx;
        velocity[3 * i + 1] = vy;
        velocity[3 * i + 2] = vz;
        moved[3 * i] = fma(dt, vx, x);
        moved[3 * i + 1] = fma(dt, vy, y);
        moved[3 * i + 2] = fma(dt, vz, z);
    }
}
