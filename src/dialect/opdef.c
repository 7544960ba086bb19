/* Copying op definitions and dialects into objects of the registry. Everything lives in the object's arena but the body, which is retained. */
#include "dialect/opdef.h"

#include "base/hash.h"
#include "base/status.h"
#include "ir/identifiers.h"
#include "ir/text/module.h"

/* ---- tables of names ---- */

static const char *const category_names[VYRE_CATEGORY_COUNT] = {
#define X(ID, name, doc) name,
    VYRE_CATEGORY_LIST(X)
#undef X
};

static const struct {
    const char *name, *arguments, *doc;
    unsigned inputs;
} laws[VYRE_LAW_COUNT] = {
#define X(ID, name, inputs, arguments, doc) {name, arguments, doc, inputs},
    VYRE_LAW_LIST(X)
#undef X
};

static int equals(const char *word, const char *text, size_t length) {
    return text && strlen(word) == length && memcmp(word, text, length) == 0;
}

const char *vyre_op_category_name(vyre_op_category category) {
    return (unsigned)category < VYRE_CATEGORY_COUNT ? category_names[category] : "?";
}

vyre_op_category vyre_op_category_find(const char *name, size_t length) {
    unsigned i = 0;
    while (i < VYRE_CATEGORY_COUNT && !equals(category_names[i], name, length))
        i++;
    return (vyre_op_category)i;
}

const char *vyre_law_name(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].name : "?";
}

const char *vyre_law_doc(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].doc : "?";
}

const char *vyre_law_arguments(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].arguments : "";
}

unsigned vyre_law_inputs(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].inputs : 0;
}

vyre_law_kind vyre_law_find(const char *name, size_t length) {
    unsigned i = 0;
    while (i < VYRE_LAW_COUNT && !equals(laws[i].name, name, length))
        i++;
    return (vyre_law_kind)i;
}

/* ---- copying: each gives 0 when memory is out ---- */

static int copy_text(vy_arena *arena, const char **text) {
    const char *given = *text ? *text : "";
    *text = vy_arena_copy(arena, given, strlen(given));
    return *text != NULL;
}

/* NULL for nothing. */
static void *copy_bytes(vy_arena *arena, const void *data, size_t size) {
    void *copy = vy_arena_allocate(arena, size ? size : 1);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

static int copy_operands(vy_arena *arena, const vyre_op_operand **operands, uint32_t count) {
    vyre_op_operand *copy = copy_bytes(arena, *operands, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++)
        if (!copy_text(arena, &copy[i].name))
            return 0;
    *operands = copy;
    return copy != NULL;
}

static int copy_attributes(vy_arena *arena, const vyre_attribute **attributes, uint32_t count) {
    vyre_attribute *copy = copy_bytes(arena, *attributes, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++) {
        copy[i].values = copy_bytes(arena, copy[i].values, copy[i].value_count * sizeof *copy[i].values);
        if (!copy[i].values || !copy_text(arena, &copy[i].name))
            return 0;
    }
    *attributes = copy;
    return copy != NULL;
}

static int copy_law(vy_arena *arena, vyre_law *law) {
    vyre_law_argument *copy = copy_bytes(arena, law->arguments, law->argument_count * sizeof *copy);
    for (uint32_t i = 0; copy && i < law->argument_count; i++) {
        if (!copy_text(arena, &copy[i].text))
            return 0;
        if (vyre_law_arguments(law->kind)[i] != 'v')
            copy[i].value = (vyre_scalar){VYRE_TYPE_BOOL, 0};
    }
    law->arguments = copy;
    return copy != NULL;
}

static int copy_laws(vy_arena *arena, const vyre_law **given, uint32_t count) {
    vyre_law *copy = copy_bytes(arena, *given, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++)
        if (!copy_law(arena, &copy[i]))
            return 0;
    *given = copy;
    return copy != NULL;
}

/* Targets are written by their ids, whatever alias was given. */
static vyre_status copy_lowerings(vy_op *op, vyre_error *error) {
    vyre_op_definition *definition = &op->definition;
    uint32_t count = definition->lowering_count;
    vyre_lowering *copy = copy_bytes(&op->arena, definition->lowerings, count * sizeof *copy);
    op->targets = vy_arena_allocate(&op->arena, count ? count * sizeof *op->targets : 1);
    if (!copy || !op->targets)
        return vy_fail_memory(error, "an op definition");
    for (uint32_t i = 0; i < count; i++) {
        vyre_status status = vyre_target_parse(copy[i].target, strlen(copy[i].target), &op->targets[i], error);
        if (status != VYRE_OK)
            return status;
        copy[i].target = vyre_target_text(op->targets[i]);
        copy[i].data = copy[i].data ? copy_bytes(&op->arena, copy[i].data, copy[i].size) : NULL;
        if (!copy[i].data && copy[i].size)
            return vy_fail_memory(error, "an op definition");
    }
    definition->lowerings = copy;
    return VYRE_OK;
}

static vyre_status copy_definition(vy_op *op, vyre_error *error) {
    vyre_op_definition *to = &op->definition;
    vy_arena *arena = &op->arena;
    int good =
        copy_text(arena, &to->id) && copy_text(arena, &to->dialect) && copy_text(arena, &to->version) &&
        copy_text(arena, &to->doc) && copy_text(arena, &to->function) && copy_text(arena, &to->owner) &&
        copy_operands(arena, &to->inputs, to->input_count) && copy_operands(arena, &to->outputs, to->output_count) &&
        copy_attributes(arena, &to->attributes, to->attribute_count) && copy_laws(arena, &to->laws, to->law_count);
    return good ? copy_lowerings(op, error) : vy_fail_memory(error, "an op definition");
}

/* ---- ops ---- */

/* What the caller's header did not know yet is absent. */
static vyre_status extend_definition(const vyre_op_definition *given, const char *owner, vyre_op_definition *out,
                                     vyre_error *error) {
    const size_t least = offsetof(vyre_op_definition, function) + sizeof given->function;
    if (given->struct_size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("set struct_size to sizeof(vyre_op_definition)"),
                       "an op definition of `%s` is too short (%u bytes of at least %zu)", owner, given->struct_size,
                       least);
    memset(out, 0, sizeof *out);
    memcpy(out, given, given->struct_size < sizeof *out ? given->struct_size : sizeof *out);
    out->struct_size = sizeof *out;
    return VYRE_OK;
}

/* The id behind the dialect if that is known, else behind the last separator. */
static const char *name_of(const vyre_op_definition *op) {
    size_t length = strlen(op->id);
    return op->id + (op->dialect ? vy_op_id_after(op->id, length, op->dialect) : vy_op_id_last(op->id, length));
}

/* The body as a program, with a reference of our own. */
static vyre_status retain_body(vyre_op_definition *op, vyre_error *error) {
    const char *source = op->source;
    vyre_program *given = op->body;
    op->source = NULL;
    op->body = given ? vyre_program_retain(given) : NULL;
    if (!source)
        return VYRE_OK;
    vyre_module *module = NULL;
    vyre_parse_options options = {.file = op->id};
    vyre_status status = vy_text_parse_without_dialects(source, strlen(source), &options, NULL, &module, error);
    if (status != VYRE_OK)
        return status;
    vyre_program *library = vyre_module_library(module);
    op->body = library ? vyre_program_retain(library) : NULL;
    vyre_module_free(module);
    if (!op->body)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write the function into the source"),
                       "the source of op `%s` has no functions", op->id);
    return VYRE_OK;
}

static vyre_status fill(vy_op *op, const vyre_dialect *dialect, const char *owner, vyre_error *error) {
    vyre_op_definition *to = &op->definition;
    char buffer[256];
    to->owner = owner;
    if (!to->version)
        to->version = dialect && dialect->version ? dialect->version : "0.0.0";
    if (!to->dialect && dialect)
        to->dialect = dialect->name;
    vyre_status status = vy_op_check(to, owner, error);
    if (status != VYRE_OK)
        return status;
    if (!to->function)
        to->function = name_of(to);
    if (!to->dialect) {
        size_t length = vy_op_id_last(to->id, strlen(to->id)); /* at most VY_LIMIT_NAME */
        length -= to->id[length - 1] == '.' ? 1 : 2;
        memcpy(buffer, to->id, length);
        buffer[length] = 0;
        to->dialect = buffer;
    }
    return copy_definition(op, error);
}

vyre_status vy_op_make(const vyre_op_definition *given, const vyre_dialect *dialect, const char *owner, vy_op **out,
                       vyre_error *error) {
    *out = NULL;
    vy_op *op = vy_allocate_zero(sizeof *op);
    if (!op)
        return vy_fail_memory(error, "an op definition");
    atomic_init(&op->references, 1);
    vyre_status status = extend_definition(given, owner, &op->definition, error);
    vyre_program *body = op->definition.body; /* not ours before retain_body */
    const char *source = op->definition.source;
    op->definition.body = NULL;
    if (status == VYRE_OK && body && source)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("give one of the two"),
                         "op `%s` has both a body and a source", given->id ? given->id : "NULL");
    if (status == VYRE_OK)
        status = fill(op, dialect, owner, error);
    op->definition.body = status == VYRE_OK ? body : NULL;
    op->definition.source = status == VYRE_OK ? source : NULL;
    if (status == VYRE_OK)
        status = retain_body(&op->definition, error);
    if (status == VYRE_OK)
        status = vy_op_check_body(&op->definition, error);
    if (status == VYRE_OK)
        status = vyre_op_intern(op->definition.id, strlen(op->definition.id), &op->definition.number, error);
    if (status != VYRE_OK) {
        vy_op_release(op);
        return status;
    }
    op->reference = (vyre_lowering){.target = vyre_target_text(VYRE_TARGET_REFERENCE), .body = op->definition.body};
    op->definition.checksum = vy_op_checksum(op);
    *out = op;
    return VYRE_OK;
}

vy_op *vy_op_retain(vy_op *op) {
    atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
    return op;
}

void vy_op_release(vy_op *op) {
    if (!op || atomic_fetch_sub_explicit(&op->references, 1, memory_order_acq_rel) != 1)
        return;
    vyre_program_release(op->definition.body);
    vy_arena_free(&op->arena);
    vy_release(op, sizeof *op);
}

const vyre_lowering *vy_op_lowering(const vy_op *op, vyre_target target) {
    if (target == VYRE_TARGET_REFERENCE)
        return &op->reference;
    for (uint32_t i = 0; i < op->definition.lowering_count; i++)
        if (op->targets[i] == target)
            return &op->definition.lowerings[i];
    return NULL;
}

/* ---- attributes ---- */

static int is_at_most(vyre_type type, uint64_t a, uint64_t b) {
    return (int)vyre_op_evaluate(VYRE_OP_LE, VYRE_TYPE_BOOL, type, a, b, 0);
}

int vy_attribute_allows(const vyre_attribute *attribute, uint64_t bits) {
    if (attribute->has_range)
        return is_at_most(attribute->type, attribute->least, bits) &&
               is_at_most(attribute->type, bits, attribute->most);
    for (uint32_t i = 0; i < attribute->value_count; i++)
        if (attribute->values[i] == bits)
            return 1;
    return attribute->value_count == 0;
}

/* ---- dialects ---- */

static vyre_status check_dialect(const vyre_dialect *dialect, vyre_error *error) {
    if (!dialect->owner || !*dialect->owner)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("set .owner: who provides the dialect"),
                       "a dialect has no owner (`%.128s`)", dialect->name ? dialect->name : "NULL");
    if (!dialect->name || !vy_is_dialect_name(dialect->name, strlen(dialect->name)))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("use letters, digits, `_` and `-`, in parts joined by `.` or `::`, such as `image-filter`"),
            "the name of a dialect of `%s` is not one (`%.160s`)", dialect->owner,
            dialect->name ? dialect->name : "NULL");
    return vy_version_check(dialect->version, "dialect", dialect->name, error);
}

vyre_status vy_dialect_make(const vyre_dialect *given, vy_dialect **out, vyre_error *error) {
    *out = NULL;
    const size_t least = offsetof(vyre_dialect, owner) + sizeof given->owner;
    if (given->struct_size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("set struct_size to sizeof(vyre_dialect)"),
                       "a dialect is too short (%u bytes of at least %zu)", given->struct_size, least);
    vy_dialect *dialect = vy_allocate_zero(sizeof *dialect);
    if (!dialect)
        return vy_fail_memory(error, "a dialect");
    vyre_dialect *to = &dialect->dialect;
    atomic_init(&dialect->references, 1);
    memcpy(to, given, given->struct_size < sizeof *to ? given->struct_size : sizeof *to);
    to->struct_size = sizeof *to;
    if (!to->version)
        to->version = "0.0.0";
    vyre_status status = check_dialect(to, error);
    if (status == VYRE_OK && !(copy_text(&dialect->arena, &to->name) && copy_text(&dialect->arena, &to->version) &&
                               copy_text(&dialect->arena, &to->doc) && copy_text(&dialect->arena, &to->owner)))
        status = vy_fail_memory(error, "a dialect");
    if (status != VYRE_OK) {
        vy_dialect_release(dialect);
        return status;
    }
    dialect->checksum = vy_dialect_checksum(dialect);
    *out = dialect;
    return VYRE_OK;
}

vy_dialect *vy_dialect_retain(vy_dialect *dialect) {
    atomic_fetch_add_explicit(&dialect->references, 1, memory_order_relaxed);
    return dialect;
}

void vy_dialect_release(vy_dialect *dialect) {
    if (!dialect || atomic_fetch_sub_explicit(&dialect->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_arena_free(&dialect->arena);
    vy_release(dialect, sizeof *dialect);
}

/* ---- checksums ---- */

uint64_t vy_checksum_mix(uint64_t sum, const void *data, size_t size) {
    uint64_t pair[2] = {sum, vy_hash(data, size)};
    return vy_hash(pair, sizeof pair);
}

static uint64_t mix_text(uint64_t sum, const char *text) {
    return vy_checksum_mix(sum, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t sum, uint64_t number) {
    return vy_checksum_mix(sum, &number, sizeof number);
}

static uint64_t mix_operands(uint64_t sum, const vyre_op_operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t words[3] = {operands[i].kind, operands[i].type, operands[i].access};
        sum = vy_checksum_mix(mix_text(sum, operands[i].name), words, sizeof words);
    }
    return mix_number(sum, count);
}

static uint64_t mix_attributes(uint64_t sum, const vyre_attribute *attributes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const vyre_attribute *of = &attributes[i];
        const uint64_t words[] = {of->type, of->has_default != 0, of->value, of->has_range != 0, of->least,
                                  of->most, of->value_count};
        sum = vy_checksum_mix(mix_text(sum, of->name), words, sizeof words);
        sum = vy_checksum_mix(sum, of->values, of->value_count * sizeof *of->values);
    }
    return mix_number(sum, count);
}

static uint64_t mix_laws(uint64_t sum, const vyre_law *given, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sum = mix_number(sum, given[i].kind);
        for (uint32_t j = 0; j < given[i].argument_count; j++) {
            const uint64_t words[2] = {given[i].arguments[j].value.type, given[i].arguments[j].value.bits};
            sum = vy_checksum_mix(mix_text(sum, given[i].arguments[j].text), words, sizeof words);
        }
    }
    return mix_number(sum, count);
}

static uint64_t mix_lowerings(uint64_t sum, const vyre_lowering *lowerings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sum = mix_text(sum, lowerings[i].target);
        sum = vy_checksum_mix(sum, lowerings[i].data ? lowerings[i].data : "", lowerings[i].size);
        sum = mix_number(sum, (uint64_t)(uintptr_t)lowerings[i].function);
    }
    return mix_number(sum, count);
}

uint64_t vy_op_checksum(const vy_op *op) {
    const vyre_op_definition *of = &op->definition;
    uint64_t sum = mix_number(of->number, of->category);
    const char *const texts[] = {of->id, of->dialect, of->version, of->doc, of->function, of->owner};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sum = mix_text(sum, texts[i]);
    sum = mix_operands(sum, of->inputs, of->input_count);
    sum = mix_operands(sum, of->outputs, of->output_count);
    sum = mix_attributes(sum, of->attributes, of->attribute_count);
    sum = mix_laws(sum, of->laws, of->law_count);
    sum = mix_lowerings(sum, of->lowerings, of->lowering_count);
    vyre_digest digest = {{0}};
    if (of->body)
        vyre_program_fingerprint(of->body, &digest);
    return vy_checksum_mix(sum, &digest, sizeof digest);
}

uint64_t vy_dialect_checksum(const vy_dialect *dialect) {
    const vyre_dialect *of = &dialect->dialect;
    return mix_text(mix_text(mix_text(mix_text(0, of->name), of->version), of->doc), of->owner);
}
