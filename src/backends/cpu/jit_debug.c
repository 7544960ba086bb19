/* The map of `perf`, and GDB's interface for code that was made at run time (jit_debug.h). */
#include "backends/cpu/jit_debug.h"

#include "base/env.h"
#include "base/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- perf ---- */

void vy_jit_debug_write_perf_map(const void *code, size_t size, const char *name) {
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

/* "JIT Compilation Interface" of GDB's manual: it finds the two names in the table of symbols, which need not be the dynamic one, stops where the function is called
 * and reads the descriptor. Weak, since a program may bring its own. */
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

void vy_jit_debug_unregister(vy_jit_registration *registration) {
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
