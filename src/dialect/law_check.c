/* Law checker: runs equations on the oracle and caches the digests of equations that hold.
 *
 * The cache is a table of digests of fixed size for the whole process. It has no lock, and no fork handler is needed:
 * an entry that is read while another thread writes it is a mixture of two digests, which matches a third digest as
 * rarely as two digests collide. When a bucket is full, its entries are replaced in turn, and a forgotten law is
 * checked again. */
#include "dialect/law_check.h"

#include "base/status.h"
#include "base/string.h"
#include "base/thread.h"
#include "dialect/law_equation.h"
#include "dialect/registry.h"
#include "ir/eval.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

#include <stdatomic.h>

enum { WORDS = 4, WAYS = 4, BUCKETS = 1024 };

typedef struct bucket {
    _Atomic uint64_t digests[WAYS][WORDS];
    atomic_uint turn;
} bucket;
static bucket buckets[BUCKETS];

static bucket *find(const vyre_digest *digest, uint64_t words[WORDS]) {
    memcpy(words, digest->bytes, sizeof digest->bytes);
    return &buckets[words[0] % BUCKETS];
}

int vy_law_cache_contains(const vyre_digest *digest) {
    uint64_t words[WORDS];
    bucket *in = find(digest, words);
    int found = 0;
    for (int way = 0; way < WAYS; way++) {
        int equal = 1;
        for (int i = 0; i < WORDS; i++)
            equal &= atomic_load_explicit(&in->digests[way][i], memory_order_relaxed) == words[i];
        found |= equal;
    }
    return found;
}

void vy_law_cache_insert(const vyre_digest *digest) {
    uint64_t words[WORDS];
    bucket *in = find(digest, words);
    unsigned way = atomic_fetch_add_explicit(&in->turn, 1, memory_order_relaxed) % WAYS;
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&in->digests[way][i], words[i], memory_order_relaxed);
}

void vy_law_cache_clear(void) {
    for (int b = 0; b < BUCKETS; b++)
        for (int way = 0; way < WAYS; way++)
            for (int i = 0; i < WORDS; i++)
                atomic_store_explicit(&buckets[b].digests[way][i], 0, memory_order_relaxed);
}

/* Running an equation.
 *
 * A set of tuples runs in batches. The first batch is small; its cost predicts the cost of larger ones. A batch that
 * costs many times more runs again in small batches with a budget of VY_LAW_STEPS statements per tuple on average. If
 * such a batch exceeds its budget, bisection finds a tuple that exceeds it. So a body that does not terminate costs
 * seconds, and the message shows its operands. */

enum {
    CHECKER_VERSION = 1, /* increment it when the checker tries other tuples or other properties */
    SMALL_BATCH = 512,
    LARGE_BATCH = 1 << 16,
    HEADROOM = 4, /* limit of a large batch, as a multiple of the mean cost so far */
    PARAMS = 3 + 2 * VY_LAW_LIMIT_OPERANDS,
    INPUTS = VY_LAW_LIMIT_OPERANDS + 1
};
#define NO_TUPLE UINT32_MAX

/* One compiled equation and one set of tuples. */
typedef struct trial {
    const vy_law_instance *instance;
    const vy_law_tuples *tuples;
    vyre_oracle *oracle;
    vyre_bytes columns[VY_LAW_LIMIT_OPERANDS]; /* of `tuples`, in the layout of buffers */
    vyre_bytes outputs[3];                     /* broken, left, right */
    uint64_t steps, done;                      /* statements and tuples of all batches so far */
    uint32_t piece;
    vyre_error *error;
} trial;

/* ---- one batch ---- */

static uint32_t broken_tuple(const trial *t) {
    uint32_t index;
    memcpy(&index, t->outputs[0].data, sizeof index);
    return index;
}

/* Tuples [first, first + count); `show` is one of them or NO_TUPLE. */
static vyre_status run(trial *t, uint64_t first, uint64_t count, uint32_t show, uint64_t budget,
                       vyre_oracle_report *report, vyre_error *error) {
    const uint32_t n = t->instance->operand_count, none = NO_TUPLE;
    vyre_scalar params[PARAMS] = {vyre_scalar_u32((uint32_t)first), vyre_scalar_u32((uint32_t)count),
                                  vyre_scalar_u32(show)};
    vyre_span inputs[INPUTS];
    for (uint32_t k = 0; k < n; k++) {
        params[3 + 2 * k] = vyre_scalar_u32(t->tuples->columns[k].count);
        params[4 + 2 * k] = vyre_scalar_u32(t->tuples->columns[k].stride);
        inputs[k] = (vyre_span){t->columns[k].data, t->columns[k].size};
    }
    inputs[n] = (vyre_span){&none, sizeof none};
    vyre_arguments arguments = {.params = params,
                                .param_count = 3 + 2 * n,
                                .inputs = inputs,
                                .input_count = n + 1,
                                .geometry = {VYRE_GEOMETRY_ELEMENTS, {(uint32_t)count, 1, 1}}};
    vyre_oracle_options options = {.budget = budget};
    return vyre_oracle_run(t->oracle, &arguments, &options, t->outputs, report, NULL, error);
}

static void tuple_at(const trial *t, uint64_t index, uint64_t tuple[VY_LAW_LIMIT_OPERANDS]) {
    for (uint32_t k = 0; k < t->instance->operand_count; k++)
        tuple[k] = vy_value_canonicalize(t->instance->operands[k].type, vy_law_tuples_at(t->tuples, k, index));
}

/* ---- failures ---- */

static uint64_t output_bits(const trial *t, const vyre_bytes *output) {
    vyre_type type = t->instance->type;
    return vy_value_load(type == VYRE_TYPE_BOOL ? VYRE_TYPE_U8 : type, output->data);
}

static vyre_status fail_broken(trial *t, uint32_t index) {
    uint64_t tuple[VY_LAW_LIMIT_OPERANDS];
    vyre_oracle_report report;
    vyre_status status = run(t, index, 1, index, 0, &report, t->error);
    if (status != VYRE_OK)
        return status;
    tuple_at(t, index, tuple);
    return vy_law_fail_equation(t->instance, tuple, output_bits(t, &t->outputs[1]), output_bits(t, &t->outputs[2]),
                                t->error);
}

static vyre_status fail_trapped(trial *t, uint64_t index, uint32_t code) {
    uint64_t tuple[VY_LAW_LIMIT_OPERANDS];
    tuple_at(t, index, tuple);
    return vy_law_fail_tuple(t->instance, tuple, VY_FIX("it executes `trap %u`", code), t->error);
}

/* Finds a tuple of a batch that exceeds VY_LAW_STEPS. */
static vyre_status fail_nonterminating(trial *t, uint64_t first, uint64_t count) {
    uint64_t tuple[VY_LAW_LIMIT_OPERANDS];
    vyre_oracle_report report;
    while (count > 1) {
        uint64_t half = count / 2;
        vyre_status status = run(t, first, half, NO_TUPLE, half * VY_LAW_STEPS, &report, t->error);
        if (status == VYRE_NO_MEMORY)
            return status;
        if (status != VYRE_BUDGET)
            first += half;
        count = status == VYRE_BUDGET ? half : count - half;
    }
    tuple_at(t, first, tuple);
    return vy_law_fail_tuple(t->instance, tuple, VY_FIX("it executes more than %d statements", VY_LAW_STEPS), t->error);
}

/* ---- a set of tuples ---- */

static vyre_status fill_columns(trial *t) {
    for (uint32_t k = 0; k < t->instance->operand_count; k++) {
        const vy_law_column *column = &t->tuples->columns[k];
        vyre_type type = t->instance->operands[k].type == VYRE_TYPE_BOOL ? VYRE_TYPE_U8 : t->instance->operands[k].type;
        size_t size = vyre_type_size(type);
        vyre_status status = vyre_bytes_resize(&t->columns[k], column->count * size, t->error);
        if (status != VYRE_OK)
            return status;
        for (uint32_t i = 0; i < column->count; i++)
            vy_value_store(type, (uint8_t *)t->columns[k].data + i * size, column->values[i]);
    }
    return VYRE_OK;
}

/* Runs one batch. *again is set if a large batch was too expensive. */
static vyre_status run_batch(trial *t, uint64_t first, uint64_t count, int *again) {
    int is_small = count <= SMALL_BATCH;
    uint64_t budget =
        is_small ? count * VY_LAW_STEPS : SMALL_BATCH * VY_LAW_STEPS + HEADROOM * count * (t->steps / t->done + 1);
    vyre_oracle_report report;
    vyre_error why;
    vyre_status status = run(t, first, count, NO_TUPLE, budget, &report, &why);
    *again = status == VYRE_BUDGET && !is_small;
    if (*again)
        return VYRE_OK;
    if (status == VYRE_BUDGET)
        return fail_nonterminating(t, first, count);
    if (status == VYRE_TRAPPED)
        return fail_trapped(t, first + report.trap.invocation, report.trap.code);
    if (status == VYRE_NO_MEMORY)
        return vy_fail_memory(t->error, "checking a law");
    if (status != VYRE_OK)
        return vy_law_fail_check(t->instance, why.message, why.fix, t->error);
    t->steps += report.steps;
    t->done += count;
    if (broken_tuple(t) != NO_TUPLE)
        return fail_broken(t, broken_tuple(t));
    if (t->steps > VY_LAW_TOTAL_STEPS)
        return vy_law_fail_check(t->instance, VY_FIX("the check exceeds %llu statements", VY_LAW_TOTAL_STEPS + 0ull),
                                 "remove the law, or make the body cheaper", t->error);
    return VYRE_OK;
}

static vyre_status run_set(trial *t) {
    vyre_status status = fill_columns(t);
    int again = 0, was_again = 0;
    for (uint64_t first = 0; first < t->tuples->count && status == VYRE_OK;) {
        uint64_t rest = t->tuples->count - first;
        uint64_t count = t->done == 0 || was_again ? SMALL_BATCH : LARGE_BATCH;
        if (count > rest)
            count = rest;
        status = run_batch(t, first, count, &again);
        was_again |= again;
        first += again ? 0 : count;
    }
    return status;
}

/* ---- one equation ---- */

/* Digest of all inputs of the check. */
static void digest_of(const vy_law_instance *q, const vyre_program *resolved, vyre_digest *out) {
    struct {
        char what[8];
        uint32_t version, law;
        vyre_digest program;
    } of = {"vyrelaw", CHECKER_VERSION, q->law->kind, {{0}}};
    vyre_program_fingerprint(resolved, &of.program);
    vy_digest(&of, sizeof of, out);
}

static vyre_status run_sets(const vy_law_instance *q, vyre_program *resolved, vy_law_stats *count, vyre_error *error) {
    vy_law_tuples sets[VY_LAW_SETS];
    uint32_t set_count;
    trial t = {.instance = q, .error = error};
    vyre_status status = vyre_oracle_new(resolved, &t.oracle, error);
    if (status != VYRE_OK)
        return status;
    status = vy_law_choose_inputs(q, resolved, sets, &set_count, error);
    if (status == VYRE_OK) {
        for (uint32_t s = 0; s < set_count && status == VYRE_OK; s++) {
            t.tuples = &sets[s];
            status = run_set(&t);
        }
        for (uint32_t s = 0; s < set_count; s++)
            vy_law_tuples_free(&sets[s]);
    }
    for (uint32_t k = 0; k < q->operand_count; k++)
        vyre_bytes_free(&t.columns[k]);
    for (int i = 0; i < 3; i++)
        vyre_bytes_free(&t.outputs[i]);
    vyre_oracle_free(t.oracle);
    count->checked++;
    count->tuples += t.done;
    return status;
}

/* Makes the program of the equation, linked with the bodies of all ops it reaches. */
static vyre_status make_program(vy_law_instance *q, vyre_dialects_guard guard, vyre_program **out, vyre_error *error) {
    vy_string text = {0};
    vyre_module *module = NULL;
    vyre_parse_options options = {
        .file = "<law>", .op_signature = vyre_dialects_op_signature, .op_signature_user = &guard};
    vyre_error why;
    vyre_status status = vy_law_program(q, &text, error);
    *out = NULL;
    if (status == VYRE_OK) {
        status = vyre_text_parse(text.text, text.length, &options, NULL, &module, &why);
        if (status == VYRE_OK)
            status = vyre_program_resolve(vyre_module_program(module, 0), guard, NULL, out, &why);
        if (status == VYRE_NO_MEMORY)
            status = vy_fail_memory(error, "checking a law");
        else if (status != VYRE_OK)
            status = vy_law_fail_check(q, why.message, why.fix, error);
    }
    vyre_module_free(module);
    vy_string_free(&text);
    return status;
}

static vyre_status check_equation(vy_law_instance *q, vyre_dialects_guard guard, vy_law_stats *count,
                                  vyre_error *error) {
    vyre_program *resolved;
    vyre_digest digest;
    vyre_status status = make_program(q, guard, &resolved, error);
    if (status != VYRE_OK)
        return status;
    digest_of(q, resolved, &digest);
    if (vy_law_cache_contains(&digest)) {
        count->cached++;
    } else {
        status = run_sets(q, resolved, count, error);
        if (status == VYRE_OK)
            vy_law_cache_insert(&digest);
    }
    vyre_program_release(resolved);
    return status;
}

/* ---- one law ---- */

static vyre_status find_named_ops(vy_law_instance *q, vyre_dialects_guard guard, vyre_error *error) {
    const char *letters = vyre_law_arguments(q->law->kind);
    for (uint32_t i = 0; i < q->law->argument_count; i++) {
        const char *id = q->law->arguments[i].text;
        if (letters[i] != 'o')
            continue;
        q->others[i] = vyre_dialects_find(guard, id, strlen(id));
        if (!q->others[i])
            return vy_fail(error, VYRE_NOT_FOUND, "correct the id, or load its dialect first",
                           "the law `%s` of `%.128s` names `%.128s`, which no dialect provides",
                           vyre_law_name(q->law->kind), q->op->id, id);
    }
    return VYRE_OK;
}

vyre_status vy_law_check(vyre_dialects_guard guard, const vyre_op_definition *op, uint32_t index, vy_law_stats *count,
                         vyre_error *error) {
    vy_law_stats own = {0};
    const vy_law_equation *equation = NULL;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && (equation = vy_law_next_equation(op, op->laws[index].kind, equation))) {
        vy_law_instance instance = {.op = op, .law = &op->laws[index], .equation = equation};
        status = find_named_ops(&instance, guard, error);
        if (status == VYRE_OK)
            status = check_equation(&instance, guard, count ? count : &own, error);
    }
    return status;
}

vyre_status vyre_dialects_check_laws(vyre_dialects_guard guard, vyre_op_id id, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    const vyre_op_definition *op = vyre_dialects_lookup(guard, id);
    vyre_status status = VYRE_OK;
    if (!op)
        return vy_fail(error, VYRE_NOT_FOUND, NULL, "no dialect provides op `%.128s`",
                       vyre_op_text(id) ? vyre_op_text(id) : "?");
    for (uint32_t i = 0; i < op->law_count && status == VYRE_OK; i++)
        status = vy_law_check(guard, op, i, NULL, error);
    return status;
}

/* ---- candidates ---- */

vyre_status vy_law_candidate_open(const vyre_dialect_builder *builder, vyre_dialects_guard *out, vyre_error *error) {
    vyre_snapshot *candidate = NULL;
    vyre_status status =
        vy_snapshot_build(builder->ops.items, builder->ops.count, builder->dialects.items, builder->dialects.count,
                          builder->base.snapshot->generation + 1, 1, &candidate, error);
    *out = (vyre_dialects_guard){candidate, (void *)VY_HAZARD_COUNTED};
    return status;
}

/* The snapshot was never published, so no other thread has a reference. */
void vy_law_candidate_close(vyre_dialects_guard *candidate) {
    vy_snapshot_free((vyre_snapshot *)(uintptr_t)candidate->snapshot);
    *candidate = (vyre_dialects_guard){NULL, NULL};
}

/* Dependents: laws of other dialects that depend on a dialect that changes. The law names an op of it, or a body that
 * the law reaches calls one. */

/* ---- dependency search ---- */

typedef struct dependency_walk {
    vyre_dialects_guard guard;
    const char *dialect;
    VY_VECTOR(const vyre_op_definition *) seen; /* ops found so far, each once; those before `done` have been visited */
    uint32_t done;
    int found, failed;
} dependency_walk;

static void visit(dependency_walk *r, const char *id, size_t length) {
    const vyre_op_definition *op = vyre_dialects_find(r->guard, id, length);
    if (vy_op_id_after(id, length, r->dialect))
        r->found = 1;
    for (uint32_t i = 0; i < r->seen.count; i++)
        if (r->seen.items[i] == op)
            return;
    const vyre_op_definition **slot = op ? VY_PUSH(&r->seen) : NULL;
    if (slot)
        *slot = op;
    else
        r->failed |= op != NULL;
}

static void visit_calls(dependency_walk *r, const vyre_program *body) {
    for (uint32_t i = 0; body && (body->facts & VY_PROGRAM_HAS_OP_CALL) && i < body->stmts.count; i++) {
        const vy_stmt *s = &body->stmts.items[i];
        if (s->kind == VY_STMT_CALL && s->callee == VY_NONE) {
            const char *name = vy_symbol_name(body, s->name);
            visit(r, name, vy_call_id_length(name));
        }
    }
}

static void visit_laws(dependency_walk *r, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->law_count; i++)
        for (uint32_t k = 0; k < op->laws[i].argument_count; k++)
            if (vyre_law_arguments(op->laws[i].kind)[k] == 'o')
                visit(r, op->laws[i].arguments[k].text, strlen(op->laws[i].arguments[k].text));
}

/* Returns 1 if a law of an op of another dialect depends on this one, 0 if not, -1 if memory is exhausted. */
static int depends(vyre_dialects_guard guard, const vyre_op_definition *op, const char *dialect) {
    dependency_walk r = {.guard = guard, .dialect = dialect};
    visit_laws(&r, op);
    visit_calls(&r, op->body);
    for (; r.done < r.seen.count && !r.found && !r.failed; r.done++)
        visit_calls(&r, r.seen.items[r.done]->body);
    VY_VECTOR_FREE(&r.seen);
    return r.failed ? -1 : r.found;
}

/* ---- checking the dependents ---- */

/* The law held before the change, since its op is registered. A law that names an op that no dialect provides now is
 * skipped until the op is available again. */
static vyre_status check_op(vyre_dialects_guard candidate, const vyre_op_definition *op, vy_law_violation_fn *broken,
                            void *user) {
    for (uint32_t i = 0; i < op->law_count; i++) {
        vyre_error why;
        vyre_status status = vy_law_check(candidate, op, i, NULL, &why);
        if (status == VYRE_NO_MEMORY)
            return status;
        if (status == VYRE_OK || status == VYRE_NOT_FOUND)
            continue;
        vy_fix_format(why.fix, sizeof why.fix, "correct the body here, or remove the law there (%.128s)", op->owner);
        broken(user, &why);
    }
    return VYRE_OK;
}

vyre_status vy_law_check_dependents(vyre_dialects_guard candidate, const char *dialect, vy_law_violation_fn *broken,
                                    void *user) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < vyre_dialects_count(candidate) && status == VYRE_OK; i++) {
        const vyre_op_definition *op = vyre_dialects_at(candidate, i);
        if (op->law_count == 0 || strcmp(op->dialect, dialect) == 0)
            continue;
        int is_dependent = depends(candidate, op, dialect);
        status = is_dependent < 0 ? VYRE_NO_MEMORY : is_dependent ? check_op(candidate, op, broken, user) : VYRE_OK;
    }
    return status;
}
