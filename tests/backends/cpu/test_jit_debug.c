/* Profilers and debuggers are told of code if the environment asks for it: perf's map, GDB's list, and GDB itself. */
#include "backends/cpu/blob.h"

#include "backends/cpu/code_object.h"
#include "backends/cpu/compile.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void load(const vyre_bytes *bytes, vy_cpu_code_object *object) {
    vyre_span span = {bytes->data, bytes->size};
    assert_int_equal(vy_cpu_code_object_load(span, vy_cpu_features(), "telling", object, NULL), VYRE_OK);
}

/* ---- perf ---- */

static const char *map_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    return path;
}

static void perf_is_told_where_a_program_is(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cpu_code_object object;
    unsigned long start, size;
    char name[64];
    assert_int_equal(blob_make(&add_blob, &bytes, NULL), VYRE_OK);
    setenv("VYRE_PERF_MAP", "1", 1);
    load(&bytes, &object);
    unsetenv("VYRE_PERF_MAP");
    FILE *file = fopen(map_path(), "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lx %lx %63s", &start, &size, name), 3);
    fclose(file);
    unlink(map_path());
    assert_ptr_equal((void *)start, object.map);
    assert_int_equal(size, object.header.code_bytes);
    assert_string_equal(name, "vyre:telling");
    vy_cpu_code_object_unload(&object);
    vyre_bytes_free(&bytes);
}

/* A pipe without a reader would block, a file of another user would receive addresses. */
static void a_map_of_another_user_is_not_written(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cpu_code_object object;
    struct stat about;
    assert_int_equal(blob_make(&add_blob, &bytes, NULL), VYRE_OK);
    setenv("VYRE_PERF_MAP", "1", 1);
    assert_int_equal(mkfifo(map_path(), 0600), 0);
    load(&bytes, &object);
    vy_cpu_code_object_unload(&object);
    assert_int_equal(unlink(map_path()), 0);
    if (geteuid() == 0) {
        int file = open(map_path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_int_equal(fchown(file, 65534, 65534), 0);
        load(&bytes, &object);
        vy_cpu_code_object_unload(&object);
        assert_int_equal(fstat(file, &about), 0);
        assert_int_equal(about.st_size, 0);
        close(file);
        assert_int_equal(unlink(map_path()), 0);
    }
    unsetenv("VYRE_PERF_MAP");
    vyre_bytes_free(&bytes);
}

static void nobody_is_told_who_does_not_ask(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cpu_code_object object;
    assert_int_equal(blob_make(&add_blob, &bytes, NULL), VYRE_OK);
    setenv("VYRE_PERF_MAP", "0", 1);
    setenv("VYRE_GDB", "", 1);
    load(&bytes, &object);
    assert_null(object.registration);
    assert_int_not_equal(access(map_path(), F_OK), 0);
    unsetenv("VYRE_PERF_MAP");
    unsetenv("VYRE_GDB");
    vy_cpu_code_object_unload(&object);
    vyre_bytes_free(&bytes);
}

/* ---- GDB's list ---- */

typedef struct listed {
    struct listed *next, *previous;
    const char *file;
    uint64_t size;
} listed;

extern struct {
    uint32_t version, action;
    listed *relevant, *first;
} __jit_debug_descriptor;

/* A file of two sections: one of the code, 16 bytes behind its start, and one that is not in it. */
typedef struct elf_file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
} elf_file;

static elf_file make_file(void) {
    elf_file file = {
        .header = {.e_shoff = offsetof(elf_file, sections), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 2},
        .sections = {{.sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = 16}, {.sh_addr = 0}}};
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    return file;
}

static vyre_bytes object_with(const elf_file *file) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cpu_header header;
    assert_int_equal(blob_make(&add_blob, &bytes, NULL), VYRE_OK);
    size_t before = bytes.size;
    assert_int_equal(vyre_bytes_resize(&bytes, before + sizeof *file, NULL), VYRE_OK);
    memcpy((char *)bytes.data + before, file, sizeof *file);
    memcpy(&header, bytes.data, sizeof header);
    header.file_bytes = sizeof *file;
    memcpy(bytes.data, &header, sizeof header);
    return bytes;
}

static void gdb_finds_what_is_loaded(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    elf_file file = make_file(), seen;
    vyre_bytes bytes = object_with(&file), saved = VYRE_BYTES_INIT;
    vy_cpu_code_object one, two;
    setenv("VYRE_GDB", "1", 1);
    load(&bytes, &one);
    load(&bytes, &two);
    unsetenv("VYRE_GDB");
    const listed *first = __jit_debug_descriptor.first;
    assert_ptr_equal(first, two.registration);
    assert_ptr_equal(first->next, one.registration);
    assert_int_equal(first->size, sizeof file);
    memcpy(&seen, first->file, sizeof seen);
    assert_int_equal(seen.sections[0].sh_addr, (uintptr_t)two.map + 16);
    assert_int_equal(seen.sections[1].sh_addr, 0);
    vy_cpu_code_object_unload(&one);
    assert_ptr_equal(__jit_debug_descriptor.first, two.registration);
    assert_null(__jit_debug_descriptor.first->next);
    assert_int_equal(vy_cpu_code_object_save(&two, 0, &saved, NULL), VYRE_OK); /* without the file */
    assert_int_equal(saved.size, sizeof two.header + two.header.code_bytes);
    vy_cpu_code_object_unload(&two);
    assert_null(__jit_debug_descriptor.first);
    load(&saved, &one);
    assert_null(one.registration);
    vy_cpu_code_object_unload(&one);
    vyre_bytes_free(&saved);
    vyre_bytes_free(&bytes);
}

static void what_is_no_file_is_not_told(void **state) {
    (void)state;
    elf_file file = make_file();
    setenv("VYRE_GDB", "1", 1);
    assert_null(vy_jit_debug_register(&file, (vyre_span){&file, 0}));
    for (size_t size = 1; size < sizeof file; size++)
        assert_null(vy_jit_debug_register(&file, (vyre_span){&file, size}));
    file.header.e_shoff = UINT64_MAX;
    assert_null(vy_jit_debug_register(&file, (vyre_span){&file, sizeof file}));
    file = make_file();
    file.header.e_ident[0] = 0;
    assert_null(vy_jit_debug_register(&file, (vyre_span){&file, sizeof file}));
    unsetenv("VYRE_GDB");
}

/* ---- GDB ---- */

/* GDB follows the command until a line of the program runs. */
static void gdb_names_program_and_line(void **state) {
    static char output[1 << 16], command[4096];
    (void)state;
    if (system("gdb --version >/dev/null 2>&1") != 0)
        VY_SKIP("gdb is not installed");
    if (vy_cpu_compiler_check(NULL) != VYRE_OK)
        VY_SKIP("the compiler is not built");
    snprintf(
        command, sizeof command,
        "VYRE_GDB=1 ASAN_OPTIONS=detect_leaks=0 timeout 120 gdb -nx -batch -iex 'set debuginfod enabled off' "
        "-iex 'set breakpoint pending on' -ex 'break saxpy.vyre:13' -ex run -ex 'backtrace 2' -ex 'info symbol $pc' "
        "--args %s run %s --backend cpu a=2.0 x=1,2,3 y=10,20,30 2>&1",
        vy_test_command(), vy_test_path("examples/saxpy.vyre"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = 0;
    pclose(pipe);
    if (strstr(output, "ptrace: Operation not permitted") || strstr(output, "Could not trace"))
        VY_SKIP("the system does not let gdb trace processes");
    if (strstr(output, "Exec format error") || strstr(output, "not in executable format"))
        VY_SKIP("the command is not for the machine that gdb is for: it runs in an emulator");
    const char *frame = strstr(output, "#0  saxpy () at ");
    if (!frame || !strstr(frame, "examples/saxpy.vyre:13") || !strstr(frame, "in saxpy ()"))
        fail_msg("gdb says: %s", output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_is_told_where_a_program_is), cmocka_unit_test(a_map_of_another_user_is_not_written),
        cmocka_unit_test(nobody_is_told_who_does_not_ask), cmocka_unit_test(gdb_finds_what_is_loaded),
        cmocka_unit_test(what_is_no_file_is_not_told),     cmocka_unit_test(gdb_names_program_and_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
