/* Digests of what the oracle gives for the programs of a range of seeds, in a file: computed once on any machine,
 * compared with what a device gives on another.
 *
 * The file is a header and one u64 for each seed: 0 where nobody can be judged by the program (it does not end in
 * time, or races), else a digest of status, trap and outputs. The header has a checksum of two programs' texts, so
 * that digests of another generator are known for what they are. */
#ifndef VY_TESTS_EMIT_PTX_DIGEST_H
#define VY_TESTS_EMIT_PTX_DIGEST_H

#include "backends/conform_campaign.h"
#include "emit/ptx/device.h"

#include "base/string.h"

#include <fcntl.h>

typedef struct digest_header {
    char magic[8];
    uint64_t first, count;
    uint8_t generator[16];
} digest_header;

typedef struct digest_file {
    digest_header *header; /* mapped, and behind it the digests */
    uint64_t *digests;
    size_t bytes;
} digest_file;

static const char digest_magic[8] = "VYDIGST1";

/* ---- one ---- */

/* Smaller than those of the backends' campaigns, since there are a thousand times as many, and what takes the time is
 * the driver's compiler: by the seed alone. Some are long, some have large grids, some call math functions. */
static inline vyre_case *digest_generate(uint64_t seed) {
    vyre_generate_options options = {
        .seed = seed, .statements = 2 + (unsigned)(seed % 5), .depth = 2 + (unsigned)(seed / 5 % 2), .invocations = 64};
    if (trees_are_of(seed))
        return trees_generate(seed, TREES);
    if (seed % 3 == 0)
        options.stress = 1u << (seed / 3 % VYRE_STRESS_COUNT);
    if (seed % 16 == 0)
        options.invocations = 700;
    if (seed % 128 == 5) {
        options.statements = 30;
        options.depth = 4;
    }
    if (seed % 64 == 9)
        options.invocations = 4096;
    if (seed % 16 == 11) { /* long enough for a call of an op of the dialect math */
        options.statements = 12;
        options.stress = VYRE_STRESS_MATH;
    }
    return conform_generate_by(&options);
}

static inline uint64_t digest_of(const outcome *out) {
    struct {
        uint64_t status, trap_invocation, trap_code;
        uint8_t outputs[DEVICE_OUTPUTS][16];
        uint64_t sizes[DEVICE_OUTPUTS];
    } all;
    uint8_t sum[16];
    uint64_t digest;
    memset(&all, 0, sizeof all);
    all.status = (uint64_t)out->status;
    if (out->status == VYRE_TRAPPED) {
        all.trap_invocation = out->trap.invocation;
        all.trap_code = out->trap.code;
    }
    for (int i = 0; i < DEVICE_OUTPUTS && out->status == VYRE_OK; i++) {
        all.sizes[i] = out->outputs[i].size;
        if (out->outputs[i].size)
            vy_checksum(out->outputs[i].data, out->outputs[i].size, all.outputs[i]);
    }
    vy_checksum(&all, sizeof all, sum);
    memcpy(&digest, sum, sizeof digest);
    return digest ? digest : 1;
}

/* Traps may part who meets: there, races and meetings are looked for. */
static inline unsigned digest_checks(uint64_t seed) {
    return seed % 4 == 3 ? VYRE_CHECK_RACES | VYRE_CHECK_DIVERGENCE : 0;
}

static inline int digest_is_judged(const outcome *want) {
    return want->status == VYRE_OK || want->status == VYRE_TRAPPED;
}

static inline uint64_t digest_by_oracle(uint64_t seed) {
    vyre_case *made = digest_generate(seed);
    static outcome want;
    outcome_of_oracle(vyre_case_program(made), vyre_case_arguments(made), digest_checks(seed), &want);
    uint64_t digest = digest_is_judged(&want) ? digest_of(&want) : 0;
    outcome_free(&want);
    vyre_case_free(made);
    return digest;
}

/* ---- the file ---- */

static inline void digest_generator(uint64_t first, uint64_t count, uint8_t out[16]) {
    uint8_t sums[2][16];
    const uint64_t seeds[2] = {first, first + count - 1};
    for (int i = 0; i < 2; i++) {
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_case *made = digest_generate(seeds[i]);
        assert_int_equal(vyre_text_print(vyre_case_program(made), &text, NULL), VYRE_OK);
        vy_checksum(text.data, text.size, sums[i]);
        vyre_bytes_free(&text);
        vyre_case_free(made);
    }
    vy_checksum(sums, sizeof sums, out);
}

static inline int digest_map(int descriptor, size_t bytes, int protection, digest_file *file) {
    void *memory = mmap(NULL, bytes, protection, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return 0;
    file->header = memory;
    file->digests = (uint64_t *)(file->header + 1);
    file->bytes = bytes;
    return 1;
}

/* An empty one, to be filled in; 0 with a sentence. */
static inline int digest_create(const char *path, uint64_t first, uint64_t count, digest_file *file) {
    size_t bytes = sizeof *file->header + (size_t)count * sizeof *file->digests;
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    int good = descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) == 0 &&
               digest_map(descriptor, bytes, PROT_READ | PROT_WRITE, file);
    if (descriptor >= 0)
        close(descriptor);
    if (!good) {
        printf("%s cannot be written\n", path);
        return 0;
    }
    file->header->first = first;
    file->header->count = count;
    digest_generator(first, count, file->header->generator);
    return 1;
}

/* Says that all digests are there. */
static inline void digest_seal(digest_file *file) {
    memcpy(file->header->magic, digest_magic, sizeof digest_magic);
}

/* One that is complete and of this generator; 0 with a sentence. */
static inline int digest_open(const char *path, digest_file *file) {
    digest_header header;
    uint8_t generator[16];
    int descriptor = open(path, O_RDONLY), good = 0;
    off_t bytes = descriptor >= 0 ? lseek(descriptor, 0, SEEK_END) : 0;
    if (descriptor >= 0 && pread(descriptor, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.magic, digest_magic, sizeof digest_magic) == 0 && header.count > 0 &&
        bytes == (off_t)(sizeof header + header.count * sizeof *file->digests))
        good = digest_map(descriptor, (size_t)bytes, PROT_READ, file);
    if (descriptor >= 0)
        close(descriptor);
    if (!good) {
        printf("%s is no complete file of digests\n", path);
        return 0;
    }
    digest_generator(header.first, header.count, generator);
    if (memcmp(generator, header.generator, sizeof generator) != 0) {
        printf("%s has the digests of another generator: make it anew with this program\n", path);
        munmap(file->header, file->bytes);
        return 0;
    }
    return 1;
}

static inline void digest_close(digest_file *file) {
    munmap(file->header, file->bytes);
}

#endif
