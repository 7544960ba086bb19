/* docs/contract.md and docs/security.md: no item of the original and no section is missing, and every test that a row
 * names exists. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t size = 0, room = 1 << 20;
    char *text = malloc(room + 1);
    assert_non_null(text);
    size = fread(text, 1, room, file);
    text[size] = 0;
    fclose(file);
    return text;
}

/* Every function, type, field, text and test of the five documents. */
static const char *const items[] = {
    "registered_backends",
    "backend_dispatches",
    "backend_precedence",
    "registered_backends_by_precedence_slice",
    "registered_backends_by_precedence",
    "registration_for_id",
    "core_supported_ops",
    "acquire",
    "acquire_preferred_dispatch_backend",
    "id",
    "version",
    "supported_ops",
    "dispatch",
    "dispatch_borrowed",
    "dispatch_borrowed_timed",
    "dispatch_borrowed_into",
    "allocate_resident",
    "upload_resident",
    "free_resident",
    "dispatch_resident_timed",
    "compile_native",
    "compile_native_shared",
    "pipeline_cache_snapshot",
    "dispatch_async",
    "dispatch_borrowed_async",
    "supports_subgroup_ops",
    "supports_f16",
    "supports_bf16",
    "supports_tensor_cores",
    "supports_async_compute",
    "supports_indirect_dispatch",
    "supports_speculation",
    "supports_persistent_thread_dispatch",
    "supports_grid_sync",
    "is_distributed",
    "max_workgroup_size",
    "max_compute_workgroups_per_dimension",
    "max_compute_invocations_per_workgroup",
    "subgroup_size",
    "max_storage_buffer_bytes",
    "device_profile",
    "prepare",
    "flush",
    "shutdown",
    "device_lost",
    "try_recover",
    "dispatch_borrowed_batched",
    "dispatch_borrowed_batched_into",
    "dispatch_persistent_handles",
    "dispatch_persistent_handles_into",
    "dispatch_persistent_resource_outputs",
    "dispatch_persistent_handles_batched",
    "dispatch_persistent_handles_batched_into",
    "dispatch_persistent_handle_rows_into",
    "VyreBackend",
    "private::Sealed",
    "Program",
    "BackendError",
    "BackendError::UnsupportedFeature {name, backend}",
    "BackendError::InvalidProgram {fix}",
    "DispatchConfig",
    "OutputBuffers",
    "TimedDispatchResult {outputs, wall_ns, device_ns, enqueue_ns, wait_ns}",
    "Resource",
    "PendingDispatch",
    "ReadyPending",
    "is_ready",
    "await_result",
    "CompiledPipeline",
    "PipelineCacheSnapshot",
    "DeviceProfile",
    "backend",
    "supports_specialization_constants",
    "supports_trap_propagation",
    "has_mul_high",
    "has_dual_issue_fp32_int32",
    "has_subgroup_shuffle",
    "has_shared_memory",
    "max_native_int_width",
    "max_invocations_per_workgroup",
    "max_shared_memory_bytes",
    "max_storage_buffer_binding_size",
    "compute_units",
    "regs_per_thread_max",
    "l1_cache_bytes",
    "l2_cache_bytes",
    "mem_bw_gbps",
    "ideal_unroll_depth",
    "ideal_vector_pack_bits",
    "ideal_workgroup_tile",
    "shared_memory_bank_count",
    "shared_memory_bank_width_bytes",
    "OpId",
    "BackendRegistration {id, factory, supported_ops}",
    "BackendRegistration::supported_ops",
    "BackendRegistration::acquire",
    "wrap_grid_sync_split",
    "BackendPrecedence {id, rank}",
    "BackendCapability {id, dispatches}",
    "inventory::collect!",
    "CacheState",
    "cache_or_error",
    "cache_reservation_failed",
    "backend_dispatches_result",
    "backend_precedence_result",
    "registered_backends_by_precedence_slice_result",
    "is_reference_oracle_backend",
    "default_supported_ops",
    "missing_backend_registry_queries_return_absent_without_panicking",
    "clone_borrowed_inputs_for_dispatch",
    "checked_elapsed_wall_ns",
    "replace_output_buffers_preserving_slots_with_memory_stats",
    "reserved_batch_output_slots",
    "resize_batch_output_slots",
    "borrowed_resource_rows",
    "record_dispatch_io",
    "record_output_replacement_stats",
    "pipeline::compile",
    "DialectRegistry::global",
    "try_global",
    "from_inventory",
    "from_validated_defs",
    "from_defs",
    "extern_defs",
    "extern_registry::verify",
    "OpDef",
    "OpDefRegistration",
    "ExternDialect",
    "ExternOp",
    "Category::Extension",
    "validate_no_duplicates",
    "DuplicateOpIdError",
    "op_id",
    "first_registrant",
    "second_registrant",
    "registrant_for",
    "<unknown dialect>",
    "install",
    "registry_swap",
    "install_dialect_lookup",
    "DialectLookup",
    "provider_id",
    "intern_op",
    "intern_string",
    "InternedOpId",
    "lookup",
    "FrozenIndex",
    "get_lowering",
    "ReferenceKind",
    "cpu_ref",
    "LoweringTable",
    "with_extension",
    "iter",
    "Target",
    "Ptx",
    "SpirV",
    "PrimaryText",
    "PrimaryBinary",
    "SecondaryText",
    "NativeModule",
    "ReferenceBackend",
    "Extension",
    "aot_target_id",
    "extension",
    "Serialize",
    "Deserialize",
    "from_inventory_ingests_extern_ops",
    "concurrent_readers_see_consistent_index",
    "hot_swap_preserves_old_snapshot_readers",
    "new_readers_after_swap_see_new_data",
};

/* Defaults that are errors name the feature by these words. */
static const char *const features[] = {
    "resident buffer allocation",
    "resident buffer upload",
    "resident buffer free",
    "resident timed dispatch",
    "device recovery",
    "persistent handle dispatch",
    "persistent resident output dispatch",
};

static int count_missing(const char *page, const char *const *list, size_t count, char quote) {
    int missing = 0;
    for (size_t i = 0; i < count; i++) {
        char needle[128];
        snprintf(needle, sizeof needle, "%c%s%c", quote, list[i], quote);
        if (!strstr(page, needle)) {
            print_message("no row for %s\n", needle);
            missing++;
        }
    }
    return missing;
}

static void no_item_is_missing(void **state) {
    (void)state;
    char *page = read_all(vy_test_path("docs/contract.md"));
    assert_non_null(page);
    int missing = count_missing(page, items, sizeof items / sizeof *items, '`') +
                  count_missing(page, features, sizeof features / sizeof *features, '"');
    free(page);
    assert_int_equal(missing, 0);
}

/* backends.cpu.compile is tests/backends/cpu/test_compile.c, fuzz.wire is fuzz/fuzz_wire.c. */
static void name_source(const char *test, char path[512]) {
    const char *name = strrchr(test, '.') + 1;
    if (strncmp(test, "fuzz.", 5) == 0) {
        snprintf(path, 512, "fuzz/fuzz_%s.c", name);
        return;
    }
    int length = snprintf(path, 512, "tests/%.*s", (int)(name - test), test);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
    snprintf(path + length, 512 - (size_t)length, "test_%s.c", name);
}

/* `driver.NAME`: `claim`, `claim`; … The last cell of a row; "the same" repeats the cell above. */
static int check_cell(char *cell) {
    char path[512], *source = NULL, *at = cell;
    int wrong = 0;
    while ((at = strchr(at, '`'))) {
        char *end = strchr(at + 1, '`');
        if (!end)
            break;
        *end = 0;
        char *word = at + 1;
        if (strchr(word, '.')) {
            free(source);
            name_source(word, path);
            source = read_all(vy_test_path(path));
            if (!source) {
                print_message("there is no %s\n", path);
                wrong++;
            }
        } else if (source) {
            char needle[160];
            snprintf(needle, sizeof needle, "\nstatic void %s(void **state)", word);
            if (!strstr(source, needle)) {
                print_message("%s has no test `%s`\n", path, word);
                wrong++;
            }
        } else {
            print_message("`%s` has no test program before it\n", word);
            wrong++;
        }
        at = end + 1;
    }
    free(source);
    return wrong;
}

/* Every row of a page's tables names tests that exist; *rows counts them. With `each_has_table`, a heading without a
 * table is a mistake. */
static int check_page(const char *name, int each_has_table, int *rows) {
    char *page = read_all(vy_test_path(name)), *next, *heading = NULL;
    int wrong = 0, rows_before = 0;
    *rows = 0;
    assert_non_null(page);
    for (char *line = page; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (strncmp(line, "## ", 3) == 0 || !next) {
            if (each_has_table && heading && *rows == rows_before) {
                print_message("no table under `%s`\n", heading);
                wrong++;
            }
            heading = line;
            rows_before = *rows;
        }
        char *end = strrchr(line, '|');
        if (line[0] != '|' || end == line || strncmp(line, "| --", 4) == 0 || strstr(line, "| shown by |"))
            continue;
        *end = 0;
        char *cell = strrchr(line, '|') + 1;
        if (strncmp(cell, " the same", 9) != 0) {
            if (!strchr(cell, '`')) {
                print_message("a row names no test: %s\n", line);
                wrong++;
            }
            wrong += check_cell(cell);
        }
        ++*rows;
    }
    free(page);
    return wrong;
}

/* The check itself. */
static void a_row_that_names_no_test_is_found(void **state) {
    (void)state;
    char good[] = " `driver.select`: `a_candidate_that_fails_is_logged`; `driver.multi_launch` ";
    char no_claim[] = " `driver.select`: `a_claim_that_does_not_exist` ";
    char no_program[] = " `driver.a_program_that_does_not_exist` ";
    char no_order[] = " `a_candidate_that_fails_is_logged` ";
    assert_int_equal(check_cell(good), 0);
    assert_int_equal(check_cell(no_claim), 1);
    assert_int_equal(check_cell(no_program), 1);
    assert_int_equal(check_cell(no_order), 1);
}

static void every_test_a_row_names_exists(void **state) {
    (void)state;
    int rows;
    assert_int_equal(check_page("docs/contract.md", 0, &rows), 0);
    assert_true(rows > 50);
}

static void every_test_of_the_security_page_exists(void **state) {
    (void)state;
    static const char *const sections[] = {"Programs and wire files",
                                           "Cache entries",
                                           "Plug-ins",
                                           "The compiler",
                                           "Manifests",
                                           "Environment variables",
                                           "Set-user-id processes",
                                           "GPUs and OpenCL devices"};
    int rows;
    assert_int_equal(check_page("docs/security.md", 1, &rows), 0);
    assert_true(rows > 30);
    char *page = read_all(vy_test_path("docs/security.md"));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        char heading[64];
        snprintf(heading, sizeof heading, "\n## %s\n", sections[i]);
        if (!strstr(page, heading))
            fail_msg("docs/security.md has no section `%s`", sections[i]);
    }
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_item_is_missing),
        cmocka_unit_test(a_row_that_names_no_test_is_found),
        cmocka_unit_test(every_test_a_row_names_exists),
        cmocka_unit_test(every_test_of_the_security_page_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
