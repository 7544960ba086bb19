/* JIT code objects: checking and loading, registration with perf and GDB, and reference-counted executables
 * (code_object.h). */
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

/* ---- registration with perf and GDB: perf ---- */

/* A line in /tmp/perf-PID.map, which `perf` reads. */
static void jit_debug_write_perf_map(const void *code, size_t size, const char *name) {
    char path[64], line[256];
    if (!vy_env_flag("VYRE_PERF_MAP", 0))
        return;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int length = snprintf(line, sizeof line, "%" PRIxPTR " %zx vyre:%.128s\n", (uintptr_t)code, size, name);
    struct stat about;
    /* The name is known in advance: another user may have put a link, a pipe or a file of his own there. */
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0)
        return;
    int is_ours = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid();
    ssize_t written = is_ours && length > 0 && (size_t)length < sizeof line ? write(file, line, (size_t)length) : 0;
    (void)written;
    close(file);
}

/* ---- GDB ---- */

/* "JIT Compilation Interface" of GDB's manual: it finds the two names in the table of symbols, which need not be the
 * dynamic one, stops where the function is called and reads the descriptor. Weak, since a program may bring its own. */
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

/* With the lock held. */
static void notify_debugger(jit_action action, vy_jit_registration *registration) {
    __jit_debug_descriptor.action = (uint32_t)action;
    __jit_debug_descriptor.relevant = registration;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = JIT_NOTHING;
    __jit_debug_descriptor.relevant = NULL;
}

/* Sections of the code go to where it lies; 0 if the bytes are no such file. */
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

/* ---- code objects: checks ---- */

static vyre_status corrupt(vyre_error *error, const char *what, uint64_t given, uint64_t limit) {
    return vy_fail(error, VYRE_CORRUPT, "compile the program again: `vyre cache clear` drops what is stored",
                   "compiled code is damaged: %s (%" PRIu64 ", %" PRIu64 " is expected)", what, given, limit);
}

static vyre_status check_features(uint64_t needed, uint64_t features, vyre_error *error) {
    uint64_t missing = needed & ~features;
    if (!missing)
        return VYRE_OK;
    unsigned bit = (unsigned)__builtin_ctzll(missing);
    const char *name = vy_cpu_feature_name(bit);
    return vy_fail(error, VYRE_UNSUPPORTED, "compile the program on this machine",
                   "compiled code needs something this processor does not have (%s, feature %u)",
                   name && *name ? name : "another architecture or a newer one", bit);
}

static vyre_status check(const vy_cpu_header *header, size_t size, uint64_t features, vyre_error *error) {
    uint64_t behind = size - sizeof *header;
    if (memcmp(header->magic, VY_CPU_MAGIC, sizeof header->magic) != 0)
        return vy_fail(error, VYRE_CORRUPT, NULL, "the bytes are not compiled code: they do not start with \"%s\"",
                       VY_CPU_MAGIC);
    if (header->format != VY_CPU_FORMAT)
        return vy_fail(error, VYRE_UNSUPPORTED, "compile the program again with the library that is to run it",
                       "compiled code is of format %" PRIu32 ", this library loads %d", header->format, VY_CPU_FORMAT);
    if (!header->width || header->width > VY_CPU_WIDTH_MAX || (header->width & (header->width - 1)))
        return corrupt(error, "its lanes are not a power of two up to the limit", header->width, VY_CPU_WIDTH_MAX);
    if (header->code_bytes > behind || header->file_bytes != behind - header->code_bytes)
        return corrupt(error, "its code has another size than it says", header->code_bytes, behind);
    if (!header->code_bytes || header->code_bytes > VY_CPU_CODE_LIMIT)
        return corrupt(error, "its code is empty or over the limit", header->code_bytes, VY_CPU_CODE_LIMIT);
    if (header->entry >= header->code_bytes)
        return corrupt(error, "it starts behind its end", header->entry, header->code_bytes);
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
        return corrupt(error, "it lists more buffers to have of one's own than the limit", header->private_count,
                       VY_CPU_PRIVATE_BUFFERS);
    for (uint32_t i = 0; i < header->private_count; i++) {
        const vy_cpu_private_buffer *p = &header->privates[i];
        if (p->op < VYRE_ATOMIC_ADD || p->op > VYRE_ATOMIC_MAX || p->type < VYRE_TYPE_I32 || p->type > VYRE_TYPE_U64)
            return corrupt(error, "what it combines in a buffer is no atomic of integers", p->op, VYRE_ATOMIC_ADD);
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

/* Written first, executable afterwards, never both. */
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

vyre_status vy_cpu_code_object_save(const vy_cpu_code_object *object, vyre_bytes *out, vyre_error *error) {
    size_t code = (size_t)object->header.code_bytes;
    vyre_status status = vyre_bytes_resize(out, sizeof object->header + code, error);
    if (status == VYRE_OK) {
        memcpy(out->data, &object->header, sizeof object->header);
        memcpy((char *)out->data + sizeof object->header, object->map, code);
    }
    return status;
}

/* ---- executables ---- */

static void free_executable(vy_cpu_executable *code) {
    vy_release(code->full_writes, code->buffer_count * sizeof *code->full_writes);
    vy_release(code, sizeof *code);
}

static vyre_status find_full_writes(const vyre_program *program, vy_cpu_executable *code, vyre_error *error) {
    size_t count = vyre_program_buffer_count(program);
    code->full_writes = vy_allocate(count * sizeof *code->full_writes);
    if (count && !code->full_writes)
        return vy_fail_memory(error, "loading compiled code");
    code->buffer_count = (uint32_t)count;
    return vy_full_write_find(program, code->full_writes, error);
}

vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error) {
    vyre_buffer_info info;
    vy_cpu_executable *code = vy_allocate_zero(sizeof *code);
    *out = NULL;
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    vyre_status status = find_full_writes(program, code, error);
    if (status == VYRE_OK)
        status = vy_cpu_code_object_load(object, features, vyre_program_name(program), &code->object, error);
    if (status != VYRE_OK) {
        free_executable(code);
        return status;
    }
    atomic_init(&code->references, 1);
    vy_cpu_cost_estimate(program, &code->cost);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
    for (uint32_t i = 0; vyre_program_buffer(program, i, &info); i++)
        code->buffers[i] =
            (vy_cpu_executable_buffer){.element = (uint8_t)vyre_type_size(info.type), .access = (uint8_t)info.access};
    *out = code;
    return VYRE_OK;
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
