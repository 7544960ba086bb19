/* Examples that compute with floats, against plain C with the same order of operations: the bits must be equal. */
#include "examples/example.h"

#include <math.h>

static void fill(vy_random *random, float *out, size_t count, float low, float high) {
    for (size_t i = 0; i < count; i++)
        out[i] = low + (high - low) * (float)(vy_random_next(random) >> 40) * 0x1p-24f;
}

static void saxpy_adds_a_times_x(void **state) {
    vyre_scalar a = vyre_scalar_f32(1.7f);
    vy_random random = vy_random_start(1);
    float x[1000], y[1000], expected[1000];
    example e;

    (void)state;
    fill(&random, x, 1000, -10, 10);
    fill(&random, y, 1000, -10, 10);
    for (int i = 0; i < 1000; i++)
        expected[i] = fmaf(1.7f, x[i], y[i]);
    example_open(&e, "saxpy.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    example_run(&e, &a, 1, (vyre_span[]){EXAMPLE_SPAN(x), EXAMPLE_SPAN(y)}, 2);
    example_expect(&e, 0, expected, sizeof expected);
    example_close(&e);
}

/* Pairs, then pairs of pairs: what all three programs promise. */
static float tree_sum(const float *x, size_t count) {
    float part[256] = {0};

    memcpy(part, x, count * sizeof *x);
    for (size_t stride = 1; stride < 256; stride *= 2)
        for (size_t i = 0; i < 256; i += 2 * stride)
            part[i] += part[i + stride];
    return part[0];
}

static void block_sums_have_one_order(void **state) {
    static const char *const programs[] = {"by_hand", "by_shuffle", "by_collective"};
    vy_random random = vy_random_start(2);
    float x[1000], expected[4];

    (void)state;
    fill(&random, x, 1000, -1, 1);
    for (size_t block = 0; block < 4; block++)
        expected[block] = tree_sum(x + 256 * block, block < 3 ? 256 : 1000 - 768);
    for (size_t i = 0; i < 3; i++) {
        example e;
        example_open(&e, "reduce.vyre", programs[i], NULL, NULL);
        example_run(&e, NULL, 0, &EXAMPLE_SPAN(x), 1);
        example_expect(&e, 0, expected, sizeof expected);
        example_close(&e);
    }
}

static void check_matmul(uint32_t n, const char *tile) {
    vyre_scalar size = vyre_scalar_u32(n);
    vy_random random = vy_random_start(n);
    float a[37 * 37], b[37 * 37], c[37 * 37];
    size_t bytes = n * n * sizeof *a;
    example e;

    fill(&random, a, n * n, -2, 2);
    fill(&random, b, n * n, -2, 2);
    for (uint32_t row = 0; row < n; row++)
        for (uint32_t column = 0; column < n; column++) {
            float sum = 0;
            for (uint32_t k = 0; k < n; k++)
                sum = fmaf(a[row * n + k], b[k * n + column], sum);
            c[row * n + column] = sum;
        }
    example_open(&e, "matmul.vyre", NULL, tile ? "TILE" : NULL, tile);
    example_run(&e, &size, 1, (vyre_span[]){{a, bytes}, {b, bytes}}, 2);
    example_expect(&e, 0, c, bytes);
    example_close(&e);
}

static void matmul_takes_any_size_and_tile(void **state) {
    (void)state;
    check_matmul(1, NULL);
    check_matmul(16, NULL);
    check_matmul(37, NULL);
    check_matmul(37, "8");
    check_matmul(20, "5");
}

static float cell(const float *plate, int width, int height, int x, int y) {
    return x >= 0 && y >= 0 && x < width && y < height ? plate[y * width + x] : 0;
}

static void stencil_spreads_heat(void **state) {
    enum { WIDTH = 37, HEIGHT = 21 };
    vyre_scalar params[] = {vyre_scalar_u32(WIDTH), vyre_scalar_u32(HEIGHT), vyre_scalar_f32(0.2f)};
    vy_random random = vy_random_start(4);
    float now[WIDTH * HEIGHT], next[WIDTH * HEIGHT];
    example e;

    (void)state;
    fill(&random, now, WIDTH * HEIGHT, 0, 100);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float around = (cell(now, WIDTH, HEIGHT, x - 1, y) + cell(now, WIDTH, HEIGHT, x + 1, y)) +
                           (cell(now, WIDTH, HEIGHT, x, y - 1) + cell(now, WIDTH, HEIGHT, x, y + 1));
            float here = now[y * WIDTH + x];
            next[y * WIDTH + x] = fmaf(0.2f, fmaf(-4.0f, here, around), here);
        }
    example_open(&e, "stencil.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    example_run(&e, params, 3, &EXAMPLE_SPAN(now), 1);
    example_expect(&e, 0, next, sizeof next);
    example_close(&e);
}

static void nbody_pulls_every_pair(void **state) {
    enum { N = 150 };
    vyre_scalar params[] = {vyre_scalar_f32(0.01f), vyre_scalar_f32(0.05f)};
    vy_random random = vy_random_start(5);
    float mass[N], position[3 * N], velocity[3 * N], faster[3 * N], moved[3 * N];
    example e;

    (void)state;
    fill(&random, mass, N, 0.1f, 2);
    fill(&random, position, 3 * N, -5, 5);
    fill(&random, velocity, 3 * N, -1, 1);
    for (int i = 0; i < N; i++) {
        float pull[3] = {0, 0, 0};
        for (int j = 0; j < N; j++) {
            float d[3], r2, strength;
            for (int k = 0; k < 3; k++)
                d[k] = position[3 * j + k] - position[3 * i + k];
            r2 = fmaf(d[0], d[0], fmaf(d[1], d[1], fmaf(d[2], d[2], 0.05f)));
            strength = mass[j] / (r2 * sqrtf(r2));
            for (int k = 0; k < 3; k++)
                pull[k] = fmaf(d[k], strength, pull[k]);
        }
        for (int k = 0; k < 3; k++) {
            faster[3 * i + k] = fmaf(0.01f, pull[k], velocity[3 * i + k]);
            moved[3 * i + k] = fmaf(0.01f, faster[3 * i + k], position[3 * i + k]);
        }
    }
    example_open(&e, "nbody.vyre", NULL, NULL, NULL);
    example_run(&e, params, 2, (vyre_span[]){EXAMPLE_SPAN(mass), EXAMPLE_SPAN(position), EXAMPLE_SPAN(velocity)}, 3);
    example_expect(&e, 0, faster, sizeof faster);
    example_expect(&e, 1, moved, sizeof moved);
    example_close(&e);
}

static float log2_about(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (float)bits * 0x1p-23f - 127.0f;
}

static uint8_t sample(float v) {
    return (uint8_t)(fminf(fmaxf(v, 0.0f), 1.0f) * 255.0f);
}

static void mandelbrot_paints_every_pixel(void **state) {
    enum { WIDTH = 40, HEIGHT = 480, LIMIT = 400 };
    static uint8_t image[WIDTH * HEIGHT * 3];
    example e;
    size_t inside = 0;

    (void)state;
    for (int py = 0; py < HEIGHT; py++)
        for (int px = 0; px < WIDTH; px++) {
            float pixel = 0.012f / (float)WIDTH;
            float cx = -0.743f + ((float)px - (float)WIDTH * 0.5f) * pixel,
                  cy = 0.131f - ((float)py - (float)HEIGHT * 0.5f) * pixel;
            float x = 0, y = 0, distance = 0, t = 0, u;
            uint8_t *at = image + (py * WIDTH + px) * 3;
            uint32_t n = 0;
            for (; n < LIMIT && distance < 256.0f; n++) {
                float next = fmaf(x, x, cx) - y * y;
                y = fmaf(2.0f * x, y, cy);
                x = next;
                distance = x * x + y * y;
            }
            if (distance >= 256.0f)
                t = sqrtf(fmaxf(((float)n + 3.0f - log2_about(log2_about(distance))) / (float)LIMIT, 0.0f));
            else
                inside++;
            u = 1.0f - t;
            at[0] = sample(9.0f * u * t * t * t);
            at[1] = sample(15.0f * u * u * t * t);
            at[2] = sample(8.5f * u * u * u * t);
        }
    assert_true(inside > 0 && inside < WIDTH * HEIGHT);
    example_open(&e, "mandelbrot.vyre", NULL, "WIDTH", "40");
    example_run(&e, NULL, 0, NULL, 0);
    example_expect(&e, 0, image, sizeof image);
    example_close(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saxpy_adds_a_times_x),           cmocka_unit_test(block_sums_have_one_order),
        cmocka_unit_test(matmul_takes_any_size_and_tile), cmocka_unit_test(stencil_spreads_heat),
        cmocka_unit_test(nbody_pulls_every_pair),         cmocka_unit_test(mandelbrot_paints_every_pixel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
