/* Plug-in loader: one by path, or all that are installed or listed in VYRE_PLUGINS; plug-in ABI and host services.
 *
 * A file is checked before it is loaded as code: its path is trusted, and it is a shared object that the loader can
 * map. The check reads the ELF header and the program headers only. A plug-in is mapped once and never unmapped, even
 * if it is refused, because its code may have started threads or installed handlers. Its code (ELF initialisers,
 * `init`) runs while no lock is held. */
#include "driver/plugin.h"

#include "base/diagnostics.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/trusted_path.h"
#include "driver/registry.h"
#include "oracle/run.h"
#include "vyre/backend.h"
#include "vyre/dialect.h"
#include "vyre/wire.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- checking the file ---- */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#else
#define OUR_MACHINE EM_NONE /* unknown machine: the loader decides */
#endif
#define OUR_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OUR_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static vyre_status fail_format(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_CORRUPT, VY_FIX("name a shared object, or build or copy it again"),
                   "the plug-in `%s` is %s", path, what);
}

/* Reads all `size` bytes, or returns 0. */
static int read_at(int file, void *to, size_t size, uint64_t offset) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(file, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        done += (size_t)n;
    }
    return 1;
}

static vyre_status check_header(const char *path, const ElfW(Ehdr) * header, vyre_error *error) {
    if (header->e_ident[EI_CLASS] != OUR_CLASS)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("build the plug-in for this machine"),
                       "the plug-in `%s` is of the wrong architecture (class %u, this process has %u)", path,
                       header->e_ident[EI_CLASS], (unsigned)OUR_CLASS);
    if (header->e_ident[EI_DATA] != OUR_DATA || (OUR_MACHINE != EM_NONE && header->e_machine != OUR_MACHINE))
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("build the plug-in for this machine"),
                       "the plug-in `%s` is of the wrong architecture (ELF machine %u, this process is %u)", path,
                       header->e_machine, (unsigned)OUR_MACHINE);
    if (header->e_type != ET_DYN)
        return fail_format(path, "not a shared object (link it with -shared)", error);
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum == 0)
        return fail_format(path, "damaged (it has no program headers)", error);
    return VYRE_OK;
}

/* Every mapped segment must be within the file. */
static vyre_status check_segments(const char *path, int file, const ElfW(Ehdr) * header, uint64_t size,
                                  vyre_error *error) {
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment))
            return fail_format(path, "truncated (within its program headers)", error);
        if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return fail_format(path, "truncated (a segment ends past the end of the file)", error);
    }
    return VYRE_OK;
}

vyre_status vy_plugin_check_file(const char *path, vyre_error *error) {
    int file;
    struct stat facts;
    ElfW(Ehdr) header;
    vyre_status status = vy_trusted_file_open(path, "plug-in", &file, error);
    if (status != VYRE_OK)
        return status;
    if (fstat(file, &facts) != 0 || !read_at(file, &header, sizeof header, 0) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        status = fail_format(path, "not an ELF file", error);
    if (status == VYRE_OK)
        status = check_header(path, &header, error);
    if (status == VYRE_OK)
        status = check_segments(path, file, &header, (uint64_t)facts.st_size, error);
    close(file);
    return status;
}

#ifndef VYRE_PLUGIN_FOLDER
#error "define VYRE_PLUGIN_FOLDER: the folder of installed plug-ins"
#endif

/* ---- one plug-in ---- */

static vyre_status open_plugin(const char *path, const vyre_module_descriptor **module, vyre_error *error) {
    vyre_status status = vy_plugin_check_file(path, error);
    if (status != VYRE_OK)
        return status;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vy_fail(error, VYRE_IO,
                       VY_FIX("install the libraries it needs; a plug-in calls libvyre through its host table and does "
                              "not link against it"),
                       "the dynamic loader refuses the plug-in `%s` (%s)", path, dlerror());
    *module = dlsym(handle, VYRE_MODULE_SYMBOL);
    if (!*module)
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("write VYRE_PLUGIN(\"name\") in one of its files"),
                       "the plug-in `%s` does not export `%s`", path, VYRE_MODULE_SYMBOL);
    return VYRE_OK;
}

vyre_status vyre_plugin_load(const char *path, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    const vyre_module_descriptor *module = NULL;
    VY_REQUIRE(error, path);
    if (path[0] != '/')
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("use an absolute path, as `realpath` prints it"),
                       "the path of a plug-in is not absolute (`%s`)", path);
    vyre_status status = open_plugin(path, &module, error);
    if (status == VYRE_OK)
        status = vy_registry_add(module, path, error);
    if (status != VYRE_OK)
        (void)vy_fail_where(error, "%s", path);
    return status;
}

/* ---- all plug-ins ---- */

typedef struct loader {
    vyre_plugin_report *report;
    void *user;
    size_t loaded;
    int only_looks; /* reports paths and loads nothing */
} loader;

static void report(const loader *loader, const char *path, vyre_status status, const vyre_error *error) {
    if (loader->report)
        loader->report(loader->user, path, status, status == VYRE_OK ? NULL : error);
}

static void load_one(loader *loader, const char *path) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = loader->only_looks ? VYRE_OK : vyre_plugin_load(path, &error);
    loader->loaded += status == VYRE_OK;
    report(loader, path, status, &error);
}

/* Joins two texts in new memory; *size is its size. NULL: out of memory. */
static char *copy_text(const char *first, size_t first_length, const char *second, size_t second_length, size_t *size) {
    *size = first_length + second_length + 1;
    char *text = vy_allocate(*size);
    if (text) {
        memcpy(text, first, first_length);
        memcpy(text + first_length, second, second_length);
        text[first_length + second_length] = 0;
    }
    return text;
}

static void load_copy(loader *loader, const char *first, size_t first_length, const char *second,
                      size_t second_length) {
    size_t size;
    vyre_error error = VYRE_ERROR_INIT;
    char *path = copy_text(first, first_length, second, second_length, &size);
    if (path)
        load_one(loader, path);
    else
        report(loader, first_length ? first : second, vy_fail_memory(&error, "the path of a plug-in"), &error);
    vy_release(path, size);
}

static void load_listed(loader *loader, const char *list) {
    for (const char *start = list; start;) {
        const char *end = strchr(start, ':');
        size_t length = end ? (size_t)(end - start) : strlen(start);
        if (length)
            load_copy(loader, "", 0, start, length);
        start = end ? end + 1 : NULL;
    }
}

/* Compilers are in the same folder; the backend that needs one opens it. */
static int is_plugin_name(const struct dirent *entry) {
    static const char compiler[] = "vyre-compiler-";
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0 &&
           strncmp(entry->d_name, compiler, sizeof compiler - 1) != 0;
}

/* In order of name, so that every process on a machine loads the same list. A missing folder has no plug-ins. */
static void load_folder(loader *loader, const char *folder) {
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_plugin_name, alphasort);
    if (count < 0) {
        vyre_error error = VYRE_ERROR_INIT;
        vyre_status code = errno == ENOMEM ? VYRE_NO_MEMORY : VYRE_IO;
        if (errno != ENOENT && errno != ENOTDIR)
            report(loader, folder, vy_fail(&error, code, NULL, "the folder of plug-ins `%s` cannot be read", folder),
                   &error);
        return;
    }
    for (int i = 0; i < count; i++) {
        load_copy(loader, folder, strlen(folder), names[i]->d_name, strlen(names[i]->d_name));
        free(names[i]);
    }
    free(names);
}

size_t vy_plugins_load_from(const char *folder, const char *list, vyre_plugin_report *report_to, void *user) {
    loader loader = {.report = report_to, .user = user};
    load_folder(&loader, folder);
    load_listed(&loader, list);
    return loader.loaded;
}

void vy_plugins_find(const char *folder, const char *list, vyre_plugin_report *report_to, void *user) {
    loader loader = {.report = report_to, .user = user, .only_looks = 1};
    if (folder)
        load_folder(&loader, folder);
    load_listed(&loader, list);
}

const char *vy_plugin_folder(void) {
    return VYRE_PLUGIN_FOLDER "/";
}

size_t vyre_plugins_load_all(vyre_plugin_report *report_to, void *user) {
    VY_SCOPED_CANCELLATION_DISABLE();
    return vy_plugins_load_from(VYRE_PLUGIN_FOLDER "/", secure_getenv("VYRE_PLUGINS"), report_to, user);
}

/* ---- plug-in ABI: a member that moves does not compile (abi.def, docs/abi.md); driver.abi finds missing lines ---- */

#define PIN(type, member, offset)                                                                                      \
    _Static_assert(sizeof(void *) != 8 || offsetof(type, member) == (offset),                                          \
                   #type "." #member " has moved: plug-ins built before break");
#include "driver/abi.def"

/* The table of host services: functions of the library that plug-ins call. */
static vyre_status fail(vyre_error *error, vyre_status code, const char *fix, const char *message) {
    return vy_fail(error, code, fix, "%s", message && *message ? message : vyre_status_doc(code));
}

/* The counts that a dispatch specifies: those of `write` buffers whose count the program leaves open. All other counts
 * follow from the inputs and the program, as in the original dispatch. */
static size_t open_counts(const vyre_launch *launch, uint64_t counts[VY_LIMIT_BUFFERS]) {
    vyre_buffer_info buffer;
    size_t count = 0;
    for (size_t i = 0; i < launch->buffer_count && vyre_program_buffer(launch->program, i, &buffer); i++)
        if (buffer.access == VYRE_ACCESS_WRITE && !buffer.has_count)
            counts[count++] = launch->elements[i];
    return count;
}

vyre_status vy_host_run_oracle(const vyre_oracle *oracle, const vyre_launch *launch, const vyre_span *inputs,
                               size_t input_count, const void *const *before, vyre_bytes *outputs, vyre_error *error) {
    uint64_t counts[VY_LIMIT_BUFFERS];
    int is_indirect = launch->struct_size >= sizeof *launch && launch->grid_buffer;
    vyre_arguments arguments = {.params = launch->params,
                                .param_count = launch->param_count,
                                .inputs = inputs,
                                .input_count = input_count,
                                .counts = counts,
                                .count_count = open_counts(launch, counts),
                                .geometry = {is_indirect ? VYRE_GEOMETRY_PROGRAM : VYRE_GEOMETRY_GROUPS,
                                             {launch->groups[0], launch->groups[1], launch->groups[2]}}};
    vyre_oracle_report report;
    vy_resolved_dispatch resolved;
    vyre_status status = vy_resolve_dispatch(launch->program, &arguments, &resolved, error);
    if (status != VYRE_OK)
        return status;
    for (size_t i = 0; before && i < launch->buffer_count; i++)
        if (resolved.buffers[i].input == VY_NONE && resolved.buffers[i].bytes)
            resolved.buffers[i].data = before[i];
    status = vy_oracle_launch(oracle, &resolved, NULL, (vy_run_end){launch->deadline_ns, launch->cancel}, outputs,
                              &report, NULL, error);
    if (status == VYRE_TRAPPED && launch->trap)
        *launch->trap = report.trap;
    return status;
}

static vyre_status reference_dispatch(const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                      vyre_outputs *outputs, vyre_error *error) {
    VY_REQUIRE(error, launch);
    VY_REQUIRE(error, launch->program);
    VY_REQUIRE_ARRAY(error, launch->params, launch->param_count);
    VY_REQUIRE_ARRAY(error, launch->elements, launch->buffer_count);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    VY_REQUIRE(error, outputs);
    VY_REQUIRE_ARRAY(error, outputs->items, vyre_program_output_count(launch->program));
    vyre_oracle *oracle;
    vyre_status status = vyre_oracle_new(launch->program, &oracle, error);
    if (status != VYRE_OK)
        return status;
    status = vy_host_run_oracle(oracle, launch, inputs, input_count, NULL, outputs->items, error);
    vyre_oracle_free(oracle);
    return status;
}

const vyre_host vy_host_services = {
    .struct_size = sizeof(vyre_host),
    .abi = VYRE_BACKEND_ABI,
    .allocate = vy_allocate,
    .resize = vy_resize,
    .release = vy_release,
    .fail = fail,
    .bytes_resize = vyre_bytes_resize,
    .program_retain = vyre_program_retain,
    .program_release = vyre_program_release,
    .program_name = vyre_program_name,
    .program_fingerprint = vyre_program_fingerprint,
    .program_buffer_count = vyre_program_buffer_count,
    .program_buffer = vyre_program_buffer,
    .program_workgroup = vyre_program_workgroup,
    .program_encode = vyre_wire_encode,
    .reference_dispatch = reference_dispatch,
    .log = vy_log,
};
