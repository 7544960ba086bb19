/* TOML: any bytes are read or refused with a place and a fix; what was read prints to a document that reads back to an
 * equal tree; every string knows where its bytes were written. */
#include "dialect/toml_tree.h"

#include <stdlib.h>

static void check(int holds) {
    if (!holds)
        abort();
}

static void check_places(const vy_toml *document, const vy_toml_value *value) {
    check(value->at.line > 0 && value->at.column > 0 && value->depth <= VY_TOML_LIMIT_DEPTH);
    if (value->kind == VY_TOML_STRING) {
        vy_position first = vy_toml_locate(document, value, 0, 1);
        vy_position last = vy_toml_locate(document, value, value->string.size, 1);
        check(first.line >= value->at.line && last.line >= first.line);
        check(last.line > first.line || last.column >= first.column);
    }
    for (const vy_toml_value *item = value->kind == VY_TOML_ARRAY ? value->array.first : NULL; item; item = item->next)
        check_places(document, item);
    for (const vy_toml_entry *e = value->kind == VY_TOML_TABLE ? value->table.first : NULL; e; e = e->next) {
        check(vy_toml_find(value, e->key, e->length) == e);
        check_places(document, &e->value);
    }
}

static void check_reads_back(const vy_toml_value *root) {
    vy_string printed = {0};
    vy_toml *again = NULL;
    tree_print(&printed, root);
    check(!printed.failed);
    check(vy_toml_parse("again", printed.text, printed.length, NULL, &again, NULL) == VYRE_OK);
    check(tree_equal(root, vy_toml_root(again)));
    vy_toml_free(again);
    vy_string_free(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_bytes shown = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vy_toml *document = NULL;
    vyre_status status = vy_toml_parse("input", (const char *)data, size, found, &document, &error);
    check(status == VYRE_OK || (*error.message && *error.fix && vyre_diagnostics_errors(found) > 0));
    check((status == VYRE_OK) == (vyre_diagnostics_errors(found) == 0));
    for (size_t i = 0; i < vyre_diagnostics_count(found); i++)
        check(!*vyre_diagnostics_get(found, i)->code || vyre_diagnostics_get(found, i)->line > 0);
    check(vyre_diagnostics_render(found, &shown, NULL) == VYRE_OK);
    if (document) {
        check_places(document, vy_toml_root(document));
        check_reads_back(vy_toml_root(document));
    }
    vy_toml_free(document);
    vyre_bytes_free(&shown);
    vyre_diagnostics_free(found);
    return 0;
}
