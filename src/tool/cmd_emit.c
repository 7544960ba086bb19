/* vyre emit: prints the code of a program for a target. */
#include "tool/load.h"
#include "tool/terminal.h"
#include "tool/tool.h"
#include "vyre/emit.h"

#include <inttypes.h>

typedef struct emit_options {
    const char *target, *backend, *cpu, *arch, *exact, *output, *program;
    tool_list defines;
    uint64_t width, subgroup, access, stage;
    int cancellable, uncoarsened, indirect, list;
} emit_options;

static const tool_option options_table[] = {
    {"target", 't', "NAME", TOOL_TEXT, offsetof(emit_options, target),
     "llvm-ir (the default), asm, ptx, cubin, sass, c, opencl or legal"},
    {"backend", 0, "NAME", TOOL_TEXT, offsetof(emit_options, backend),
     "instead of a target: the code that this backend generates"},
    {"cpu", 0, "NAME", TOOL_TEXT, offsetof(emit_options, cpu),
     "for llvm-ir, asm: host (the default), x86-64, or x86-64-v2, -v3, -v4"},
    {"width", 'w', "N", TOOL_AMOUNT, offsetof(emit_options, width),
     "for llvm-ir, asm: vector lanes, 4, 8, 16, 32 or 64 (chosen for the program)"},
    {"arch", 0, "sm_N", TOOL_TEXT, offsetof(emit_options, arch), "for ptx, cubin, sass: the GPU architecture (sm_90)"},
    {"exact", 0, "NAMES", TOOL_TEXT, offsetof(emit_options, exact),
     "for opencl, legal: the operations that the device computes exactly (all)"},
    {"subgroup", 0, "N", TOOL_AMOUNT, offsetof(emit_options, subgroup),
     "for opencl, legal: the width of native shuffles (none)"},
    {"access", 0, "BYTES", TOOL_AMOUNT, offsetof(emit_options, access),
     "for opencl, legal: the widest memory access (one element)"},
    {"cancellable", 0, NULL, TOOL_FLAG, offsetof(emit_options, cancellable),
     "with cancellation polls, as for a run with a deadline"},
    {"uncoarsened", 0, NULL, TOOL_FLAG, offsetof(emit_options, uncoarsened),
     "for ptx, cubin, sass: one invocation per thread"},
    {"indirect", 0, NULL, TOOL_FLAG, offsetof(emit_options, indirect),
     "for ptx, cubin, sass: read the grid size from device memory"},
    {"stage", 0, "N", TOOL_AMOUNT, offsetof(emit_options, stage),
     "only launch N of a program that grid barriers split into several (all)"},
    {"list", 0, NULL, TOOL_FLAG, offsetof(emit_options, list), "list the targets"},
    TOOL_OPTION_OUTPUT(emit_options),
    TOOL_OPTION_PROGRAM(emit_options),
    TOOL_OPTION_DEFINE(emit_options),
    TOOL_OPTION_END,
};

static const emit_options defaults;

static int list_targets(void) {
    vy_string out = {0};
    size_t count;
    const vyre_emit_target *const *targets = vyre_emit_targets(&count);
    for (size_t i = 0; i < count; i++)
        vy_string_format(&out, "%-10s %s\n", targets[i]->name, targets[i]->doc);
    return tool_print(&out);
}

/* Checks the range of numbers: the fields of vyre_emit_options have 32 bits. */
static int check_numbers(const tool_command *self, const emit_options *options) {
    const struct {
        const char *name;
        uint64_t value;
    } given[] = {{"width", options->width},
                 {"subgroup", options->subgroup},
                 {"access", options->access},
                 {"stage", options->stage}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value > UINT32_MAX)
            return tool_usage(self, NULL, "--%s %" PRIu64 " exceeds its limit (%u)", given[i].name, given[i].value,
                              UINT32_MAX);
    return TOOL_OK;
}

static int emit(const tool_command *self, const emit_options *options, vyre_program *program) {
    const char *target = options->target || options->backend ? options->target : "llvm-ir";
    vyre_emit_options how = {.struct_size = sizeof how,
                             .stage = (uint32_t)options->stage,
                             .cancellable = options->cancellable,
                             .width = (uint32_t)options->width,
                             .cpu = options->cpu,
                             .arch = options->arch,
                             .uncoarsened = options->uncoarsened,
                             .indirect = options->indirect,
                             .exact = options->exact,
                             .subgroup = (uint32_t)options->subgroup,
                             .access = (uint32_t)options->access};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error;
    tool_progress progress;
    vyre_status status = VYRE_OK;
    if (options->backend) {
        vyre_plugins_load_all(tool_note_plugin, NULL);
        status = vyre_acquire(options->backend, &how.backend, &error);
        if (status != VYRE_OK)
            return tool_error(&error), tool_exit_of_run(status);
    }
    tool_progress_start(&progress, "compiling", 0);
    status = vyre_emit(program, target, &how, &out, &error);
    tool_progress_stop(&progress);
    vyre_backend_release(how.backend);
    int code = status == VYRE_OK ? tool_file_write(options->output ? options->output : "-", out.data, out.size)
               : status == VYRE_INVALID_ARGUMENT ? tool_usage(self, error.fix, "%s", error.message)
                                                 : (tool_error(&error), tool_exit_of_run(status));
    vyre_bytes_free(&out);
    return code;
}

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const emit_options *options = given;
    tool_file file = {0};
    vyre_program *program;
    if (options->list)
        return args->words.count ? tool_usage(self, "remove the file", "--list cannot be combined with a file")
                                 : list_targets();
    int code = check_numbers(self, options);
    if (code == TOOL_OK)
        code = tool_one_file(self, args);
    if (code == TOOL_OK)
        code = tool_load_resolved(self, args->words.items[0], options->program, &options->defines, &file, &program);
    if (code == TOOL_OK)
        code = emit(self, options, program);
    tool_file_free(&file);
    return code;
}

const tool_command tool_cmd_emit = {
    .name = "emit",
    .summary = "print the code of a program for a target",
    .usage = "FILE [OPTIONS]",
    .details =
        "Optimises the program and lowers it for the target; for c and opencl, only lowers it.\n"
        "\n"
        "  llvm-ir, asm  the code of backend `cpu`; requires its compiler. Prints each stage of a program with grid\n"
        "                barriers\n"
        "  ptx           requires no tools\n"
        "  cubin, sass   require NVIDIA's tools, in CUDA_HOME/bin, PATH or /usr/local/cuda/bin\n"
        "  c             one C17 file that computes the same bits and needs no library\n"
        "  opencl        one OpenCL C kernel. --exact states what the device computes exactly, as for legal\n"
        "  legal         the program before code generation. --exact is all, none, or a list such as int64,f32.add or\n"
        "                -f32.div,-f32.subnormal\n"
        "\n"
        "--backend prints the code that the backend, of a plug-in too, generates for its device: assembly on `cpu`, "
        "PTX\n"
        "on `cuda`, OpenCL C on `opencl`.\n"
        "\n"
        "--stage prints one stage, for any target and backend.\n",
    .examples = "  vyre emit examples/saxpy.vyre --target asm\n"
                "  vyre emit examples/matmul.vyre --target llvm-ir --cpu x86-64-v3 --width 8\n"
                "  vyre emit examples/reduce.vyre --program by_shuffle --target ptx\n"
                "  vyre emit examples/matmul.vyre --target sass --arch sm_80\n"
                "  vyre emit examples/saxpy.vyre --target c -o saxpy.c\n"
                "  vyre emit examples/saxpy.vyre --target opencl --exact -f32.div,-f32.sqrt\n"
                "  vyre emit examples/saxpy.vyre --backend cpu\n"
                "  vyre emit examples/saxpy.vyre --target legal --exact -f32.fma --access 16\n",
    .options = options_table,
    .options_size = sizeof(emit_options),
    .defaults = &defaults,
    .run = run_command,
};
