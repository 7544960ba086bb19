/* Symbolic lengths and bounds (symbolic_length.h): the relations between lengths, and what follows from them for
 * bounds. Invariant: every bound holds for mathematical integers. */
#include "analysis/symbolic_length.h"

/* ---- names ---- */

uint32_t vy_length_of(const vyre_program *p, uint32_t memory) {
    for (uint32_t hops = 0; hops < VY_LIMIT_BUFFERS; hops++) {
        uint32_t size = vy_memory_at(p, memory)->size;
        if (size == VY_NONE)
            break;
        const vy_size *root = &p->sizes.items[size];
        if (root->kind == VY_SIZE_PARAM)
            return p->memories.count + root->a;
        if (root->kind != VY_SIZE_LEN)
            break;
        memory = root->a;
    }
    return memory;
}

/* A size that is a name, a number, or the sum of both. */
typedef struct simple {
    uint32_t name; /* VY_NONE: the number alone */
    int64_t by;
} simple;

static int read_leaf(const vyre_program *p, uint32_t size, simple *out) {
    const vy_size *s = &p->sizes.items[size];
    *out = (simple){VY_NONE, 0};
    if (s->kind == VY_SIZE_LEN)
        out->name = vy_length_of(p, s->a);
    else if (s->kind == VY_SIZE_PARAM)
        out->name = p->memories.count + s->a;
    else if (s->kind == VY_SIZE_LITERAL && s->value <= UINT32_MAX)
        out->by = (int64_t)s->value;
    else
        return 0;
    return 1;
}

static int read_simple(const vyre_program *p, uint32_t size, simple *out) {
    const vy_size *s = &p->sizes.items[size];
    simple a, b;
    if (s->kind != VY_SIZE_ADD && s->kind != VY_SIZE_SUB)
        return read_leaf(p, size, out);
    if (!read_leaf(p, s->a, &a) || !read_leaf(p, s->b, &b) || (a.name != VY_NONE && b.name != VY_NONE) ||
        (s->kind == VY_SIZE_SUB && b.name != VY_NONE))
        return 0;
    *out = (simple){a.name != VY_NONE ? a.name : b.name, s->kind == VY_SIZE_ADD ? a.by + b.by : a.by - b.by};
    return 1;
}

/* ---- relations between lengths ---- */

static int add_sum(vy_lengths *lengths, uint32_t from, uint32_t to, int64_t by) {
    vy_length_sum *sum = VY_PUSH(&lengths->sums);
    if (sum)
        *sum = (vy_length_sum){from, to, by};
    return sum != NULL;
}

static int add_product(vy_lengths *lengths, uint32_t length, simple a, simple b) {
    if (a.name == VY_NONE) {
        simple c = a;
        a = b;
        b = c;
    }
    int by_number = b.name == VY_NONE && b.by >= 1, by_name = b.name != VY_NONE && !a.by && !b.by;
    if (a.name == VY_NONE || (!by_number && !by_name))
        return 1;
    vy_length_product *product = VY_PUSH(&lengths->products);
    if (product)
        *product = (vy_length_product){length, a.name, b.name, a.by, by_number ? (uint64_t)b.by : 0};
    return product != NULL;
}

int vy_lengths_make(vy_lengths *lengths, const vyre_program *p) {
    for (uint32_t m = 0; m < p->buffer_count; m++) {
        uint32_t size = vy_memory_at(p, m)->size;
        simple a, b;
        if (size == VY_NONE)
            continue;
        const vy_size *root = &p->sizes.items[size];
        if (root->kind == VY_SIZE_MUL && read_simple(p, root->a, &a) && read_simple(p, root->b, &b)) {
            if (!add_product(lengths, m, a, b))
                return 0;
        } else if (root->kind != VY_SIZE_LEN && root->kind != VY_SIZE_PARAM && read_simple(p, size, &a) &&
                   a.name != VY_NONE) {
            if (!add_sum(lengths, a.name, m, a.by) || !add_sum(lengths, m, a.name, -a.by))
                return 0;
        }
    }
    return 1;
}

void vy_lengths_free(vy_lengths *lengths) {
    VY_VECTOR_FREE(&lengths->sums);
    VY_VECTOR_FREE(&lengths->products);
}

/* ---- bounds ---- */

static void add(vy_symbolic_bounds *all, uint32_t length, uint64_t margin) {
    uint32_t at = 0, capped = margin < UINT32_MAX ? (uint32_t)margin : UINT32_MAX;
    while (at < all->count && all->items[at].length != length)
        at++;
    if (at == VY_SYMBOLIC_BOUNDS || (at < all->count && all->items[at].margin >= capped))
        return;
    all->items[at] = (vy_symbolic_bound){length, capped};
    all->count += at == all->count;
}

/* One round over the bounds, including those added meanwhile: lengths form chains of two, and cyclic counts are not
 * valid. */
void vy_symbolic_bounds_add(const vy_lengths *lengths, vy_symbolic_bounds *all, uint32_t length, uint64_t margin) {
    if (length == VY_NONE)
        return;
    add(all, length, margin);
    for (uint32_t i = 0; i < all->count && lengths->sums.count; i++)
        for (uint32_t k = 0; k < lengths->sums.count; k++) {
            const vy_length_sum *sum = &lengths->sums.items[k];
            int64_t moved = (int64_t)all->items[i].margin + sum->by;
            if (sum->from == all->items[i].length && moved >= 0)
                add(all, sum->to, (uint64_t)moved);
        }
}

int vy_symbolic_bounds_has(const vy_symbolic_bounds *all, uint32_t length) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].length == length)
            return length != VY_NONE;
    return 0;
}

vy_symbolic_bounds vy_symbolic_bounds_both(vy_symbolic_bounds one, const vy_symbolic_bounds *other) {
    for (uint32_t i = 0; i < other->count; i++)
        add(&one, other->items[i].length, other->items[i].margin);
    return one;
}

vy_symbolic_bounds vy_symbolic_bounds_lower(vy_symbolic_bounds all, uint64_t by) {
    for (uint32_t i = 0; i < all.count; i++)
        all.items[i].margin = by < UINT32_MAX - all.items[i].margin ? all.items[i].margin + (uint32_t)by : UINT32_MAX;
    return all;
}

vy_symbolic_bounds vy_symbolic_bounds_raise(const vy_symbolic_bounds *all, uint64_t by) {
    vy_symbolic_bounds made = {0};
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].margin >= by)
            made.items[made.count++] = (vy_symbolic_bound){all->items[i].length, all->items[i].margin - (uint32_t)by};
    return made;
}

/* v + m < a + by, so v * times + m * times + times - 1 < (a + by) * times. */
vy_symbolic_bounds vy_symbolic_bounds_times(const vy_lengths *lengths, const vy_symbolic_bounds *all, uint64_t times) {
    vy_symbolic_bounds made = {0};
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < lengths->products.count; k++) {
            const vy_length_product *product = &lengths->products.items[k];
            int64_t margin = (int64_t)all->items[i].margin + product->by;
            if (product->a == all->items[i].length && product->b == VY_NONE && times <= product->times && margin >= 0)
                vy_symbolic_bounds_add(lengths, &made, product->length,
                                       (uint64_t)margin * product->times + product->times - 1);
        }
    return made;
}

/* row <= height - 1 and column + m <= width - 1, so row * width + column + m <= height * width - 1. */
vy_symbolic_bounds vy_symbolic_bounds_row_major(const vy_lengths *lengths, const vy_symbolic_bounds *row,
                                                uint32_t width, const vy_symbolic_bounds *column) {
    vy_symbolic_bounds made = {0};
    for (uint32_t i = 0; i < column->count; i++)
        for (uint32_t k = 0; k < lengths->products.count && column->items[i].length == width; k++) {
            const vy_length_product *product = &lengths->products.items[k];
            if ((product->a == width && vy_symbolic_bounds_has(row, product->b)) ||
                (product->b == width && vy_symbolic_bounds_has(row, product->a)))
                vy_symbolic_bounds_add(lengths, &made, product->length, column->items[i].margin);
        }
    return made;
}
