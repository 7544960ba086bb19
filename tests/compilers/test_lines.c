/* Lines of the source: in texts where people look for them, in objects where debuggers do; and the code is the same
 * with them and without. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <elf.h>

static const vy_jit_plugin *compiler;

static int open_compiler(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_cpu_compiler_open(NULL, &compiler, &error) != VYRE_OK)
        print_error("%s\n", error.message);
    return compiler ? 0 : -1;
}

/* ---- programs ---- */

static vyre_module *read_module(const char *path) {
    static char text[1 << 16];
    vyre_module *module = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    FILE *file = fopen(vy_test_path(path), "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    if (vyre_text_parse(text, size, &(vyre_parse_options){.file = path}, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s (%s)", path, error.message, error.where);
    return module;
}

/* Its traps have operands on other columns and lines than their own, in a function too. */
static vyre_module *trapping(void) {
    static const char text[] = "fn checked(v: u32, limit: u32) -> u32 {\n"
                               "  if v > limit {\n"
                               "    trap (\n"
                               "      v / 3 + limit)\n"
                               "  }\n"
                               "  return v % 7\n"
                               "}\n"
                               "program trapping {\n"
                               "  buffer x : u32 read\n"
                               "  buffer y : u32 read_write\n"
                               "  workgroup 64\n"
                               "  grid over x\n"
                               "  let i = global_id.x\n"
                               "  let v = x[i] / 5\n"
                               "  if i == 3 {\n"
                               "    trap u32(bf16(v) * 2.0)\n"
                               "  }\n"
                               "  y[i] = checked(\n"
                               "    x[i] / 9,\n"
                               "    v) + y[i]\n"
                               "}\n";
    vyre_module *module = NULL;
    assert_int_equal(
        vyre_text_parse(text, sizeof text - 1, &(vyre_parse_options){.file = "t.vyre"}, NULL, &module, NULL), VYRE_OK);
    return module;
}

static vy_cpu processor(uint32_t width) {
    uint64_t features = vy_cpu_features();
    return (vy_cpu){.features = features, .target = vy_cpu_target(features, 0), .width = width};
}

static vyre_status lower(vyre_program *program, uint32_t width, unsigned options, vyre_bytes *wire) {
    vy_cpu cpu = processor(width);
    return vy_cpu_lower(&cpu, program, 1, options, wire, NULL);
}

static vy_jit_request request(const vyre_bytes *wire, uint32_t width, uint32_t lines) {
    return (vy_jit_request){.struct_size = sizeof(vy_jit_request),
                            .width = width,
                            .features = vy_cpu_features(),
                            .wire = {wire->data, wire->size},
                            .name = "kernel",
                            .lines = lines};
}

/* ---- objects ---- */

static void compile(vyre_program *program, uint32_t width, int lines, vyre_bytes *out) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(lower(program, width, lines ? VYRE_WIRE_DEBUG : 0, &wire), VYRE_OK);
    const vy_jit_request asked = request(&wire, width, (uint32_t)lines);
    if (compiler->compile(compiler, &asked, out, &error) != VYRE_OK)
        fail_msg("%s: %s", vyre_program_name(program), error.message);
    vyre_bytes_free(&wire);
}

static vy_cpu_header header_of(const vyre_bytes *object) {
    vy_cpu_header header;
    assert_true(object->size >= sizeof header);
    memcpy(&header, object->data, sizeof header);
    assert_int_equal(object->size, sizeof header + header.code_bytes + header.file_bytes);
    return header;
}

static void compare_code(vyre_program *program, uint32_t width) {
    vyre_bytes plain = VYRE_BYTES_INIT, lined = VYRE_BYTES_INIT;
    compile(program, width, 0, &plain);
    compile(program, width, 1, &lined);
    vy_cpu_header without = header_of(&plain), with = header_of(&lined);
    assert_int_equal(without.file_bytes, 0);
    assert_true(with.file_bytes > 0);
    if (without.entry != with.entry || without.code_bytes != with.code_bytes ||
        memcmp((char *)plain.data + sizeof with, (char *)lined.data + sizeof with, with.code_bytes) != 0)
        fail_msg("the code of %s with %u lanes is another with lines", vyre_program_name(program), width);
    vyre_bytes_free(&plain);
    vyre_bytes_free(&lined);
}

static void code_is_the_same_with_lines(void **state) {
    static const char *const files[] = {"examples/saxpy.vyre",   "examples/matmul.vyre", "examples/mandelbrot.vyre",
                                        "examples/reduce.vyre",  "examples/scan.vyre",   "examples/histogram.vyre",
                                        "examples/stencil.vyre", "examples/nbody.vyre",  "examples/search.vyre",
                                        "examples/sha256.vyre",  "examples/hash.vyre",   "examples/dfa.vyre"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        vyre_module *module = read_module(files[i]);
        for (size_t k = 0; k < vyre_module_program_count(module); k++)
            compare_code(vyre_module_program(module, k), i % 2 ? 8 : 4);
        vyre_module_free(module);
    }
    vyre_module *module = trapping(); /* the numbers of the traps are in the code */
    compare_code(vyre_module_program(module, 0), 8);
    vyre_module_free(module);
}

/* Debuggers add where the code lies to the addresses of what is in it, and to nothing else. */
static void a_file_for_debuggers_says_where_its_sections_are(void **state) {
    vyre_module *module = read_module("examples/saxpy.vyre");
    vyre_bytes object = VYRE_BYTES_INIT;
    Elf64_Ehdr elf;
    unsigned placed = 0;
    (void)state;
    compile(vyre_module_program(module, 0), 8, 1, &object);
    vy_cpu_header header = header_of(&object);
    const char *code = (const char *)object.data + sizeof header, *file = code + header.code_bytes;
    memcpy(&elf, file, sizeof elf);
    assert_memory_equal(elf.e_ident, ELFMAG, SELFMAG);
    for (unsigned i = 0; i < elf.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, file + elf.e_shoff + i * sizeof section, sizeof section);
        if (!(section.sh_flags & SHF_ALLOC)) {
            assert_int_equal(section.sh_addr, 0);
            continue;
        }
        placed++;
        assert_true(section.sh_addr + section.sh_size <= header.code_bytes);
        if (!(section.sh_flags & SHF_EXECINSTR)) /* constants are not relocated */
            assert_memory_equal(code + section.sh_addr, file + section.sh_offset, section.sh_size);
    }
    assert_true(placed >= 2);
    vyre_bytes_free(&object);
    vyre_module_free(module);
}

/* ---- texts ---- */

static char *show(vyre_program *program, vy_jit_text text, unsigned options) {
    static char shown[1 << 20];
    vyre_bytes wire = VYRE_BYTES_INIT, out = VYRE_BYTES_INIT;
    assert_int_equal(lower(program, 8, options, &wire), VYRE_OK);
    const vy_jit_request asked = request(&wire, 8, 1);
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(compiler->emit_text(compiler, &asked, text, &out, &error), VYRE_OK);
    snprintf(shown, sizeof shown, "%.*s", (int)out.size, (const char *)out.data);
    vyre_bytes_free(&out);
    vyre_bytes_free(&wire);
    return shown;
}

static void assembly_shows_the_source(void **state) {
    vyre_module *module = read_module("examples/saxpy.vyre");
    (void)state;
    char *text = show(vyre_module_program(module, 0), VY_JIT_TEXT_ASM, VYRE_WIRE_DEBUG);
    assert_non_null(strstr(text, " examples/saxpy.vyre:13  if i < len(y) {\n"));
    char *line = strstr(text, " examples/saxpy.vyre:14  y[i] = fma(a, x[i], y[i])");
    assert_non_null(line);
    assert_true(!strstr(text, "fmadd") || strstr(line, "fmadd"));
    assert_null(strstr(text, ".loc"));
    assert_null(strstr(text, ".debug_"));
    assert_null(strstr(text, ".cfi_"));
    vyre_module_free(module);
}

static void without_a_source_assembly_is_plain(void **state) {
    vyre_module *module = read_module("examples/saxpy.vyre");
    (void)state;
    char *text = show(vyre_module_program(module, 0), VY_JIT_TEXT_ASM, 0);
    assert_non_null(strstr(text, "@function"));
    assert_null(strstr(text, "saxpy.vyre"));
    assert_null(strstr(text, ".debug_"));
    vyre_module_free(module);
}

static void ir_has_locations(void **state) {
    vyre_module *module = read_module("examples/saxpy.vyre");
    (void)state;
    char *text = show(vyre_module_program(module, 0), VY_JIT_TEXT_LLVM_IR, VYRE_WIRE_DEBUG);
    assert_non_null(strstr(text, "!DIFile(filename: \"examples/saxpy.vyre\""));
    assert_non_null(strstr(text, "!DILocation(line: 14"));
    assert_non_null(strstr(text, "!DISubprogram(name: \"saxpy\""));
    vyre_module_free(module);
}

/* The compiler numbers traps in the positions of their statements. Other code has the lines that it has in a program
 * without a trap: those of its expressions. */
static void traps_leave_the_lines_of_expressions(void **state) {
    vyre_module *module = trapping();
    (void)state;
    char *text = show(vyre_module_program(module, 0), VY_JIT_TEXT_LLVM_IR, VYRE_WIRE_DEBUG);
    assert_non_null(strstr(text, "!DILocation(line: 3, column: 5,"));   /* a trap has that of its statement */
    assert_non_null(strstr(text, "!DILocation(line: 14, column: 11,")); /* x[i] of v */
    assert_non_null(strstr(text, "!DILocation(line: 16, column: 5,"));
    assert_non_null(strstr(text, "!DILocation(line: 20, column: 8,")); /* the last operand of the store */
    vyre_module_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_the_same_with_lines),
        cmocka_unit_test(a_file_for_debuggers_says_where_its_sections_are),
        cmocka_unit_test(assembly_shows_the_source),
        cmocka_unit_test(without_a_source_assembly_is_plain),
        cmocka_unit_test(ir_has_locations),
        cmocka_unit_test(traps_leave_the_lines_of_expressions),
    };
    return cmocka_run_group_tests(tests, open_compiler, NULL);
}
