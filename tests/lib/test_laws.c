/* Every law that a manifest of the library declares holds: for all values of 8 bits, and for special and random ones of more.
 *
 * A law becomes a function of the language that gives true where it holds; the map of the function over operands must be all true. */
#include "lib/map.h"

#include "dialect/manifest.h"

static const char *const dialects[] = {"bits", "int", "random", "sort", "text"};

static void always(const uint64_t *in, uint64_t *out) {
    (void)in;
    out[0] = 1;
}

/* The name of an op without its dialect: that of its function. */
static const char *bare(const char *id) {
    return strchr(id, '.') + 1;
}

/* Bits are compared, not floats: NaN equals itself, and -0 is not +0. */
static void put_equal(char *text, size_t size, const char *type, const char *left, const char *right) {
    if (type[0] == 'f')
        snprintf(text, size, "bitcast<u%s>(%s) == bitcast<u%s>(%s)", type + 1, left, type + 1, right);
    else
        snprintf(text, size, "%s == %s", left, right);
}

/* The body of the law over a, b and c, and how many of them it takes; 0 for a law that this test does not know. */
static size_t put_body(char *text, size_t size, const vyre_op_definition *op, const vyre_law *law) {
    const char *f = bare(op->id), *type = vyre_type_name(op->outputs[0].type);
    const char *first = law->argument_count > 0 ? law->arguments[0].text : "";
    const char *second = law->argument_count > 1 ? law->arguments[1].text : "";
    char equal[128];

    put_equal(equal, sizeof equal, type, "l", "r");
    switch (law->kind) {
    case VYRE_LAW_COMMUTATIVE:
        snprintf(text, size, "let l = %s(a, b)\n  let r = %s(b, a)\n  return %s", f, f, equal);
        return 2;
    case VYRE_LAW_ASSOCIATIVE:
        snprintf(text, size, "let l = %s(%s(a, b), c)\n  let r = %s(a, %s(b, c))\n  return %s", f, f, f, f, equal);
        return 3;
    case VYRE_LAW_IDENTITY:
        snprintf(text, size, "let l = %s(a, %s)\n  let r = %s(%s, a)\n  return l == a && r == a", f, first, f, first);
        return 1;
    case VYRE_LAW_RIGHT_IDENTITY:
        snprintf(text, size, "let l = %s(a, %s)\n  return l == a", f, first);
        return 1;
    case VYRE_LAW_ABSORBING:
        snprintf(text, size, "let l = %s(a, %s)\n  let r = %s(%s, a)\n  return l == %s && r == %s", f, first, f, first,
                 first, first);
        return 1;
    case VYRE_LAW_LEFT_ABSORBING:
        snprintf(text, size, "let l = %s(%s, a)\n  return l == %s", f, first, first);
        return 1;
    case VYRE_LAW_SELF_INVERSE:
        snprintf(text, size, "let l = %s(a, a)\n  return l == %s", f, first);
        return 1;
    case VYRE_LAW_IDEMPOTENT:
        if (op->input_count == 2)
            snprintf(text, size, "let l = %s(a, a)\n  return l == a", f);
        else
            snprintf(text, size, "let l = %s(a)\n  let r = %s(l)\n  return %s", f, f, equal);
        return 1;
    case VYRE_LAW_INVERSE_OF:
        put_equal(equal, sizeof equal, type, "l", "a");
        snprintf(text, size, "let l = %s(%s(a))\n  return %s", f, bare(first), equal);
        return 1;
    case VYRE_LAW_DISTRIBUTIVE_OVER:
        snprintf(text, size, "let l = %s(a, %s(b, c))\n  let r = %s(%s(a, b), %s(a, c))\n  return %s", f, bare(first),
                 bare(first), f, f, equal);
        return 3;
    case VYRE_LAW_MONOTONE:
        snprintf(text, size, "let l = %s(min(a, b))\n  let r = %s(max(a, b))\n  return l <= r", f, f);
        return 2;
    case VYRE_LAW_BOUNDED:
        snprintf(text, size, "let l = %s(a%s%s)\n  return l >= %s && l <= %s", f, op->input_count > 1 ? ", b" : "",
                 op->input_count > 2 ? ", c" : "", first, second);
        return op->input_count;
    case VYRE_LAW_ZERO_PRODUCT:
        snprintf(text, size, "let l = %s(a, b)\n  return (l == 0) == (a == 0 || b == 0)", f);
        return 2;
    default:
        return 0;
    }
}

static void check_law(const char *dialect, const vyre_op_definition *op, const vyre_law *law) {
    static const char letters[] = "abc";
    char body[1024], extra[2048], types[64] = "", name[128];
    size_t count = put_body(body, sizeof body, op, law), used;
    map_function function = {name, types, always};

    if (count == 0)
        fail_msg("%s: this test does not know the law %s", op->id, vyre_law_name(law->kind));
    snprintf(name, sizeof name, "law_%s_%s", bare(op->id), vyre_law_name(law->kind));
    used = (size_t)snprintf(extra, sizeof extra, "\nfn %s(", name);
    for (size_t i = 0; i < count; i++) {
        const char *type = vyre_type_name(op->inputs[i < op->input_count ? i : 0].type);
        if (law->kind == VYRE_LAW_INVERSE_OF) /* what goes in is what the other op takes, and comes out here */
            type = vyre_type_name(op->outputs[0].type);
        used += (size_t)snprintf(extra + used, sizeof extra - used, "%s%c: %s", i ? ", " : "", letters[i], type);
        snprintf(types + strlen(types), sizeof types - strlen(types), "%s ", type);
    }
    snprintf(extra + used, sizeof extra - used, ") -> bool {\n  %s\n}\n", body);
    strcat(types, "-> bool");
    map_check_with(dialect, extra, &function, 1);
}

static void every_declared_law_holds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        vy_manifest *manifest = NULL;
        char path[128];
        snprintf(path, sizeof path, "lib/%s.toml", dialects[i]);
        assert_int_equal(vy_manifest_load(vy_test_path(path), NULL, &manifest, NULL), VYRE_OK);
        for (uint32_t k = 0; k < manifest->op_count; k++)
            for (uint32_t n = 0; n < manifest->ops[k].definition.law_count; n++)
                check_law(dialects[i], &manifest->ops[k].definition, &manifest->ops[k].definition.laws[n]);
        vy_manifest_free(manifest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_declared_law_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
