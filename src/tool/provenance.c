/* Inlining leaves a region around each body: those that are called like an op are counted, by the ops around them. */
#include "tool/provenance.h"

#include "ir/model.h"

#define NO_ORIGIN UINT32_MAX

/* An op as called from one place: the program itself, or another origin. */
typedef struct origin {
    const vyre_op_definition *op;
    uint32_t parent, calls, statements;
} origin;

typedef struct region {
    uint32_t end, origin; /* its statements end there */
} region;

typedef struct tree {
    VY_VECTOR(origin) origins; /* parents before children */
    VY_VECTOR(region) open;    /* around the statement that is looked at */
} tree;

static void count_call(tree *t, const vyre_op_definition *op, uint32_t statements, uint32_t end, vy_string *out) {
    uint32_t parent = t->open.count ? t->open.items[t->open.count - 1].origin : NO_ORIGIN, i = 0;

    while (i < t->origins.count && (t->origins.items[i].op != op || t->origins.items[i].parent != parent))
        i++;
    if (i == t->origins.count) {
        origin *made = VY_PUSH(&t->origins);
        if (made)
            *made = (origin){.op = op, .parent = parent};
    }
    region *open = i < t->origins.count ? VY_PUSH(&t->open) : NULL;
    out->failed |= !open;
    if (!open)
        return;
    *open = (region){end, i};
    t->origins.items[i].calls++;
    t->origins.items[i].statements += statements;
}

static void add_below(vy_string *out, const tree *t, uint32_t parent, unsigned depth) {
    for (uint32_t i = 0; i < t->origins.count; i++) {
        const origin *o = &t->origins.items[i];
        if (o->parent != parent)
            continue;
        vy_string_format(out, "  %-10s %*s%s %s (%s): %u call%s, %u statement%s\n", i ? "" : "dialects", (int)depth, "",
                         o->op->id, o->op->version, o->op->owner, o->calls, o->calls == 1 ? "" : "s", o->statements,
                         o->statements == 1 ? "" : "s");
        add_below(out, t, i, depth + 2); /* calls are at most VY_LIMIT_CALL_DEPTH deep */
    }
}

void tool_provenance(vy_string *out, const vyre_program *flat, vyre_dialects_guard guard) {
    tree t = {{0}, {0}};

    for (uint32_t i = 0; i < flat->stmts.count && !out->failed; i++) {
        const vy_stmt *s = &flat->stmts.items[i];
        while (t.open.count && t.open.items[t.open.count - 1].end <= i)
            t.open.count--;
        const char *name = s->kind == VY_STMT_REGION ? vy_symbol_name(flat, s->name) : "";
        const vyre_op_definition *op = *name ? vyre_dialects_find(guard, name, strlen(name)) : NULL;
        if (op)
            count_call(&t, op, s->end - i - 1, s->end, out);
    }
    add_below(out, &t, NO_ORIGIN, 0);
    VY_VECTOR_FREE(&t.origins);
    VY_VECTOR_FREE(&t.open);
}
