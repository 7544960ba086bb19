/* Findings in any text: the input's first bytes choose the place, the rest is the source. */
#include "base/diagnostics.h"
#include "base/string.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4)
        return 0;
    vy_position at = {data[0], (uint32_t)data[1] | (uint32_t)(data[2] & 15) << 8, data[3]};
    vy_source *source = vy_source_new("fuzz", (const char *)data + 4, size - 4);
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_diagnostic_add(list, source, "V001", VYRE_SEVERITY_ERROR, at, NULL, "%.*s", (int)(size - 4),
                      (const char *)data + 4);
    vy_diagnostic_add(list, source, "V001", VYRE_SEVERITY_NOTE,
                      vy_source_position(source, (size_t)at.column, at.length), "", "again");
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_diagnostics_render(list, &text, NULL) == VYRE_OK) {
        /* What is shown is valid text without control characters. */
        if (vy_utf8_valid(text.data, text.size) != text.size)
            abort();
        for (size_t i = 0; i < text.size; i++) {
            unsigned char c = ((unsigned char *)text.data)[i];
            if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
                abort();
        }
    }
    if (vyre_diagnostics_render_json(list, &text, NULL) == VYRE_OK && vy_utf8_valid(text.data, text.size) != text.size)
        abort();
    vyre_bytes_free(&text);
    vyre_diagnostics_free(list);
    vy_source_release(source);
    return 0;
}
