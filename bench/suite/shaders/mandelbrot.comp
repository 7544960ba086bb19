#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16, local_size_y = 8) in;
layout(binding = 0) writeonly buffer Image { uint8_t image[]; };
layout(push_constant) uniform Words { uint width, height; };
const uint LIMIT = 400;

float log2_about(float v) {
    return float(floatBitsToUint(v)) * 1.1920928955078125e-7 - 127.0;
}

uint8_t pixel_sample(float v) {
    return uint8_t(uint(min(max(v, 0.0), 1.0) * 255.0));
}

void main() {
    uint px = gl_GlobalInvocationID.x, py = gl_GlobalInvocationID.y;
    if (px >= width || py >= height)
        return;
    float pixel = 0.012 / float(width);
    precise float cx = -0.743 + (float(px) - float(width) * 0.5) * pixel;
    precise float cy = 0.131 - (float(py) - float(height) * 0.5) * pixel;
    precise float x = 0, y = 0, distance = 0;
    uint n = 0;
    while (n < LIMIT && distance < 256.0) {
        precise float next = fma(x, x, cx) - y * y;
        y = fma(2.0 * x, y, cy);
        x = next;
        distance = x * x + y * y;
        n++;
    }
    float t = 0;
    if (distance >= 256.0) {
        t = (float(n) + 3.0 - log2_about(log2_about(distance))) / float(LIMIT);
        t = sqrt(max(t, 0.0));
    }
    float u = 1.0 - t;
    uint at = (py * width + px) * 3;
    image[at] = pixel_sample(9.0 * u * t * t * t);
    image[at + 1] = pixel_sample(15.0 * u * u * t * t);
    image[at + 2] = pixel_sample(8.5 * u * u * u * t);
}
