/* Pictures, read back with zlib: what the command writes without a compressor is a PNG all the same. */
#include "tool/transcript.h"

#include <zlib.h>

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Checks every chunk's checksum; the header's fields go to `head`, the decompressed samples with their filter bytes to
 * `raw`. */
static void read_png(const vyre_bytes *file, unsigned char head[13], unsigned char *raw, size_t raw_size) {
    const unsigned char *at = file->data, *end = at + file->size;
    uLongf size = raw_size;
    int chunks = 0;

    assert_memory_equal(at, "\x89PNG\r\n\x1a\n", 8);
    for (at += 8; at < end; chunks++) {
        uint32_t length = big_endian(at);
        assert_true(length + 12 <= (size_t)(end - at));
        assert_int_equal(crc32(0, at + 4, length + 4), big_endian(at + 8 + length));
        if (memcmp(at + 4, "IHDR", 4) == 0) {
            assert_int_equal(length, 13);
            memcpy(head, at + 8, 13);
        } else if (memcmp(at + 4, "IDAT", 4) == 0) {
            assert_int_equal(uncompress(raw, &size, at + 8, length), Z_OK);
            assert_int_equal(size, raw_size);
        } else {
            assert_memory_equal(at + 4, "IEND", 4);
        }
        at += length + 12;
    }
    assert_int_equal(chunks, 3);
}

/* xor with a zero key returns its data, so any bytes can become an image. */
static void write_picture(const char *shape, size_t size, char *folder, vyre_bytes *file) {
    char line[512];

    transcript_enter(folder);
    snprintf(line, sizeof line,
             "./.bin/vyre run examples/xor.vyre key=0 data=random:9:%zu --out data=p.png -q --shape data=%s", size,
             shape);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "./.bin/vyre run examples/xor.vyre key=0 data=random:9:%zu --out data=p.bin -q", size);
    assert_int_equal(system(line), 0);
    assert_int_equal(vy_file_read("p.png", SIZE_MAX, file, NULL), VYRE_OK);
}

static void check_picture(const char *shape, uint32_t height, uint32_t width, unsigned channels, unsigned color_type) {
    size_t row = (size_t)width * channels, raw_size = height * (row + 1);
    unsigned char head[13] = {0}, *raw = malloc(raw_size);
    vyre_bytes file = VYRE_BYTES_INIT, samples = VYRE_BYTES_INIT;
    char folder[256];

    assert_non_null(raw);
    write_picture(shape, height * row, folder, &file);
    assert_int_equal(vy_file_read("p.bin", SIZE_MAX, &samples, NULL), VYRE_OK);
    read_png(&file, head, raw, raw_size);
    assert_int_equal(big_endian(head), width);
    assert_int_equal(big_endian(head + 4), height);
    assert_int_equal(head[8], 8);
    assert_int_equal(head[9], color_type);
    for (uint32_t y = 0; y < height; y++) {
        assert_int_equal(raw[y * (row + 1)], 0);
        assert_memory_equal(raw + y * (row + 1) + 1, (unsigned char *)samples.data + y * row, row);
    }
    transcript_leave(folder);
    vyre_bytes_free(&file);
    vyre_bytes_free(&samples);
    free(raw);
}

static void pngs_hold_the_samples(void **state) {
    (void)state;
    check_picture("5,7", 5, 7, 1, 0);
    check_picture("5,7,2", 5, 7, 2, 4);
    check_picture("300,301,3", 300, 301, 3, 2); /* several stored blocks */
    check_picture("1,1,4", 1, 1, 4, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pngs_hold_the_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
