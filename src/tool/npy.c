/* .npy files. The header is a Python dictionary literal with three known keys; it is parsed strictly, in any order. */
#include "tool/npy.h"

#include "base/file.h"

#include <inttypes.h>

#define MAGIC "\x93NUMPY"
enum { MAGIC_SIZE = 6, ALIGNMENT = 64 };

/* How the header names each element type. */
static const char *const descriptions[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_I8] = "|i1",  [VYRE_TYPE_U8] = "|u1",   [VYRE_TYPE_I16] = "<i2", [VYRE_TYPE_U16] = "<u2",
    [VYRE_TYPE_I32] = "<i4", [VYRE_TYPE_U32] = "<u4",  [VYRE_TYPE_I64] = "<i8", [VYRE_TYPE_U64] = "<u8",
    [VYRE_TYPE_F16] = "<f2", [VYRE_TYPE_BF16] = "<u2", [VYRE_TYPE_F32] = "<f4", [VYRE_TYPE_F64] = "<f8",
};

typedef struct header {
    const char *at, *end;
    char description[16];
    int fortran;
    uint64_t count;
    int seen; /* bits: 1 descr, 2 fortran_order, 4 shape */
} header;

static void skip_space(header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
}

static int accept_text(header *h, const char *text) {
    size_t length = strlen(text);

    skip_space(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, text, length) != 0)
        return 0;
    h->at += length;
    return 1;
}

static int parse_string(header *h, char *out, size_t size) {
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
static int parse_shape(header *h) {
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

static int parse_header(header *h) {
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

static int matches(vyre_type type, const char *description) {
    if (strcmp(description, descriptions[type]) == 0)
        return 1;
    /* One-byte elements have no byte order, yet some writers give one; two opaque bytes are how bfloat16 packages save theirs. */
    if (vyre_type_size(type) == 1)
        return strcmp(description + 1, descriptions[type] + 1) == 0;
    return type == VYRE_TYPE_BF16 && (strcmp(description, "<V2") == 0 || strcmp(description, "|V2") == 0);
}

static vyre_status corrupt(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_CORRUPT, "save it again with numpy.save, or pass raw bytes with @FILE",
                   "`%s` is not a .npy file: %s", path, what);
}

/* Finds header and data in the file; NULL in *what if all is well so far. */
static const char *split(const vyre_bytes *file, header *h, size_t *data_offset) {
    const unsigned char *bytes = file->data;
    size_t prefix, length;

    if (file->size < MAGIC_SIZE + 4 || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
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
    header h = {0};
    const char *wrong;
    vyre_status status = vy_file_read(path, SIZE_MAX, out, error);

    if (status != VYRE_OK)
        return status;
    wrong = split(out, &h, &offset);
    if (wrong)
        return corrupt(path, wrong, error);
    if (!matches(type, h.description))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       type == VYRE_TYPE_BF16
                           ? "give the bits of each bf16, of f32 toward zero: (x.view('<u4') >> 16).astype('<u2')"
                           : VY_FIX("convert it: x.astype('%s')", descriptions[type]),
                       "`%s` holds elements of type '%s', and the program takes %s ('%s')", path, h.description,
                       vyre_type_name(type), descriptions[type]);
    if (h.fortran && h.count > 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "save it in C order: numpy.save(FILE, numpy.ascontiguousarray(x))",
                       "`%s` is in Fortran order, and buffers are in C order", path);
    size = out->size - offset;
    if (h.count > SIZE_MAX / 8 || h.count * vyre_type_size(type) != size)
        return vy_fail(error, VYRE_CORRUPT, "save it again with numpy.save",
                       "`%s` has %zu bytes of data, and its shape needs %" PRIu64 " elements of %u bytes", path, size,
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

    vy_string_append(&text, MAGIC "\x01\x00\x00\x00", MAGIC_SIZE + 4);
    vy_string_format(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descriptions[type]);
    for (size_t i = 0; i < dimensions; i++)
        vy_string_format(&text, "%s%" PRIu64, i ? ", " : "", shape[i]);
    vy_string_add(&text, dimensions == 1 ? ",), }" : "), }");
    while ((text.length + 1) % ALIGNMENT != 0 && !text.failed)
        vy_string_char(&text, ' ');
    vy_string_char(&text, '\n');
    total = text.length - MAGIC_SIZE - 4;
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
