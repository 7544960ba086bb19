/* Collectives: reductions, scans, votes and shuffles of a workgroup, combined in one fixed order for every type
 * (docs/bits.md).
 *
 * P(a, b) = v_a if b = a + 1, else P(a, a + h) ⊕ P(a + h, b) with h the largest power of two below b - a. For a that is
 * a multiple of a large enough power of two, P(a, a + m) consists of perfect trees, one for each one bit of m, the
 * largest first: T1 ⊕ (T2 ⊕ (T3 ⊕ …)). Each tree starts at a multiple of its size, so level k of one pyramid over all
 * values (level[k][j] = level[k-1][2j] ⊕ level[k-1][2j+1]) holds every tree of size 2^k that any prefix of any subgroup
 * needs. A prefix is folded from its smallest tree to its largest. All prefixes advance together, one level at a time,
 * so that the kernel runs over many lanes. */
#include "ir/diagnostic_codes.h"
#include "oracle/shadow_memory.h"

/* A segment of lanes that exchange values: [first, first + count). */
typedef struct segment {
    uint32_t first, count;
} segment;

static segment segment_of(uint32_t i, uint32_t width, uint32_t n) {
    uint32_t first = width ? i - i % width : 0, end = width && n - first > width ? first + width : n;
    return (segment){first, end - first};
}

typedef struct fold {
    vy_kernel *kernel;
    uint64_t *acc;          /* per prefix */
    uint64_t *left, *right; /* operands gathered for one kernel call */
    uint64_t *at;           /* the prefixes they belong to */
    uint64_t *pyramid;      /* the current level */
    uint32_t n, width;
} fold;

/* Number of prefixes that a segment computes: one per lane, but only one for a reduce. */
static uint32_t askers(const vy_stmt *stmt, segment s) {
    return stmt->op == VYRE_COLLECTIVE_REDUCE ? 1 : s.count;
}

/* Length of the l-th prefix of a segment, from the start of the segment. */
static uint32_t prefix_length(const vy_stmt *stmt, segment s, uint32_t l) {
    switch ((vyre_collective)stmt->op) {
    case VYRE_COLLECTIVE_SCAN_INCLUSIVE:
        return l + 1;
    case VYRE_COLLECTIVE_SCAN_EXCLUSIVE:
        return l;
    default:
        return s.count;
    }
}

/* Index of the tree of size 2^k in a prefix of `length`. It starts after the larger trees, which the higher bits of
 * `length` count. */
static uint32_t tree_index(segment s, uint32_t length, unsigned k) {
    return (s.first + (length >> k >> 1 << k << 1)) >> k;
}

/* Combines the trees of size 2^k with the prefixes that contain one. A prefix without a smaller tree starts with it. */
static void fold_level(fold *f, const vy_stmt *stmt, unsigned k) {
    const uint32_t bit = 1u << k;
    uint32_t count = 0;
    segment s;
    for (uint32_t first = 0; first < f->n; first += s.count) {
        s = segment_of(first, f->width, f->n);
        for (uint32_t l = 0; l < askers(stmt, s); l++) {
            uint32_t length = prefix_length(stmt, s, l);
            if (!(length & bit))
                continue;
            uint64_t tree = f->pyramid[tree_index(s, length, k)];
            if (length & (bit - 1)) {
                f->left[count] = tree;
                f->right[count] = f->acc[first + l];
                f->at[count++] = first + l;
            } else {
                f->acc[first + l] = tree;
            }
        }
    }
    f->kernel(f->left, f->left, f->right, NULL, count);
    for (uint32_t j = 0; j < count; j++)
        f->acc[f->at[j]] = f->left[j];
}

static void combine(const vy_stmt *stmt, vyre_type type, const uint64_t *values, uint64_t *results, uint32_t n,
                    uint64_t *room) {
    fold f = {.kernel = vy_eval_kernel((vyre_op)stmt->combine, type, type),
              .acc = room,
              .left = room + n,
              .right = room + 2 * (size_t)n,
              .at = room + 3 * (size_t)n,
              .pyramid = room + 4 * (size_t)n,
              .n = n,
              .width = stmt->width};
    uint32_t longest = stmt->width && stmt->width < n ? stmt->width : n;
    memcpy(f.pyramid, values, n * sizeof *values);
    uint32_t count = n;
    for (unsigned k = 0; longest >> k; k++) {
        fold_level(&f, stmt, k);
        /* The next level combines the even and the odd trees. */
        count /= 2;
        for (uint32_t j = 0; j < count; j++) {
            f.left[j] = f.pyramid[2 * j];
            f.right[j] = f.pyramid[2 * j + 1];
        }
        f.kernel(f.pyramid, f.left, f.right, NULL, count);
    }
    int is_reduce = stmt->op == VYRE_COLLECTIVE_REDUCE;
    uint64_t identity = vyre_combine_identity((vyre_op)stmt->combine, type);
    segment s;
    for (uint32_t first = 0; first < n; first += s.count) {
        s = segment_of(first, stmt->width, n);
        for (uint32_t l = 0; l < s.count; l++)
            results[first + l] = is_reduce ? f.acc[first] : prefix_length(stmt, s, l) ? f.acc[first + l] : identity;
    }
}

/* any, all and ballot: bit l of the ballot is the value of lane l. For a workgroup only whether all or some are set
 * matters. */
static void vote(const vy_stmt *stmt, const uint64_t *values, uint64_t *results, uint32_t n) {
    for (uint32_t first = 0; first < n;) {
        segment s = segment_of(first, stmt->width, n);
        uint64_t ballot = 0, any = 0, all = 1;
        for (uint32_t l = 0; l < s.count; l++) {
            ballot |= values[first + l] << (l & 63);
            any |= values[first + l];
            all &= values[first + l];
        }
        uint64_t result = stmt->op == VYRE_COLLECTIVE_BALLOT ? ballot : stmt->op == VYRE_COLLECTIVE_ANY ? any : all;
        for (uint32_t l = 0; l < s.count; l++)
            results[first + l] = result;
        first += s.count;
    }
}

/* Broadcast and shuffles: computes the source lane of each lane; the result is 0 if it is out of range. */
static void move_lanes(const vy_stmt *stmt, const uint64_t *values, const uint64_t *operands, uint64_t *results,
                       uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        segment s = segment_of(i, stmt->width, n);
        uint64_t l = i - s.first, operand = operands[i], from;
        switch ((vyre_collective)stmt->op) {
        case VYRE_COLLECTIVE_SHUFFLE_XOR:
            from = l ^ operand;
            break;
        case VYRE_COLLECTIVE_SHUFFLE_UP:
            from = operand > l ? UINT64_MAX : l - operand;
            break;
        case VYRE_COLLECTIVE_SHUFFLE_DOWN:
            from = l + operand; /* operand is a u32: nothing wraps */
            break;
        default:
            from = operand;
            break;
        }
        results[i] = from < s.count ? values[s.first + from] : 0;
    }
}

void vy_collective(const vy_stmt *stmt, vyre_type type, const uint64_t *values, const uint64_t *operands,
                   uint64_t *results, uint32_t n, uint64_t *room) {
    switch ((vyre_collective)stmt->op) {
    case VYRE_COLLECTIVE_REDUCE:
    case VYRE_COLLECTIVE_SCAN_INCLUSIVE:
    case VYRE_COLLECTIVE_SCAN_EXCLUSIVE:
        combine(stmt, type, values, results, n, room);
        return;
    case VYRE_COLLECTIVE_ANY:
    case VYRE_COLLECTIVE_ALL:
    case VYRE_COLLECTIVE_BALLOT:
        vote(stmt, values, results, n);
        return;
    default:
        move_lanes(stmt, values, operands, results, n);
    }
}

/* The source lane of a native move must exist. */
static void check_native(const vy_worker *worker, const vy_group *group, const vy_instruction *in, uint8_t width,
                         const uint64_t *lanes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        segment s = segment_of(i, width, n);
        if (lanes[i] < s.count)
            continue;
        vy_violation_keep(worker->run, &(vy_violation){.code = VY_R009,
                                                       .site = in->site,
                                                       .invocation = group->index * n + i,
                                                       .index = lanes[i],
                                                       .bound = s.count});
    }
}

void vy_collective_run(vy_worker *worker, vy_group *group, const vy_instruction *in) {
    const vy_stmt *stmt = &worker->run->program->stmts.items[in->site];
    uint32_t n = worker->run->layout.unit;
    uint64_t *values = worker->sync_rows, *operands = values + n, *results = operands + n, *room = results + n;
    for (uint32_t w = 0; w < group->warp_count; w++) {
        const vy_warp *warp = &group->warps[w];
        const uint64_t *a = vy_register(worker, warp, in->a), *b = vy_register(worker, warp, in->b);
        for (uint32_t i = 0; i < warp->lanes; i++) {
            values[warp->positions[i]] = a[i];
            operands[warp->positions[i]] = b[i];
        }
    }
    if (stmt->op == VYRE_COLLECTIVE_NATIVE_SHUFFLE)
        check_native(worker, group, in, stmt->width, operands, n);
    vy_collective(stmt, (vyre_type)in->type, values, operands, results, n, room);
    for (uint32_t w = 0; in->r != VY_NONE && w < group->warp_count; w++) {
        const vy_warp *warp = &group->warps[w];
        uint64_t *r = vy_register(worker, warp, in->r);
        for (uint32_t i = 0; i < warp->lanes; i++)
            r[i] = results[warp->positions[i]];
    }
}
