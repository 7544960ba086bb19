/* Programs from strangers through the optimiser: the first byte chooses passes, the rest is text. Whatever parses is
 * optimised or refused for a limit; the result prints to text that parses back to it, and optimising once more ends. */
#include "vyre/text.h"
#include "vyre/transform.h"

#include <stdlib.h>

static void require(int holds) {
    if (!holds)
        abort();
}

static void prints_and_parses(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_module *module = NULL;
    require(vyre_text_print(program, &text, NULL) == VYRE_OK);
    require(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL) == VYRE_OK);
    const vyre_program *back = vyre_program_get_kind(program) == VYRE_PROGRAM_LIBRARY ? vyre_module_library(module)
                                                                                      : vyre_module_program(module, 0);
    require(back && vyre_program_equal(program, back));
    vyre_module_free(module);
    vyre_bytes_free(&text);
}

static void optimize(vyre_program *program, uint8_t choice) {
    const vyre_pass pair[2] = {(vyre_pass)(choice % VYRE_PASS_COUNT), (vyre_pass)(choice / 8 % VYRE_PASS_COUNT)};
    const vyre_optimize_options options[2] = {{.level = 2}, {.passes = pair, .pass_count = 2}};
    vyre_program *once, *twice;
    vyre_status status = vyre_program_optimize(program, &options[choice >> 7], &once, NULL, NULL);
    require(status == VYRE_OK || status == VYRE_LIMIT);
    if (status != VYRE_OK)
        return;
    prints_and_parses(once);
    require(vyre_program_optimize(once, &options[choice >> 7], &twice, NULL, NULL) == VYRE_OK);
    vyre_program_release(twice);
    vyre_program_release(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vyre_module *module = NULL;
    if (size < 1 || vyre_text_parse((const char *)data + 1, size - 1, NULL, NULL, &module, NULL) != VYRE_OK)
        return 0;
    for (size_t i = 0; i < vyre_module_program_count(module); i++)
        optimize(vyre_module_program(module, i), data[0]);
    if (vyre_module_library(module))
        optimize(vyre_module_library(module), data[0]);
    vyre_module_free(module);
    return 0;
}
