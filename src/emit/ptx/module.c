/* The PTX module (ptx.h): declarations, the entry, and the requirements on the target. Invariant: the text depends
 * on the program and the options only. */
#include "emit/ptx/ptx.h"

#include "analysis/uniformity.h"
#include "base/status.h"
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stdio.h>

/* More bytes of kernel params require PTX 8.1 and sm_70. */
enum { PARAM_BYTES = 4096 };
/* The most threads of a block in z. */
enum { LONGEST_Z = 64 };
/* The minimum of every kernel: shfl.sync requires PTX 6.0, atomics on f64 require sm_60. */
enum { VERSION = 60, ARCHITECTURE = 60 };
/* Estimates of the text per node, and of the text before the code. */
enum { STATEMENT_BYTES = 32, EXPRESSION_BYTES = 16, HEAD_BYTES = 1024 };

/* ---- required versions ---- */

void vy_ptx_need(vy_ptx *e, uint32_t version, uint32_t architecture) {
    e->version = version > e->version ? version : e->version;
    e->architecture = architecture > e->architecture ? architecture : e->architecture;
}

void vy_ptx_refuse(vy_ptx *e, const char *what) {
    if (e->status == VYRE_OK)
        e->status = vy_fail(e->error, VYRE_UNSUPPORTED, "legalise the program for this target first",
                            "PTX for `%s` cannot be written: it has %s, which only exists before legalisation",
                            vyre_program_name(e->program), what);
}

/* ---- declarations ---- */

static const vy_memory *memory_at(const vy_ptx *e, uint32_t index) {
    return vy_memory_at(e->program, e->body->first_memory + index);
}

static const vy_variable *param_at(const vy_ptx *e, uint32_t index) {
    return vy_variable_at(e->program, e->body->first_variable + index);
}

/* Computes the offset of each array in its space. */
static void lay_out_arrays(vy_ptx *e) {
    for (uint32_t i = e->program->buffer_count; i < e->body->memory_count; i++) {
        const vy_memory *m = memory_at(e, i);
        if (m->space == VY_SPACE_CONSTANT)
            continue;
        uint32_t *bytes = m->space == VY_SPACE_WORKGROUP ? &e->shared_bytes : &e->local_bytes;
        e->array_offsets[i] = *bytes;
        *bytes += (m->elements * (vyre_type_bits((vyre_type)m->type) / 8) + 15) / 16 * 16;
    }
}

/* ---- constant arrays ----
 *
 * The constant bank serves a warp in one step if all its threads read one address, and once per address otherwise.
 * Global memory, through the read-only path of the L1 cache, serves a warp by cache lines. So tables whose indices are
 * all uniform over the workgroup are in the bank, while there is room, and the others are in global memory. */

enum { BANK_BYTES = (1 << 16) - 8 * VY_PTX_NUMBERS };

static int has_tables(const vy_ptx *e) {
    for (uint32_t i = e->program->buffer_count; i < e->body->memory_count; i++)
        if (memory_at(e, i)->space == VY_SPACE_CONSTANT)
            return 1;
    return 0;
}

/* Arrays with equal contents share an offset. */
static vyre_status lay_out_tables(vy_ptx *e) {
    const vyre_program *p = e->program;
    if (!has_tables(e))
        return VYRE_OK;
    uint8_t *is_divergent = vy_arena_allocate(e->arena, p->tables.count);
    uint32_t *first = vy_arena_allocate(e->arena, vy_array_size(p->tables.count, sizeof *first)); /* array, plus 1 */
    if (!is_divergent || !first)
        return VYRE_NO_MEMORY;
    vyre_status status = vy_divergent_tables(p, is_divergent, e->error);
    for (uint32_t i = p->buffer_count; i < e->body->memory_count && status == VYRE_OK; i++) {
        const vy_memory *m = memory_at(e, i);
        if (m->space != VY_SPACE_CONSTANT)
            continue;
        if (first[m->table]) {
            e->array_offsets[i] = e->array_offsets[first[m->table] - 1];
            e->in_bank[i] = e->in_bank[first[m->table] - 1];
            continue;
        }
        uint32_t size = (p->tables.items[m->table].size + 15) / 16 * 16;
        first[m->table] = i + 1;
        e->in_bank[i] = !is_divergent[m->table] && e->table_bytes[1] + size <= BANK_BYTES;
        e->array_offsets[i] = e->table_bytes[e->in_bank[i]];
        e->table_bytes[e->in_bank[i]] += size;
    }
    return status;
}

/* The tables in the bank or in global memory as words, in the order of the arrays; the last ones may be padding. */
static void write_tables(const vy_ptx *e, vy_string *out, int in_bank) {
    const vyre_program *p = e->program;
    uint32_t written = 0;
    if (!e->table_bytes[in_bank])
        return;
    vy_string_format(out, "\t%s .align 16 .b32 %s[%" PRIu32 "] = {", in_bank ? ".const" : ".global",
                     in_bank ? "uniform_tables" : "tables", e->table_bytes[in_bank] / 4);
    for (uint32_t i = p->buffer_count; i < e->body->memory_count; i++) {
        const vy_memory *m = memory_at(e, i);
        if (m->space != VY_SPACE_CONSTANT || e->in_bank[i] != in_bank || e->array_offsets[i] != written)
            continue; /* it shares the offset of an earlier one */
        uint32_t size = p->tables.items[m->table].size, end = (size + 15) / 16 * 16;
        const uint8_t *bytes = vy_constant_bytes(p, m);
        for (uint32_t at = 0; at < end; at += 4) {
            uint32_t word = 0;
            for (uint32_t k = 0; k < 4 && at + k < size; k++)
                word |= (uint32_t)bytes[at + k] << 8 * k;
            vy_string_format(out, "%s%s0x%" PRIx32, written || at ? "," : "", at % 64 ? " " : "\n\t\t", word);
        }
        written += end;
    }
    vy_string_add(out, "\n\t};\n");
}

static void write_numbers(const vy_ptx *e, vy_string *out) {
    for (uint32_t i = 0; i < e->number_count; i++) {
        if (i == 0)
            vy_string_format(out, "\t.const .align 8 .b64 numbers[%" PRIu32 "] = {", e->number_count);
        vy_string_format(out, "%s%s0x%016" PRIx64, i ? "," : "", i % 8 ? " " : "\n\t\t", e->numbers[i]);
    }
    if (e->number_count)
        vy_string_add(out, "\n\t};\n");
}

static uint32_t tile_param_count(const vy_ptx *e) {
    return 2 * (uint32_t)__builtin_popcount(e->tiled_axes);
}

static uint32_t param_bytes(const vy_ptx *e) {
    uint32_t bytes = 8 + 12 * e->program->buffer_count + 4 * tile_param_count(e) + (e->is_indirect ? 12 : 0);
    for (uint32_t i = 0; i < e->program->param_count; i++) /* an upper bound: each at a multiple of 8 */
        bytes += 8;
    return bytes;
}

static void write_params(vy_ptx *e, vy_string *out) {
    if (e->batched) {
        vy_string_format(out, "\t.param .u64 .ptr .global .align 16 rows // of %" PRIu32 " bytes\n",
                         vy_ptx_batch_item_bytes(e));
        return;
    }
    for (uint32_t i = 0; i < e->program->buffer_count; i++) {
        const vy_memory *m = memory_at(e, i);
        unsigned bytes = vyre_type_bits((vyre_type)m->type) / 8;
        vy_string_format(out, "\t.param .u64 .ptr .global .align %u buffer_%" PRIu32 ", // %s : %s\n", bytes, i,
                         vy_symbol_name(e->program, m->name), vyre_type_name((vyre_type)m->type));
    }
    for (uint32_t i = 0; i < e->program->buffer_count; i++)
        vy_string_format(out, "\t.param .u32 count_%" PRIu32 ",\n", i);
    for (uint32_t i = 0; i < e->program->param_count; i++) {
        const vy_variable *v = param_at(e, i);
        vy_string_format(out, "\t.param .%s param_%" PRIu32 ", // %s : %s\n",
                         vyre_type_bits((vyre_type)v->type) == 64 ? "u64" : "u32", i,
                         vy_symbol_name(e->program, v->name), vyre_type_name((vyre_type)v->type));
    }
    for (unsigned axis = 0; axis < 3; axis++)
        if (e->tiled_axes >> axis & 1)
            vy_string_format(out, "\t.param .u32 first_%c,\n\t.param .u32 groups_%c,\n", "xyz"[axis], "xyz"[axis]);
    vy_string_format(out, "\t.param .u64 .ptr .global .align 8 control%s\n", e->is_indirect ? "," : "");
    if (e->is_indirect)
        vy_string_add(out, "\t.param .u64 .ptr .global .align 4 grid,\n\t.param .u32 ticket\n");
}

static void write_registers(vy_ptx *e, vy_string *out) {
    static const char *const types[VY_PTX_CLASS_COUNT] = {"pred", "b16", "b32", "b64"};
    for (int i = 0; i < VY_PTX_CLASS_COUNT; i++)
        if (vy_ptx_register_count(&e->registers[i]))
            vy_string_format(out, "\t.reg .%s %s<%" PRIu32 ">;\n", types[i], e->registers[i].start,
                             vy_ptx_register_count(&e->registers[i]));
}

/* The letters, digits and _ of a name; PTX accepts no other characters. */
static void write_name(char *out, size_t size, const char *name) {
    size_t length = (size_t)snprintf(out, size, "vyre_%s", name);
    for (size_t i = 0; i < length && i + 1 < size; i++) {
        char c = out[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
            out[i] = '_';
    }
}

static void write_file(const vy_ptx *e, vy_string *out) {
    vy_string_add(out, ".file 1 \"");
    for (const char *c = vy_source_name(e->program->source); *c; c++)
        vy_string_char(out, *c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '_' : *c);
    vy_string_add(out, "\"\n");
}

/* ---- the module ---- */

/* The text before the code, which declares the registers used by it. */
static void write_head(vy_ptx *e, const vy_ptx_code *code, vy_string *out) {
    vy_string_format(out, ".version %" PRIu32 ".%" PRIu32 "\n.target sm_%" PRIu32 "\n.address_size 64\n",
                     code->version / 10, code->version % 10, code->architecture);
    if (e->has_positions)
        write_file(e, out);
    if (code->dynamic_bytes)
        vy_string_add(out, ".extern .shared .align 16 .b8 workgroup_arrays[];\n");
    vy_string_format(out, "\n.visible .entry %s(\n", code->entry);
    write_params(e, out);
    vy_string_format(out, ")\n.reqntid %" PRIu32 ", %" PRIu32 ", %" PRIu32 "\n{\n", code->block[0], code->block[1],
                     code->block[2]);
    write_registers(e, out);
    if (code->static_bytes)
        vy_string_format(out, "\t.shared .align 16 .b8 workgroup_arrays[%" PRIu32 "];\n", code->static_bytes);
    if (code->local_bytes)
        vy_string_format(out, "\t.local .align 16 .b8 private_arrays[%" PRIu32 "];\n", code->local_bytes);
    write_tables(e, out, 0); /* private to this kernel */
    write_tables(e, out, 1);
    write_numbers(e, out);
    vy_string_append(out, e->before.text, e->before.length);
    vy_string_append(out, e->start.text, e->start.length);
}

/* Moves the code, which is most of the text, once, because the length of the head is unknown before. */
static vyre_status write_module(vy_ptx *e, vy_ptx_code *code) {
    vy_string head = {0}, *text = &e->code;
    char *at = vy_string_reserve(&head, e->reserved + HEAD_BYTES + e->before.length + e->start.length);
    if (at)
        vy_string_commit(&head, (char *)memset(at, 0, e->reserved) + e->reserved);
    write_head(e, code, &head);
    vy_string_prepend(text, head.text, head.length);
    vy_string_append(text, e->behind.text, e->behind.length);
    vy_string_add(text, "\tret;\n}\n");
    text->failed |= head.failed | e->before.failed | e->start.failed | e->behind.failed;
    vy_string_free(&head);
    return vy_string_to_bytes(text, &code->text, e->error);
}

static void describe(const vy_ptx *e, vy_ptx_code *code) {
    const uint32_t *size = e->program->workgroup;
    uint32_t all = vy_workgroup_invocations(e->program);
    write_name(code->entry, sizeof code->entry, vyre_program_name(e->program));
    code->version = e->version;
    code->architecture = e->architecture;
    for (int i = 0; i < 3; i++)
        code->block[i] = !e->is_flat ? size[i] : i ? 1 : all;
    code->param_count =
        e->batched ? 1 : 2 * e->program->buffer_count + e->program->param_count + tile_param_count(e) + 1;
    code->param_count += e->is_indirect ? 2 : 0;
    code->tiled_axes = (uint8_t)e->tiled_axes;
    code->row_bytes = e->batched ? vy_ptx_batch_item_bytes(e) : 0;
    code->local_bytes = e->local_bytes;
    code->needs_cooperative = (uint8_t)e->has_grid_barriers;
    code->indirect = (uint8_t)e->is_indirect;
    code->dependent_launch = (uint8_t)e->dependent_launch;
    if (e->shared_bytes <= VY_PTX_STATIC_BYTES)
        code->static_bytes = e->shared_bytes;
    else
        code->dynamic_bytes = e->shared_bytes;
}

/* Keeps only the tiled axes on which a value or the number of a trap depends. */
static void keep_used_axes(vy_ptx *e) {
    static const uint8_t depends[VYRE_BUILTIN_COUNT] = {[VYRE_BUILTIN_GLOBAL_ID] = 1,
                                                        [VYRE_BUILTIN_GROUP_ID] = 1,
                                                        [VYRE_BUILTIN_GROUP_COUNT] = 1,
                                                        [VYRE_BUILTIN_GLOBAL_SIZE] = 1};
    unsigned used = e->has_reports ? 7 : 0;
    for (uint32_t i = 0; i < e->program->exprs.count && e->tiled_axes & ~used; i++)
        if (e->exprs[i].kind == VY_EXPR_BUILTIN && depends[e->exprs[i].op])
            used |= 1u << e->exprs[i].axis;
    e->tiled_axes &= e->is_indirect || e->has_grid_barriers ? 0 : used;
}

static void scan_program(vy_ptx *e) {
    static const uint8_t looked_at[VY_STMT_KIND_COUNT] = {
        [VY_STMT_RECORD_TRAP] = 1, [VY_STMT_POLL] = 1, [VY_STMT_BARRIER] = 1, [VY_STMT_COLLECTIVE] = 1};
    for (uint32_t i = 0; i < e->program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(e->program, i);
        if (!looked_at[s->kind])
            continue;
        e->has_reports |= s->kind == VY_STMT_RECORD_TRAP;
        e->has_polls |= s->kind == VY_STMT_POLL;
        e->has_grid_barriers |= s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE;
        e->has_sync |= s->kind == VY_STMT_BARRIER || s->kind == VY_STMT_COLLECTIVE;
    }
    vy_ptx_scan_errata(e);
    keep_used_axes(e);
}

/* ---- the body, once or twice ----
 *
 * If buffers are not proven to start at multiples of 16, every wide access has its own test. ptxas converts such tests
 * to predicates: then the accesses one by one, which are never executed, wait for the wide one, whose registers they
 * would write. So the buffers are tested once, before a body with wide accesses; a second body has none. */

enum { MOST_TWICE = 512 }; /* statements; beyond that compiling costs more than waiting */

/* Not 0 if a buffer with wide accesses does not start at a multiple of 16; a literal if no buffer is tested. Records
 * the statements that test one. */
static vy_ptx_value misalignments(vy_ptx *e) {
    vy_ptx_value all = vy_ptx_literal(VYRE_TYPE_U32, 0);
    uint32_t first = e->body->first_stmt, end = e->body->end_stmt;
    e->asks = vy_arena_allocate(e->arena, end - first);
    if (!e->asks)
        e->status = VYRE_NO_MEMORY;
    for (uint32_t i = first; i < end && e->asks; i++) {
        int may_ask = vy_stmt_at(e->program, i)->kind == VY_STMT_IF;
        uint32_t buffer = may_ask ? vy_ptx_alignment_test_buffer(e, i) : VY_NONE;
        e->asks[i - first] = buffer != VY_NONE;
        if (buffer == VY_NONE || e->misalignment[buffer].is_cached)
            continue;
        vy_ptx_value one = vy_ptx_misalignment(e, buffer);
        if (all.is_literal) {
            all = one;
            continue;
        }
        vy_ptx_value both = vy_ptx_new(e, VYRE_TYPE_U32);
        vy_ptx_write(e, "or.b32 %s, %s, %s", vy_ptx_name(e, both), vy_ptx_name(e, all), vy_ptx_name(e, one));
        all = both;
    }
    return all;
}

static void write_statements(vy_ptx *e) {
    vy_ptx_statements(e, e->body->first_stmt, e->body->end_stmt);
}

static void write_bodies(vy_ptx *e) {
    vy_ptx_value all =
        e->body->end_stmt - e->body->first_stmt <= MOST_TWICE ? misalignments(e) : vy_ptx_literal(VYRE_TYPE_U32, 0);
    if (!all.is_literal) {
        vy_ptx_value is_not = vy_ptx_new(e, VYRE_TYPE_BOOL);
        uint32_t otherwise = vy_ptx_label(e);
        vy_ptx_write(e, "setp.ne.u32 %s, %s, 0", vy_ptx_name(e, is_not), vy_ptx_name(e, all));
        vy_ptx_jump_if(e, is_not, 1, otherwise);
        e->alignment = VY_PTX_ALIGNED;
        write_statements(e);
        e->alignment = VY_PTX_NOT_ALIGNED;
        vy_ptx_leave(e);
        vy_ptx_bind_label(e, otherwise);
    }
    write_statements(e);
}

/* The first instruction: no data that another launch writes is read before, and no thread ends without it. */
static void wait_for_others(vy_ptx *e) {
    e->dependent_launch = 1;
    vy_ptx_need(e, 78, VY_PTX_DEPENDENT_LAUNCH);
    vy_ptx_set_output(e, &e->before);
    vy_ptx_write(e, "griddepcontrol.wait");
}

static void write_body(vy_ptx *e, const vy_ptx_options *options) {
    scan_program(e);
    if (options && options->dependent_launch && options->architecture >= VY_PTX_DEPENDENT_LAUNCH && !e->batched &&
        !e->is_indirect && !e->has_grid_barriers)
        wait_for_others(e);
    if (e->is_indirect) /* the count of polls and their result are shared by all workgroups */
        vy_ptx_set_output(e, &e->before);
    if (e->has_polls) {
        e->polls = vy_ptx_in_register(e, vy_ptx_literal(VYRE_TYPE_U32, 0));
        e->stopping = vy_ptx_in_register(e, vy_ptx_literal(VYRE_TYPE_BOOL, 0));
    }
    vy_ptx_set_output(e, &e->code);
    if (e->is_indirect)
        vy_ptx_indirect_begin(e);
    write_bodies(e);
    if (e->is_indirect)
        vy_ptx_indirect_end(e);
    vy_ptx_flush(e);
}

static vyre_status prepare(vy_ptx *e) {
    vy_arena *arena = e->arena;
    const vyre_program *p = e->program;
    size_t buffers = vy_array_size(p->buffer_count + 1, sizeof(vy_ptx_cached));
    e->address = vy_arena_allocate(arena, buffers);
    e->count = vy_arena_allocate(arena, buffers);
    e->misalignment = vy_arena_allocate(arena, buffers);
    e->params = vy_arena_allocate(arena, vy_array_size(p->param_count + 1, sizeof *e->params));
    e->variables = vy_arena_allocate(arena, vy_array_size(p->variables.count + 1, sizeof *e->variables));
    e->noted = vy_arena_allocate(arena, vy_array_size(p->variables.count + 1, sizeof *e->noted));
    e->array_offsets = vy_arena_allocate(arena, vy_array_size(e->body->memory_count + 1, sizeof *e->array_offsets));
    e->in_bank = vy_arena_allocate(arena, e->body->memory_count + 1);
    if (!e->address || !e->count || !e->misalignment || !e->params || !e->variables || !e->noted || !e->array_offsets ||
        !e->in_bank)
        return VYRE_NO_MEMORY;
    vy_string_reserve(&e->code, (size_t)p->stmts.count * STATEMENT_BYTES + (size_t)p->exprs.count * EXPRESSION_BYTES +
                                    HEAD_BYTES + e->reserved);
    vy_ptx_set_output(e, &e->code);
    for (int i = 0; i < VY_PTX_CLASS_COUNT; i++)
        vy_ptx_next_ten(&e->registers[i]);
    for (uint32_t i = 0; i < p->param_count; i++)
        e->variables[e->body->first_variable + i].is_variable = 1;
    lay_out_arrays(e);
    if (!e->batched && param_bytes(e) > PARAM_BYTES)
        vy_ptx_need(e, 81, 70);
    return lay_out_tables(e);
}

static vyre_status check_architecture(const vy_ptx *e, const vy_ptx_options *options) {
    if (!options || !options->architecture || e->architecture <= options->architecture)
        return VYRE_OK;
    return vy_fail(e->error, VYRE_UNSUPPORTED, "legalise the program for that architecture, or choose another device",
                   "`%s` needs more than the device has (sm_%" PRIu32 ", sm_%" PRIu32 ")",
                   vyre_program_name(e->program), e->architecture, options->architecture);
}

vyre_status vy_ptx_emit(const vyre_program *program, const vy_ptx_options *options, vy_ptx_code *out,
                        vyre_error *error) {
    vy_arena arena = {0};
    memset(out, 0, sizeof *out);
    if (!vy_program_has_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "pass a program with an entry, for example one that calls the functions",
                       "`%s` is a library: there is nothing to launch", vyre_program_name(program));
    vy_ptx e = {.program = program,
                .uses = {.program = program, .arena = &arena},
                .exprs = program->exprs.items,
                .body = vy_program_entry(program),
                .arena = &arena,
                .target = options && options->target ? *options->target : vy_ptx_target(0, 0),
                .version = VERSION,
                .architecture = ARCHITECTURE,
                .is_flat = program->workgroup[2] > LONGEST_Z,
                .batched = options && options->batched,
                .reserved = options ? options->reserved : 0,
                .is_indirect = options && options->indirect,
                .tiled_axes = options ? options->tiled_axes : 0,
                .has_positions = program->stmt_positions.count && *vy_source_name(program->source),
                .registers = {{.start = "%p"}, {.start = "%h"}, {.start = "%r"}, {.start = "%d"}},
                .guard = vy_ptx_literal(VYRE_TYPE_BOOL, 1),
                .ahead = VY_NONE,
                .shifted = VY_NONE,
                .error = error};
    e.status = prepare(&e);
    if (e.batched && e.is_indirect)
        vy_ptx_refuse(&e, "a batched entry with an indirect grid");
    if (e.status == VYRE_OK)
        write_body(&e, options);
    if (e.status == VYRE_OK)
        e.status = check_architecture(&e, options);
    if (e.status == VYRE_OK) {
        describe(&e, out);
        e.status = write_module(&e, out);
    }
    if (e.status == VYRE_NO_MEMORY)
        vy_fail_memory(error, "PTX");
    VY_VECTOR_FREE(&e.loops);
    VY_VECTOR_FREE(&e.parts);
    vy_string *const parts[] = {&e.before, &e.start, &e.code, &e.behind};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        vy_string_free(parts[i]);
    vy_arena_free(&arena);
    return e.status;
}

void vy_ptx_free(vy_ptx_code *code) {
    vyre_bytes_free(&code->text);
}
