/* Wire forms from strangers: any bytes are refused or decode to a program that encodes to the same bytes, prints to
 * text that parses back to it, and runs under a budget. The bytes are tried as they are, and with length and digest
 * made right, so that the fuzzer gets past them. */
#include "ir/model.h"
#include "ir/wire/format.h"
#include "vyre/dialect.h"
#include "vyre/oracle.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <stdlib.h>

static void require(int holds) {
    if (!holds)
        abort();
}

static void encodes_to(const vyre_program *program, unsigned options, const uint8_t *data, size_t size) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    require(vyre_wire_encode(program, options, &bytes, NULL) == VYRE_OK);
    require(bytes.size == size && memcmp(bytes.data, data, size) == 0);
    vyre_bytes_free(&bytes);
}

/* An id that no dialect provides may be the name of overloads (math.sincos of math.sincos_f64): the parser would choose
 * one. So it learns only of ids that the text contains. */
static int named_signature(void *text, const char *id, size_t length, vyre_op_signature *out) {
    const vyre_bytes *bytes = text;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    int is_known = memmem(bytes->data, bytes->size, id, length) && vyre_dialects_op_signature(&guard, id, length, out);
    vyre_dialects_release(&guard);
    return is_known;
}

static void prints_and_parses(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_module *module = NULL;
    require(vyre_text_print(program, &text, NULL) == VYRE_OK);
    const vyre_parse_options options = {.op_signature = named_signature, .op_signature_user = &text};
    require(vyre_text_parse(text.data, text.size, &options, NULL, &module, NULL) == VYRE_OK);
    const vyre_program *back = vyre_program_get_kind(program) == VYRE_PROGRAM_LIBRARY ? vyre_module_library(module)
                                                                                      : vyre_module_program(module, 0);
    /* A library without functions is an empty text, which has no library. */
    require(back ? vyre_program_equal(program, back) : vyre_program_function_count(program) == 0);
    vyre_module_free(module);
    vyre_bytes_free(&text);
}

/* Zero params, buffers of their static count or 16 elements, two groups. Whether the arguments fit is the oracle's to
 * say. */
static void runs(vyre_program *program) {
    static const uint8_t zeros[1 << 12];
    vyre_span inputs[VY_LIMIT_BUFFERS];
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_bytes outputs[VY_LIMIT_BUFFERS];
    vyre_arguments arguments = {.params = params,
                                .param_count = vyre_program_param_count(program),
                                .inputs = inputs,
                                .counts = counts,
                                .geometry = {VYRE_GEOMETRY_GROUPS, {2, 1, 1}}};
    for (size_t i = 0; i < arguments.param_count; i++) {
        vyre_param_info info;
        require(vyre_program_param(program, i, &info));
        params[i] = vyre_scalar_bits(info.type, i);
    }
    for (size_t i = 0; i < vyre_program_buffer_count(program); i++) {
        vyre_buffer_info info;
        require(vyre_program_buffer(program, i, &info));
        uint64_t count = info.is_static ? info.count : 16;
        if (info.access == VYRE_ACCESS_WRITE && !info.has_count)
            counts[arguments.count_count++] = count;
        else if (info.access != VYRE_ACCESS_WRITE) {
            size_t size = vyre_type_size(info.type);
            inputs[arguments.input_count++] =
                (vyre_span){zeros, (size_t)(count > sizeof zeros / size ? 0 : count) * size};
        }
    }
    vyre_oracle *oracle = NULL;
    vyre_status status = vyre_oracle_new(program, &oracle, NULL);
    if (status != VYRE_OK) {
        require(status == VYRE_NOT_FOUND || status == VYRE_LIMIT); /* an op id, or too large once inlined */
        return;
    }
    size_t output_count = vyre_program_output_count(program);
    for (size_t i = 0; i < output_count; i++)
        outputs[i] = (vyre_bytes)VYRE_BYTES_INIT;
    const vyre_oracle_options options = {
        .threads = 1, .checks = VYRE_CHECK_ALL, .budget = 20000, .max_memory = 1 << 24};
    vyre_oracle_report report;
    status = vyre_oracle_run(oracle, &arguments, &options, outputs, &report, NULL, NULL);
    require(status == VYRE_OK || status == VYRE_INVALID_ARGUMENT || status == VYRE_LIMIT || status == VYRE_TRAPPED ||
            status == VYRE_CHECK_FAILED || status == VYRE_BUDGET);
    for (size_t i = 0; i < output_count; i++)
        vyre_bytes_free(&outputs[i]);
    vyre_oracle_free(oracle);
}

static void try_bytes(const uint8_t *data, size_t size) {
    vyre_program *program = NULL;
    vyre_diagnostics *diagnostics = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_wire_decode(data, size, diagnostics, &program, &error);
    if (status != VYRE_OK) {
        require(!program && error.code == status && error.message[0] && error.fix[0]);
        vyre_diagnostics_free(diagnostics);
        return;
    }
    size_t length = (size_t)data[6] | (size_t)data[7] << 8 | (size_t)data[8] << 16 | (size_t)data[9] << 24;
    encodes_to(program, size > length ? VYRE_WIRE_DEBUG : 0, data, size);
    prints_and_parses(program);
    if (vyre_program_get_kind(program) == VYRE_PROGRAM_ENTRY)
        runs(program);
    vyre_program_release(program);
    vyre_diagnostics_free(diagnostics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_bytes(data, size);
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (vy_wire_fix_header(copy, size))
        try_bytes(copy, size);
    free(copy);
    return 0;
}
