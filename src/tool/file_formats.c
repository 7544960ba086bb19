/* File formats of buffers (file_formats.h). */
#include "tool/file_formats.h"

#include "base/file.h"

#include <inttypes.h>

/* ---- images ---- */

/* PNG (RFC 2083) contains a zlib stream (RFC 1950), which may consist of stored blocks (RFC 1951 §3.2.4). Writing one
 * needs two checksums and no compressor. */
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
                       "an image of %u x %u pixels cannot be written", width, height);
    if (!tool_image_supports(path, channels))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write it as .png, which supports 1 to 4 samples per pixel",
                       "`%s` cannot have %u samples per pixel", path, channels);
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

/* ---- .npy files ---- */

/* The header is a Python dictionary literal with three known keys. It is parsed strictly, with the keys in any
 * order. */
#define NPY_MAGIC "\x93NUMPY"
enum { NPY_MAGIC_SIZE = 6, NPY_ALIGNMENT = 64 };

/* The name of each element type in the header. */
static const char *const npy_types[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_I8] = "|i1",  [VYRE_TYPE_U8] = "|u1",   [VYRE_TYPE_I16] = "<i2", [VYRE_TYPE_U16] = "<u2",
    [VYRE_TYPE_I32] = "<i4", [VYRE_TYPE_U32] = "<u4",  [VYRE_TYPE_I64] = "<i8", [VYRE_TYPE_U64] = "<u8",
    [VYRE_TYPE_F16] = "<f2", [VYRE_TYPE_BF16] = "<u2", [VYRE_TYPE_F32] = "<f4", [VYRE_TYPE_F64] = "<f8",
};

typedef struct npy_header {
    const char *at, *end;
    char description[16];
    int fortran;
    uint64_t count;
    int seen; /* bits: 1 descr, 2 fortran_order, 4 shape */
} npy_header;

static void skip_space(npy_header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
}

static int accept_text(npy_header *h, const char *text) {
    size_t length = strlen(text);

    skip_space(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, text, length) != 0)
        return 0;
    h->at += length;
    return 1;
}

static int parse_string(npy_header *h, char *out, size_t size) {
    size_t length = 0;
    char quote;

    skip_space(h);
    if (h->at == h->end || (*h->at != '\'' && *h->at != '"'))
        return 0;
    for (quote = *h->at++; h->at < h->end && *h->at != quote; h->at++) {
        if (length + 1 >= size)
            return 0;
        out[length++] = *h->at;
    }
    out[length] = '\0';
    return accept_text(h, (char[2]){quote, 0});
}

/* (), (3,), (2, 3): the product of the dimensions. */
static int parse_shape(npy_header *h) {
    h->count = 1;
    if (!accept_text(h, "("))
        return 0;
    while (!accept_text(h, ")")) {
        uint64_t value = 0;
        int digits = 0;
        skip_space(h);
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++, digits++) {
            if (value > (UINT64_MAX - 9) / 10)
                return 0;
            value = value * 10 + (uint64_t)(*h->at - '0');
        }
        if (!digits || (value && h->count > UINT64_MAX / value))
            return 0;
        h->count *= value;
        if (!accept_text(h, ",")) {
            if (!accept_text(h, ")"))
                return 0;
            return 1;
        }
    }
    return 1;
}

static int parse_header(npy_header *h) {
    if (!accept_text(h, "{"))
        return 0;
    while (!accept_text(h, "}")) {
        char key[16];
        if (!parse_string(h, key, sizeof key) || !accept_text(h, ":"))
            return 0;
        if (strcmp(key, "descr") == 0 && parse_string(h, h->description, sizeof h->description))
            h->seen |= 1;
        else if (strcmp(key, "fortran_order") == 0 &&
                 (accept_text(h, "False") || (h->fortran = accept_text(h, "True"))))
            h->seen |= 2;
        else if (strcmp(key, "shape") == 0 && parse_shape(h))
            h->seen |= 4;
        else
            return 0;
        if (!accept_text(h, ",")) {
            if (!accept_text(h, "}"))
                return 0;
            break;
        }
    }
    skip_space(h);
    return h->at == h->end && h->seen == 7;
}

static int npy_type_matches(vyre_type type, const char *description) {
    if (strcmp(description, npy_types[type]) == 0)
        return 1;
    /* One-byte elements have no byte order, but some writers specify one. bfloat16 packages write two opaque bytes
     * (V2). */
    if (vyre_type_size(type) == 1)
        return strcmp(description + 1, npy_types[type] + 1) == 0;
    return type == VYRE_TYPE_BF16 && (strcmp(description, "<V2") == 0 || strcmp(description, "|V2") == 0);
}

static vyre_status not_npy(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_CORRUPT, "save it again with numpy.save, or pass raw bytes with @FILE",
                   "`%s` is not a .npy file: %s", path, what);
}

/* Finds the header and the data in the file. Returns NULL, or the reason why it is not a .npy file. */
static const char *split_npy(const vyre_bytes *file, npy_header *h, size_t *data_offset) {
    const unsigned char *bytes = file->data;
    size_t prefix, length;

    if (file->size < NPY_MAGIC_SIZE + 4 || memcmp(bytes, NPY_MAGIC, NPY_MAGIC_SIZE) != 0)
        return "it does not start with \\x93NUMPY";
    if (bytes[6] < 1 || bytes[6] > 3)
        return "its format version is not 1, 2 or 3";
    prefix = bytes[6] == 1 ? 10 : 12;
    if (file->size < prefix)
        return "it ends inside the header";
    length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > file->size - prefix)
        return "it ends inside the header";
    h->at = (const char *)bytes + prefix;
    h->end = h->at + length;
    *data_offset = prefix + length;
    return parse_header(h) ? NULL
                           : "its header is not {'descr': …, 'fortran_order': …, 'shape': …} with a plain element type";
}

vyre_status tool_npy_read(const char *path, vyre_type type, vyre_bytes *out, vyre_error *error) {
    size_t offset = 0, size;
    npy_header h = {0};
    const char *wrong;
    vyre_status status = vy_file_read(path, SIZE_MAX, out, error);

    if (status != VYRE_OK)
        return status;
    wrong = split_npy(out, &h, &offset);
    if (wrong)
        return not_npy(path, wrong, error);
    if (!npy_type_matches(type, h.description))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            type == VYRE_TYPE_BF16
                ? "pass the bits of each bf16; to convert f32, rounded toward zero: (x.view('<u4') >> 16).astype('<u2')"
                : VY_FIX("convert it: x.astype('%s')", npy_types[type]),
            "`%s` has elements of type '%s', but the program needs %s ('%s')", path, h.description,
            vyre_type_name(type), npy_types[type]);
    if (h.fortran && h.count > 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "save it in C order: numpy.save(FILE, numpy.ascontiguousarray(x))",
                       "`%s` is in Fortran order, but buffers are in C order", path);
    size = out->size - offset;
    if (h.count > SIZE_MAX / 8 || h.count * vyre_type_size(type) != size)
        return vy_fail(error, VYRE_CORRUPT, "save it again with numpy.save",
                       "`%s` has %zu bytes of data, but its shape needs %" PRIu64 " elements of %u bytes", path, size,
                       h.count, vyre_type_size(type));
    if (size > 0)
        memmove(out->data, (char *)out->data + offset, size);
    return vyre_bytes_resize(out, size, error);
}

vyre_status tool_npy_write(const char *path, vyre_type type, const uint64_t *shape, size_t dimensions, const void *data,
                           size_t size, vyre_error *error) {
    vyre_bytes file = VYRE_BYTES_INIT;
    vy_string text = {0};
    size_t total;
    vyre_status status;

    vy_string_append(&text, NPY_MAGIC "\x01\x00\x00\x00", NPY_MAGIC_SIZE + 4);
    vy_string_format(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_types[type]);
    for (size_t i = 0; i < dimensions; i++)
        vy_string_format(&text, "%s%" PRIu64, i ? ", " : "", shape[i]);
    vy_string_add(&text, dimensions == 1 ? ",), }" : "), }");
    while ((text.length + 1) % NPY_ALIGNMENT != 0 && !text.failed)
        vy_string_char(&text, ' ');
    vy_string_char(&text, '\n');
    total = text.length - NPY_MAGIC_SIZE - 4;
    status = vy_string_to_bytes(&text, &file, error);
    if (status == VYRE_OK) {
        size_t header_size = file.size;
        ((unsigned char *)file.data)[8] = total & 0xff;
        ((unsigned char *)file.data)[9] = (unsigned char)(total >> 8);
        status = vyre_bytes_resize(&file, header_size + size, error);
        if (status == VYRE_OK && size > 0)
            memcpy((char *)file.data + header_size, data, size);
    }
    if (status == VYRE_OK)
        status = vy_file_write(path, file.data, file.size, error);
    vyre_bytes_free(&file);
    return status;
}
