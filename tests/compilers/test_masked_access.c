/* Masked loads, stores, gathers and scatters as LLVM compiles them, after the rewriting of errata.c: random ones in
 * LLVM IR, for every ISA level of the machine, with every element size, number of lanes and kind of mask (constant,
 * constant in some lanes, known at run time only), executed and compared with a model. Memory that no lane may access
 * is not mapped. VYRE_CASES sets the number of modules, VYRE_SEED selects others, VYRE_BARE leaves the rewriting
 * out. */
#include "compilers/ir.h"
#include "support/test.h"

#include "base/string.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>

enum { LANES = 64, FUNCTIONS = 12, RUNS = 6, DATA = 4096, FAR = 0x0fffffff };

typedef enum kind { LOAD, STORE, GATHER, SCATTER, KINDS } kind;
/* Where the mask comes from: bits of an integer, bytes that are not zero, negative elements, lanes below a number. */
typedef enum source { BITS, BYTES, SIGNS, BELOW, SOURCES } source;
/* What becomes of it with a constant mask. */
typedef enum join { NONE, CONSTANT, AND, OR, XOR, CHOICE, HALF, PHI, JOINS } join;
/* What becomes of a value that was loaded. */
typedef enum use { STORED, ADDED, REVERSED, USES } use;

/* Where another block begins: nowhere, before the mask is made, before it is joined, before the access. */
typedef enum cut { WHOLE, BEFORE_MASK, BEFORE_JOIN, BEFORE_ACCESS, CUTS } cut;

typedef struct spec {
    kind kind;
    source source;
    join join;
    use use;
    unsigned bits, lanes;
    unsigned wide, from; /* lanes of the mask, and the first of them that is one of the access */
    cut cut;
    int is_float, is_long, has_otherwise;
    uint64_t constant; /* of all lanes of the mask */
} spec;

static const char *const kind_names[] = {"load", "store", "gather", "scatter"};
static const char *const source_names[] = {"bits", "bytes", "signs", "below"};
static const char *const join_names[] = {"none", "constant", "and", "or", "xor", "choice", "half", "phi"};

static uint64_t all_lanes(unsigned lanes) {
    return lanes == 64 ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
}

/* ---- random masks ---- */

/* Registers of which none, all, or some lanes are set; runs; single lanes; none; all; any. */
static uint64_t random_mask(vy_random *random, unsigned lanes) {
    uint64_t mask = 0, any = vy_random_next(random);
    unsigned part = 2u << vy_random_below(random, 4), from = (unsigned)vy_random_below(random, lanes);
    switch (vy_random_below(random, 6)) {
    case 0:
        for (unsigned i = 0; i < lanes; i += part)
            mask |= (vy_random_below(random, 3) ? vy_random_below(random, 2) ? all_lanes(part) : 0 : any) << i;
        break;
    case 1:
        mask = all_lanes(from + 1);
        break;
    case 2:
        mask = ~all_lanes(from + 1);
        break;
    case 3:
        mask = UINT64_C(1) << from;
        break;
    case 4:
        mask = vy_random_below(random, 2) ? UINT64_MAX : 0;
        break;
    default:
        mask = any;
    }
    return mask & all_lanes(lanes);
}

/* One of a list, in which what goes wrong more often stands more often. */
#define PICK(random, ...)                                                                                              \
    (((const unsigned[]){__VA_ARGS__})[vy_random_below(random, sizeof(unsigned[]){__VA_ARGS__} / sizeof(unsigned))])

static spec random_spec(vy_random *random) {
    spec s = {.kind = (kind)PICK(random, LOAD, LOAD, LOAD, STORE, GATHER, SCATTER),
              .source = (source)PICK(random, BITS, BYTES, SIGNS, BELOW, BELOW),
              .join = (join)PICK(random, NONE, CONSTANT, AND, AND, AND, OR, OR, XOR, CHOICE, HALF, HALF, PHI),
              .use = (use)PICK(random, STORED, STORED, ADDED, REVERSED),
              .bits = PICK(random, 8, 16, 32, 32, 32, 64, 64),
              .lanes = PICK(random, 2, 4, 8, 16, 16, 32, 64),
              .cut = (cut)vy_random_below(random, CUTS),
              .is_long = vy_random_below(random, 2) != 0,
              .has_otherwise = vy_random_below(random, 4) == 0};
    s.is_float = s.bits >= 32 && vy_random_below(random, 2);
    s.wide = s.lanes << vy_random_below(random, 3);
    s.wide = s.wide > LANES ? s.lanes : s.wide;
    s.from = s.lanes * (unsigned)vy_random_below(random, s.wide / s.lanes);
    s.constant = random_mask(random, s.wide);
    return s;
}

/* Of all lanes of the mask. */
static uint64_t joined(const spec *s, uint64_t mask) {
    uint64_t low = all_lanes(s->wide / 2);
    switch (s->join) {
    case NONE:
    case PHI:
        return mask;
    case CONSTANT:
        return s->constant;
    case AND:
    case CHOICE:
        return mask & s->constant;
    case OR:
        return mask | s->constant;
    case XOR:
        return mask ^ s->constant;
    default:
        return (mask & low) | (s->constant & ~low);
    }
}

/* ---- IR ---- */

static const char *type_name(const spec *s) {
    static const char *const integers[] = {"i8", "i16", "i32", "i64"};
    if (s->is_float)
        return s->bits == 32 ? "float" : "double";
    return integers[s->bits == 8 ? 0 : s->bits == 16 ? 1 : s->bits == 32 ? 2 : 3];
}

static const char *suffix(const spec *s) { /* of an intrinsic: v8i32 */
    static char text[16];
    snprintf(text, sizeof text, "v%u%s%u", s->lanes, s->is_float ? "f" : "i", s->bits);
    return text;
}

static void write_constant(vy_string *out, const spec *s) {
    vy_string_format(out, "<");
    for (unsigned i = 0; i < s->wide; i++)
        vy_string_format(out, "%si1 %d", i ? ", " : "", (int)(s->constant >> i & 1));
    vy_string_format(out, ">");
}

/* step: first, first + step, … of i32. */
static void write_numbers(vy_string *out, unsigned lanes, unsigned first, int step) {
    vy_string_format(out, "<");
    for (unsigned i = 0; i < lanes; i++)
        vy_string_format(out, "%si32 %d", i ? ", " : "", (int)first + step * (int)i);
    vy_string_format(out, ">");
}

static void write_cut(vy_string *out, const spec *s, cut here) {
    if (s->cut == here)
        vy_string_format(out, "  br label %%next\nnext:\n");
}

/* Arguments: memory, masks (bits at 0, a number at 8, bytes at 64, elements at 128), lanes in, lanes out, indices. */
static void write_source(vy_string *out, const spec *s) {
    unsigned n = s->wide;
    static const unsigned offsets[] = {0, 64, 128, 8};
    vy_string_format(out, "  %%b = getelementptr i8, ptr %%masks, i64 %u\n", offsets[s->source]);
    if (s->source == BITS)
        vy_string_format(out, "  %%v = load i%u, ptr %%b\n", n);
    else if (s->source == BELOW)
        vy_string_format(out,
                         "  %%k = load i32, ptr %%b\n  %%o = insertelement <%u x i32> poison, i32 %%k, i32 0\n"
                         "  %%v = shufflevector <%u x i32> %%o, <%u x i32> poison, <%u x i32> zeroinitializer\n",
                         n, n, n, n);
    else
        vy_string_format(out, "  %%v = load <%u x i%u>, ptr %%b, align 1\n", n, s->source == BYTES ? 8 : s->bits);
    write_cut(out, s, BEFORE_MASK);
    if (s->source == BITS)
        vy_string_format(out, "  %%s = bitcast i%u %%v to <%u x i1>", n, n);
    else if (s->source == BYTES)
        vy_string_format(out, "  %%s = icmp ne <%u x i8> %%v, zeroinitializer", n);
    else if (s->source == SIGNS)
        vy_string_format(out, "  %%s = icmp slt <%u x i%u> %%v, zeroinitializer", n, s->bits);
    else {
        vy_string_format(out, "  %%s = icmp ugt <%u x i32> %%v, ", n);
        write_numbers(out, n, 0, 1);
    }
    vy_string_format(out, "\n");
    write_cut(out, s, BEFORE_JOIN);
}

static void write_join(vy_string *out, const spec *s) {
    static const char *const names[] = {[AND] = "and", [OR] = "or", [XOR] = "xor"};
    unsigned n = s->wide;
    switch (s->join) {
    case AND:
    case OR:
    case XOR:
        vy_string_format(out, "  %%j0 = %s <%u x i1> %%s, ", names[s->join], n);
        write_constant(out, s);
        break;
    case CHOICE:
        vy_string_format(out, "  %%j0 = select <%u x i1> ", n);
        write_constant(out, s);
        vy_string_format(out, ", <%u x i1> %%s, <%u x i1> zeroinitializer", n, n);
        break;
    case HALF:
        vy_string_format(out, "  %%j0 = shufflevector <%u x i1> %%s, <%u x i1> ", n, n);
        write_constant(out, s);
        vy_string_format(out, ", <%u x i32> <", n);
        for (unsigned i = 0; i < n; i++)
            vy_string_format(out, "%si32 %u", i ? ", " : "", i < n / 2 ? i : n + i);
        vy_string_format(out, ">");
        break;
    case CONSTANT:
        vy_string_format(out, "  %%j0 = and <%u x i1> ", n);
        write_constant(out, s);
        vy_string_format(out, ", ");
        write_constant(out, s);
        break;
    case PHI: /* never the constant, but LLVM does not know that */
        vy_string_format(out,
                         "  %%f = icmp eq ptr %%masks, null\n  br i1 %%f, label %%join, label %%other\nother:\n"
                         "  br label %%join\njoin:\n  %%j0 = phi <%u x i1> [ ",
                         n);
        write_constant(out, s);
        vy_string_format(out, ", %%%s ], [ %%s, %%other ]",
                         s->cut == BEFORE_MASK || s->cut == BEFORE_JOIN ? "next" : "entry");
        break;
    default:
        vy_string_format(out, "  %%j0 = and <%u x i1> %%s, %%s", n);
    }
    vy_string_format(out, "\n  %%m = shufflevector <%u x i1> %%j0, <%u x i1> poison, <%u x i32> ", n, n, s->lanes);
    write_numbers(out, s->lanes, s->from, 1);
    vy_string_format(out, "\n");
}

static void write_addresses(vy_string *out, const spec *s) {
    unsigned n = s->lanes;
    vy_string_format(out, "  %%i = load <%u x i32>, ptr %%indices, align 4\n", n);
    if (s->is_long) { /* as the emitter addresses buffers: the base is that of the middle of all indices */
        vy_string_format(out,
                         "  %%base = getelementptr i8, ptr %%memory, i64 %" PRIu64 "\n  %%j = xor <%u x i32> %%i, ",
                         (uint64_t)(s->bits / 8) << 31, n);
        write_numbers(out, n, UINT32_C(1) << 31, 0);
        vy_string_format(out, "\n");
    } else {
        vy_string_format(
            out, "  %%base = getelementptr i8, ptr %%memory, i64 0\n  %%j = add <%u x i32> %%i, zeroinitializer\n", n);
    }
    vy_string_format(
        out, "  %%w = sext <%u x i32> %%j to <%u x i64>\n  %%a = getelementptr i%u, ptr %%base, <%u x i64> %%w\n", n, n,
        s->bits, n);
}

static void write_use(vy_string *out, const spec *s) {
    const char *type = type_name(s);
    unsigned n = s->lanes;
    if (s->use == ADDED)
        vy_string_format(out, "  %%u = %s <%u x %s> %%l, %%x\n", s->is_float ? "fadd" : "add", n, type);
    else if (s->use == REVERSED) {
        vy_string_format(out, "  %%u = shufflevector <%u x %s> %%l, <%u x %s> poison, <%u x i32> ", n, type, n, type,
                         n);
        write_numbers(out, n, n - 1, -1);
        vy_string_format(out, "\n");
    }
    vy_string_format(out, "  store <%u x %s> %%%s, ptr %%out, align 1\n", n, type, s->use == STORED ? "l" : "u");
}

static void write_access(vy_string *out, const spec *s) {
    const char *type = type_name(s), *otherwise = s->has_otherwise ? "%x" : "zeroinitializer";
    unsigned n = s->lanes, align = s->bits / 8;
    if (s->kind == GATHER || s->kind == SCATTER)
        write_addresses(out, s);
    vy_string_format(out, "  %%x = load <%u x %s>, ptr %%in, align 1\n", n, type);
    switch (s->kind) {
    case LOAD:
        vy_string_format(out,
                         "  %%l = call <%u x %s> @llvm.masked.load.%s.p0(ptr %%memory, i32 %u, <%u x i1> %%m, <%u x "
                         "%s> %s)\n",
                         n, type, suffix(s), align, n, n, type, otherwise);
        break;
    case GATHER:
        vy_string_format(out,
                         "  %%l = call <%u x %s> @llvm.masked.gather.%s.v%up0(<%u x ptr> %%a, i32 %u, <%u x i1> %%m, "
                         "<%u x %s> %s)\n",
                         n, type, suffix(s), n, n, align, n, n, type, otherwise);
        break;
    case STORE:
        vy_string_format(out,
                         "  call void @llvm.masked.store.%s.p0(<%u x %s> %%x, ptr %%memory, i32 %u, <%u x i1> %%m)\n",
                         suffix(s), n, type, align, n);
        return;
    default:
        vy_string_format(out,
                         "  call void @llvm.masked.scatter.%s.v%up0(<%u x %s> %%x, <%u x ptr> %%a, i32 %u, <%u x i1> "
                         "%%m)\n",
                         suffix(s), n, n, type, n, align, n);
        return;
    }
    write_use(out, s);
}

static void write_function(vy_string *out, const spec *s, unsigned number) {
    vy_string_format(out,
                     "define internal void @f%u(ptr noalias %%memory, ptr %%masks, ptr %%in, ptr noalias %%out, ptr "
                     "%%indices) #0 {\nentry:\n",
                     number);
    write_source(out, s);
    write_join(out, s);
    write_cut(out, s, BEFORE_ACCESS);
    write_access(out, s);
    vy_string_format(out, "  ret void\n}\n");
}

static void write_declarations(vy_string *out) {
    static const char *const types[] = {"i8", "i16", "i32", "i64", "float", "double"};
    static const char *const names[] = {"i8", "i16", "i32", "i64", "f32", "f64"};
    for (unsigned n = 2; n <= LANES; n *= 2)
        for (unsigned i = 0; i < 6; i++) {
            const char *t = types[i], *m = names[i];
            vy_string_format(out, "declare <%u x %s> @llvm.masked.load.v%u%s.p0(ptr, i32, <%u x i1>, <%u x %s>)\n", n,
                             t, n, m, n, n, t);
            vy_string_format(out, "declare void @llvm.masked.store.v%u%s.p0(<%u x %s>, ptr, i32, <%u x i1>)\n", n, m, n,
                             t, n);
            vy_string_format(
                out, "declare <%u x %s> @llvm.masked.gather.v%u%s.v%up0(<%u x ptr>, i32, <%u x i1>, <%u x %s>)\n", n, t,
                n, m, n, n, n, n, t);
            vy_string_format(out,
                             "declare void @llvm.masked.scatter.v%u%s.v%up0(<%u x %s>, <%u x ptr>, i32, <%u x i1>)\n",
                             n, m, n, n, t, n, n);
        }
}

static void write_module(vy_string *out, const spec *specs, unsigned count, unsigned vector_bits) {
    write_declarations(out);
    for (unsigned i = 0; i < count; i++)
        write_function(out, &specs[i], i);
    vy_string_format(out,
                     "define void @entry(i32 %%which, ptr %%memory, ptr %%masks, ptr %%in, ptr %%out, ptr %%indices) "
                     "#0 {\n  switch i32 %%which, label %%end [\n");
    for (unsigned i = 0; i < count; i++)
        vy_string_format(out, "    i32 %u, label %%l%u\n", i, i);
    vy_string_format(out, "  ]\n");
    for (unsigned i = 0; i < count; i++)
        vy_string_format(
            out,
            "l%u:\n  call void @f%u(ptr %%memory, ptr %%masks, ptr %%in, ptr %%out, ptr %%indices)\n  br label %%end\n",
            i, i);
    vy_string_format(out, "end:\n  ret void\n}\nattributes #0 = { nounwind \"prefer-vector-width\"=\"%u\" }\n",
                     vector_bits);
}

/* ---- running ---- */

typedef void function(uint32_t which, void *memory, const void *masks, const void *in, void *out, const void *indices);

typedef struct world {
    uint8_t *data; /* DATA bytes between pages that are not mapped */
    uint8_t masks[128 + LANES * 8];
    uint8_t in[LANES * 8], out[LANES * 8], want_out[LANES * 8], want_data[DATA];
    uint32_t indices[LANES];
} world;

static uint8_t *map_data(void) {
    uint8_t *all = mmap(NULL, 3 * DATA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    assert_int_equal(mprotect(all + DATA, DATA, PROT_READ | PROT_WRITE), 0);
    return all + DATA;
}

static sigjmp_buf escape;
static void on_fault(int signal) {
    siglongjmp(escape, signal);
}

static void set_masks(world *w, const spec *s, uint64_t mask, vy_random *random) {
    uint32_t below = (uint32_t)__builtin_popcountll(mask);
    memcpy(w->masks, &mask, 8);
    memcpy(w->masks + 8, &below, 4);
    for (unsigned i = 0; i < s->wide; i++) {
        uint64_t any = vy_random_next(random), sign = UINT64_C(1) << (s->bits - 1);
        uint64_t element = mask >> i & 1 ? any | sign : any & (sign - 1);
        w->masks[64 + i] = mask >> i & 1 ? (uint8_t)(any | 1) : 0;
        memcpy(w->masks + 128 + i * s->bits / 8, &element, s->bits / 8);
    }
}

/* Where lane 0 is, so that the first or the last lane that is accessed is next to memory that is not there. */
static uint8_t *place(const world *w, const spec *s, uint64_t mask, int at_end) {
    unsigned size = s->bits / 8, first = mask ? (unsigned)__builtin_ctzll(mask) : 0,
             last = mask ? 63 - (unsigned)__builtin_clzll(mask) : 0;
    if (!mask)
        return w->data + DATA;
    return at_end ? w->data + DATA - (last + 1) * size : w->data - first * size;
}

static double as_float(const void *from, unsigned bits) {
    float f;
    double d;
    memcpy(&f, from, 4);
    if (bits == 32)
        return f;
    memcpy(&d, from, 8);
    return d;
}

static void add_element(const spec *s, void *to, const void *other) {
    unsigned size = s->bits / 8;
    uint64_t a = 0, b = 0;
    if (s->is_float && s->bits == 32) {
        float sum = (float)as_float(to, 32) + (float)as_float(other, 32);
        memcpy(to, &sum, 4);
    } else if (s->is_float) {
        double sum = as_float(to, 64) + as_float(other, 64);
        memcpy(to, &sum, 8);
    } else {
        memcpy(&a, to, size);
        memcpy(&b, other, size);
        a += b;
        memcpy(to, &a, size);
    }
}

/* What the function has to deliver. */
static void expect(world *w, const spec *s, uint64_t mask, const uint8_t *memory) {
    unsigned size = s->bits / 8, is_load = s->kind == LOAD || s->kind == GATHER;
    uint8_t loaded[LANES * 8];
    memcpy(w->want_data, w->data, DATA);
    memset(w->want_out, 0xee, sizeof w->want_out);
    for (unsigned i = 0; i < s->lanes; i++) {
        int is_set = mask >> i & 1;
        uint32_t index = s->kind == LOAD || s->kind == STORE ? i : w->indices[i];
        if (is_load && is_set)
            memcpy(loaded + i * size, memory + (uint64_t)index * size, size);
        else if (is_load && s->has_otherwise)
            memcpy(loaded + i * size, w->in + i * size, size);
        else if (is_load)
            memset(loaded + i * size, 0, size);
        else if (is_set)
            memcpy(w->want_data + (memory + (uint64_t)index * size - w->data), w->in + i * size, size);
    }
    for (unsigned i = 0; is_load && i < s->lanes; i++) {
        if (s->use == ADDED)
            add_element(s, loaded + i * size, w->in + i * size);
        memcpy(w->want_out + (s->use == REVERSED ? s->lanes - 1 - i : i) * size, loaded + i * size, size);
    }
}

/* Bytes of small floats, and of any integers: sums of them are not NaN, whose bits are not defined. */
static void fill(vy_random *random, const spec *s, uint8_t *bytes, size_t count) {
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint64_t any = vy_random_next(random);
        float f[2] = {(float)(int16_t)any, (float)(int16_t)(any >> 16)};
        double d = (double)(int32_t)any;
        memcpy(bytes + i, !s->is_float ? (void *)&any : s->bits == 32 ? (void *)f : (void *)&d, 8);
    }
}

static void set_indices(world *w, const spec *s, uint64_t mask, vy_random *random) {
    unsigned count = DATA / (s->bits / 8), step = 1 + 2 * (unsigned)vy_random_below(random, 100);
    uint32_t first = (uint32_t)vy_random_below(random, count);
    for (unsigned i = 0; i < s->lanes; i++) /* different ones: the step is odd */
        w->indices[i] = mask >> i & 1 ? (first + i * step) % count : FAR;
}

/* The signal that ended it, or 0. */
static int call(world *w, function *code, uint32_t number, void *memory) {
    int signal = sigsetjmp(escape, 1);
    if (!signal)
        code(number, memory, w->masks, w->in, w->out, w->indices);
    return signal;
}

/* NULL, or what is wrong. */
static const char *run(world *w, const spec *s, function *code, unsigned number, uint64_t mask, int at_end,
                       vy_random *random) {
    static char text[200];
    set_masks(w, s, mask, random);
    if (s->source == BELOW)
        mask = all_lanes((unsigned)__builtin_popcountll(mask));
    mask = joined(s, mask) >> s->from & all_lanes(s->lanes);
    int is_scattered = s->kind == GATHER || s->kind == SCATTER;
    uint8_t *memory = is_scattered ? w->data : place(w, s, mask, at_end);
    fill(random, s, w->data, DATA);
    fill(random, s, w->in, sizeof w->in);
    memset(w->out, 0xee, sizeof w->out);
    set_indices(w, s, mask, random);
    expect(w, s, mask, memory);
    int signal = call(w, code, number, memory);
    if (signal) {
        snprintf(text, sizeof text, "signal %d, mask %016" PRIx64, signal, mask);
        return text;
    }
    if (memcmp(w->out, w->want_out, sizeof w->out) == 0 && memcmp(w->data, w->want_data, DATA) == 0)
        return NULL;
    snprintf(text, sizeof text, "wrong %s, mask %016" PRIx64, memcmp(w->data, w->want_data, DATA) ? "memory" : "lanes",
             mask);
    return text;
}

/* ---- campaign ---- */

#define PASSES                                                                                                         \
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,gvn,instcombine<no-verify-fixpoint>," \
    "simplifycfg)"

static unsigned failures;

static void report(const spec *s, const char *level, unsigned vector_bits, const char *passes, uint64_t stream,
                   const char *why) {
    printf("module %" PRIu64 ", %s, registers of %u bits, passes \"%.20s\": %s %s, mask %s %s %016" PRIx64
           "%s%s%s, use %d: %s\n",
           stream, level, vector_bits, passes, kind_names[s->kind], suffix(s), source_names[s->source],
           join_names[s->join], s->constant, s->cut ? ", cut" : "", s->has_otherwise ? ", otherwise" : "",
           s->is_long ? ", long" : "", (int)s->use, why);
    fflush(stdout);
    failures++;
}

static void judge_module(uint64_t stream, const char *level, uint64_t features) {
    static world w;
    spec specs[FUNCTIONS];
    vy_random random = vy_random_start(stream);
    unsigned wider = features & VY_CPU_FEATURE_AVX512F ? 3 : features & VY_CPU_FEATURE_AVX ? 2 : 1;
    unsigned vector_bits = 128u << vy_random_below(&random, wider);
    const char *passes = vy_random_below(&random, 3) ? PASSES : "";
    vy_string text = {0};
    if (!w.data)
        w.data = map_data();
    for (unsigned i = 0; i < FUNCTIONS; i++)
        specs[i] = random_spec(&random);
    write_module(&text, specs, FUNCTIONS, vector_bits);
    assert_false(text.failed);
    if (getenv("VYRE_SHOW"))
        printf("; module %" PRIu64 "\n%s", stream, text.text);
    fflush(stdout);
    ir_code code = ir_compile(text.text, "entry", features, passes, !getenv("VYRE_BARE"));
    for (unsigned i = 0; i < FUNCTIONS; i++)
        for (unsigned k = 0; k < RUNS; k++) {
            uint64_t mask = random_mask(&random, specs[i].wide);
            const char *why = run(&w, &specs[i], (function *)(uintptr_t)code.entry, i, mask, k % 2, &random);
            if (why) {
                report(&specs[i], level, vector_bits, passes, stream, why);
                break;
            }
        }
    ir_free(&code);
    vy_string_free(&text);
}

static unsigned modules(void) {
    const char *given = getenv("VYRE_CASES");
    return given ? (unsigned)strtoul(given, NULL, 10) : (VY_SANITIZED ? 2 : 8) * vy_test_effort();
}

static void masked_accesses_touch_the_lanes_of_the_mask(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER}, before[2];
    uint64_t has = vy_cpu_features();
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGBUS, &action, &before[1]);
    for (uint64_t stream = 0; stream < modules(); stream++) {
        if (!(has & VY_CPU_FEATURE_X86_64))
            judge_module(stream, "host", has);
        for (unsigned level = 0; level < VY_CPU_LEVEL_COUNT; level++)
            if (!(vy_cpu_level_features(level) & ~has))
                judge_module(stream, vy_cpu_level_name(level), vy_cpu_level_features(level));
    }
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_accesses_touch_the_lanes_of_the_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
