/* JIT code objects: checking and loading, registration with perf and GDB, and reference-counted executables
 * (code_object.h). Invariant: memory is never writable and executable at the same time. */
#include "backends/cpu/code_object.h"

#include "base/cpu_features.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "ir/model.h"
#include "vyre/op.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- perf ---- */

/* Writes a line to /tmp/perf-PID.map, which `perf` reads. */
static void jit_debug_write_perf_map(const void *code, size_t size, const char *name) {
    char path[64], line[256];
    if (!vy_env_flag("VYRE_PERF_MAP", 0))
        return;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int length = snprintf(line, sizeof line, "%" PRIxPTR " %zx vyre:%.128s\n", (uintptr_t)code, size, name);
    struct stat about;
    /* The name is predictable: another user may have created a link, a pipe or a file with it. */
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0)
        return;
    int is_ours = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid();
    ssize_t written = is_ours && length > 0 && (size_t)length < sizeof line ? write(file, line, (size_t)length) : 0;
    (void)written;
    close(file);
}

/* ---- GDB ---- */

/* "JIT Compilation Interface" of GDB's manual: GDB finds the two names in the symbol table, which need not be the
 * dynamic one, sets a breakpoint in the function and reads the descriptor. Weak, because a program may define its
 * own. */
typedef enum jit_action { JIT_NOTHING, JIT_REGISTER, JIT_UNREGISTER } jit_action;

struct vy_jit_registration {
    struct vy_jit_registration *next, *previous;
    const char *file;
    uint64_t file_size;
};

typedef struct jit_descriptor {
    uint32_t version;
    uint32_t action; /* jit_action */
    vy_jit_registration *relevant, *first;
} jit_descriptor;

extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);
__attribute__((weak, used)) jit_descriptor __jit_debug_descriptor = {1, JIT_NOTHING, NULL, NULL};

__attribute__((weak, used, noinline)) void __jit_debug_register_code(void) {
    __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the descriptor */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

static void register_atfork(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

/* Requires the lock. */
static void notify_debugger(jit_action action, vy_jit_registration *registration) {
    __jit_debug_descriptor.action = (uint32_t)action;
    __jit_debug_descriptor.relevant = registration;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = JIT_NOTHING;
    __jit_debug_descriptor.relevant = NULL;
}

/* Sets the addresses of the sections of the code; returns 0 if the bytes are not such a file. */
static int relocate_sections(uint8_t *file, size_t size, uintptr_t code) {
    Elf64_Ehdr header;
    if (size < sizeof header)
        return 0;
    memcpy(&header, file, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shoff > size || (size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
        return 0;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        uint8_t *at = file + header.e_shoff + (uint64_t)i * sizeof section;
        memcpy(&section, at, sizeof section);
        if (section.sh_flags & SHF_ALLOC)
            section.sh_addr += code;
        memcpy(at, &section, sizeof section);
    }
    return 1;
}

int vy_jit_debug_is_enabled(void) {
    return vy_env_flag("VYRE_GDB", 0);
}

vy_jit_registration *vy_jit_debug_register(const void *code, vyre_span file) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!file.size || !vy_jit_debug_is_enabled())
        return NULL;
    (void)pthread_once(&once, register_atfork);
    vy_jit_registration *registration = vy_allocate(sizeof *registration + file.size);
    if (!registration)
        return NULL;
    uint8_t *copy = (uint8_t *)(registration + 1);
    memcpy(copy, file.data, file.size);
    if (!relocate_sections(copy, file.size, (uintptr_t)code)) {
        vy_release(registration, sizeof *registration + file.size);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *registration = (vy_jit_registration){__jit_debug_descriptor.first, NULL, (const char *)copy, file.size};
    if (registration->next)
        registration->next->previous = registration;
    __jit_debug_descriptor.first = registration;
    notify_debugger(JIT_REGISTER, registration);
    pthread_mutex_unlock(&lock);
    return registration;
}

/* NULL is ignored. */
static void jit_debug_unregister(vy_jit_registration *registration) {
    if (!registration)
        return;
    pthread_mutex_lock(&lock);
    *(registration->previous ? &registration->previous->next : &__jit_debug_descriptor.first) = registration->next;
    if (registration->next)
        registration->next->previous = registration->previous;
    notify_debugger(JIT_UNREGISTER, registration);
    pthread_mutex_unlock(&lock);
    vy_release(registration, sizeof *registration + registration->file_size);
}

/* ---- code objects ---- */

static vyre_status corrupt(vyre_error *error, const char *what, uint64_t given, uint64_t limit) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again after `vyre cache clear`",
                   "compiled code is damaged: %s (%" PRIu64 ", %" PRIu64 " is expected)", what, given, limit);
}

static vyre_status check_features(uint64_t needed, uint64_t features, vyre_error *error) {
    uint64_t missing = needed & ~features;
    if (!missing)
        return VYRE_OK;
    unsigned bit = (unsigned)__builtin_ctzll(missing);
    const char *name = vy_cpu_feature_name(bit);
    return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this machine",
                   "compiled code needs a feature that this processor lacks (%s, feature %u)",
                   name && *name ? name : "another architecture or a newer one", bit);
}

static vyre_status check(const vy_cpu_header *header, size_t size, uint64_t features, vyre_error *error) {
    uint64_t behind = size - sizeof *header;
    if (memcmp(header->magic, VY_CPU_MAGIC, sizeof header->magic) != 0)
        return vy_fail(error, VYRE_CORRUPT, NULL, "the bytes are not compiled code: they do not start with \"%s\"",
                       VY_CPU_MAGIC);
    if (header->format != VY_CPU_FORMAT)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with this library",
                       "compiled code is of format %" PRIu32 ", this library loads %d", header->format, VY_CPU_FORMAT);
    if (!header->width || header->width > VY_CPU_WIDTH_MAX || (header->width & (header->width - 1)))
        return corrupt(error, "its lanes are not a power of two up to the limit", header->width, VY_CPU_WIDTH_MAX);
    if (header->code_bytes > behind || header->file_bytes != behind - header->code_bytes)
        return corrupt(error, "the size of its code differs from the header", header->code_bytes, behind);
    if (!header->code_bytes || header->code_bytes > VY_CPU_CODE_LIMIT)
        return corrupt(error, "its code is empty or over the limit", header->code_bytes, VY_CPU_CODE_LIMIT);
    if (header->entry >= header->code_bytes)
        return corrupt(error, "its entry is after its end", header->entry, header->code_bytes);
    if (header->workgroup_bytes > VY_CPU_FRAME_LIMIT)
        return corrupt(error, "its workgroups need more memory than the limit", header->workgroup_bytes,
                       VY_CPU_FRAME_LIMIT);
    if (header->spill_bytes > VY_CPU_FRAME_LIMIT)
        return corrupt(error, "it spills more memory than the limit", header->spill_bytes, VY_CPU_FRAME_LIMIT);
    if (header->stack_bytes > VY_CPU_STACK_LIMIT)
        return corrupt(error, "it needs more stack than the limit", header->stack_bytes, VY_CPU_STACK_LIMIT);
    if (!header->parts || header->parts > VY_LIMIT_WORKGROUP)
        return corrupt(error, "its workgroups have no parts or more than the limit", header->parts, VY_LIMIT_WORKGROUP);
    if (header->narrow_parts > VY_LIMIT_WORKGROUP)
        return corrupt(error, "its workgroups have more parts than the limit", header->narrow_parts,
                       VY_LIMIT_WORKGROUP);
    if (header->private_count > VY_CPU_PRIVATE_BUFFERS)
        return corrupt(error, "it lists more private buffers than the limit", header->private_count,
                       VY_CPU_PRIVATE_BUFFERS);
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        if (p->op < VYRE_ATOMIC_ADD || p->op > VYRE_ATOMIC_MAX || p->type < VYRE_TYPE_I32 || p->type > VYRE_TYPE_U64)
            return corrupt(error, "the update of a private buffer is not an integer atomic", p->op, VYRE_ATOMIC_ADD);
    }
    return check_features(header->features, features, error);
}

/* ---- memory ---- */

static vyre_status fail_executable(vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED,
                   "allow the process executable memory (SELinux: execmem; systemd: MemoryDenyWriteExecute=no), or run "
                   "with `--backend reference`",
                   "the system refuses memory for compiled code (error %d)", errno);
}

/* Writes the code first and makes it executable afterwards. */
static vyre_status map(vy_cpu_code_object *object, const void *code, size_t size, vyre_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    object->map_size = (size + page - 1) / page * page;
    void *memory = mmap(NULL, object->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return vy_fail_memory(error, "loading compiled code");
    memcpy(memory, code, size);
    if (mprotect(memory, object->map_size, PROT_READ | PROT_EXEC) != 0) {
        vyre_status status = errno == ENOMEM ? vy_fail_memory(error, "loading compiled code") : fail_executable(error);
        munmap(memory, object->map_size);
        return status;
    }
    __builtin___clear_cache(memory, (char *)memory + size);
    object->map = memory;
    return VYRE_OK;
}

vyre_status vy_cpu_code_object_load(vyre_span bytes, uint64_t features, const char *name, vy_cpu_code_object *out,
                                    vyre_error *error) {
    *out = (vy_cpu_code_object){.map = NULL};
    if (bytes.size < sizeof out->header)
        return corrupt(error, "it is shorter than its header", bytes.size, sizeof out->header);
    vy_cpu_code_object object = {.map = NULL};
    memcpy(&object.header, bytes.data, sizeof object.header);
    vyre_status status = check(&object.header, bytes.size, features, error);
    if (status == VYRE_OK)
        status = map(&object, (const char *)bytes.data + sizeof object.header, (size_t)object.header.code_bytes, error);
    if (status != VYRE_OK)
        return status;
    object.entry = (vy_cpu_entry *)(uintptr_t)((char *)object.map + object.header.entry);
    size_t code = (size_t)object.header.code_bytes;
    jit_debug_write_perf_map(object.map, code, name);
    object.registration =
        vy_jit_debug_register(object.map, (vyre_span){(const char *)bytes.data + sizeof object.header + code,
                                                      (size_t)object.header.file_bytes});
    object.header.file_bytes = 0;
    *out = object;
    return VYRE_OK;
}

void vy_cpu_code_object_unload(vy_cpu_code_object *object) {
    jit_debug_unregister(object->registration);
    if (object->map)
        munmap(object->map, object->map_size);
    *object = (vy_cpu_code_object){.map = NULL};
}

vyre_status vy_cpu_code_object_save(const vy_cpu_code_object *object, size_t reserved, vyre_bytes *out,
                                    vyre_error *error) {
    size_t code = (size_t)object->header.code_bytes;
    vyre_status status = vyre_bytes_resize(out, reserved + sizeof object->header + code, error);
    if (status == VYRE_OK) {
        char *at = (char *)out->data + reserved;
        memcpy(at, &object->header, sizeof object->header);
        memcpy(at + sizeof object->header, object->map, code);
    }
    return status;
}

/* ---- executables ---- */

static void free_executable(vy_cpu_executable *code) {
    vy_launch_facts_free(code->facts);
    vy_release(code, sizeof *code);
}

/* Owns the facts, also on failure. */
static vyre_status executable_new(const vyre_program *program, vy_launch_facts *facts, vyre_span object,
                                  uint64_t features, vy_cpu_executable **out, vyre_error *error) {
    vy_cpu_executable *code = vy_allocate_zero(sizeof *code);
    if (!code) {
        vy_launch_facts_free(facts);
        return vy_fail_memory(error, "loading compiled code");
    }
    code->facts = facts;
    vyre_status status = vy_cpu_code_object_load(object, features, vyre_program_name(program), &code->object, error);
    if (status != VYRE_OK) {
        free_executable(code);
        return status;
    }
    atomic_init(&code->references, 1);
    vy_cpu_cost_start(&code->cost, facts->nodes, facts->varies);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
    *out = code;
    return VYRE_OK;
}

vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error) {
    vy_launch_facts *facts;
    *out = NULL;
    vyre_status status = vy_launch_facts_make(program, NULL, &facts, error);
    return status == VYRE_OK ? executable_new(program, facts, object, features, out, error) : status;
}

vyre_status vy_cpu_executable_load(const vyre_program *program, vyre_span bytes, uint64_t features,
                                   vy_cpu_executable **out, vyre_error *error) {
    vy_launch_facts *facts;
    *out = NULL;
    vyre_status status = vy_launch_facts_load(bytes, program, &facts, error);
    if (status != VYRE_OK)
        return status;
    const vyre_span object = {(const char *)bytes.data + facts->bytes, bytes.size - facts->bytes};
    return executable_new(program, facts, object, features, out, error);
}

vyre_status vy_cpu_executable_save(const vy_cpu_executable *code, vyre_bytes *out, vyre_error *error) {
    vyre_status status = vy_cpu_code_object_save(&code->object, code->facts->bytes, out, error);
    if (status == VYRE_OK)
        memcpy(out->data, code->facts, code->facts->bytes);
    return status;
}

vy_cpu_executable *vy_cpu_executable_retain(vy_cpu_executable *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

void vy_cpu_executable_release(vy_cpu_executable *code) {
    if (!code || atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_cpu_code_object_unload(&code->object);
    free_executable(code);
}
