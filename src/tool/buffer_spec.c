/* Specifications of buffers: `zeros:256`, `random:1:1000`, `1,2,3`, `x.npy`. One row of a table per kind. */
#include "base/file.h"
#include "ir/eval.h"
#include "tool/args.h"
#include "tool/npy.h"
#include "tool/scalar_text.h"
#include "vyre/op.h"

#include <inttypes.h>
#include <sys/stat.h>

/* Elements of any buffer, as vy_resolve_dispatch has it. */
#define MAX_COUNT UINT32_MAX
/* Bytes read from a device where the program leaves the count open: a device may have no end. */
#define MAX_DEVICE_BYTES (UINT64_C(1) << 28)

typedef struct request {
    const char *spec; /* whole, for messages */
    const char *rest; /* after "kind:", or "" */
    vyre_type type;
    uint64_t fixed; /* count the program fixes, or UINT64_MAX */
} request;

typedef vyre_status make_function(const request *r, vyre_bytes *out, vyre_error *error);

/* Takes the text up to the next ':'; NULL if nothing is left. */
static const char *next_field(const char **rest, size_t *length) {
    const char *field = *rest;

    if (*field == '\0')
        return NULL;
    *length = strcspn(field, ":");
    *rest = field + *length + (field[*length] == ':');
    return field;
}

static vyre_status allocate_elements(const request *r, const char *field, size_t length, vyre_bytes *out,
                                     vyre_error *error) {
    uint64_t count = r->fixed;

    if (!field && r->fixed == UINT64_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("write how many elements, as in `%.100s%s256`", r->spec,
                              r->spec[strlen(r->spec) - 1] == ':' ? "" : ":"),
                       "`%.80s` does not say how many elements to make", r->spec);
    /* Digits alone, yet no number: it is over 2^64 - 1. */
    if (field && !tool_number(field, length, &count) && strspn(field, "0123456789") < length)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write a whole number from 0 to %u", MAX_COUNT),
                       "`%.*s` in `%.80s` is not a number of elements (0 to %u)", (int)(length < 60 ? length : 60),
                       field, r->spec, MAX_COUNT);
    if (field && (!tool_number(field, length, &count) || count > MAX_COUNT))
        return vy_fail(error, VYRE_LIMIT, VY_FIX("make at most %u elements", MAX_COUNT),
                       "`%.80s` asks for %.*s elements (limit %u)", r->spec, (int)(length < 60 ? length : 60), field,
                       MAX_COUNT);
    return vyre_bytes_resize(out, (size_t)count * vyre_type_size(r->type), error);
}

static vyre_status make_from_count(const request *r, vyre_bytes *out, vyre_error *error) {
    const char *rest = r->rest;
    size_t length = 0;
    const char *field = next_field(&rest, &length);

    if (*rest)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "leave out what follows the count",
                       "`%.80s` has something after the count", r->spec);
    return allocate_elements(r, field, length, out, error);
}

static void store_element(const request *r, vyre_bytes *out, size_t index, uint64_t bits) {
    vy_value_store(r->type, (char *)out->data + index * vyre_type_size(r->type), bits);
}

static uint64_t number(vyre_type type, uint64_t value) {
    return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_U64, value, 0, 0);
}

static vyre_status make_zeros(const request *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);

    if (status == VYRE_OK && out->size > 0)
        memset(out->data, 0, out->size);
    return status;
}

static vyre_status make_ones(const request *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);
    uint64_t one = number(r->type, 1);

    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++)
        store_element(r, out, i, one);
    return status;
}

static vyre_status make_iota(const request *r, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_from_count(r, out, error);

    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++)
        store_element(r, out, i, number(r->type, i));
    return status;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A float in [0, 1): as many random bits as the significand has, so that no rounding happens and 1 is never reached. */
static uint64_t random_unit(vyre_type type, uint64_t word) {
    unsigned bits = type == VYRE_TYPE_F64 ? 53 : type == VYRE_TYPE_F32 ? 24 : type == VYRE_TYPE_F16 ? 11 : 8;
    uint64_t scale = vyre_op_evaluate(VYRE_OP_DIV, type, type, number(type, 1), number(type, UINT64_C(1) << bits), 0);
    uint64_t value = number(type, word >> (64 - bits));

    return vyre_op_evaluate(VYRE_OP_MUL, type, type, value, scale, 0);
}

static uint64_t random_between(vyre_type type, uint64_t word, uint64_t low, uint64_t high) {
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT) {
        uint64_t width = vyre_op_evaluate(VYRE_OP_SUB, type, type, high, low, 0);
        return vyre_op_evaluate(VYRE_OP_FMA, type, type, random_unit(type, word), width, low);
    }
    /* The high half of word * range is uniform over the range to within 2^-64 of the range; sums wrap at the type's width. */
    uint64_t range = vyre_op_evaluate(VYRE_OP_SUB, type, type, high, low, 0);
    uint64_t offset = vyre_op_evaluate(VYRE_OP_MUL_HIGH, VYRE_TYPE_U64, VYRE_TYPE_U64, word, range, 0);
    return vyre_op_evaluate(VYRE_OP_ADD, type, type, low, offset, 0);
}

static vyre_status check_bounds(const request *r, uint64_t low, uint64_t high, vyre_error *error) {
    uint64_t width = vyre_op_evaluate(VYRE_OP_SUB, r->type, r->type, high, low, 0);

    if (!tool_scalar_less(r->type, low, high))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write the smaller bound first; the larger one is excluded",
                       "the bounds of `%.80s` leave no value between them", r->spec);
    /* A width that is not finite has a bound that is not, or is over the largest value of the type. */
    if (vyre_type_class(r->type) == VYRE_CLASS_FLOAT &&
        !vyre_op_evaluate(VYRE_OP_IS_FINITE, VYRE_TYPE_BOOL, r->type, width, 0, 0))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "write finite bounds that are nearer to each other",
                       "the bounds of `%.80s` are too far apart: HI - LO is no finite %s", r->spec,
                       vyre_type_name(r->type));
    return VYRE_OK;
}

static vyre_status make_random(const request *r, vyre_bytes *out, vyre_error *error) {
    const char *rest = r->rest, *seed_text, *count_text, *low_text, *high_text;
    size_t seed_length = 0, count_length = 0, low_length = 0, high_length = 0;
    uint64_t seed = 0, low = 0, high = 0;
    int is_float = vyre_type_class(r->type) == VYRE_CLASS_FLOAT;
    vyre_status status;

    seed_text = next_field(&rest, &seed_length);
    count_text = next_field(&rest, &count_length);
    low_text = next_field(&rest, &low_length);
    high_text = next_field(&rest, &high_length);
    if (!seed_text || !tool_number(seed_text, seed_length, &seed) || *rest || (low_text && !high_text))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "write `random:SEED:N` or `random:SEED:N:LO:HI`, as in `random:1:256`",
                       "`%.80s` is not a random specification", r->spec);
    status = allocate_elements(r, count_text, count_length, out, error);
    if (status == VYRE_OK && low_text) {
        status = tool_scalar_read(low_text, low_length, r->type, &low, error);
        if (status == VYRE_OK)
            status = tool_scalar_read(high_text, high_length, r->type, &high, error);
        if (status == VYRE_OK)
            status = check_bounds(r, low, high, error);
    }
    for (size_t i = 0; status == VYRE_OK && i < out->size / vyre_type_size(r->type); i++) {
        uint64_t word = next_random(&seed);
        store_element(r, out, i,
                      low_text   ? random_between(r->type, word, low, high)
                      : is_float ? random_unit(r->type, word)
                                 : word);
    }
    return status;
}

static vyre_status make_text(const request *r, vyre_bytes *out, vyre_error *error) {
    size_t length = strlen(r->rest);
    vyre_status status;

    if (vyre_type_size(r->type) != 1)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "write numbers, as in `1,2,3`, or declare the buffer with u8 elements",
                       "text: gives bytes, and the elements are of type %s", vyre_type_name(r->type));
    status = vyre_bytes_resize(out, length, error);
    if (status == VYRE_OK && length > 0)
        memcpy(out->data, r->rest, length);
    return status;
}

static vyre_status make_literals(const request *r, vyre_bytes *out, vyre_error *error) {
    const char *text = r->spec;
    size_t count = *text != '\0';
    vyre_status status;

    for (const char *c = text; *c; c++)
        count += *c == ',';
    status = vyre_bytes_resize(out, count * vyre_type_size(r->type), error);
    for (size_t i = 0; status == VYRE_OK && i < count; i++) {
        size_t length = strcspn(text, ",");
        uint64_t bits = 0;
        status = tool_scalar_read(text, length, r->type, &bits, error);
        if (status == VYRE_OK)
            store_element(r, out, i, bits);
        text += length + 1;
    }
    return status;
}

static int is_device(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISCHR(about.st_mode);
}

/* No more is read than the buffer can hold. */
static vyre_status make_raw(const request *r, vyre_bytes *out, vyre_error *error) {
    const char *path = r->spec + 1;
    unsigned size = vyre_type_size(r->type);
    uint64_t most = r->fixed == UINT64_MAX ? MAX_COUNT : r->fixed, bytes = most * size;
    vyre_status status;

    if (r->fixed == UINT64_MAX && is_device(path))
        bytes = MAX_DEVICE_BYTES;
    status = vy_file_read(path, (size_t)bytes, out, error);
    if (status != VYRE_LIMIT)
        return status;
    if (r->fixed != UINT64_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("give %" PRIu64 " elements, %" PRIu64 " bytes", most, bytes),
                       "`%.100s` gives more than %" PRIu64 " bytes, and the program fixes the count (%" PRIu64
                       " elements of %u bytes)",
                       r->spec, bytes, most, size);
    return vy_fail(error, VYRE_LIMIT, "give a smaller file; `head -c BYTES` takes a part of one",
                   "`%.100s` gives more than %" PRIu64 " bytes, %s", r->spec, bytes,
                   bytes == MAX_DEVICE_BYTES ? "all that is read from a device"
                                             : "which is all that a buffer can hold");
}

vyre_status tool_buffer_spec_read(const char *spec, vyre_type type, uint64_t fixed, vyre_bytes *out,
                                  vyre_error *error) {
    static const struct {
        const char *name;
        make_function *make;
    } kinds[] = {
        {"zeros", make_zeros}, {"ones", make_ones}, {"iota", make_iota}, {"random", make_random}, {"text", make_text},
    };
    request r = {spec, "", type, fixed};

    if (spec[0] == '@')
        return make_raw(&r, out, error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].name);
        if (strncmp(spec, kinds[i].name, length) != 0 || (spec[length] != ':' && spec[length] != '\0'))
            continue;
        r.rest = spec[length] ? spec + length + 1 : "";
        return kinds[i].make(&r, out, error);
    }
    if (tool_ends_with(spec, ".npy"))
        return tool_npy_read(spec, type, out, error);
    return make_literals(&r, out, error);
}
