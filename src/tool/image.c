/* Pictures. PNG (RFC 2083) holds a zlib stream (RFC 1950), and a zlib stream may hold stored blocks (RFC 1951 §3.2.4), so
 * writing one takes two checksums and no compressor. */
#include "tool/image.h"

#include "base/file.h"

enum { STORED_BLOCK = 65535 };

int tool_image_is(const char *path) {
    return tool_ends_with(path, ".png") || tool_ends_with(path, ".pgm") || tool_ends_with(path, ".ppm");
}

int tool_image_supports(const char *path, unsigned channels) {
    return tool_ends_with(path, ".pgm")   ? channels == 1
           : tool_ends_with(path, ".ppm") ? channels == 3
                                          : channels >= 1 && channels <= 4;
}

static uint32_t crc32_of(const unsigned char *data, size_t size) {
    uint32_t table[256], crc = 0xffffffff;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    return ~crc;
}

static uint32_t adler32_of(const unsigned char *data, size_t size) {
    uint32_t a = 1, b = 0;

    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void add_u32(vy_string *out, uint32_t value) {
    unsigned char bytes[4] = {value >> 24 & 0xff, value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff};
    vy_string_append(out, (char *)bytes, 4);
}

static void add_chunk(vy_string *out, const char type[4], const char *data, size_t size) {
    size_t start;

    add_u32(out, (uint32_t)size);
    start = out->length;
    vy_string_append(out, type, 4);
    vy_string_append(out, data, size);
    if (!out->failed)
        add_u32(out, crc32_of((unsigned char *)out->text + start, size + 4));
}

static void add_stored(vy_string *out, const vy_string *raw) {
    vy_string_append(out, "\x78\x01", 2);
    for (size_t at = 0; at < raw->length;) {
        size_t n = raw->length - at < STORED_BLOCK ? raw->length - at : STORED_BLOCK;
        unsigned char head[5] = {at + n == raw->length, n & 0xff, n >> 8 & 0xff, ~n & 0xff, ~n >> 8 & 0xff};
        vy_string_append(out, (char *)head, 5);
        vy_string_append(out, raw->text + at, n);
        at += n;
    }
    add_u32(out, adler32_of((unsigned char *)raw->text, raw->length));
}

static void write_png(vy_string *out, uint32_t width, uint32_t height, unsigned channels, const char *samples) {
    static const char color_types[] = {0, 0, 4, 2, 6};
    size_t row = (size_t)width * channels;
    vy_string raw = {0}, stream = {0}, head = {0};

    for (uint32_t y = 0; y < height; y++) {
        vy_string_char(&raw, 0); /* filter: none */
        vy_string_append(&raw, samples + y * row, row);
    }
    add_u32(&head, width);
    add_u32(&head, height);
    vy_string_append(&head, (char[]){8, color_types[channels], 0, 0, 0}, 5);
    if (!raw.failed)
        add_stored(&stream, &raw);
    vy_string_append(out, "\x89PNG\r\n\x1a\n", 8);
    if (!head.failed && !raw.failed && !stream.failed) {
        add_chunk(out, "IHDR", head.text, head.length);
        add_chunk(out, "IDAT", stream.text, stream.length);
        add_chunk(out, "IEND", "", 0);
    } else {
        out->failed = 1;
    }
    vy_string_free(&head);
    vy_string_free(&raw);
    vy_string_free(&stream);
}

vyre_status tool_image_write(const char *path, uint32_t width, uint32_t height, unsigned channels, const void *samples,
                             vyre_error *error) {
    size_t size = (size_t)width * height * channels;
    vyre_bytes file = VYRE_BYTES_INIT;
    vy_string out = {0};
    vyre_status status;

    if (width == 0 || height == 0 || size > UINT32_MAX / 2)
        return vy_fail(error, VYRE_LIMIT, "write it as .npy or .bin instead",
                       "a picture of %u x %u pixels cannot be written", width, height);
    if (!tool_image_supports(path, channels))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write it as .png, which takes 1 to 4 samples a pixel",
                       "`%s` cannot have %u samples a pixel", path, channels);
    if (tool_ends_with(path, ".png")) {
        write_png(&out, width, height, channels, samples);
    } else {
        vy_string_format(&out, "P%d\n%u %u\n255\n", channels == 1 ? 5 : 6, width, height);
        vy_string_append(&out, samples, size);
    }
    status = vy_string_to_bytes(&out, &file, error);
    if (status == VYRE_OK)
        status = vy_file_write(path, file.data, file.size, error);
    vyre_bytes_free(&file);
    return status;
}
