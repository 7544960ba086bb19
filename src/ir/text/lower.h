/* Lowering: type inference on the syntax tree, and conversion to a draft.
 *
 * Each expression is walked twice. First vy_lower_type resolves names and types, and hoists effects: a call, atomic or
 * collective inside an expression becomes a separate statement, in the order of the text, and its node refers to the
 * variable that holds the result. Then vy_lower_append appends the remaining pure tree directly before the statement
 * that uses it, as the layout of a draft requires.
 *
 * After the first error in a function, no more statements are appended (live is 0), but types and names are still
 * checked, so that one run reports all errors. VY_TYPE_BAD is compatible with every type, so each error is reported
 * once. */
#ifndef VY_IR_TEXT_LOWER_H
#define VY_IR_TEXT_LOWER_H

#include "base/string.h"
#include "ir/identifiers.h"
#include "ir/irbuilder.h"
#include "ir/text/parser.h"
#include "vyre/text.h"

/* BROKEN: an invalid declaration, whose uses are not reported. */
typedef enum vy_binding_kind { VY_BINDING_VARIABLE, VY_BINDING_MEMORY, VY_BINDING_BROKEN } vy_binding_kind;

/* A visible name. */
typedef struct vy_binding {
    uint32_t name;
    uint8_t kind; /* vy_binding_kind */
    uint8_t type; /* of the value or of the elements; VY_TYPE_BAD after an error */
    uint8_t is_mutable;
    uint8_t is_let; /* could be declared `var` instead */
    uint8_t space;
    uint32_t index; /* variable or memory of the draft */
    vy_position at;
} vy_binding;

/* The declarations of a name at file level. */
typedef struct vy_global {
    vy_ast_const *constant;
    vy_ast_function *function, *program;
    vy_binding memory; /* of a constant array, in the function number lowered_in */
    uint32_t lowered_in;
} vy_global;

/* The context that does not allow effects. */
typedef enum vy_effect_ban {
    VY_EFFECT_BAN_NONE,
    VY_EFFECT_BAN_WHILE,
    VY_EFFECT_BAN_ARM,
    VY_EFFECT_BAN_LOGIC,
    VY_EFFECT_BAN_CONST
} vy_effect_ban;

/* Lists the ids of known ops, for suggestions; NULL past the end. */
typedef const char *vy_op_list_fn(void *user, size_t index);

typedef struct vy_lowering {
    vy_parser *parser;
    vy_diag_sink *report;
    vy_irb draft;
    int live;        /* the draft is being filled */
    int skip_verify; /* of drafts */
    vy_effect_ban effect_ban;
    vy_ast_function *func;
    vyre_op_signature_fn *op_signature; /* looks up ops of dialects; may be NULL */
    void *op_signature_user;
    vy_op_list_fn *op_list; /* may be NULL */
    void *op_list_user;
    uint8_t is_cast_operand; /* the hint is the type of a cast, to which every number type converts */
    uint32_t next_temporary;
    uint32_t functions; /* lowered so far, with the current one; also entries */
    uint32_t stamp;     /* of the program being lowered */
    /* By name: 1 + index of the binding or global, or 0. */
    uint32_t *bound, *global;
    size_t table_size; /* of each, in bytes */
    VY_VECTOR(vy_binding) scope;
    VY_VECTOR(vy_global) globals;
    VY_VECTOR(vy_arg) args; /* scratch of the statement being appended */
    VY_VECTOR(vy_ast_function *) reached;
} vy_lowering;

/* ---- lower_decl.c: names ---- */

int vy_lower_start(vy_lowering *l, vy_parser *parser); /* 0 if out of memory */
void vy_lower_free(vy_lowering *l);
void vy_lower_error(vy_lowering *l, vy_diag_code code, vy_position at, const char *fix, const char *format, ...)
    VY_PRINTF(5, 6);
static inline const char *vy_lower_text(const vy_lowering *l, uint32_t name) {
    return vy_parse_name_text(l->parser, name);
}
vy_symbol vy_lower_name(vy_lowering *l, uint32_t name); /* the same name in the draft */
vy_symbol vy_lower_temporary(vy_lowering *l);           /* a name that the file does not use */

vy_global *vy_lower_global(vy_lowering *l, uint32_t name); /* NULL if the file declares no such name */
vy_global *vy_lower_make_global(vy_lowering *l, uint32_t name);
const vy_binding *vy_lower_find(const vy_lowering *l, uint32_t name);
/* Declares a name. Reports an error if the name is visible or is a const. */
void vy_lower_declare(vy_lowering *l, const vy_binding *binding);
/* Ends a scope; `mark` is scope.count at its beginning. */
void vy_lower_leave_scope(vy_lowering *l, uint32_t mark);
/* The memory of that name; reports an error and returns NULL if the name is not a memory. */
const vy_binding *vy_lower_memory(vy_lowering *l, uint32_t name, vy_position at);
void vy_lower_unknown(vy_lowering *l, uint32_t name, vy_position at);

/* ---- lower_expr.c: types ---- */

/* Infers the type of a tree and hoists its effects. hint: the type that the context prefers, or VY_TYPE_UNTYPED.
 * Returns a type, VY_TYPE_UNTYPED or VY_TYPE_BAD. */
uint8_t vy_lower_type(vy_lowering *l, vy_ast_node *node, uint8_t hint);
/* Requires a type. The message is "expected <type> for <what> `<name>`, found …"; what or name can be NULL. Returns
 * 0 after an error. */
int vy_lower_expect(vy_lowering *l, vy_ast_node *node, uint8_t type, const char *what, const char *name);
/* The two steps of vy_lower_expect: types the tree, which can stay untyped; assigns the required type to it. */
uint8_t vy_lower_type_value(vy_lowering *l, vy_ast_node *node, uint8_t hint);
int vy_lower_assign(vy_lowering *l, vy_ast_node *node, uint8_t type, const char *what, const char *name);
/* The fix that converts a typed value. */
const char *vy_lower_conversion(vy_lowering *l, const vy_ast_node *node, uint8_t to);
/* Reports an untyped argument; the fix adds one of the types of a set (bit T for type T). */
void vy_lower_untyped_argument(vy_lowering *l, const vy_ast_node *node, unsigned types);
/* Requires a typed value. Returns its type, or VY_TYPE_BAD after an error. */
uint8_t vy_lower_require_typed(vy_lowering *l, vy_ast_node *node, uint8_t hint);
/* Types the value of `keyword name = …`, which has no declared type. Returns its type, or VY_TYPE_BAD after an
 * error. */
uint8_t vy_lower_initializer(vy_lowering *l, vy_ast_node *node, const char *keyword, uint32_t name);
/* The fix for a range of `for` of float type: converts the bound or step that has it. */
const char *vy_lower_integer_fix(vy_lowering *l, vy_ast_node *const nodes[3]);
/* Reports the bounds of a `for`, none of which has a type. */
void vy_lower_untyped_range(vy_lowering *l, vy_ast_node *const bounds[3]);
/* Requires the same type for all nodes (up to three; NULLs are skipped), which are operands of `what`. Untyped nodes
 * get the type of the others. Returns that type, VY_TYPE_UNTYPED or VY_TYPE_BAD.
 * hint     the type that the context requires, if it has one
 * classes  the classes that `what` supports, for the fix */
uint8_t vy_lower_unify(vy_lowering *l, vy_ast_node *const nodes[3], uint8_t hint, unsigned classes, vy_position at,
                       const char *what);

/* ---- lower_calls.c: calls, atomics, collectives ---- */

/* Resolves a call: an op id refers to the function of that name if the file has one; the name of an intrinsic refers
 * to the intrinsic unless the file has a function of that name; any other name without a function refers to the ops of
 * the dialect `math` that have it. */
void vy_lower_resolve_callee(vy_lowering *l, vy_ast_node *node);
/* Whether the op that a node calls, or an overload of it, is known. */
int vy_lower_is_known_op(vy_lowering *l, vy_ast_node *node);

enum { VY_RESULTS_BOUND = UINT32_MAX }; /* count: one result per bound name, all of types[0] */
typedef struct vy_effect_signature {
    uint32_t count;
    int is_known; /* 0: an op id with an unknown signature; the text declares the results */
    uint8_t types[VY_LIMIT_RESULTS];
} vy_effect_signature;

/* Checks the operands of an effect and stores its results in *out. Returns 0 after an error. */
int vy_lower_effect(vy_lowering *l, vy_ast_node *node, uint8_t hint, vy_effect_signature *out);
/* A store or atomic cannot have a condition in its index: reports one and returns 0. */
int vy_lower_unconditional(vy_lowering *l, const vy_ast_node *index);
/* Appends the effect with these results; returns the first variable. */
uint32_t vy_lower_effect_append(vy_lowering *l, const vy_ast_node *node, uint32_t count, const vy_symbol *names,
                                const vyre_type *types);
/* Reports that no dialect of the parse provides the op that a node calls. */
void vy_lower_unknown_op(vy_lowering *l, const vy_ast_node *node);
/* Hoists an effect out of an expression: appends it, bound to a new name. Returns its type. */
uint8_t vy_lower_hoist(vy_lowering *l, vy_ast_node *node, uint8_t hint);

/* ---- lower_overload.c: overloads of ops ---- */

/* The overloads of the op that a node calls, as a set: bit T for the type T. 0 if there are none, or if an op has
 * exactly the id of the call. */
unsigned vy_lower_overloads(const vy_lowering *l, vy_ast_node *node);
/* The signature of the op that a node calls, or with a type that of its overload. Returns 0 if it is unknown. */
int vy_lower_op_signature(const vy_lowering *l, const vy_ast_node *node, uint8_t type, vyre_op_signature *out);
/* Types the arguments of a call that has these overloads, selects one, and stores its results in *out. hint: the type
 * that the context prefers for the first result, or VY_TYPE_UNTYPED. Returns 0 after an error. */
int vy_lower_overloaded_call(vy_lowering *l, vy_ast_node *node, unsigned types, uint8_t hint, vy_effect_signature *out);
/* The id of the op, with attributes, that was selected for a call. */
const char *vy_lower_call_id(const vy_lowering *l, const vy_ast_node *node, char id[VY_LIMIT_NAME + 1]);
/* The type of a tree as vy_lower_type infers it without a hint, or VY_TYPE_UNTYPED. Appends and reports nothing. */
uint8_t vy_lower_predict(vy_lowering *l, vy_ast_node *node);

/* Finds our name for a math function of another language, as `exp` for `__expf`. Returns 0 if it is none. */
int vy_lower_foreign_name(const vy_lowering *l, const char *name, char ours[VY_KEYWORD_CAPACITY]);
/* Offers the ops of dialects, with and without the type at the end of their ids; is_plain: the names that need no
 * dialect. */
void vy_lower_offer_ops(const vy_lowering *l, vy_suggestion *suggestion, int is_plain);

/* ---- lower_expr.c: appending pure trees ---- */

uint32_t vy_lower_append(vy_lowering *l, const vy_ast_node *node);

/* ---- lower_decl.c: constant sizes ---- */

/* Evaluates a constant from 0 to `limit`; `what` names it in messages. Returns 0 after an error. */
int vy_lower_constant(vy_lowering *l, const vy_ast_node *node, uint64_t limit, const char *what, uint64_t *value);

/* ---- lower_const_array.c: constant arrays ---- */

/* Evaluates the elements, once; `bytes` stays NULL after an error. */
void vy_lower_table_evaluate(vy_lowering *l, vy_ast_const *table);
/* A memory of the current function with the elements. */
uint32_t vy_lower_table_memory(vy_lowering *l, const vy_ast_const *table);
/* The constant array of the file with that name, or NULL. */
const vy_ast_const *vy_lower_find_table(vy_lowering *l, uint32_t name);
/* Its memory in the current function; NULL if the file does not declare it. */
const vy_binding *vy_lower_table(vy_lowering *l, uint32_t name);
/* Its number of elements. Returns 0 if the file does not declare it. */
int vy_lower_table_length(vy_lowering *l, uint32_t name, uint64_t *length);
/* Makes `name[a]` in a constant expression, whose index has been typed, a literal. Returns its type. */
uint8_t vy_lower_table_element(vy_lowering *l, vy_ast_node *node, const vy_ast_const *table);

/* ---- lower_decl.c: consts and -D ---- */

/* The value of a tree that vy_lower_type accepted under VY_EFFECT_BAN_CONST. */
uint64_t vy_lower_fold(const vy_ast_node *node);

void vy_lower_consts(vy_lowering *l, const vyre_define *defines, size_t count);

/* ---- lower_stmt.c, lower_decl.c ---- */

void vy_lower_statements(vy_lowering *l, const vy_ast_stmt *first);
/* Lowers all functions of the file to a library of that level, which reports the errors in them; or one program with
 * the functions it reaches. *out stays NULL after an error or if the file has no functions. */
void vy_lower_library(vy_lowering *l, vyre_level level, size_t known_findings, vy_source *source, vyre_program **out);
void vy_lower_program(vy_lowering *l, vy_ast_function *program, size_t known_findings, vy_source *source,
                      vyre_program **out);

/* Internal parser entry points: without default dialects, and without verification. */
/* Like vyre_text_parse, which calls it, but ops of dialects are unknown unless options->op_signature is set. The
 * registry uses it to parse bodies while it builds the first snapshot. */
vyre_status vy_text_parse_without_dialects(const char *text, size_t size, const vyre_parse_options *options,
                                           vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);

/* The same with a list of the ops that options->op_signature may know. */
vyre_status vy_text_parse_with_ops(const char *text, size_t size, const vyre_parse_options *options,
                                   vy_op_list_fn *op_list, void *op_list_user, vyre_diagnostics *diagnostics,
                                   vyre_module **out, vyre_error *error);

/* The same for text that is known to be valid and from which another program is built immediately: it is not
 * verified and gets no fingerprint (skip_verify, ir/irbuilder.h). */
vyre_status vy_text_parse_unverified(const char *text, size_t size, const char *file, vyre_module **out,
                                     vyre_error *error);

#endif
