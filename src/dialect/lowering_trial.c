/* Trial of a lowering: program, inputs, the body's results, and the comparison (lowering_trial.h). */
#include "dialect/lowering_trial.h"

#include "base/status.h"
#include "base/string.h"
#include "dialect/law_equation.h"
#include "ir/eval.h"
#include "ir/model.h"
#include "ir/number.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

#include <inttypes.h>

enum { TRIAL_VERSION = 1 }; /* increment it when the trial has other inputs or compares otherwise */

static vyre_type stored(vyre_type type) {
    return type == VYRE_TYPE_BOOL ? VYRE_TYPE_U8 : type;
}

/* ---- the program ---- */

static void write_program(vy_string *out, const vyre_op_definition *op, int is_relaxed) {
    char id[VY_CALL_SPELLING_CAPACITY];
    vy_string_format(out, "program trial {\n%s", is_relaxed ? "  numerics relaxed\n" : "");
    for (uint32_t k = 0; k < op->input_count; k++)
        vy_string_format(out, "  buffer x%" PRIu32 " : %s read\n", k, vyre_type_name(stored(op->inputs[k].type)));
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out, "  buffer r%" PRIu32 " : %s write\n", k, vyre_type_name(stored(op->outputs[k].type)));
    vy_string_add(out, "  workgroup 64\n  grid over r0\n  let i = global_id.x\n  if i < len(r0) {\n    let (");
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out, "%sv%" PRIu32 ": %s", k ? ", " : "", k, vyre_type_name(op->outputs[k].type));
    vy_string_format(out, ") = %s(", vy_call_spelling(op->id, id));
    for (uint32_t k = 0; k < op->input_count; k++)
        vy_string_format(out, "%sx%" PRIu32 "[i]%s", k ? ", " : "", k,
                         op->inputs[k].type == VYRE_TYPE_BOOL ? " != 0u8" : "");
    vy_string_add(out, ")\n");
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out, "    r%" PRIu32 "[i] = v%" PRIu32 "%s\n", k, k,
                         op->outputs[k].type == VYRE_TYPE_BOOL ? " ? 1u8 : 0u8" : "");
    vy_string_add(out, "  }\n}\n");
}

/* Why the body, with everything that it calls, is not a function of its inputs alone; NULL if it is. */
static const char *find_effect(const vyre_program *p) {
    if (p->facts & VY_PROGRAM_HAS_TRAP)
        return "can trap";
    if (p->facts & VY_PROGRAM_HAS_PRINT)
        return "prints";
    if (p->facts & (VY_PROGRAM_HAS_BARRIER | VY_PROGRAM_HAS_GRID_BARRIER | VY_PROGRAM_HAS_ATOMIC))
        return "synchronises invocations";
    uint32_t builtins = 0;
    for (uint32_t i = 0; i < p->exprs.count; i++)
        builtins += p->exprs.items[i].kind == VY_EXPR_BUILTIN;
    return builtins > 1 ? "reads ids of the invocation" : NULL; /* the entry reads one */
}

static vyre_status fail_open(const vyre_op_definition *op, const vyre_lowering *lowering, const char *why,
                             const char *fix, vyre_error *error) {
    return vy_fail(error, VYRE_INVALID_PROGRAM, fix, "the code of `%.128s` for `%s` cannot replace the body: %.300s",
                   op->id, lowering->target, why);
}

vyre_status vy_lowering_trial_open(vyre_dialects_guard guard, const vyre_op_definition *op,
                                   const vyre_lowering *lowering, const char *where, vy_lowering_trial *out,
                                   vyre_error *error) {
    vy_string text = {0};
    vyre_module *module = NULL;
    vyre_error why;
    vyre_parse_options options = {
        .file = "<trial>", .op_signature = vyre_dialects_op_signature, .op_signature_user = &guard};
    *out = (vy_lowering_trial){.op = op, .lowering = lowering};
    write_program(&text, op, lowering->ulp != 0);
    vyre_status status =
        text.failed ? VYRE_NO_MEMORY : vyre_text_parse(text.text, text.length, &options, NULL, &module, &why);
    if (status == VYRE_OK)
        status = vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, &out->program, &why);
    vyre_module_free(module);
    vy_string_free(&text);
    if (status == VYRE_NO_MEMORY)
        return vy_fail_memory(error, "trying the code of an op");
    if (status != VYRE_OK)
        return fail_open(op, lowering, why.message, why.fix, error);
    const char *effect = find_effect(out->program);
    if (effect) {
        vy_lowering_trial_close(out);
        return fail_open(op, lowering, VY_FIX("the body %s", effect), "leave the code out: the body is compiled",
                         error);
    }
    struct {
        uint64_t version, ulp;
        vyre_digest program, code, target, where;
    } of = {.version = TRIAL_VERSION, .ulp = lowering->ulp};
    vyre_program_fingerprint(out->program, &of.program);
    vy_digest(lowering->data, lowering->size, &of.code);
    vy_digest(lowering->target, strlen(lowering->target), &of.target);
    vy_digest(where, strlen(where), &of.where);
    vy_digest(&of, sizeof of, &out->digest);
    return VYRE_OK;
}

void vy_lowering_trial_close(vy_lowering_trial *trial) {
    for (uint32_t k = 0; k < VY_LOWERING_LIMIT_OPERANDS; k++) {
        vyre_bytes_free(&trial->inputs[k]);
        vyre_bytes_free(&trial->expected[k]);
    }
    vyre_program_release(trial->program);
    *trial = (vy_lowering_trial){0};
}

int vy_lowering_trial_is_known(const vy_lowering_trial *trial) {
    return vy_law_cache_contains(&trial->digest);
}

void vy_lowering_trial_remember(const vy_lowering_trial *trial) {
    vy_law_cache_insert(&trial->digest);
}

/* The checksum of a snapshot covers everything that an op calls. */
static vyre_digest digest_in(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                             const char *where) {
    struct {
        uint64_t version, snapshot, op;
        vyre_digest target, where;
    } of = {.version = TRIAL_VERSION, .snapshot = vyre_dialects_checksum(guard), .op = op->checksum};
    vyre_digest all;
    vy_digest(lowering->target, strlen(lowering->target), &of.target);
    vy_digest(where, strlen(where), &of.where);
    vy_digest(&of, sizeof of, &all);
    return all;
}

int vy_lowering_is_known(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                         const char *where) {
    const vyre_digest digest = digest_in(guard, op, lowering, where);
    return vy_law_cache_contains(&digest);
}

void vy_lowering_remember(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                          const char *where) {
    const vyre_digest digest = digest_in(guard, op, lowering, where);
    vy_law_cache_insert(&digest);
}

vyre_status vy_lowering_trial_use(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                                  const vyre_lowering *lowering, int *is_usable, vyre_error *error) {
    const vy_lowering_trial *trial = user;
    (void)guard, (void)error;
    *is_usable = strcmp(op->id, trial->op->id) == 0 && lowering->target == trial->lowering->target;
    return VYRE_OK;
}

/* ---- inputs, and the results of the body ---- */

/* All sets of tuples, as rows of the columns. */
static vyre_status store_rows(vy_lowering_trial *trial, const vy_law_tuples *sets, uint32_t set_count,
                              vyre_error *error) {
    uint64_t rows = 0;
    for (uint32_t s = 0; s < set_count; s++)
        rows += sets[s].count;
    for (uint32_t k = 0; k < trial->op->input_count; k++) {
        vyre_type type = stored(trial->op->inputs[k].type);
        vyre_status status = vyre_bytes_resize(&trial->inputs[k], rows * vyre_type_size(type), error);
        if (status != VYRE_OK)
            return status;
        uint8_t *at = trial->inputs[k].data;
        for (uint32_t s = 0; s < set_count; s++)
            for (uint64_t i = 0; i < sets[s].count; i++, at += vyre_type_size(type))
                vy_value_store(type, at,
                               vy_value_canonicalize(trial->op->inputs[k].type, vy_law_tuples_at(&sets[s], k, i)));
    }
    trial->rows = (uint32_t)rows;
    return VYRE_OK;
}

static vyre_status choose_rows(vy_lowering_trial *trial, vyre_error *error) {
    static const vyre_law none = {.kind = VYRE_LAW_COMMUTATIVE};
    static const vy_law_equation equation = {.premise = VY_LAW_ALWAYS};
    vy_law_instance of = {
        .op = trial->op, .law = &none, .equation = &equation, .operand_count = trial->op->input_count};
    vy_law_tuples sets[VY_LAW_SETS];
    uint32_t count;
    for (uint32_t k = 0; k < of.operand_count; k++)
        of.operands[k].type = trial->op->inputs[k].type;
    vyre_status status = vy_law_choose_inputs(&of, trial->program, sets, &count, error);
    if (status != VYRE_OK)
        return status;
    status = store_rows(trial, sets, count, error);
    for (uint32_t s = 0; s < count; s++)
        vy_law_tuples_free(&sets[s]);
    return status;
}

vyre_status vy_lowering_trial_fill(vy_lowering_trial *trial, vyre_error *error) {
    const vyre_op_definition *op = trial->op;
    vyre_span inputs[VY_LOWERING_LIMIT_OPERANDS];
    uint64_t counts[VY_LOWERING_LIMIT_OPERANDS];
    vyre_oracle *oracle = NULL;
    vyre_error why;
    vyre_status status = choose_rows(trial, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t k = 0; k < op->input_count; k++)
        inputs[k] = (vyre_span){trial->inputs[k].data, trial->inputs[k].size};
    for (uint32_t k = 0; k < op->output_count; k++)
        counts[k] = trial->rows;
    const vyre_arguments arguments = {
        .inputs = inputs, .input_count = op->input_count, .counts = counts, .count_count = op->output_count};
    const vyre_oracle_options options = {.budget = (uint64_t)trial->rows * VY_LAW_STEPS};
    vyre_oracle_report report;
    status = vyre_oracle_new(trial->program, &oracle, &why);
    if (status == VYRE_OK)
        status = vyre_oracle_run(oracle, &arguments, &options, trial->expected, &report, NULL, &why);
    vyre_oracle_free(oracle);
    if (status == VYRE_NO_MEMORY)
        return vy_fail_memory(error, "trying the code of an op");
    return status == VYRE_OK ? VYRE_OK : fail_open(op, trial->lowering, why.message, why.fix, error);
}

/* ---- the comparison ---- */

/* Floats as integers in their order: -0 is 0. */
static int64_t ordinal(vyre_type type, uint64_t bits) {
    uint64_t sign = (vy_type_layouts[type].mask >> 1) + 1;
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static int is_close(vyre_type type, uint64_t bound, uint64_t a, uint64_t b) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t magnitude = layout->mask >> 1;
    if (a == b)
        return 1;
    if (bound == 0 || (a & magnitude) > layout->infinity || (b & magnitude) > layout->infinity)
        return 0;
    int64_t one = ordinal(type, a), other = ordinal(type, b);
    uint64_t distance = one < other ? (uint64_t)other - (uint64_t)one : (uint64_t)one - (uint64_t)other;
    return distance <= bound;
}

static void put_value(vy_string *out, const vyre_op_operand *operand, const vyre_bytes *column, uint64_t row) {
    vyre_type type = stored(operand->type);
    uint64_t bits = vy_value_load(type, (const uint8_t *)column->data + row * vyre_type_size(type));
    if (operand->type == VYRE_TYPE_BOOL)
        vy_string_add(out, bits ? "true" : "false");
    else
        vy_number_print(out, type, bits, 1);
}

vyre_status vy_lowering_trial_fail(const vy_lowering_trial *trial, uint64_t row, const char *what, vyre_error *error) {
    const vyre_op_definition *op = trial->op;
    vy_string said = {0};
    vy_string_format(&said, "the code of `%s` for `%s` %s", op->id,
                     vyre_target_emit_name(vy_lowering_target(trial->lowering)), what);
    for (uint32_t k = 0; k < op->input_count; k++) {
        vy_string_format(&said, "%s%s = ", k ? ", " : " at ", op->inputs[k].name);
        put_value(&said, &op->inputs[k], &trial->inputs[k], row);
    }
    vyre_status status =
        said.failed ? vy_fail_memory(error, "trying the code of an op")
                    : vy_fail(error, VYRE_INVALID_PROGRAM, "correct the code, or leave it out", "%s", said.text);
    vy_string_free(&said);
    return status;
}

static vyre_status fail_row(const vy_lowering_trial *trial, const vyre_bytes *results, uint32_t output, uint64_t row,
                            vyre_error *error) {
    const vyre_op_operand *operand = &trial->op->outputs[output];
    vy_string what = {0};
    vy_string_add(&what, "returns ");
    put_value(&what, operand, &results[output], row);
    vy_string_add(&what, " and the body ");
    put_value(&what, operand, &trial->expected[output], row);
    if (trial->lowering->ulp)
        vy_string_format(&what, ", not within %" PRIu32 " ulp,", trial->lowering->ulp);
    vyre_status status = what.failed ? vy_fail_memory(error, "trying the code of an op")
                                     : vy_lowering_trial_fail(trial, row, what.text, error);
    vy_string_free(&what);
    return status;
}

vyre_status vy_lowering_trial_judge(const vy_lowering_trial *trial, const vyre_bytes *results, vyre_error *error) {
    for (uint32_t k = 0; k < trial->op->output_count; k++) {
        vyre_type type = stored(trial->op->outputs[k].type);
        const size_t size = vyre_type_size(type);
        const uint8_t *expected = trial->expected[k].data, *given = results[k].data;
        if (results[k].size != trial->expected[k].size)
            return vy_fail(error, VYRE_CORRUPT, NULL, "the trial of `%.128s` has %zu bytes of results (%zu expected)",
                           trial->op->id, results[k].size, trial->expected[k].size);
        if (memcmp(expected, given, results[k].size) == 0)
            continue;
        for (uint64_t row = 0; row < trial->rows; row++)
            if (!is_close(type, trial->lowering->ulp, vy_value_load(type, given + row * size),
                          vy_value_load(type, expected + row * size)))
                return fail_row(trial, results, k, row, error);
    }
    return VYRE_OK;
}
