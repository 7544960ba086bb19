/* Objects: what is loaded, and what is refused of bytes that somebody else wrote. */
#include "backends/cpu/blob.h"

#include "support/fault.h"

static vyre_bytes object_of(const blob *code) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(blob_make(code, &bytes, NULL), VYRE_OK);
    return bytes;
}

static vyre_status load(const vyre_bytes *bytes, size_t size, vyre_error *error) {
    vy_cpu_code_object object;
    vyre_status status =
        vy_cpu_code_object_load((vyre_span){bytes->data, size}, vy_cpu_features(), "test", &object, error);
    vy_cpu_code_object_unload(&object);
    return status;
}

static void code_is_called(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    uint64_t params[1] = {10};
    const uint32_t never = 0;
    vy_cpu_buffer buffers[2] = {{(uint8_t *)in, 4, 0}, {(uint8_t *)out, 4, 0}};
    vy_cpu_frame frame = {.buffers = buffers, .params = params, .cancel = &never, .stop = &never, .groups = {4, 1, 1}};
    vyre_bytes bytes = object_of(&add_blob), again = VYRE_BYTES_INIT;
    vy_cpu_code_object object;
    assert_int_equal(
        vy_cpu_code_object_load((vyre_span){bytes.data, bytes.size}, vy_cpu_features(), "test", &object, NULL),
        VYRE_OK);
    object.entry(&frame, 1, 3);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 12);
    assert_int_equal(out[2], 13);
    assert_int_equal(out[3], 0);
    assert_int_equal(vy_cpu_code_object_save(&object, 0, &again, NULL), VYRE_OK);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
    vy_cpu_code_object_unload(&object);
    vy_cpu_code_object_unload(&object);
    vyre_bytes_free(&again);
    vyre_bytes_free(&bytes);
}

/* The letters of the mapping that holds the address in /proc/self/maps. */
static void rights_of(const void *address, char rights[8]) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end;
    assert_non_null(file);
    rights[0] = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && (uintptr_t)address >= start &&
            (uintptr_t)address < end)
            break;
    fclose(file);
}

static void memory_is_never_writable_and_executable(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_bytes bytes = object_of(&add_blob);
    vy_cpu_code_object object;
    char rights[8], line[512];
    assert_int_equal(
        vy_cpu_code_object_load((vyre_span){bytes.data, bytes.size}, vy_cpu_features(), "test", &object, NULL),
        VYRE_OK);
    rights_of(object.map, rights);
    assert_string_equal(rights, "r-xp");
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, file))
        assert_null(strstr(line, "rwx"));
    fclose(file);
    vy_cpu_code_object_unload(&object);
    vyre_bytes_free(&bytes);
}

static void what_is_cut_short_is_refused(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_bytes bytes = object_of(&add_blob);
    vyre_error error;
    for (size_t size = 0; size < bytes.size; size++) {
        assert_int_equal(load(&bytes, size, &error), VYRE_CORRUPT);
        assert_true(error.fix[0] != 0);
    }
    assert_int_equal(vyre_bytes_resize(&bytes, bytes.size + 1, NULL), VYRE_OK);
    assert_int_equal(load(&bytes, bytes.size, &error), VYRE_CORRUPT);
    vyre_bytes_free(&bytes);
}

#if defined(__aarch64__)
#define OTHER_ARCHITECTURE VY_CPU_FEATURE_X86_64
#else
#define OTHER_ARCHITECTURE VY_CPU_FEATURE_AARCH64
#endif

static void every_field_of_the_header_is_checked(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    const uint64_t size = (uint64_t)(add_blob.end - add_blob.start);
    const struct {
        size_t offset, size;
        uint64_t value;
        vyre_status status;
    } rows[] = {
#define FIELD(name) offsetof(vy_cpu_header, name), sizeof(((vy_cpu_header *)0)->name)
        {FIELD(magic), 0x31313131, VYRE_CORRUPT},
        {FIELD(format), 0, VYRE_UNSUPPORTED},
        {FIELD(format), VY_CPU_FORMAT + 1, VYRE_UNSUPPORTED},
        {FIELD(width), 0, VYRE_CORRUPT},
        {FIELD(width), 3, VYRE_CORRUPT},
        {FIELD(width), 128, VYRE_CORRUPT},
        {FIELD(width), UINT32_MAX, VYRE_CORRUPT},
        {FIELD(features), UINT64_MAX, VYRE_UNSUPPORTED},
        {FIELD(features), UINT64_C(1) << 63, VYRE_UNSUPPORTED},
        {FIELD(features), OTHER_ARCHITECTURE, VYRE_UNSUPPORTED},
        {FIELD(entry), size, VYRE_CORRUPT},
        {FIELD(entry), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(code_bytes), 0, VYRE_CORRUPT},
        {FIELD(code_bytes), size - 1, VYRE_CORRUPT},
        {FIELD(code_bytes), size + 1, VYRE_CORRUPT},
        {FIELD(code_bytes), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(code_bytes), UINT64_MAX - sizeof(vy_cpu_header) + 1, VYRE_CORRUPT},
        {FIELD(file_bytes), 1, VYRE_CORRUPT},
        {FIELD(file_bytes), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(workgroup_bytes), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(workgroup_bytes), VY_CPU_FRAME_LIMIT + 1, VYRE_CORRUPT},
        {FIELD(spill_bytes), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(spill_bytes), UINT64_MAX - 63, VYRE_CORRUPT},
        {FIELD(stack_bytes), UINT64_MAX, VYRE_CORRUPT},
        {FIELD(stack_bytes), VY_CPU_STACK_LIMIT + 1, VYRE_CORRUPT},
        {FIELD(parts), 0, VYRE_CORRUPT},
        {FIELD(parts), VY_LIMIT_WORKGROUP + 1, VYRE_CORRUPT},
        {FIELD(parts), UINT32_MAX, VYRE_CORRUPT},
        {FIELD(narrow_parts), VY_LIMIT_WORKGROUP + 1, VYRE_CORRUPT},
        {FIELD(narrow_parts), UINT32_MAX, VYRE_CORRUPT},
        {FIELD(private_count), VY_CPU_PRIVATE_BUFFERS + 1, VYRE_CORRUPT},
        {FIELD(private_count), UINT32_MAX, VYRE_CORRUPT},
        {FIELD(private_count), 1, VYRE_CORRUPT}, /* of no atomic that combines */
#undef FIELD
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_bytes bytes = object_of(&add_blob);
        vyre_error error;
        memcpy((char *)bytes.data + rows[i].offset, &rows[i].value, rows[i].size);
        vyre_status status = load(&bytes, bytes.size, &error);
        if (status != rows[i].status)
            fail_msg("row %zu gives %s", i, vyre_status_name(status));
        assert_true(error.fix[0] != 0);
        vyre_bytes_free(&bytes);
    }
}

/* Random bytes in the header either make an object or are refused; nothing is called. */
static void random_headers_are_survived(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vy_random random = vy_random_start(6);
    for (unsigned i = 0; i < 3000 * vy_test_effort(); i++) {
        vyre_bytes bytes = object_of(&add_blob);
        for (uint64_t n = vy_random_below(&random, 4) + 1; n > 0; n--)
            ((uint8_t *)bytes.data)[vy_random_below(&random, sizeof(vy_cpu_header))] = (uint8_t)vy_random_next(&random);
        vyre_error error;
        load(&bytes, bytes.size, &error);
        vyre_bytes_free(&bytes);
    }
}

typedef struct loading {
    vyre_bytes bytes;
    vyre_program *program;
} loading;

static vyre_status store_and_load(const loading *l, vyre_bytes *saved, vy_cpu_executable *codes[2]) {
    codes[0] = codes[1] = NULL;
    vyre_status status = vy_cpu_executable_new(l->program, (vyre_span){l->bytes.data, l->bytes.size}, vy_cpu_features(),
                                               &codes[0], NULL);
    if (status == VYRE_OK)
        status = vy_cpu_executable_save(codes[0], saved, NULL);
    if (status == VYRE_OK)
        status = vy_cpu_executable_load(l->program, (vyre_span){saved->data, saved->size}, vy_cpu_features(), &codes[1],
                                        NULL);
    return status;
}

static vyre_status load_code(void *user) {
    vy_cpu_executable *codes[2];
    vyre_bytes saved = VYRE_BYTES_INIT;
    vyre_status status = store_and_load(user, &saved, codes);
    for (int i = 0; i < 2; i++)
        vy_cpu_executable_release(codes[i]);
    vyre_bytes_free(&saved);
    return status;
}

/* The facts are those of the compile; a program whose facts are lost or damaged is not run without them. */
static void stored_executables_keep_their_launch_facts(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    loading l = {object_of(&add_blob), vy_test_parse(BLOB_ADD)};
    vy_cpu_executable *codes[2], *none;
    vyre_bytes saved = VYRE_BYTES_INIT;
    assert_int_equal(store_and_load(&l, &saved, codes), VYRE_OK);
    uint32_t size = codes[0]->facts->bytes;
    assert_int_equal(size, codes[1]->facts->bytes);
    assert_memory_equal(codes[0]->facts, codes[1]->facts, size);
    assert_memory_equal((char *)saved.data + size, l.bytes.data, sizeof(vy_cpu_header));
    assert_int_equal(vy_cpu_cost_get(&codes[0]->cost), vy_cpu_cost_get(&codes[1]->cost));
    for (size_t cut = 0; cut < saved.size; cut++) {
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(
            vy_cpu_executable_load(l.program, (vyre_span){saved.data, cut}, vy_cpu_features(), &none, &error),
            VYRE_CORRUPT);
        assert_true(error.fix[0] != 0);
    }
    ((vy_launch_facts *)saved.data)->output_count++;
    assert_int_equal(
        vy_cpu_executable_load(l.program, (vyre_span){saved.data, saved.size}, vy_cpu_features(), &none, NULL),
        VYRE_CORRUPT);
    for (int i = 0; i < 2; i++)
        vy_cpu_executable_release(codes[i]);
    vyre_bytes_free(&saved);
    vyre_bytes_free(&l.bytes);
    vyre_program_release(l.program);
}

static void loading_survives_a_lack_of_memory(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    loading l = {object_of(&add_blob), vy_test_parse(BLOB_ADD)};
    VY_FAULT_LOOP(load_code, &l);
    vyre_bytes_free(&l.bytes);
    vyre_program_release(l.program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_called),
        cmocka_unit_test(memory_is_never_writable_and_executable),
        cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(every_field_of_the_header_is_checked),
        cmocka_unit_test(random_headers_are_survived),
        cmocka_unit_test(stored_executables_keep_their_launch_facts),
        cmocka_unit_test(loading_survives_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
