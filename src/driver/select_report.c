/* Reading and showing a selection (vyre/driver.h). */
#include "driver/select.h"

#include "base/status.h"
#include "base/string.h"

#include <inttypes.h>

const char *vyre_verdict_name(vyre_verdict verdict) {
    static const char *const names[] = {
#define X(ID, name, doc) name,
        VYRE_VERDICT_LIST(X)
#undef X
    };
    return (unsigned)verdict < VYRE_VERDICT_COUNT ? names[verdict] : "unknown";
}

const char *vyre_device_class_name(vyre_device_class device_class) {
    static const char *const names[] = {
        [VYRE_DEVICE_UNKNOWN] = "unknown",     [VYRE_DEVICE_GPU] = "gpu",
        [VYRE_DEVICE_SOFTWARE] = "software",   [VYRE_DEVICE_CPU] = "cpu",
        [VYRE_DEVICE_REFERENCE] = "reference",
    };
    return (unsigned)device_class < sizeof names / sizeof *names ? names[device_class] : "unknown";
}

void vyre_selection_free(vyre_selection *selection) {
    if (!selection)
        return;
    VY_VECTOR_FREE(&selection->candidates);
    vy_arena_free(&selection->texts);
    vy_release(selection, sizeof *selection);
}

size_t vyre_selection_count(const vyre_selection *selection) {
    return selection ? selection->candidates.count : 0;
}

int vyre_selection_get(const vyre_selection *selection, size_t index, vyre_candidate *out) {
    if (!out || index >= vyre_selection_count(selection))
        return 0;
    *out = selection->candidates.items[index];
    return 1;
}

static void add_text(vy_string *out, const vyre_candidate *c) {
    vy_string_format(out, "%-12s %-12s %s", c->id, vyre_verdict_name(c->verdict),
                     vyre_device_class_name(c->device_class));
    if (*c->reason)
        vy_string_format(out, "  %s", c->reason);
    vy_string_char(out, '\n');
    if (*c->fix)
        vy_string_format(out, "%-12s Fix: %s\n", "", c->fix);
}

static void add_json(vy_string *out, const vyre_candidate *c) {
    const char *const fields[][2] = {{"id", c->id},
                                     {"owner", c->owner},
                                     {"verdict", vyre_verdict_name(c->verdict)},
                                     {"class", vyre_device_class_name(c->device_class)},
                                     {"reason", c->reason},
                                     {"fix", c->fix}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        vy_string_format(out, "%c\"%s\":", i ? ',' : '{', fields[i][0]);
        vy_string_json(out, fields[i][1]);
    }
    vy_string_format(out, ",\"rank\":%" PRIu32 ",\"devices\":%" PRIu32 "}", c->rank, c->device_count);
}

vyre_status vyre_selection_render(const vyre_selection *selection, int json, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE(error, selection);
    VY_REQUIRE(error, out);
    vy_string text = {0};
    if (json)
        vy_string_char(&text, '[');
    for (uint32_t i = 0; i < selection->candidates.count; i++) {
        if (!json) {
            add_text(&text, &selection->candidates.items[i]);
            continue;
        }
        vy_string_add(&text, i ? ",\n " : "");
        add_json(&text, &selection->candidates.items[i]);
    }
    if (json)
        vy_string_char(&text, ']');
    return vy_string_to_bytes(&text, out, error);
}
