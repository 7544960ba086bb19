/* Whether two programs have equal arrays: the layout of model.h, field by field, names by their text. */
#ifndef VY_TESTS_WIRE_COMPARE_H
#define VY_TESTS_WIRE_COMPARE_H

#include "ir/model.h"
#include "support/test.h"

static void assert_same_name(const vyre_program *a, vy_symbol x, const vyre_program *b, vy_symbol y) {
    assert_string_equal(vy_symbol_name(a, x), vy_symbol_name(b, y));
}

static void assert_same_position(vy_position x, vy_position y) {
    assert_memory_equal(&x, &y, sizeof x);
}

static void assert_same_declarations(const vyre_program *a, const vyre_program *b) {
    assert_int_equal(a->functions.count, b->functions.count);
    for (uint32_t i = 0; i < a->functions.count; i++) {
        vy_function x = a->functions.items[i], y = b->functions.items[i];
        assert_same_name(a, x.name, b, y.name);
        x.name = y.name = 0;
        x.position = y.position = (vy_position){0, 0, 0};
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_int_equal(a->params.count, b->params.count);
    for (uint32_t i = 0; i < a->params.count; i++)
        assert_memory_equal(&a->params.items[i], &b->params.items[i], sizeof *a->params.items);
    assert_int_equal(a->results.count, b->results.count);
    for (uint32_t i = 0; i < a->results.count; i++) {
        assert_same_name(a, a->results.items[i].name, b, b->results.items[i].name);
        assert_int_equal(a->results.items[i].type, b->results.items[i].type);
    }
    assert_int_equal(a->variables.count, b->variables.count);
    for (uint32_t i = 0; i < a->variables.count; i++) {
        const vy_variable *x = &a->variables.items[i], *y = &b->variables.items[i];
        assert_same_name(a, x->name, b, y->name);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->is_mutable, y->is_mutable);
    }
    assert_int_equal(a->memories.count, b->memories.count);
    for (uint32_t i = 0; i < a->memories.count; i++) {
        const vy_memory *x = &a->memories.items[i], *y = &b->memories.items[i];
        assert_same_name(a, x->name, b, y->name);
        assert_int_equal(x->space, y->space);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->access, y->access);
        assert_int_equal(x->size, y->size);
        assert_int_equal(x->elements, y->elements);
        if (x->space == VY_SPACE_CONSTANT)
            assert_memory_equal(vy_constant_bytes(a, x), vy_constant_bytes(b, y),
                                x->elements * vyre_type_size((vyre_type)x->type));
    }
    assert_int_equal(a->sizes.count, b->sizes.count);
    for (uint32_t i = 0; i < a->sizes.count; i++) {
        const vy_size *x = &a->sizes.items[i], *y = &b->sizes.items[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->value, y->value);
        if (x->kind != VY_SIZE_LITERAL)
            assert_int_equal(x->a, y->a);
        if (x->kind > VY_SIZE_LEN)
            assert_int_equal(x->b, y->b);
    }
}

static void assert_same_code(const vyre_program *a, const vyre_program *b) {
    assert_int_equal(a->exprs.count, b->exprs.count);
    for (uint32_t i = 0; i < a->exprs.count; i++) {
        const vy_expr *x = &a->exprs.items[i], *y = &b->exprs.items[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->op, y->op);
        assert_int_equal(x->axis, y->axis);
        assert_int_equal(x->a, y->a);
        assert_int_equal(x->b, y->b);
        assert_int_equal(x->c, y->c);
        assert_true(x->bits == y->bits);
    }
    assert_int_equal(a->stmts.count, b->stmts.count);
    for (uint32_t i = 0; i < a->stmts.count; i++) {
        vy_stmt x = a->stmts.items[i], y = b->stmts.items[i];
        assert_same_name(a, x.name, b, y.name);
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(x.op, y.op);
        assert_int_equal(x.combine, y.combine);
        assert_int_equal(x.order, y.order);
        assert_int_equal(x.scope, y.scope);
        assert_int_equal(x.width, y.width);
        assert_int_equal(x.result_count, y.result_count);
        assert_int_equal(x.end, y.end);
        assert_int_equal(x.middle, y.middle);
        assert_int_equal(x.variable, y.variable);
        assert_int_equal(x.memory, y.memory);
        assert_int_equal(x.a, y.a);
        assert_int_equal(x.b, y.b);
        assert_int_equal(x.c, y.c);
        assert_int_equal(x.args, y.args);
        assert_int_equal(x.arg_count, y.arg_count);
        assert_int_equal(x.callee, y.callee);
    }
    assert_int_equal(a->args.count, b->args.count);
    for (uint32_t i = 0; i < a->args.count; i++)
        assert_memory_equal(&a->args.items[i], &b->args.items[i], sizeof *a->args.items);
}

static void assert_same_program(const vyre_program *a, const vyre_program *b) {
    assert_same_name(a, a->name, b, b->name);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->numerics, b->numerics);
    assert_int_equal(a->facts, b->facts);
    assert_memory_equal(a->workgroup, b->workgroup, sizeof a->workgroup);
    assert_int_equal(a->grid.kind, b->grid.kind);
    assert_int_equal(a->grid.memory, b->grid.memory);
    assert_int_equal(a->grid.offset, b->grid.offset);
    assert_memory_equal(a->grid.sizes, b->grid.sizes, sizeof a->grid.sizes);
    assert_int_equal(a->param_count, b->param_count);
    assert_int_equal(a->buffer_count, b->buffer_count);
    assert_same_declarations(a, b);
    assert_same_code(a, b);
    assert_true(vyre_program_equal(a, b));
}

static inline void assert_same_positions(const vyre_program *a, const vyre_program *b) {
    assert_int_equal(a->stmt_positions.count, b->stmt_positions.count);
    assert_int_equal(a->expr_positions.count, b->expr_positions.count);
    for (uint32_t i = 0; i < a->stmts.count; i++)
        assert_same_position(vy_stmt_position(a, i), vy_stmt_position(b, i));
    for (uint32_t i = 0; i < a->exprs.count; i++)
        assert_same_position(vy_expr_position(a, i), vy_expr_position(b, i));
    for (uint32_t i = 0; i < a->functions.count; i++)
        assert_same_position(a->functions.items[i].position, b->functions.items[i].position);
    for (uint32_t i = 0; i < a->variables.count; i++)
        assert_same_position(a->variables.items[i].position, b->variables.items[i].position);
    for (uint32_t i = 0; i < a->memories.count; i++)
        assert_same_position(a->memories.items[i].position, b->memories.items[i].position);
}

#endif
