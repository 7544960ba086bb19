/* The k-th allocation fails in the client of the compile server. tests/compilers does the same to the compiler
 * itself. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "compile/pipeline.h"
#include "support/fault.h"
#include "vyre/text.h"
#include "vyre/wire.h"

static const char *const texts[] = {
    "program plain {\n buffer x : f32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " if i < len(x) { x[i] = x[i] * 2.0 + 1.0 }\n}\n",
    "program meets {\n buffer x : u32 read_write\n workgroup 33\n grid over x\n array s : u32 [64] workgroup\n"
    " let i = global_id.x\n let l = local_index\n var v = x[i]\n for k in 0u32..4 {\n  s[l] = v\n  barrier\n"
    "  let t = s[l ^ 1] + workgroup_reduce_add(v & 3)\n  barrier\n  if v & 1 == 1 { continue }\n  v = v + t\n }\n"
    " while v > 7 { v = v >> 1\n if v == i { return } }\n atomic_add(x[i], v)\n if v == 5 { trap 1 }\n}\n",
};

typedef struct job {
    const char *path; /* of the compiler; NULL: where it is found */
    void *wire;
    size_t size;
    int text; /* of these, or -1: an object */
} job;

/* The wire form of a program as the backend makes it, in memory that no hook knows. */
static job prepare(const char *text) {
    const vy_target_desc target = {.exact = vy_cpu_numerics(vy_cpu_features()), .native_collectives = 1};
    vyre_module *module;
    vyre_program *legal;
    vyre_bytes wire = VYRE_BYTES_INIT;
    job j = {.text = -1};
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL), VYRE_OK);
    assert_int_equal(vy_legalize(vyre_module_program(module, 0), &target, &legal, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_encode(legal, 0, &wire, NULL), VYRE_OK);
    j.size = wire.size;
    j.wire = malloc(wire.size);
    assert_non_null(j.wire);
    memcpy(j.wire, wire.data, wire.size);
    vyre_bytes_free(&wire);
    vyre_program_release(legal);
    vyre_module_free(module);
    return j;
}

static vyre_status compile(void *user) {
    const job *j = user;
    const vy_jit_request request = {.struct_size = sizeof request,
                                    .width = 8,
                                    .features = vy_cpu_features(),
                                    .wire = {j->wire, j->size},
                                    .name = "kernel"};
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    const vy_jit_plugin *compiler = NULL;
    vyre_status status = vy_cpu_compiler_open(j->path, &compiler, &error);
    if (status == VYRE_OK)
        status = j->text < 0 ? compiler->compile(compiler, &request, &out, &error)
                             : compiler->emit_text(compiler, &request, (vy_jit_text)j->text, &out, &error);
    if (status != VYRE_OK)
        assert_true(error.message[0] && error.fix[0]);
    vyre_bytes_free(&out);
    vy_cpu_compiler_close(compiler);
    return status;
}

static void every_allocation_of_the_client_may_fail(void **state) {
    (void)state;
    const char *path = getenv("VYRE_COMPILER");
    if (vy_cpu_compiler_check(NULL) != VYRE_OK)
        VY_SKIP("the compiler is not built");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int text = -1; text < (i == 0 ? VY_JIT_TEXT_COUNT : 0); text++) {
            job j = prepare(texts[i]);
            j.path = path && *path ? path : NULL;
            j.text = text;
            assert_int_equal(compile(&j), VYRE_OK);
            vy_fault_install();
            size_t allocations = VY_FAULT_LOOP(compile, &j);
            vy_fault_remove();
            assert_true(allocations >= 3); /* the client, the pool, the result */
            printf("%s: %zu allocations\n", i ? "meets" : "plain", allocations);
            free(j.wire);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_the_client_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
