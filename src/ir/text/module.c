/* Module parser: runs the lexer, the parser and the lowering on a file, and builds its library and programs. */
#include "base/status.h"
#include "ir/text/lower.h"
#include "vyre/text.h"

struct vyre_module {
    vyre_program *library;
    VY_VECTOR(vyre_program *) programs;
};

void vyre_module_free(vyre_module *module) {
    if (!module)
        return;
    for (uint32_t i = 0; i < module->programs.count; i++)
        vyre_program_release(module->programs.items[i]);
    vyre_program_release(module->library);
    VY_VECTOR_FREE(&module->programs);
    vy_release(module, sizeof *module);
}

size_t vyre_module_program_count(const vyre_module *module) {
    return module ? module->programs.count : 0;
}

vyre_program *vyre_module_program(const vyre_module *module, size_t index) {
    return index < vyre_module_program_count(module) ? module->programs.items[index] : NULL;
}

vyre_program *vyre_module_find(const vyre_module *module, const char *name) {
    for (uint32_t i = 0; name && i < vyre_module_program_count(module); i++)
        if (strcmp(vyre_program_name(module->programs.items[i]), name) == 0)
            return module->programs.items[i];
    return NULL;
}

vyre_program *vyre_module_library(const vyre_module *module) {
    return module ? module->library : NULL;
}

/* ---- the names of the file ---- */

static void report_duplicate(vy_lowering *l, uint32_t name, vy_position at, const char *kind, uint32_t line) {
    vy_lower_error(l, VY_T024, at, VY_FIX("rename `%s`", vy_lower_text(l, name)),
                   "duplicate %s `%s` (first declared in line %u)", kind, vy_lower_text(l, name), line);
}

static void collect_function(vy_lowering *l, vy_ast_function *func, uint32_t ordinal) {
    vy_global *global = vy_lower_make_global(l, func->name);
    func->ordinal = ordinal;
    if (!global)
        return;
    vy_ast_function **slot = func->is_program ? &global->program : &global->function;
    if (*slot) {
        func->is_bad = 1;
        report_duplicate(l, func->name, func->at, func->is_program ? "program" : "function", (*slot)->at.line);
        return;
    }
    *slot = func;
    if (func->result_count > VY_LIMIT_RESULTS)
        vy_lower_error(l, VY_V038, func->at, NULL, "too many results in function `%s` (%u, limit %d)",
                       vy_lower_text(l, func->name), func->result_count, VY_LIMIT_RESULTS);
    func->is_bad |= func->result_count > VY_LIMIT_RESULTS;
}

static void collect(vy_lowering *l) {
    uint32_t ordinal = 0;
    for (vy_ast_const *constant = l->parser->file.consts; constant; constant = constant->next) {
        vy_global *global = vy_lower_make_global(l, constant->name);
        if (!global)
            return;
        if (global->constant)
            report_duplicate(l, constant->name, constant->at, "const", global->constant->at.line);
        else
            global->constant = constant;
    }
    for (vy_ast_function *func = l->parser->file.functions; func; func = func->next)
        collect_function(l, func, ordinal++);
    for (vy_ast_function *func = l->parser->file.programs; func; func = func->next)
        collect_function(l, func, ordinal++);
}

/* ---- parsing ---- */

/* The level of the library: the highest level of the file and its programs. */
static vyre_level library_level(const vy_ast_file *file) {
    int level = file->level;
    for (const vy_ast_function *func = file->programs; func; func = func->next)
        level = func->level > level ? func->level : level;
    return (vyre_level)level;
}

/* Each program has a copy of the functions it reaches, so a short text with many programs could expand to many long
 * ones. The limits of one program therefore apply to the sum of all programs. */
static int check_sum(vy_lowering *l, const vy_ast_function *func, uint64_t stmts, uint64_t exprs, uint64_t tables) {
    if (tables > VY_LIMIT_TEXT_TABLE_BYTES) {
        vy_lower_error(
            l, VY_T016, func->at, "split the file",
            "the programs up to `%s`, including the functions they call, have constant arrays of too many bytes "
            "(%llu, limit %d)",
            vy_lower_text(l, func->name), (unsigned long long)tables, VY_LIMIT_TEXT_TABLE_BYTES);
        return 0;
    }
    if (stmts <= VY_LIMIT_STATEMENTS && exprs <= VY_LIMIT_EXPRESSIONS)
        return 1;
    vy_lower_error(
        l, VY_T016, func->at, "split the file",
        "the programs up to `%s`, including the functions they call, have too many statements (%llu, limit %d) or "
        "expression nodes (%llu, limit %d)",
        vy_lower_text(l, func->name), (unsigned long long)stmts, VY_LIMIT_STATEMENTS, (unsigned long long)exprs,
        VY_LIMIT_EXPRESSIONS);
    return 0;
}

static void make_programs(vy_lowering *l, vyre_module *module, size_t known, vy_source *source) {
    uint64_t stmts = 0, exprs = 0, tables = 0;
    vy_lower_library(l, library_level(&l->parser->file), known, source, &module->library);
    for (vy_ast_function *func = l->parser->file.programs; func && !l->report->out_of_memory; func = func->next) {
        vyre_program *program = NULL;
        vy_lower_program(l, func, known, source, &program);
        stmts += program ? program->stmts.count : 0;
        exprs += program ? program->exprs.count : 0;
        tables += program ? program->table_bytes.count : 0;
        if (!check_sum(l, func, stmts, exprs, tables)) {
            vyre_program_release(program);
            return;
        }
        vyre_program **slot = program ? VY_PUSH(&module->programs) : NULL;
        if (slot)
            *slot = program;
        else if (program) {
            vyre_program_release(program);
            l->report->out_of_memory = 1;
        }
    }
}

typedef struct parse_mode {
    int skip_verify;
    vy_op_list_fn *op_list;
    void *op_list_user;
} parse_mode;

static void parse_source(vy_source *source, const vyre_parse_options *options, const parse_mode *mode,
                         vy_diag_sink *report, vyre_module *module) {
    size_t size, known = report->list ? vyre_diagnostics_count(report->list) : 0;
    const char *text = vy_source_text(source, &size);
    size_t valid = vy_utf8_valid(text, size);
    if (valid < size) {
        vy_diag_sink_error(report, VY_T001, vy_source_position(source, valid, 1), NULL,
                           "invalid UTF-8 (byte 0x%02x at offset %zu)", (unsigned char)text[valid], valid);
        return;
    }
    if (!vy_lexer_check_lines(text, (uint32_t)size, report))
        return;
    vy_arena arena = {0};
    vy_parser parser;
    vy_lowering l;
    vy_parser_run(&parser, text, (uint32_t)size, &arena, report);
    memset(&l, 0, sizeof l);
    if (!parser.is_over_limit && vy_lower_start(&l, &parser)) {
        l.skip_verify = mode->skip_verify;
        l.op_list = mode->op_list;
        l.op_list_user = mode->op_list_user;
        l.op_signature = options ? options->op_signature : NULL;
        l.op_signature_user = options ? options->op_signature_user : NULL;
        collect(&l);
        if (!report->out_of_memory)
            vy_lower_consts(&l, options ? options->defines : NULL, options ? options->define_count : 0);
        if (!report->out_of_memory)
            make_programs(&l, module, known, source);
    }
    vy_lower_free(&l);
    vy_parser_free(&parser);
    vy_arena_free(&arena);
}

static vyre_status parse(const char *text, size_t size, const vyre_parse_options *options, const parse_mode *mode,
                         vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error) {
    *out = NULL;
    if (size > VY_LIMIT_SOURCE_BYTES)
        return vy_fail(error, VYRE_LIMIT, "split the file", "text too large (%zu bytes, limit %d)", size,
                       VY_LIMIT_SOURCE_BYTES);
    vy_source *source = vy_source_new(options && options->file ? options->file : "<text>", size ? text : "", size);
    vyre_module *module = vy_allocate_zero(sizeof *module);
    vyre_status status;
    if (!source || !module) {
        status = vy_fail_memory(error, "reading the text");
    } else {
        /* The list detects duplicate findings, so a caller without one gets the same error. */
        vyre_diagnostics *own = diagnostics ? NULL : vyre_diagnostics_new();
        vy_diag_sink report = {.source = source, .list = diagnostics ? diagnostics : own};
        parse_source(source, options, mode, &report, module);
        status = vy_diag_sink_status(&report, error);
        vyre_diagnostics_free(own);
    }
    vy_source_release(source);
    if (status == VYRE_OK)
        *out = module;
    else
        vyre_module_free(module);
    return status;
}

vyre_status vy_text_parse_without_dialects(const char *text, size_t size, const vyre_parse_options *options,
                                           vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error) {
    return parse(text, size, options, &(parse_mode){0}, diagnostics, out, error);
}

vyre_status vy_text_parse_with_ops(const char *text, size_t size, const vyre_parse_options *options,
                                   vy_op_list_fn *op_list, void *op_list_user, vyre_diagnostics *diagnostics,
                                   vyre_module **out, vyre_error *error) {
    return parse(text, size, options, &(parse_mode){.op_list = op_list, .op_list_user = op_list_user}, diagnostics, out,
                 error);
}

vyre_status vy_text_parse_unverified(const char *text, size_t size, const char *file, vyre_module **out,
                                     vyre_error *error) {
    return parse(text, size, &(vyre_parse_options){.file = file}, &(parse_mode){.skip_verify = 1}, NULL, out, error);
}
