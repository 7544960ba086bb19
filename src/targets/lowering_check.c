/* Checks of the code that dialects have for c and ptx, with the tools of the host (lowering_check.h). */
#include "targets/lowering_check.h"

#include "base/file.h"
#include "base/status.h"
#include "compile/pipeline.h"
#include "dialect/lowering_trial.h"
#include "emit/c/c.h"
#include "ir/model.h"
#include "targets/ptx.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_BYTES = 1 << 28 };

/* ---- linking the trial ---- */

static vyre_status link_trial(vy_lowering_trial *trial, vyre_target target, vyre_program **out, vyre_error *error) {
    const vy_lowering_policy policy = {vy_lowering_trial_use, trial};
    return vy_program_lower_ops(trial->program, target, &policy, out, error);
}

static vyre_status reject(const vy_lowering_trial *trial, const char *tool, const char *said, vyre_error *error) {
    const char *first = strstr(said, "error");
    if (!first)
        first = said;
    return vy_fail(error, VYRE_INVALID_PROGRAM, "correct the code, or leave it out",
                   "%s rejects the code of `%.128s` for `%s`: %.*s", tool, trial->op->id,
                   vyre_target_emit_name(vy_lowering_target(trial->lowering)), (int)strcspn(first, "\n"), first);
}

/* ---- c ---- */

/* Of the buffers of the trial: a bool is stored as u8. */
static const char *const c_types[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_BOOL] = "uint8_t", [VYRE_TYPE_I32] = "int32_t",  [VYRE_TYPE_U32] = "uint32_t",
    [VYRE_TYPE_I64] = "int64_t",  [VYRE_TYPE_U64] = "uint64_t", [VYRE_TYPE_F32] = "float",
    [VYRE_TYPE_F64] = "double"};

/* The program runs row by row, so that the row of a fault is known. */
static void write_main(vy_string *out, const vy_lowering_trial *trial) {
    const vyre_op_definition *op = trial->op;
    vy_string_format(
        out,
        "#include <signal.h>\n#include <stdio.h>\nenum { ROWS = %" PRIu32 " };\n"
        "static volatile uint32_t row;\n"
        "static void fault(int number) {\n    (void)number;\n    printf(\"%%lu\\n\", (unsigned long)row);\n"
        "    fflush(stdout);\n    _Exit(3);\n}\n"
        "static struct trial_arguments given;\n",
        trial->rows);
    for (uint32_t k = 0; k < op->input_count + op->output_count; k++) {
        int is_input = k < op->input_count;
        uint32_t number = is_input ? k : k - op->input_count;
        const vyre_type type = is_input ? op->inputs[number].type : op->outputs[number].type;
        vy_string_format(out, "static %s %c%" PRIu32 "_all[ROWS];\n", c_types[type], is_input ? 'x' : 'r', number);
    }
    vy_string_add(out, "int main(int count, char **words) {\n"
                       "    FILE *in = fopen(words[count - 2], \"rb\"), *out = fopen(words[count - 1], \"wb\");\n"
                       "    if (!in || !out)\n        return 2;\n"
                       "    signal(SIGILL, fault), signal(SIGTRAP, fault), signal(SIGFPE, fault);\n");
    for (uint32_t k = 0; k < op->input_count; k++)
        vy_string_format(out,
                         "    if (fread(x%" PRIu32 "_all, sizeof *x%" PRIu32 "_all, ROWS, in) != ROWS)\n"
                         "        return 2;\n    given.x%" PRIu32 "_length = 1;\n",
                         k, k, k);
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out, "    given.r%" PRIu32 "_length = 1;\n", k);
    vy_string_add(out, "    for (row = 0; row < ROWS; row++) {\n");
    for (uint32_t k = 0; k < op->input_count; k++)
        vy_string_format(out, "        given.x%" PRIu32 " = x%" PRIu32 "_all + row;\n", k, k);
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out, "        given.r%" PRIu32 " = r%" PRIu32 "_all + row;\n", k, k);
    vy_string_add(out, "        if (trial_run(&given) != 0)\n            return 2;\n    }\n");
    for (uint32_t k = 0; k < op->output_count; k++)
        vy_string_format(out,
                         "    if (fwrite(r%" PRIu32 "_all, sizeof *r%" PRIu32 "_all, ROWS, out) != ROWS)\n"
                         "        return 2;\n",
                         k, k);
    vy_string_add(out, "    return fclose(out) == 0 ? 0 : 2;\n}\n");
}

static vyre_status write_source(vy_lowering_trial *trial, vy_string *text, vyre_error *error) {
    const vy_target_desc target = vy_c_target(0);
    vyre_program *lowered = NULL;
    vy_compiled compiled = {0};
    vyre_bytes file = VYRE_BYTES_INIT;
    vyre_status status = link_trial(trial, VYRE_TARGET_C, &lowered, error);
    if (status == VYRE_OK)
        status = vy_compile_pipeline(lowered, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_c_emit(compiled.program, &file, error);
    if (status == VYRE_OK) {
        vy_string_append(text, (const char *)file.data, file.size);
        write_main(text, trial);
        if (text->failed)
            status = vy_fail_memory(error, "trying the code of an op");
    }
    vyre_bytes_free(&file);
    vyre_program_release(compiled.program);
    vyre_program_release(lowered);
    return status;
}

static vyre_status write_inputs(const vy_lowering_trial *trial, const char *path, vyre_error *error) {
    vy_string all = {0};
    for (uint32_t k = 0; k < trial->op->input_count; k++)
        vy_string_append(&all, trial->inputs[k].data, trial->inputs[k].size);
    vyre_status status = all.failed ? vy_fail_memory(error, "trying the code of an op")
                                    : vy_file_write(path, all.text, all.length, error);
    vy_string_free(&all);
    return status;
}

static vyre_status judge_outputs(const vy_lowering_trial *trial, const char *path, vyre_error *error) {
    vyre_bytes all = VYRE_BYTES_INIT, results[VY_LOWERING_LIMIT_OPERANDS];
    vyre_status status = vy_file_read_plain(path, MOST_BYTES, &all, error);
    size_t at = 0;
    for (uint32_t k = 0; k < trial->op->output_count; k++) {
        const size_t rest = all.size - at, size = trial->expected[k].size < rest ? trial->expected[k].size : rest;
        results[k] = (vyre_bytes){.data = all.data ? (uint8_t *)all.data + at : NULL, .size = size};
        at += size;
    }
    if (status == VYRE_OK)
        status = vy_lowering_trial_judge(trial, results, error);
    vyre_bytes_free(&all);
    return status;
}

static vyre_status run_compiled(const vy_lowering_trial *trial, const vy_toolchain_folder *folder, vyre_error *error) {
    const vy_toolchain_file program = vy_toolchain_in(folder, "trial"), in = vy_toolchain_in(folder, "in"),
                            out = vy_toolchain_in(folder, "out");
    const char *const words[] = {program.path, in.path, out.path, NULL};
    vy_string said = {0};
    uint64_t row;
    vyre_status status = write_inputs(trial, in.path, error);
    if (status != VYRE_OK)
        return status;
    int ended = vy_toolchain_run(words, &said);
    size_t digits = said.text ? strcspn(said.text, "\n") : 0;
    if (ended == 0)
        status = judge_outputs(trial, out.path, error);
    else if (ended == 3 && vy_parse_digits(said.text, digits, 10, UINT32_MAX, &row) > 0)
        status = vy_lowering_trial_fail(trial, row, "has undefined behaviour in C", error);
    else
        status = vy_fail(error, VYRE_IO, "check that files in TMPDIR (/tmp) can be executed",
                         "the trial of the code of `%.128s` could not be run (exit code %d)", trial->op->id, ended);
    vy_string_free(&said);
    return status;
}

static vyre_status compile_and_run(vy_lowering_trial *trial, const char *compiler, const vy_toolchain_folder *folder,
                                   vyre_error *error) {
    const vy_toolchain_file source = vy_toolchain_in(folder, "trial.c"), program = vy_toolchain_in(folder, "trial");
    const char *const words[] = {compiler,
                                 "-std=c17",
                                 "-O1",
                                 "-w",
                                 "-fsanitize=undefined,float-cast-overflow",
                                 "-fsanitize-undefined-trap-on-error",
                                 "-o",
                                 program.path,
                                 source.path,
                                 "-lm",
                                 NULL};
    vy_string text = {0}, said = {0};
    vyre_status status = write_source(trial, &text, error);
    if (status == VYRE_OK)
        status = vy_file_write(source.path, text.text, text.length, error);
    if (status == VYRE_OK) {
        int ended = vy_toolchain_run(words, &said);
        if (ended < 0)
            status = vy_fail(error, VYRE_IO, "check that it can be executed", "`%.400s` could not be run", compiler);
        else if (ended != 0)
            status = reject(trial, "the C compiler", said.text ? said.text : "", error);
        else
            status = run_compiled(trial, folder, error);
    }
    vy_string_free(&said);
    vy_string_free(&text);
    return status;
}

static vyre_status try_c(vy_lowering_trial *trial, const char *compiler, vyre_error *error) {
    vy_toolchain_folder folder;
    if (!vy_toolchain_open(&folder))
        return vy_fail(error, VYRE_IO, "set TMPDIR to a folder that can be written",
                       "a temporary folder for the C compiler could not be made");
    vyre_status status = vy_lowering_trial_fill(trial, error);
    if (status == VYRE_OK)
        status = compile_and_run(trial, compiler, &folder, error);
    vy_toolchain_close(&folder);
    return status;
}

/* ---- ptx ---- */

static vyre_status try_ptx(vy_lowering_trial *trial, const char *assembler, vyre_error *error) {
    uint32_t version, architecture;
    char arch[32];
    vyre_program *lowered = NULL;
    vy_compiled compiled;
    vy_ptx_code code = {0};
    vy_ptx_assembly assembly = {0};
    vyre_error why;
    (void)assembler;
    vy_lowering_ptx_needs(trial->lowering, &version, &architecture);
    snprintf(arch, sizeof arch, "sm_%" PRIu32, architecture > 90 ? architecture : 90);
    const vyre_emit_options options = {.struct_size = sizeof options, .arch = arch};
    vyre_status status = link_trial(trial, VYRE_TARGET_PTX, &lowered, error);
    if (status == VYRE_OK)
        status = vy_target_ptx_make(lowered, &options, &compiled, &code, error);
    if (status == VYRE_OK) {
        status = vy_ptx_assemble(&code, arch, &assembly, &why);
        if (status == VYRE_UNSUPPORTED)
            status = reject(trial, "ptxas", assembly.said.text ? assembly.said.text : why.message, error);
        else if (status != VYRE_OK && error)
            *error = why;
    }
    vy_ptx_assembly_free(&assembly);
    vy_ptx_free(&code);
    vyre_program_release(lowered);
    return status;
}

/* ---- any target ---- */

vyre_status vy_lowering_check(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                              vy_lowering_verdict *out, vyre_error *error) {
    const int is_c = vy_lowering_target(lowering) == VYRE_TARGET_C;
    char tool[VY_TOOLCHAIN_PATH] = "";
    const int has_tool = is_c ? vy_toolchain_find_cc(tool) : vy_toolchain_find("ptxas", tool);
    vy_lowering_trial trial;
    *out = !has_tool ? VY_LOWERING_UNCHECKED : is_c ? VY_LOWERING_TRIED : VY_LOWERING_ASSEMBLED;
    if (vy_lowering_is_known(guard, op, lowering, tool))
        return VYRE_OK;
    vyre_status status = vy_lowering_trial_open(guard, op, lowering, tool, &trial, error);
    if (status != VYRE_OK)
        return status;
    if (has_tool && !vy_lowering_trial_is_known(&trial)) {
        status = (is_c ? try_c : try_ptx)(&trial, tool, error);
        if (status == VYRE_OK)
            vy_lowering_trial_remember(&trial);
    }
    if (status == VYRE_OK)
        vy_lowering_remember(guard, op, lowering, tool);
    vy_lowering_trial_close(&trial);
    return status;
}

static vyre_status use_checked(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                               const vyre_lowering *lowering, int *is_usable, vyre_error *error) {
    vy_lowering_verdict verdict;
    (void)user;
    vyre_status status = vy_lowering_check(guard, op, lowering, &verdict, error);
    *is_usable = verdict == VY_LOWERING_TRIED || vy_lowering_target(lowering) == VYRE_TARGET_PTX;
    return status;
}

const vy_lowering_policy vy_lowering_policy_emit = {use_checked, NULL};

vyre_status vyre_dialects_check_lowerings(vyre_dialects_guard guard, vyre_op_id id, vyre_error *error) {
    const vyre_op_definition *op = vyre_dialects_lookup(guard, id);
    vyre_status status = VYRE_OK;
    vy_lowering_verdict verdict;
    if (!op)
        return vy_fail(error, VYRE_NOT_FOUND, NULL, "no dialect provides op `%.128s`",
                       vyre_op_text(id) ? vyre_op_text(id) : "?");
    for (uint32_t i = 0; i < op->lowering_count && status == VYRE_OK; i++)
        if (vy_lowering_has_language(vy_lowering_target(&op->lowerings[i])))
            status = vy_lowering_check(guard, op, &op->lowerings[i], &verdict, error);
    return status;
}
