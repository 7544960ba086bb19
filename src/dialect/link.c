/* Linker: resolves calls of dialect ops by linking op bodies into the program, and keeps the snapshot of the ops
 * alive. */
#include "dialect/load.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/string.h"
#include "dialect/lowering_code.h"
#include "dialect/opdef.h"
#include "dialect/registry.h"
#include "ir/build/builder_internal.h"
#include "ir/identifiers.h"
#include "ir/irbuilder.h"
#include "ir/model.h"
#include "ir/porting_hint.h"
#include "ir/text/lower.h"
#include "vyre/dialect.h"

#include <inttypes.h>
#include <stdio.h>

/* What a linked program needs as long as it lives. If ops have code or another body for some targets, the program is
 * linked again for such a target from the program before linking. */
typedef struct snapshot_keepalive {
    vy_keepalive base;
    vyre_dialects_guard guard;
    vyre_program *source;   /* before linking; NULL if no op has code for c or ptx, or a second body */
    vyre_digest linked;     /* of the program that linking made of it for all targets */
    vy_lowered_op *lowered; /* base.lowered; `names` has their names */
    size_t capacity;
    vy_arena names;
} snapshot_keepalive;

static void release(vy_keepalive *base) {
    snapshot_keepalive *pin = (snapshot_keepalive *)base;
    vyre_dialects_release(&pin->guard);
    vyre_program_release(pin->source);
    vy_release(pin->lowered, vy_array_size(pin->capacity, sizeof *pin->lowered));
    vy_arena_free(&pin->names);
    vy_release(pin, sizeof *pin);
}

vyre_dialects_guard vyre_program_dialects(const vyre_program *program) {
    return program && program->keepalive ? ((const snapshot_keepalive *)program->keepalive)->guard
                                         : (vyre_dialects_guard){NULL, NULL};
}

/* Linking.
 *
 *   let r : u32 = int.isqrt_u32(x) →     fn int.isqrt_u32(n: u32) -> u32 { … }     and a call of it
 *
 * The function of an op is named after the op. A function that a body calls is named after the op and itself:
 * `int.isqrt_u32.step`. After inlining, these names identify the origin of a region. Attributes become the last
 * arguments, as literals. Ops that bodies call are linked, too. The verifier checks the complete result and detects
 * recursion. */

/* A function of the result and its origin. */
typedef struct link_unit {
    const vyre_program *from;
    uint32_t function;
    const vyre_op_definition *op; /* the op whose body it belongs to; NULL for a function of the program */
    vy_position at;               /* of imported code: the first call that needs it */
    vy_symbol name;               /* in the draft */
} link_unit;

typedef struct linker {
    const vyre_program *program;
    vyre_dialects_guard guard;
    VY_VECTOR(link_unit)
    units; /* in the order of the functions of the result: first those of the program, last the entry */
    vy_irb draft;
    unsigned last_number;                /* suffix of the latest function that had to be renamed */
    uint32_t *map_variable, *map_memory; /* of the function being copied */
    VY_VECTOR(vy_arg) args;
    const vy_lowering_policy *policy; /* NULL: every call is linked with the body */
    vyre_target target;
    VY_VECTOR(vy_lowered_op) lowered; /* the ops whose calls remain */
    vy_arena names;                   /* of those calls */
    int has_choice;                   /* an op has code for c or ptx, or a second body */
    const char *variant;              /* the second bodies that are linked, or NULL */
    int has_variant;                  /* one was */
    vyre_error *error;
} linker;

/* ---- diagnostics ---- */

static vyre_status fail_at(linker *l, const link_unit *p, uint32_t stmt, vyre_status status) {
    vy_position at = p->op ? p->at : vy_stmt_position(p->from, stmt);
    if (at.line)
        vy_fail_where(l->error, "%s:%u:%u", vy_source_name(l->program->source), at.line, at.column);
    return status;
}

static vyre_status unknown_op(linker *l, const link_unit *p, uint32_t stmt, const char *id, size_t length) {
    vy_suggestion near;
    vy_suggestion_start(&near, id, length);
    for (size_t i = 0; i < vyre_dialects_count(l->guard); i++)
        vy_suggestion_offer(&near, vyre_dialects_at(l->guard, i)->id);
    const char *best = vy_suggestion_get(&near);
    vyre_status status = vy_fail(l->error, VYRE_NOT_FOUND,
                                 best ? VY_FIX("did you mean `%s`?", best)
                                      : VY_FIX("load a dialect with `%.*s` (%s), or define the function in the file",
                                               (int)length, id, vy_dialect_loader_name()),
                                 "the program calls op `%.*s`, which no dialect provides", (int)length, id);
    return fail_at(l, p, stmt, status);
}

static const char *kind_name(const vyre_op_operand *operand) {
    static const char *const names[VYRE_OPERAND_KIND_COUNT] = {
        [VYRE_OPERAND_VALUE] = "a value",
        [VYRE_OPERAND_BUFFER] = "a buffer",
        [VYRE_OPERAND_WORKGROUP] = "an array of the workgroup",
        [VYRE_OPERAND_PRIVATE] = "a private array",
    };
    return names[operand->kind];
}

/* ---- calls of ops ---- */

static uint32_t find_function(const vyre_program *body, const char *name) {
    for (uint32_t i = 0; i < vyre_program_function_count(body); i++)
        if (strcmp(vy_symbol_name(body, body->functions.items[i].name), name) == 0)
            return i;
    return VY_NONE;
}

/* The function `FUNCTION_variant` of the standard library; VY_NONE if there is none. */
static uint32_t find_variant(const vyre_op_definition *op, const char *variant) {
    char name[VY_LIMIT_NAME + 1];
    int length = snprintf(name, sizeof name, "%s_%s", op->function, variant);
    if (strcmp(op->owner, VY_STANDARD_LIBRARY_OWNER) != 0 || length >= (int)sizeof name)
        return VY_NONE;
    return find_function(op->body, name);
}

/* The function that calls of an op are linked with. Only the standard library has second bodies: they return the same
 * bits, as its tests prove for all inputs. */
static uint32_t find_body(linker *l, const vyre_op_definition *op) {
    uint32_t variant = l->variant ? find_variant(op, l->variant) : VY_NONE;
    if (!l->has_choice)
        l->has_choice =
            find_variant(op, VY_VARIANT_WITHOUT_F64) != VY_NONE || find_variant(op, VY_VARIANT_WITH_TABLES) != VY_NONE;
    if (variant == VY_NONE)
        return find_function(op->body, op->function);
    l->has_variant = 1;
    return variant;
}

static int fits(const vyre_program *p, const vy_arg *arg, const vyre_op_operand *operand) {
    static const uint8_t spaces[VYRE_OPERAND_KIND_COUNT] = {[VYRE_OPERAND_BUFFER] = VY_SPACE_BUFFER,
                                                            [VYRE_OPERAND_WORKGROUP] = VY_SPACE_WORKGROUP,
                                                            [VYRE_OPERAND_PRIVATE] = VY_SPACE_PRIVATE};
    if (!arg->is_memory)
        return operand->kind == VYRE_OPERAND_VALUE && p->exprs.items[arg->index].type == operand->type;
    const vy_memory *m = &p->memories.items[arg->index];
    int is_table = m->space == VY_SPACE_CONSTANT && operand->kind == VYRE_OPERAND_BUFFER; /* read like a buffer */
    return operand->kind != VYRE_OPERAND_VALUE && (m->space == spaces[operand->kind] || is_table) &&
           m->type == operand->type;
}

static vyre_status check_call(linker *l, const link_unit *p, uint32_t index, const vyre_op_definition *op) {
    const vy_stmt *s = &p->from->stmts.items[index];
    if (s->arg_count != op->input_count)
        return fail_at(l, p, index,
                       vy_fail(l->error, VYRE_INVALID_PROGRAM, VY_FIX("pass %u", op->input_count),
                               "`%s` expects %u argument%s (%u given)", op->id, op->input_count,
                               op->input_count == 1 ? "" : "s", s->arg_count));
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!fits(p->from, &p->from->args.items[s->args + i], &op->inputs[i]))
            return fail_at(
                l, p, index,
                vy_fail(l->error, VYRE_INVALID_PROGRAM,
                        VY_FIX("pass %s of type %s", kind_name(&op->inputs[i]), vyre_type_name(op->inputs[i].type)),
                        "argument %u of `%s` does not fit: `%s` is %s of type %s", i + 1, op->id, op->inputs[i].name,
                        kind_name(&op->inputs[i]), vyre_type_name(op->inputs[i].type)));
    for (uint32_t i = 0; i < s->result_count; i++) {
        vyre_type bound = (vyre_type)p->from->variables.items[s->variable + i].type;
        if (s->result_count != op->output_count || bound != op->outputs[i].type)
            return fail_at(l, p, index,
                           vy_fail(l->error, VYRE_INVALID_PROGRAM, VY_FIX("see `vyre dialects show %s`", op->id),
                                   "the results of `%s` do not match: it returns %u value%s, %s%s", op->id,
                                   op->output_count, op->output_count == 1 ? "" : "s",
                                   i < op->output_count ? "this one of type " : "",
                                   i < op->output_count ? vyre_type_name(op->outputs[i].type) : "none here"));
    }
    return VYRE_OK;
}

/* Sets the bits of an attribute: the value in the call, or its default. */
static vyre_status attribute_bits(linker *l, const link_unit *p, uint32_t stmt, const vyre_op_definition *op,
                                  const vyre_attribute *attribute, const vy_attribute *given, size_t count,
                                  uint64_t *bits) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(attribute->name) != given[i].name_length ||
            memcmp(attribute->name, given[i].name, given[i].name_length) != 0)
            continue;
        int is_of_type = vy_attribute_bits(given[i].value, attribute->type, bits);
        if (is_of_type && vy_attribute_allows(attribute, *bits))
            return VYRE_OK;
        if (is_of_type)
            return fail_at(l, p, stmt,
                           vy_fail(l->error, VYRE_INVALID_PROGRAM, VY_FIX("see `vyre dialects show %s`", op->id),
                                   "the attribute `%s` of `%s` may not be `%s`", attribute->name, op->id,
                                   given[i].value));
        return fail_at(l, p, stmt,
                       vy_fail(l->error, VYRE_INVALID_PROGRAM,
                               VY_FIX("use a value of type %s", vyre_type_name(attribute->type)),
                               "the attribute `%s` of `%s` has type %s (`%s` given)", attribute->name, op->id,
                               vyre_type_name(attribute->type), given[i].value));
    }
    *bits = attribute->value;
    if (attribute->has_default)
        return VYRE_OK;
    return fail_at(l, p, stmt,
                   vy_fail(l->error, VYRE_INVALID_PROGRAM, VY_FIX("write `%s<%s = …>(…)`", op->id, attribute->name),
                           "`%s` needs its attribute `%s`", op->id, attribute->name));
}

static vyre_status check_attributes(linker *l, const link_unit *p, uint32_t stmt, const vyre_op_definition *op) {
    vy_attribute given[VY_ATTRIBUTES_LIMIT];
    const char *name = vy_symbol_name(p->from, p->from->stmts.items[stmt].name);
    size_t count = vy_call_attributes(name, given);
    uint64_t bits;
    for (size_t i = 0; i < count && count != SIZE_MAX; i++) {
        uint32_t k = 0;
        while (k < op->attribute_count && (strlen(op->attributes[k].name) != given[i].name_length ||
                                           memcmp(op->attributes[k].name, given[i].name, given[i].name_length) != 0))
            k++;
        if (k == op->attribute_count)
            return fail_at(l, p, stmt,
                           vy_fail(l->error, VYRE_INVALID_PROGRAM, VY_FIX("see `vyre dialects show %s`", op->id),
                                   "`%s` has no attribute `%.*s`", op->id, (int)given[i].name_length, given[i].name));
    }
    for (uint32_t k = 0; k < op->attribute_count; k++) {
        vyre_status status = attribute_bits(l, p, stmt, op, &op->attributes[k], given, count, &bits);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

/* ---- collecting the functions of the result ---- */

/* The functions of the program come first, in their order. */
static uint32_t find_unit(const linker *l, const vyre_program *from, uint32_t function) {
    uint32_t own = l->program->functions.count;
    if (from == l->program)
        return function < l->units.count ? function : VY_NONE;
    for (uint32_t i = own; i < l->units.count; i++)
        if (l->units.items[i].from == from && l->units.items[i].function == function)
            return i;
    return VY_NONE;
}

static vyre_status add_unit(linker *l, const link_unit *new) {
    if (find_unit(l, new->from, new->function) != VY_NONE)
        return VYRE_OK;
    if (l->units.count > VY_LIMIT_FUNCTIONS) /* the entry is one more */
        return vy_fail(l->error, VYRE_LIMIT, VY_FIX("split the program, or call fewer ops"),
                       "the program and the ops it calls have more functions than the limit (%d)", VY_LIMIT_FUNCTIONS);
    link_unit *slot = VY_PUSH(&l->units);
    if (!slot)
        return vy_fail_memory(l->error, "resolving ops");
    *slot = *new;
    return VYRE_OK;
}

/* ---- code for a target ---- */

static const vy_lowered_op *find_lowered(const linker *l, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < l->lowered.count; i++)
        if (l->lowered.items[i].op == op)
            return &l->lowered.items[i];
    return NULL;
}

/* Names the calls of an op after the op and a digest of its body and code. Returns NULL if memory is exhausted, and ""
 * if the name would be too long. */
static const char *name_call(linker *l, const vyre_op_definition *op, const vyre_lowering *lowering) {
    char name[2 * VY_LIMIT_NAME];
    struct {
        vyre_digest body, code;
        uint64_t ulp;
    } of = {.ulp = lowering->ulp};
    vyre_digest all;
    uint64_t number;
    vyre_program_fingerprint(op->body, &of.body);
    vy_digest(lowering->data, lowering->size, &of.code);
    vy_digest(&of, sizeof of, &all);
    memcpy(&number, all.bytes, sizeof number);
    int length = snprintf(name, sizeof name, "%s<code = %" PRIu64 ">", op->id, number);
    return length > VY_LIMIT_NAME ? "" : vy_arena_copy(&l->names, name, (size_t)length);
}

/* Decides whether the calls of an op remain, because its code for the target replaces its body. */
static vyre_status choose_code(linker *l, const vyre_op_definition *op, int *is_lowered) {
    const vyre_lowering *lowering = vy_op_lowering(vy_op_of(op), l->target);
    int is_usable = 0;
    *is_lowered = find_lowered(l, op) != NULL;
    for (uint32_t i = 0; i < op->lowering_count && !l->has_choice; i++)
        l->has_choice = vy_lowering_has_language(vy_lowering_target(&op->lowerings[i]));
    if (!l->policy || *is_lowered || !lowering)
        return VYRE_OK;
    if (lowering->ulp && l->program->numerics == VYRE_NUMERICS_STRICT)
        return VYRE_OK;
    vyre_status status = l->policy->use(l->policy->user, l->guard, op, lowering, &is_usable, l->error);
    if (status != VYRE_OK || !is_usable)
        return status;
    const char *name = name_call(l, op, lowering);
    vy_lowered_op *slot = name && *name ? VY_PUSH(&l->lowered) : NULL;
    if (!name || (*name && !slot))
        return vy_fail_memory(l->error, "resolving ops");
    if (slot)
        *slot = (vy_lowered_op){name, op, lowering};
    *is_lowered = slot != NULL;
    return VYRE_OK;
}

static vyre_status collect_op(linker *l, const link_unit *p, uint32_t stmt) {
    const char *name = vy_symbol_name(p->from, p->from->stmts.items[stmt].name);
    size_t length = vy_call_id_length(name);
    const vyre_op_definition *op = NULL;
    vyre_status status = l->guard.snapshot ? vy_snapshot_find(l->guard.snapshot, name, length, &op, l->error) : VYRE_OK;
    if (status != VYRE_OK)
        return status;
    if (!op)
        return unknown_op(l, p, stmt, name, length);
    if (!op->body)
        return fail_at(l, p, stmt,
                       vy_fail(l->error, VYRE_UNSUPPORTED, "use another op, or add a body to this one",
                               "op `%s` (of %s) has no body, so no program that calls it can run", op->id, op->owner));
    status = check_call(l, p, stmt, op);
    if (status == VYRE_OK)
        status = check_attributes(l, p, stmt, op);
    int is_lowered = 0;
    if (status == VYRE_OK)
        status = choose_code(l, op, &is_lowered);
    if (status != VYRE_OK || is_lowered)
        return status;
    vy_position at = p->op ? p->at : vy_stmt_position(p->from, stmt);
    return add_unit(l, &(link_unit){.from = op->body, .function = find_body(l, op), .op = op, .at = at});
}

static vyre_status collect_calls(linker *l, uint32_t index) {
    const link_unit p = l->units.items[index]; /* a copy, since the list may be reallocated */
    const vy_function *f = &p.from->functions.items[p.function];
    vyre_status status = VYRE_OK;
    for (uint32_t i = f->first_stmt; i < f->end_stmt && status == VYRE_OK; i++) {
        const vy_stmt *s = &p.from->stmts.items[i];
        if (s->kind != VY_STMT_CALL)
            continue;
        status = s->callee == VY_NONE
                     ? collect_op(l, &p, i)
                     : add_unit(l, &(link_unit){.from = p.from, .function = s->callee, .op = p.op, .at = p.at});
    }
    return status;
}

static vyre_status collect(linker *l) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < l->program->functions.count && status == VYRE_OK; i++)
        status = add_unit(l, &(link_unit){.from = l->program, .function = i});
    for (uint32_t i = 0; i < l->units.count && status == VYRE_OK; i++)
        status = collect_calls(l, i);
    return status;
}

/* The entry is the last function of a program, so units after it in the list precede it in the result. */
static uint32_t function_index(const linker *l, uint32_t unit_index) {
    uint32_t own = (uint32_t)vyre_program_function_count(l->program);
    if (unit_index < own || !vy_program_has_entry(l->program))
        return unit_index;
    return unit_index == own ? l->units.count - 1 : unit_index - 1;
}

static int is_body(linker *l, const link_unit *p) {
    return p->op && p->op->body == p->from && find_body(l, p->op) == p->function;
}

static vy_symbol copy_name(linker *l, const vyre_program *from, vy_symbol name) {
    const char *text = vy_symbol_name(from, name);
    return vy_irb_intern(&l->draft, text, strlen(text));
}

/* The functions of the program keep their names. A body is named after its op, a function that it calls after the op
 * and itself. A number is appended if the name is in use. */
static void name_unit(linker *l, uint32_t index) {
    link_unit *p = &l->units.items[index];
    vy_symbol own = p->from->functions.items[p->function].name;
    char text[2 * VY_LIMIT_NAME + 16], tried[VY_LIMIT_NAME + 1], suffix[16] = "";
    const char *last = vy_symbol_name(p->from, own);
    last += vy_op_id_last(last, strlen(last));
    if (!p->op) {
        p->name = copy_name(l, p->from, own);
        return;
    }
    snprintf(text, sizeof text, "%s%s%s", p->op->id, is_body(l, p) ? "" : ".", is_body(l, p) ? "" : last);
    for (;;) { /* so far the draft has the names of functions and of the program, and the latter has no dot */
        size_t length = strnlen(text, VY_LIMIT_NAME - strlen(suffix));
        while (text[length - 1] == '.' || text[length - 1] == ':') /* a name must not end in a separator */
            length--;
        snprintf(tried, sizeof tried, "%.*s%s", (int)length, text, suffix);
        if (vy_intern_pool_find(&l->draft.program->names, tried, strlen(tried)) == VY_SYMBOL_INVALID)
            break;
        snprintf(suffix, sizeof suffix, "_%u", ++l->last_number);
    }
    p->name = vy_irb_intern(&l->draft, tried, strlen(tried));
}

/* ---- copying a function ---- */

static void copy_scalar(linker *l, const vyre_program *from, uint32_t variable) {
    const vy_variable *v = &from->variables.items[variable];
    l->map_variable[variable] = vy_irb_scalar_param(&l->draft, copy_name(l, from, v->name), (vyre_type)v->type);
}

static void copy_memory(linker *l, const vyre_program *from, uint32_t memory, int is_array) {
    const vy_memory *m = &from->memories.items[memory];
    vy_symbol name = copy_name(l, from, m->name);
    l->map_memory[memory] = is_array ? vy_irb_clone_array(&l->draft, from, memory, name)
                                     : vy_irb_memory_param(&l->draft, name, (vy_space)m->space, (vyre_type)m->type,
                                                           (vyre_access)m->access, m->size);
}

static void copy_entry_head(linker *l, const vyre_program *from, const vy_function *entry) {
    vy_irb_clone_entry(&l->draft, from);
    for (uint32_t i = 0; i < from->param_count; i++)
        copy_scalar(l, from, entry->first_variable + i);
    for (uint32_t i = 0; i < entry->memory_count; i++)
        copy_memory(l, from, entry->first_memory + i, i >= from->buffer_count);
}

static void copy_function_head(linker *l, const link_unit *p, const vy_function *f) {
    const vyre_program *from = p->from;
    uint32_t memories = 0;
    vy_irb_begin_function(&l->draft, p->name);
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &from->params.items[f->first_param + i];
        memories += param->is_memory;
        if (param->is_memory)
            copy_memory(l, from, param->index, 0);
        else
            copy_scalar(l, from, param->index);
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &from->results.items[f->first_result + i];
        vy_irb_result(&l->draft, copy_name(l, from, result->name), (vyre_type)result->type);
    }
    for (uint32_t i = memories; i < f->memory_count; i++)
        copy_memory(l, from, f->first_memory + i, 1);
}

static uint32_t copy_expr(linker *l, const vyre_program *from, uint32_t root) {
    return vy_irb_clone_expr(&l->draft, from, root, l->map_variable, l->map_memory);
}

static void push_arg(linker *l, vy_arg arg) {
    vy_arg *slot = VY_PUSH(&l->args);
    l->draft.failed |= !slot;
    if (slot)
        *slot = arg;
}

/* Appends the attributes of a call after its arguments, as literals, if the body has parameters for them. They were
 * checked when the op was collected. */
static void push_attributes(linker *l, const link_unit *p, uint32_t stmt, const vyre_op_definition *op) {
    vy_attribute given[VY_ATTRIBUTES_LIMIT];
    size_t count = vy_call_attributes(vy_symbol_name(p->from, p->from->stmts.items[stmt].name), given);
    const vy_function *body = &op->body->functions.items[find_function(op->body, op->function)];
    uint32_t taken = body->param_count == op->input_count ? 0 : op->attribute_count;
    for (uint32_t k = 0; k < taken; k++) {
        uint64_t bits = 0;
        attribute_bits(l, p, stmt, op, &op->attributes[k], given, count, &bits);
        push_arg(l, (vy_arg){0, vy_irb_literal(&l->draft, op->attributes[k].type, bits)});
    }
}

static uint32_t callee_of(linker *l, const link_unit *p, const vy_stmt *s, const vyre_op_definition **op) {
    *op = NULL;
    if (s->callee != VY_NONE)
        return function_index(l, find_unit(l, p->from, s->callee));
    const char *name = vy_symbol_name(p->from, s->name);
    *op = vyre_dialects_find(l->guard, name, vy_call_id_length(name));
    if (find_lowered(l, *op))
        return VY_NONE;
    return function_index(l, find_unit(l, (*op)->body, find_body(l, *op)));
}

static void copy_stmt(linker *l, const link_unit *p, const vyre_program *from, uint32_t index) {
    const vy_stmt *s = &from->stmts.items[index];
    const vyre_op_definition *op = NULL;
    vy_stmt copy = *s;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    l->draft.position = p->op ? p->at : vy_stmt_position(from, index);
    copy.a = copy_expr(l, from, s->a);
    copy.b = copy_expr(l, from, s->b);
    copy.c = copy_expr(l, from, s->c);
    l->args.count = 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = from->args.items[s->args + i];
        arg.index = arg.is_memory ? l->map_memory[arg.index] : copy_expr(l, from, arg.index);
        push_arg(l, arg);
    }
    copy.name = copy_name(l, from, s->name);
    if (s->kind == VY_STMT_CALL) {
        const vy_lowered_op *lowered = NULL;
        copy.callee = callee_of(l, p, s, &op);
        if (op)
            lowered = find_lowered(l, op);
        copy.name = lowered ? vy_irb_intern(&l->draft, lowered->name, strlen(lowered->name)) : 0;
        if (op && !lowered)
            push_attributes(l, p, index, op);
    }
    copy.memory = s->memory == VY_NONE ? VY_NONE : l->map_memory[s->memory];
    copy.variable = s->kind == VY_STMT_ASSIGN ? l->map_variable[s->variable] : VY_NONE;
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = copy_name(l, from, from->variables.items[s->variable + i].name);
        types[i] = (vyre_type)from->variables.items[s->variable + i].type;
    }
    l->draft.position = p->op ? p->at : vy_stmt_position(from, index);
    if (l->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&l->draft, &copy, l->args.items, l->args.count, names, types);
    for (uint32_t i = 0; i < s->result_count && made != VY_NONE; i++)
        l->map_variable[s->variable + i] = l->draft.program->stmts.items[made].variable + i;
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void copy_block(linker *l, const link_unit *p, const vyre_program *from, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !l->draft.failed; i = from->stmts.items[i].end) {
        const vy_stmt *s = &from->stmts.items[i];
        copy_stmt(l, p, from, i);
        if (!vy_stmt_is_structured(s->kind))
            continue;
        copy_block(l, p, from, i + 1, s->middle);
        if (s->middle != s->end) {
            vy_irb_else(&l->draft);
            copy_block(l, p, from, s->middle, s->end);
        }
        vy_irb_end_block(&l->draft);
    }
}

static void copy_unit(linker *l, uint32_t index) {
    const link_unit *p = &l->units.items[index];
    const vyre_program *from = p->from;
    const vy_function *f = &from->functions.items[p->function];
    size_t variables = vy_array_size(from->variables.count + 1u, sizeof *l->map_variable);
    size_t memories = vy_array_size(from->memories.count + 1u, sizeof *l->map_memory);
    vyre_program bare; /* imported expressions have the position of the call, since their own belongs to another file */
    if (p->op) {
        const size_t behind =
            offsetof(vyre_program, name); /* skips the reference count, which other threads may change */
        memcpy((char *)&bare + behind, (const char *)from + behind, sizeof bare - behind);
        bare.expr_positions.count = bare.stmt_positions.count = 0;
        from = &bare;
    }
    l->map_variable = vy_allocate(variables);
    l->map_memory = vy_allocate(memories);
    if (l->map_variable && l->map_memory) {
        l->draft.position = p->op ? p->at : f->position;
        if (vy_is_entry(l->program, f))
            copy_entry_head(l, from, f);
        else
            copy_function_head(l, p, f);
        copy_block(l, p, from, f->first_stmt, f->end_stmt);
        vy_irb_end_function(&l->draft);
    } else {
        l->draft.failed = 1;
    }
    vy_release(l->map_variable, variables);
    vy_release(l->map_memory, memories);
}

/* Adds the errors of the result. Warnings were reported when the program and the bodies were parsed. */
static vyre_status finish(linker *l, vyre_diagnostics *diagnostics, vyre_program **out) {
    vyre_diagnostics *found = diagnostics ? vyre_diagnostics_new() : NULL;
    vyre_status status = vy_irb_finish(&l->draft, l->program->source, found, out, l->error);
    const vyre_diagnostic *finding;
    for (size_t i = 0; found && (finding = vyre_diagnostics_get(found, i)); i++)
        if (finding->severity == VYRE_SEVERITY_ERROR)
            vy_diagnostic_add(diagnostics, l->program->source, finding->code, VYRE_SEVERITY_ERROR,
                              (vy_position){finding->line, finding->column, finding->length}, finding->fix, "%s",
                              finding->message);
    vyre_diagnostics_free(found);
    return status;
}

static vyre_status build(linker *l, vyre_diagnostics *diagnostics, vyre_program **out) {
    const vyre_program *p = l->program;
    vyre_status status = vy_irb_start(&l->draft, vy_symbol_name(p, p->name), l->error);
    if (status != VYRE_OK)
        return status;
    l->draft.program->kind = p->kind;
    l->draft.program->level = p->level;
    l->draft.program->numerics = p->numerics;
    l->draft.keep_positions = p->stmt_positions.count != 0;
    for (uint32_t i = 0; i < l->units.count; i++)
        name_unit(l, i);
    uint32_t entry = vy_program_has_entry(p) ? p->functions.count - 1 : VY_NONE;
    for (uint32_t i = 0; i < l->units.count; i++)
        if (i != entry)
            copy_unit(l, i);
    if (entry != VY_NONE)
        copy_unit(l, entry);
    return finish(l, diagnostics, out);
}

/* Keeps the snapshot, and the program before linking (to link it for a target), alive with the result. */
static vyre_status pin_snapshot(linker *l, vyre_program *made) {
    snapshot_keepalive *pin = vy_allocate_zero(sizeof *pin);
    if (!pin)
        return vy_fail_memory(l->error, "keeping the dialects of a program");
    atomic_init(&pin->base.references, 1);
    pin->base.release = release;
    pin->guard = vyre_dialects_retain(l->guard);
    pin->lowered = l->lowered.items;
    pin->capacity = l->lowered.capacity;
    pin->base.lowered = pin->lowered;
    pin->base.lowered_count = l->lowered.count;
    pin->names = l->names;
    memset(&l->lowered, 0, sizeof l->lowered);
    memset(&l->names, 0, sizeof l->names);
    if (l->has_choice && !l->policy && !l->variant) {
        pin->source = vyre_program_retain((vyre_program *)(uintptr_t)l->program);
        vyre_program_fingerprint(made, &pin->linked);
    }
    made->keepalive = &pin->base;
    return VYRE_OK;
}

/* Which of the bodies and code of an op are linked: all zeros, the bodies for all targets. */
typedef struct choice {
    const vy_lowering_policy *policy; /* the calls of ops that have code for the target remain */
    vyre_target target;
    const char *variant; /* bodies of this variant replace others */
} choice;

/* Links a program. If it has no op with another choice than the one for all targets, *out is NULL. */
static vyre_status link_program(vyre_program *program, vyre_dialects_guard guard, const choice *choice,
                                vyre_diagnostics *diagnostics, vyre_program **out, vyre_error *error) {
    vyre_error own;
    linker l = {.program = program,
                .guard = guard,
                .last_number = 1,
                .policy = choice->policy,
                .target = choice->target,
                .variant = choice->variant,
                .error = error ? error : &own};
    vyre_status status = collect(&l);
    if (status == VYRE_OK && ((!l.policy && !l.variant) || l.lowered.count || l.has_variant))
        status = build(&l, diagnostics, out);
    if (status == VYRE_OK && *out) {
        status = pin_snapshot(&l, *out);
        if (status != VYRE_OK) {
            vyre_program_release(*out);
            *out = NULL;
        }
    }
    vy_irb_discard(&l.draft);
    VY_VECTOR_FREE(&l.units);
    VY_VECTOR_FREE(&l.args);
    VY_VECTOR_FREE(&l.lowered);
    vy_arena_free(&l.names);
    return status;
}

vyre_status vyre_program_resolve(vyre_program *program, vyre_dialects_guard guard, vyre_diagnostics *diagnostics,
                                 vyre_program **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    if (!(program->facts & VY_PROGRAM_HAS_OP_CALL) || vy_program_is_lowered(program)) {
        *out = vyre_program_retain(program);
        return VYRE_OK;
    }
    return link_program(program, guard, &(choice){.target = VYRE_TARGET_COUNT}, diagnostics, out, error);
}

/* Links a program that vyre_program_resolve made again, with another choice; retains any other. */
static vyre_status link_again(vyre_program *program, const choice *choice, vyre_program **out, vyre_error *error) {
    const snapshot_keepalive *pin = (const snapshot_keepalive *)program->keepalive;
    vyre_digest now;
    vyre_status status = VYRE_OK;
    *out = NULL;
    if (pin && pin->source) {
        vyre_program_fingerprint(program, &now);
        if (memcmp(&now, &pin->linked, sizeof now) == 0) /* and not a transformed program */
            status = link_program(pin->source, pin->guard, choice, NULL, out, error);
    }
    if (status == VYRE_OK && !*out)
        *out = vyre_program_retain(program);
    return status;
}

vyre_status vy_program_lower_ops(vyre_program *program, vyre_target target, const vy_lowering_policy *policy,
                                 vyre_program **out, vyre_error *error) {
    return link_again(program, &(choice){.policy = policy, .target = target}, out, error);
}

vyre_status vy_program_link_variant(vyre_program *program, const char *variant, vyre_program **out, vyre_error *error) {
    return link_again(program, &(choice){.target = VYRE_TARGET_COUNT, .variant = variant}, out, error);
}

vyre_status vy_program_resolve_newest(vyre_program *program, vyre_program **out, vyre_error *error) {
    vyre_dialects_guard guard = {NULL, NULL};
    *out = NULL;
    vyre_status status = program->facts & VY_PROGRAM_HAS_OP_CALL ? vyre_dialects_global(&guard, error) : VYRE_OK;
    if (status == VYRE_OK)
        status = vyre_program_resolve(program, guard, NULL, out, error);
    vyre_dialects_release(&guard);
    return status;
}

int vyre_dialects_op_signature(void *guard, const char *id, size_t length, vyre_op_signature *out) {
    const vyre_op_definition *op =
        guard && out ? vyre_dialects_find(*(const vyre_dialects_guard *)guard, id, length) : NULL;
    if (!op || op->input_count > VYRE_OP_INPUTS || op->output_count > VYRE_OP_OUTPUTS)
        return 0;
    out->input_count = op->input_count;
    out->output_count = op->output_count;
    for (uint32_t i = 0; i < op->input_count; i++)
        out->inputs[i] = op->inputs[i].kind == VYRE_OPERAND_VALUE ? op->inputs[i].type : VYRE_TYPE_COUNT;
    for (uint32_t i = 0; i < op->output_count; i++)
        out->outputs[i] = op->outputs[i].type;
    return 1;
}

/* ---- vyre_text_parse: the parser of ir/text with the signatures of registered ops ---- */

/* The newest snapshot, acquired at the first call of an op; most texts have none. */
typedef struct newest {
    vyre_dialects_guard guard;
    vyre_status status; /* of acquiring it */
    vyre_error error;
} newest;

static int lookup_signature(void *user, const char *id, size_t length, vyre_op_signature *out) {
    newest *n = user;
    const vyre_op_definition *op;
    if (!n->guard.snapshot && n->status == VYRE_OK)
        n->status = vyre_dialects_global(&n->guard, &n->error);
    if (n->status == VYRE_OK)
        n->status = vy_snapshot_find(n->guard.snapshot, id, length, &op, &n->error);
    return n->status == VYRE_OK && vyre_dialects_op_signature(&n->guard, id, length, out);
}

/* With signatures of the caller, the newest snapshot only provides candidates; the parser passes them to the caller. */
static const char *list_op(void *user, size_t index) {
    newest *n = user;
    if (!n->guard.snapshot)
        n->guard = vy_dialects_peek();
    const vyre_op_definition *op = vyre_dialects_at(n->guard, index);
    return op ? op->id : NULL;
}

vyre_status vyre_text_parse(const char *text, size_t size, const vyre_parse_options *options,
                            vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE_ARRAY(error, text, size);
    if (options)
        VY_REQUIRE_ARRAY(error, options->defines, options->define_count);
    newest n = {.status = VYRE_OK};
    vyre_parse_options own = {0};
    if (options)
        own = *options;
    if (!own.op_signature)
        own.op_signature = lookup_signature, own.op_signature_user = &n;
    vyre_status status = vy_text_parse_with_ops(text, size, &own, list_op, &n, diagnostics, out, error);
    vyre_dialects_release(&n.guard);
    if (n.status == VYRE_OK)
        return status;
    vyre_module_free(*out);
    *out = NULL;
    if (error)
        *error = n.error;
    return n.status;
}
