/* vyre emit: what a program becomes on its way to the processor. */
#include "backends/cpu/compile.h"
#include "tool/commands.h"
#include "tool/load.h"
#include "vyre/wire.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct emit_options {
    const char *target, *cpu, *output, *program;
    tool_list defines;
    uint64_t width;
    int cancellable, list;
} emit_options;

static const tool_option options_table[] = {
    {"target", 't', "NAME", TOOL_TEXT, offsetof(emit_options, target), "llvm-ir (the default) or asm"},
    {"cpu", 0, "NAME", TOOL_TEXT, offsetof(emit_options, cpu), "host (the default), x86-64, or x86-64-v2, -v3, -v4"},
    {"width", 'w', "N", TOOL_AMOUNT, offsetof(emit_options, width), "lanes: 4, 8, 16 or 32 (what fits the cpu best)"},
    {"cancellable", 0, NULL, TOOL_FLAG, offsetof(emit_options, cancellable), "with polls, as for a deadline"},
    {"list", 0, NULL, TOOL_FLAG, offsetof(emit_options, list), "list the targets"},
    {"output", 'o', "FILE", TOOL_TEXT, offsetof(emit_options, output), "where to write (standard output)"},
    {"program", 'p', "NAME", TOOL_TEXT, offsetof(emit_options, program), "which program, if the file holds several"},
    {"define", 'D', "NAME=VALUE", TOOL_LIST, offsetof(emit_options, defines), "override a const of the file"},
    {NULL, 0, NULL, TOOL_FLAG, 0, NULL},
};

static const emit_options defaults = {.target = "llvm-ir", .cpu = "host"};

/* ---- targets ---- */

static const struct {
    const char *name, *doc;
} texts[VY_COMPILER_TEXT_COUNT] = {
#define X(ID, name) [VY_COMPILER_TEXT_##ID] = {name, ID##_DOC},
#define LLVM_IR_DOC "the module after its passes, as LLVM prints it"
#define ASM_DOC "the assembly that it becomes"
    VY_COMPILER_TEXT_LIST(X)
#undef X
};

static int list_targets(void) {
    vy_string out = {0};
    for (unsigned i = 0; i < VY_COMPILER_TEXT_COUNT; i++)
        vy_string_format(&out, "%-10s %s\n", texts[i].name, texts[i].doc);
    return tool_print(&out);
}

/* Names of the compiler's texts; of the registry's targets those that are one of them. */
static int find_target(const tool_command *self, const char *name, vy_compiler_text *out) {
    vy_suggestion suggestion;
    vyre_target target = vyre_target_from_emit_name(name);
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (unsigned i = 0; i < VY_COMPILER_TEXT_COUNT; i++) {
        vy_suggestion_offer(&suggestion, texts[i].name);
        *out = (vy_compiler_text)i;
        if (strcmp(name, texts[i].name) == 0)
            return TOOL_OK;
    }
    *out = VY_COMPILER_TEXT_LLVM_IR;
    if (target == VYRE_TARGET_NATIVE_MODULE)
        return TOOL_OK;
    if (target != VYRE_TARGET_COUNT)
        return tool_usage(self, "`vyre emit --list` names those that are made", "no emitter makes `%s` yet", name);
    const char *near = vy_suggestion_get(&suggestion);
    return tool_usage(self, near ? VY_FIX("did you mean `%s`?", near) : "`vyre emit --list` names the targets",
                      "there is no target `%s`", name);
}

/* ---- processors ---- */

/* The levels of the x86-64 ABI, as far as code uses them; each has what the ones before have. */
static uint64_t level_features(unsigned level) {
    const uint64_t added[] = {
        VY_CPU_FEATURE_X86_64,
        VY_CPU_FEATURE_SSE3 | VY_CPU_FEATURE_SSSE3 | VY_CPU_FEATURE_SSE41 | VY_CPU_FEATURE_SSE42 |
            VY_CPU_FEATURE_POPCNT,
        VY_CPU_FEATURE_LZCNT | VY_CPU_FEATURE_BMI | VY_CPU_FEATURE_BMI2 | VY_CPU_FEATURE_AVX | VY_CPU_FEATURE_F16C |
            VY_CPU_FEATURE_FMA | VY_CPU_FEATURE_AVX2,
        VY_CPU_FEATURE_AVX512F | VY_CPU_FEATURE_AVX512CD | VY_CPU_FEATURE_AVX512DQ | VY_CPU_FEATURE_AVX512BW |
            VY_CPU_FEATURE_AVX512VL,
    };
    uint64_t features = 0;
    for (unsigned i = 0; i <= level; i++)
        features |= added[i];
    return features;
}

static int find_cpu(const tool_command *self, const char *name, uint64_t *features) {
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    *features = vy_cpu_features();
    if (strcmp(name, "host") == 0)
        return TOOL_OK;
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(name, levels[i]) == 0) {
            *features = level_features(i);
            return TOOL_OK;
        }
    return tool_usage(self, "give host, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4", "there is no processor `%s`", name);
}

/* ---- the text ---- */

/* A program of level legal is taken as it is. */
static vyre_status lower(const vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *wire,
                         vyre_error *error) {
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return vyre_wire_encode(program, 0, wire, error);
    return vy_cpu_lower(cpu, program, cancellable, wire, error);
}

static vyre_status emit(const vy_cpu *cpu, vyre_program *program, const emit_options *options, vy_compiler_text text,
                        vyre_bytes *out, vyre_error *error) {
    const char *named = secure_getenv("VYRE_COMPILER");
    const vy_compiler *compiler;
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_status status = vy_cpu_compiler_open(named && *named ? named : NULL, &compiler, error);
    if (status == VYRE_OK)
        status = lower(cpu, program, options->cancellable, &wire, error);
    if (status == VYRE_OK) {
        const vy_compiler_request request = {.struct_size = sizeof request,
                                             .width = cpu->width,
                                             .features = cpu->features,
                                             .wire = {wire.data, wire.size},
                                             .name = vyre_program_name(program)};
        status = compiler->emit_text(&request, text, out, error);
    }
    vyre_bytes_free(&wire);
    return status;
}

static int show(const emit_options *options, vyre_program *program, uint64_t features, vy_compiler_text text) {
    vy_cpu cpu = {.features = features,
                  .exact = vy_cpu_numerics(features),
                  .width = options->width ? (uint32_t)options->width : vy_cpu_width(features)};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    int code = emit(&cpu, program, options, text, &out, &error) == VYRE_OK
                   ? tool_file_write(options->output ? options->output : "-", out.data, out.size)
                   : tool_error(&error);
    vyre_bytes_free(&out);
    return code;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const emit_options *options = given;
    vy_compiler_text text;
    uint64_t features;
    tool_file file = {0};
    vyre_program *program;
    if (options->list)
        return args->words.count ? tool_usage(self, NULL, "--list takes no file") : list_targets();
    if (options->width > VY_CPU_WIDTH_MAX)
        return tool_usage(self, "give 4, 8, 16 or 32", "%" PRIu64 " lanes are too many", options->width);
    int code = find_target(self, options->target, &text);
    if (code == TOOL_OK)
        code = find_cpu(self, options->cpu, &features);
    if (code == TOOL_OK)
        code = tool_one_file(self, args);
    if (code == TOOL_OK)
        code = tool_load_resolved(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = show(options, program, features, text);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_emit = {
    .name = "emit",
    .summary = "print the code a program becomes",
    .usage = "FILE [OPTIONS]",
    .details =
        "The program is optimised, legalised for the processor and compiled as backend `cpu` compiles it; what is\n"
        "printed is what would run, or how it looks just before. Needs the compiler plug-in.\n",
    .examples = "  vyre emit examples/saxpy.vyre --target asm\n"
                "  vyre emit examples/matmul.vyre --target llvm-ir --cpu x86-64-v3 --width 8\n",
    .options = options_table,
    .options_size = sizeof(emit_options),
    .defaults = &defaults,
    .run = run_command,
};
