/* Print statements: the format with each {} replaced by a value, one text per invocation, to the caller's sink. */
#include "base/number_text.h"
#include "base/string.h"
#include "oracle/machine.h"

#include <inttypes.h>

/* Fraction bits of the float types; the rest but the sign is exponent. */
static const uint8_t fraction_bits[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_F16] = 10, [VYRE_TYPE_BF16] = 7, [VYRE_TYPE_F32] = 23, [VYRE_TYPE_F64] = 52};

static void add_float(vy_string *text, vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    uint64_t magnitude = bits & layout->mask >> 1;
    if (magnitude != bits)
        vy_string_char(text, '-');
    if (magnitude >= layout->infinity) {
        vy_string_add(text, magnitude == layout->infinity ? "inf" : "nan");
        return;
    }
    char number[64];
    vy_number_from_bits(magnitude, layout->bits - 1u - fraction_bits[type], fraction_bits[type], number);
    vy_string_add(text, number);
}

static void add_value(vy_string *text, vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    switch (layout->classes) {
    case VYRE_CLASS_BOOL:
        vy_string_add(text, bits ? "true" : "false");
        break;
    case VYRE_CLASS_SIGNED:
        vy_string_format(text, "%" PRId64, (int64_t)(bits << (64 - layout->bits)) >> (64 - layout->bits));
        break;
    case VYRE_CLASS_UNSIGNED:
        vy_string_format(text, "%" PRIu64, bits);
        break;
    default:
        add_float(text, type, bits);
        break;
    }
}

static void add_lane(vy_string *text, vy_worker *worker, vy_warp *warp, const vy_instruction *in, uint32_t lane) {
    const vyre_program *program = worker->run->program;
    const vy_stmt *stmt = &program->stmts.items[in->site];
    const char *format = vy_symbol_name(program, stmt->name), *hole;
    uint32_t arg = 0;
    for (; (hole = strstr(format, "{}")) && arg < stmt->arg_count; format = hole + 2, arg++) {
        uint32_t r = worker->run->oracle->lists.items[in->a + arg];
        const vy_expr *value = &program->exprs.items[program->args.items[stmt->args + arg].index];
        vy_string_append(text, format, (size_t)(hole - format));
        add_value(text, (vyre_type)value->type, vy_register(worker, warp, r)[lane]);
    }
    vy_string_add(text, format);
}

void vy_print(vy_worker *worker, vy_warp *warp, const vy_instruction *in) {
    vy_run *run = worker->run;
    worker->prints += warp->mask.count;
    if (!run->options->print)
        return;
    vy_string text = {0};
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < warp->lanes; i++) {
        if (!warp->mask.words[i])
            continue;
        text.length = 0;
        add_lane(&text, worker, warp, in, i);
        if (text.failed) {
            atomic_store(&run->stop, VYRE_NO_MEMORY);
            break;
        }
        run->options->print(run->options->print_user, vy_lane_invocation(warp, i), text.text ? text.text : "");
    }
    pthread_mutex_unlock(&run->lock);
    vy_string_free(&text);
}
