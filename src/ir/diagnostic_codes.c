/* The joined list of codes, and explanations of codes and statuses. */
#include "ir/diagnostic_codes.h"

#include "vyre/diagnostic.h"

#include <string.h>

static const vyre_explanation codes[] = {
#define X(CODE, title, text, fix) {#CODE, title, text, fix},
#include "ir/diagnostic_codes_builder.def"
#include "ir/diagnostic_codes_dialect.def"
#include "ir/diagnostic_codes_oracle.def"
#include "ir/diagnostic_codes_text.def"
#include "ir/diagnostic_codes_validate.def"
#include "ir/diagnostic_codes_wire.def"
#undef X
/* A status explains itself with its doc line. */
#define X(ID, code, fix, doc) {#ID, doc, doc, fix},
    VYRE_STATUS_LIST(X)
#undef X
};

const char *vy_diag_code_name(vy_diag_code code) {
    return code < VY_DIAG_CODE_COUNT ? codes[code].code : "?";
}

const char *vy_diag_code_fix(vy_diag_code code) {
    return code < VY_DIAG_CODE_COUNT ? codes[code].fix : "";
}

int vyre_explain_at(size_t index, vyre_explanation *out) {
    if (!out || index >= sizeof codes / sizeof *codes)
        return 0;
    *out = codes[index];
    return 1;
}

int vyre_explain(const char *code, vyre_explanation *out) {
    for (size_t i = 0; code && vyre_explain_at(i, out); i++)
        if (strcmp(out->code, code) == 0)
            return 1;
    return 0;
}
