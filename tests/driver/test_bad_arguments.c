/* Arguments that are wrong without being NULL: arrays with a NULL inside, counts and sizes that overflow, bytes at odd
 * addresses. Each call is made in a child process; it returns an error with a fix, or the right result. */
#include "driver/null_values.h"
#include "driver/registry/child.h"

#include "backends/cpu/compile.h"
#include "generate/generate.h"
#include "ir/model.h"

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

/* The call fails with this status, and the error has a message and a fix. */
#define REFUSED(expected, call)                                                                                        \
    do {                                                                                                               \
        the_error = (vyre_error)VYRE_ERROR_INIT;                                                                       \
        vyre_status status = (call);                                                                                   \
        if (status != (expected))                                                                                      \
            printf("%s instead of %s: %s\n", vyre_status_name(status), vyre_status_name(expected), the_error.message); \
        CHILD_CLAIM(status == (expected));                                                                             \
        CHILD_CLAIM(the_error.code == status && the_error.message[0] && the_error.fix[0]);                             \
    } while (0)

static void in_child(void (*body)(size_t)) {
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE}; /* cmocka would go on after them */
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], SIG_DFL);
        alarm(120);
        body(0);
        fflush(stdout);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* On both backends of the host. */
static void on_backends(void (*body)(size_t)) {
    in_child(body);
    if (vy_cpu_compiler_check(NULL) != VYRE_OK) {
        printf("SKIP backend cpu: there is no compiler plug-in in this build\n");
        return;
    }
    backend_id = "cpu";
    in_child(body);
    backend_id = "reference";
}

/* ---- NULL inside arrays ---- */

static vyre_arguments *arguments_with_a_null_input(void) {
    vyre_arguments *given = arguments();
    ((vyre_span *)given->inputs)[1].data = NULL;
    return given;
}

static vyre_bytes *owned_with_a_null_input(void) {
    vyre_bytes *inputs = owned_inputs();
    inputs[1].data = NULL;
    return inputs;
}

static void null_inputs(size_t unused) {
    (void)unused;
    vyre_pending *pending = NULL;
    vyre_case *made = NULL;
    vyre_trap trap;
    size_t failed;
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch(backend(), program(), arguments_with_a_null_input(), NULL,
                                                         outputs(), &trap, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch_into(backend(), program(), arguments_with_a_null_input(), NULL,
                                                              outputs(), &trap, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch_owned(backend(), program(), owned_with_a_null_input(), 3,
                                                               arguments(), NULL, outputs(), &trap, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch_async(backend(), program(), arguments_with_a_null_input(),
                                                               NULL, &pending, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch_owned_async(backend(), program(), owned_with_a_null_input(), 3,
                                                                     arguments(), NULL, &pending, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_pipeline_dispatch(pipeline(), arguments_with_a_null_input(), NULL, outputs(), &trap, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_pipeline_dispatch_batch(pipeline(), arguments_with_a_null_input(), 1, NULL,
                                                                outputs(), &failed, &trap, &the_error));
    CHILD_CLAIM(failed == 0);
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_oracle_run(oracle(), arguments_with_a_null_input(), NULL, two_bytes(), NULL, NULL, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_case_new(program(), arguments_with_a_null_input(), &made, &the_error));
}

static void an_input_at_null_is_refused(void **state) {
    (void)state;
    on_backends(null_inputs);
}

static void null_resources(size_t unused) {
    (void)unused;
    vyre_outputs *two = calloc(2, sizeof *two);
    size_t failed;
    vyre_resource host[4];
    for (size_t bad = 0; bad < 2; bad++) {
        const vyre_resource *items[2] = {bindings(), bindings()};
        items[bad] = NULL;
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_pipeline_dispatch_persistent_batch(pipeline(), items, 4, 2, arguments(),
                                                                               NULL, two, &failed, NULL, &the_error));
        CHILD_CLAIM(failed == bad);
    }
    memcpy(host, bindings(), sizeof host);
    host[0] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {NULL, 16}};
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_pipeline_dispatch_persistent(pipeline(), host, 4, arguments(), NULL, outputs(),
                                                                     NULL, NULL, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_pipeline_dispatch_rows(pipeline(), (const vyre_resource(*)[4])host, 1, arguments(), NULL, outputs(),
                                        &failed, NULL, &the_error));
}

static void a_resource_at_null_is_refused(void **state) {
    (void)state;
    on_backends(null_resources);
}

static void null_slots(size_t unused) {
    (void)unused;
    for (int form = 0; form < 4; form++) {
        vyre_outputs *broken = outputs();
        broken->items[0].capacity = 64;
        if (form == 0)
            REFUSED(VYRE_INVALID_ARGUMENT,
                    vyre_backend_dispatch(backend(), program(), arguments(), NULL, broken, NULL, &the_error));
        if (form == 1)
            REFUSED(VYRE_INVALID_ARGUMENT,
                    vyre_pipeline_dispatch_into(pipeline(), arguments(), NULL, broken, NULL, &the_error));
        if (form == 2)
            REFUSED(VYRE_INVALID_ARGUMENT,
                    vyre_pipeline_dispatch_batch(pipeline(), arguments(), 1, NULL, broken, NULL, NULL, &the_error));
        if (form == 3)
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_pending_wait(pending(), UINT64_MAX, broken, NULL, &the_error));
    }
}

static void an_output_slot_without_memory_is_refused(void **state) {
    (void)state;
    on_backends(null_slots);
}

/* Definitions of ops, each with one thing missing. */
static void null_in_definitions(size_t unused) {
    (void)unused;
    enum { KINDS = 9 };
    for (int kind = 0; kind < KINDS; kind++) {
        const vyre_op_definition *ops[1] = {op_definition()};
        vyre_op_definition *op = (vyre_op_definition *)ops[0];
        static vyre_law law;
        static vyre_law_argument argument;
        law = (vyre_law){.kind = VYRE_LAW_BOUNDED, .argument_count = 2};
        vyre_op_operand *input = (vyre_op_operand *)op->inputs;
        vyre_attribute *attribute = (vyre_attribute *)op->attributes;
        vyre_lowering *lowering = (vyre_lowering *)op->lowerings;
        switch (kind) {
        case 0:
            input->name = NULL;
            break;
        case 1:
            attribute->name = NULL;
            break;
        case 2:
            attribute->value_count = 3;
            break;
        case 3:
            op->laws = &law;
            break;
        case 4:
            law = (vyre_law){.kind = VYRE_LAW_INVERSE_OF, .argument_count = 1, .arguments = &argument};
            op->laws = &law;
            break;
        case 5:
            lowering->target = NULL;
            break;
        case 6:
            lowering->data = NULL;
            break;
        case 7:
            ops[0] = NULL;
            break;
        case 8:
            op->id = NULL;
            break;
        }
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_dialect_builder_add(dialect_builder(), dialect(), ops, 1, &the_error));
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_dialect_builder_replace(dialect_builder(), dialect(), ops, 1, &the_error));
    }
    const vyre_op_definition *two[2] = {NULL, NULL};
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_dialects_validate_no_duplicates(two, 2, &the_error));
    const char *folders[1] = {NULL};
    vyre_dialects_watch_options *options = watch_options();
    vyre_dialects_watcher *watcher;
    options->folders = folders;
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_dialects_watch(options, &watcher, &the_error));
}

static void a_definition_with_a_null_inside_is_refused(void **state) {
    (void)state;
    in_child(null_in_definitions);
}

/* Records of a module: none of them has what it must have. */
static void null_in_modules(size_t unused) {
    (void)unused;
    static const vyre_backend_registration no_id = {.struct_size = sizeof no_id, .abi = VYRE_BACKEND_ABI};
    static const vyre_backend_registration no_create = {
        .struct_size = sizeof no_create, .abi = VYRE_BACKEND_ABI, .id = "missing"};
    static const vyre_backend_registration no_size = {.abi = VYRE_BACKEND_ABI, .id = "missing"};
    static const vyre_backend_registration *const records[] = {NULL, &no_id, &no_create, &no_size};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        vyre_module_descriptor *module = descriptor();
        module->backends = &records[i], module->backends_end = &records[i] + 1;
        the_error = (vyre_error)VYRE_ERROR_INIT;
        vyre_status status = vyre_module_register(module, &the_error);
        CHILD_CLAIM(status == VYRE_INVALID_ARGUMENT || status == VYRE_ABI_MISMATCH);
        CHILD_CLAIM(the_error.message[0] && the_error.fix[0]);
    }
    vyre_module_descriptor *module = descriptor();
    module->backends = NULL, module->backends_end = &records[1];
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_module_register(module, &the_error));
}

static void a_module_with_a_null_inside_is_refused(void **state) {
    (void)state;
    in_child(null_in_modules);
}

static void null_in_texts(size_t unused) {
    (void)unused;
    static const vyre_define no_name = {NULL, "1"}, no_value = {"n", NULL};
    static const char text[] = "const n : u32 = 1\nprogram p { workgroup 1\n grid 1\n}\n";
    vyre_module *module;
    vyre_parse_options options = {.define_count = 1};
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_text_parse(text, sizeof text - 1, &options, NULL, &module, &the_error));
    options.defines = &no_name;
    REFUSED(VYRE_INVALID_PROGRAM, vyre_text_parse(text, sizeof text - 1, &options, NULL, &module, &the_error));
    options.defines = &no_value;
    REFUSED(VYRE_INVALID_PROGRAM, vyre_text_parse(text, sizeof text - 1, &options, NULL, &module, &the_error));

    /* An empty guard has nothing in it; one without a slot is not the library's. */
    vyre_dialects_guard none = {NULL, NULL}, held = vyre_dialects_retain(none);
    vyre_program *resolved = NULL;
    CHILD_CLAIM(!held.snapshot && !vyre_dialects_count(none) && !vyre_dialects_at(none, 0));
    CHILD_CLAIM(!vyre_dialects_find(none, "a.b", 3) && !vyre_dialects_dialect(none, "a", 1));
    CHILD_CLAIM(vyre_program_resolve(program(), none, NULL, &resolved, &the_error) == VYRE_OK);
    REFUSED(VYRE_NOT_FOUND, vyre_dialects_check_laws(none, op_with_laws(), &the_error));
    REFUSED(VYRE_NOT_FOUND, vyre_dialects_check_lowerings(none, op_with_laws(), &the_error));

    vyre_builder *b = vyre_builder_new("p");
    vyre_function function = {NULL, 0};
    const char *no_names[1] = {NULL};
    vyre_type u32 = VYRE_TYPE_U32;
    vyre_operand nothing = {{NULL, 0}, {NULL, 0}};
    vyre_value result;
    vyre_builder_call(b, function, &nothing, 1, no_names, &result);
    vyre_builder_call_op(b, "bits.low_mask_u32", &nothing, 1, no_names, &u32, 1, &result);
    REFUSED(VYRE_INVALID_PROGRAM, vyre_builder_finish(b, NULL, &resolved, &the_error));
}

static void a_text_with_a_null_inside_is_refused(void **state) {
    (void)state;
    in_child(null_in_texts);
}

/* ---- counts and sizes ---- */

static void huge_transfers(size_t unused) {
    (void)unused;
    vyre_backend *b = backend();
    vyre_resident buffer = resident(), none;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 3, UINT64_C(1) << 63, INT64_MAX, UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t size = sizes[i];
        vyre_foreign whole = *foreign();
        whole.size = size;
        CHILD_CLAIM(vyre_resident_allocate(b, size, NULL, &none, &the_error) != VYRE_OK);
        CHILD_CLAIM(the_error.message[0] && the_error.fix[0] && none.id == 0);
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_upload(b, buffer, words, size, &the_error));
        for (int way = 0; way < 2; way++) {
            uint64_t offset = way ? size : 4, length = way ? 8 : size;
            vyre_transfer one = {buffer, offset, length, words};
            vyre_readback back = {buffer, offset, length, words};
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_upload_at(b, buffer, offset, words, length, &the_error));
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_download_at(b, buffer, offset, words, length, &the_error));
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_upload_batch(b, &one, 1, &the_error));
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_download_batch(b, &one, 1, &the_error));
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_sequence_run(b, NULL, 0, &back, 1, NULL, NULL, NULL, NULL, &the_error));
            vyre_resource *ranges = bindings();
            ranges[0].offset = offset & ~UINT64_C(3), ranges[0].size = length & ~UINT64_C(3);
            REFUSED(VYRE_INVALID_ARGUMENT,
                    vyre_backend_dispatch_resident(b, program(), ranges, 4, arguments(), NULL, NULL, NULL, &the_error));
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_pipeline_dispatch_persistent(pipeline(), ranges, 4, arguments(), NULL,
                                                                             outputs(), NULL, NULL, &the_error));
        }
        if (size > UINT64_MAX - (uintptr_t)words)
            REFUSED(VYRE_INVALID_ARGUMENT, vyre_resident_wrap(b, &whole, &none, &the_error));
    }
    /* The list is copied before it is read, and such a copy cannot be made. */
    REFUSED(VYRE_NO_MEMORY, vyre_resident_upload_batch(b, transfer(), SIZE_MAX, &the_error));
    REFUSED(VYRE_NO_MEMORY, vyre_resident_download_batch(b, transfer(), SIZE_MAX / 16, &the_error));
}

static void ranges_that_overflow_are_refused(void **state) {
    (void)state;
    on_backends(huge_transfers);
}

static void huge_dispatches(size_t unused) {
    (void)unused;
    vyre_arguments *given = arguments();
    given->param_count = SIZE_MAX;
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given = arguments(), given->input_count = SIZE_MAX;
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given = arguments(), given->count_count = SIZE_MAX;
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given = arguments(), ((vyre_span *)given->inputs)[0].size = SIZE_MAX - 3;
    REFUSED(VYRE_LIMIT, vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    uint64_t count = UINT64_MAX;
    given = arguments(), given->counts = &count;
    REFUSED(VYRE_LIMIT, vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    count = UINT64_C(1) << 62; /* its bytes are 0 modulo 2^64 */
    REFUSED(VYRE_LIMIT, vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given = arguments();
    given->geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    REFUSED(VYRE_LIMIT, vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given->geometry.kind = VYRE_GEOMETRY_ELEMENTS;
    REFUSED(VYRE_LIMIT, vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    given->geometry.kind = (vyre_geometry_kind)99;
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_backend_dispatch(backend(), program(), given, NULL, outputs(), NULL, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_backend_dispatch_resident(backend(), program(), bindings(), SIZE_MAX,
                                                                  arguments(), NULL, NULL, NULL, &the_error));
    REFUSED(VYRE_INVALID_ARGUMENT, vyre_pipeline_dispatch_resident_outputs(pipeline(), bindings(), 4, arguments(), NULL,
                                                                           two_resources, SIZE_MAX, NULL, &the_error));
    /* The longest timeout there is: none. */
    vyre_dispatch_config far = {.timeout_ns = UINT64_MAX, .max_output_bytes = UINT64_MAX};
    CHILD_CLAIM(vyre_backend_dispatch(backend(), program(), arguments(), &far, outputs(), NULL, &the_error) == VYRE_OK);
}

static void counts_that_overflow_are_refused(void **state) {
    (void)state;
    on_backends(huge_dispatches);
}

static void huge_cases(size_t unused) {
    (void)unused;
    vyre_case *made = NULL;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 16, (SIZE_MAX / 16) + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int member = 0; member < 4; member++) {
            vyre_arguments *given = arguments();
            if (member == 0)
                given->param_count = counts[i];
            if (member == 1)
                given->input_count = counts[i];
            if (member == 2)
                given->count_count = counts[i];
            if (member == 3)
                ((vyre_span *)given->inputs)[1].size = counts[i];
            CHILD_CLAIM(vyre_case_new(program(), given, &made, &the_error) != VYRE_OK && !made);
            CHILD_CLAIM(the_error.message[0] && the_error.fix[0]);
        }
    REFUSED(VYRE_NO_MEMORY, vyre_bytes_resize(&bytes, SIZE_MAX, &the_error));
    REFUSED(VYRE_NO_MEMORY, vyre_bytes_resize(&bytes, (size_t)PTRDIFF_MAX + 1, &the_error));
    CHILD_CLAIM(!bytes.data && !bytes.size && !bytes.capacity);
}

static void a_case_too_large_to_copy_is_refused(void **state) {
    (void)state;
    in_child(huge_cases);
}

/* Data past a limit is not read. */
static void huge_texts(size_t unused) {
    (void)unused;
    vyre_module *module;
    vyre_program *program;
    vyre_op_id id;
    vyre_target target;
    static const size_t lengths[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)INT_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = lengths[i];
        REFUSED(VYRE_LIMIT, vyre_text_parse(source, length, NULL, NULL, &module, &the_error));
        REFUSED(VYRE_LIMIT, vyre_text_format(source, length, NULL, NULL, bytes(), &the_error));
        REFUSED(VYRE_LIMIT, vyre_wire_decode(source, length, NULL, &program, &the_error));
        REFUSED(VYRE_LIMIT, vyre_dialects_load_text("test", manifest_text, length, NULL, &the_error));
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_op_intern("a.b", length, &id, &the_error));
        REFUSED(VYRE_INVALID_ARGUMENT, vyre_target_parse("ptx", length, &target, &the_error));
        CHILD_CLAIM(vyre_op_find_id("a.b", length) == 0);
        CHILD_CLAIM(vyre_type_find("u32", length) == VYRE_TYPE_COUNT && vyre_op_find("add", length) == VYRE_OP_COUNT);
        CHILD_CLAIM(vyre_law_find("monotone", length) == VYRE_LAW_COUNT);
        CHILD_CLAIM(vyre_op_category_find("composite", length) == VYRE_CATEGORY_COUNT);
        CHILD_CLAIM(vyre_pass_find("const-fold", length) == VYRE_PASS_COUNT);
        CHILD_CLAIM(!vyre_dialects_find(guard(), "bits.deposit_u32", length));
        CHILD_CLAIM(!vyre_dialects_dialect(guard(), "bits", length));
        REFUSED(VYRE_LIMIT,
                vyre_dialect_builder_add(dialect_builder(), dialect(), op_definitions(), length, &the_error));
        REFUSED(VYRE_LIMIT, vyre_dialects_validate_no_duplicates(op_definitions(), length, &the_error));
    }
    for (int member = 0; member < 5; member++) {
        vyre_op_definition *op = op_definition();
        const vyre_op_definition *ops[1] = {op};
        uint32_t *counts[] = {&op->input_count, &op->output_count, &op->attribute_count, &op->law_count,
                              &op->lowering_count};
        *counts[member] = UINT32_MAX;
        vyre_status status = vyre_dialect_builder_add(dialect_builder(), dialect(), ops, 1, &the_error);
        CHILD_CLAIM(status == VYRE_LIMIT || status == VYRE_INVALID_ARGUMENT);
        CHILD_CLAIM(the_error.message[0] && the_error.fix[0]);
    }
}

static void lengths_over_a_limit_are_refused_unread(void **state) {
    (void)state;
    in_child(huge_texts);
}

static void huge_builder(size_t unused) {
    (void)unused;
    vyre_builder *b = vyre_builder_new("p");
    vyre_program *made;
    vyre_value value = vyre_param(b, "v", VYRE_TYPE_U32), result;
    vyre_operand operand = vyre_operand_value(value);
    vyre_type type = VYRE_TYPE_U32;
    vyre_array(b, "a", VYRE_SPACE_WORKGROUP, VYRE_TYPE_F64, UINT32_MAX);
    vyre_builder_workgroup(b, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    vyre_builder_print(b, "{}", &value, SIZE_MAX);
    vyre_builder_return(b, &value, SIZE_MAX);
    vyre_builder_call_op(b, "a.b", &operand, SIZE_MAX, names, &type, SIZE_MAX, &result);
    REFUSED(VYRE_INVALID_PROGRAM, vyre_builder_finish(b, NULL, &made, &the_error));
}

static void builder_counts_over_a_limit_are_refused_unread(void **state) {
    (void)state;
    in_child(huge_builder);
}

/* Names of a mebibyte, and names that are not UTF-8. */
static void odd_names(size_t unused) {
    (void)unused;
    enum { LONG = 1 << 20 };
    static char text[LONG + 1];
    for (int kind = 0; kind < 3; kind++) {
        memset(text, kind == 0 ? 'a' : 0xff, kind == 2 ? 0 : LONG);
        text[kind == 2 ? 0 : LONG] = 0;
        vyre_builder *b = vyre_builder_new(text);
        vyre_program *made = NULL;
        vyre_memory m = vyre_buffer(b, text, VYRE_TYPE_U32, VYRE_ACCESS_READ_WRITE);
        vyre_value v = vyre_let(b, text, vyre_u32(b, 1)), result;
        const char *name[1] = {text};
        vyre_type type = VYRE_TYPE_U32;
        vyre_operand operand = vyre_operand_value(v);
        vyre_builder_call_op(b, text, &operand, 1, name, &type, 1, &result);
        vyre_builder_begin_region(b, text);
        vyre_builder_print(b, text, NULL, 0);
        vyre_builder_end(b);
        vyre_builder_store(b, m, vyre_u32(b, 0), v);
        REFUSED(VYRE_INVALID_PROGRAM, vyre_builder_finish(b, NULL, &made, &the_error));
        vyre_dispatch_config config = {.label = text};
        vyre_trace_start(temporary("labels.json"), NULL);
        CHILD_CLAIM(vyre_backend_dispatch(backend(), program(), arguments(), &config, outputs(), NULL, NULL) ==
                    VYRE_OK);
        CHILD_CLAIM(vyre_trace_stop(NULL) == VYRE_OK);
        REFUSED(VYRE_LIMIT, (vy_host_services.fail)(&the_error, VYRE_LIMIT, text, text));
    }
}

static void odd_names_are_refused(void **state) {
    (void)state;
    in_child(odd_names);
}

/* ---- bytes at odd addresses ---- */

static void odd_addresses(size_t unused) {
    (void)unused;
    unsigned char room[8][40];
    uint32_t expected[2][4];
    for (int turn = 0; turn < 2; turn++) {
        vyre_arguments *given = arguments();
        vyre_span *inputs = (vyre_span *)given->inputs;
        for (int i = 0; i < 3; i++) {
            memcpy(room[i] + turn, inputs[i].data, 16);
            inputs[i].data = room[i] + turn;
        }
        vyre_outputs out = VYRE_OUTPUTS_INIT;
        CHILD_CLAIM(vyre_backend_dispatch(backend(), program(), given, NULL, &out, NULL, &the_error) == VYRE_OK);
        CHILD_CLAIM(out.count == 2 && out.items[0].size == 16);
        memcpy(expected[turn], out.items[0].data, 16);
        CHILD_CLAIM(vyre_pipeline_dispatch_into(pipeline(), given, NULL, &out, NULL, &the_error) == VYRE_OK);
        CHILD_CLAIM(memcmp(out.items[0].data, expected[turn], 16) == 0);
        vyre_pending *pending = NULL;
        CHILD_CLAIM(vyre_pipeline_dispatch_async(pipeline(), given, NULL, &pending, &the_error) == VYRE_OK);
        CHILD_CLAIM(vyre_pending_wait(pending, UINT64_MAX, &out, NULL, &the_error) == VYRE_OK);
        CHILD_CLAIM(memcmp(out.items[0].data, expected[turn], 16) == 0);
    }
    CHILD_CLAIM(memcmp(expected[0], expected[1], 16) == 0);

    vyre_resident buffer = resident();
    CHILD_CLAIM(vyre_resident_upload(backend(), buffer, room[0] + 1, 16, &the_error) == VYRE_OK);
    CHILD_CLAIM(vyre_resident_download_at(backend(), buffer, 0, room[5] + 3, 16, &the_error) == VYRE_OK);
    CHILD_CLAIM(memcmp(room[5] + 3, words, 16) == 0);

    vyre_bytes form = wire();
    unsigned char *moved = malloc(form.size + 1);
    vyre_program *decoded = NULL;
    CHILD_CLAIM(moved != NULL);
    memcpy(moved + 1, form.data, form.size);
    CHILD_CLAIM(vyre_wire_decode(moved + 1, form.size, NULL, &decoded, &the_error) == VYRE_OK);

    /* Memory of others is used where it is, so its address counts. */
    vyre_foreign odd = *foreign();
    vyre_resource *ranges = bindings();
    odd.location.address = (uintptr_t)room[6] + 1;
    CHILD_CLAIM(vyre_resident_wrap(backend(), &odd, &ranges[0].resident, &the_error) == VYRE_OK);
    REFUSED(VYRE_INVALID_ARGUMENT,
            vyre_backend_dispatch_resident(backend(), program(), ranges, 4, arguments(), NULL, NULL, NULL, &the_error));
}

static void bytes_may_be_at_odd_addresses(void **state) {
    (void)state;
    on_backends(odd_addresses);
}

static int set_up(void **state) {
    (void)state;
    snprintf(temporary_folder, sizeof temporary_folder, "/tmp/vyre-bad-XXXXXX");
    if (!mkdtemp(temporary_folder) || mkdir(manifest_folder(), 0700) != 0)
        return -1;
    setenv("VYRE_CACHE_DIR", temporary("cache"), 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", temporary_folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_at_null_is_refused),
        cmocka_unit_test(a_resource_at_null_is_refused),
        cmocka_unit_test(an_output_slot_without_memory_is_refused),
        cmocka_unit_test(a_definition_with_a_null_inside_is_refused),
        cmocka_unit_test(a_module_with_a_null_inside_is_refused),
        cmocka_unit_test(a_text_with_a_null_inside_is_refused),
        cmocka_unit_test(ranges_that_overflow_are_refused),
        cmocka_unit_test(counts_that_overflow_are_refused),
        cmocka_unit_test(a_case_too_large_to_copy_is_refused),
        cmocka_unit_test(lengths_over_a_limit_are_refused_unread),
        cmocka_unit_test(builder_counts_over_a_limit_are_refused_unread),
        cmocka_unit_test(odd_names_are_refused),
        cmocka_unit_test(bytes_may_be_at_odd_addresses),
    };
    return cmocka_run_group_tests_name("bad_arguments", tests, set_up, tear_down);
}
