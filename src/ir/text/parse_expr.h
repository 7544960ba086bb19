/* Shared by the files that parse expressions: parse_expr.c (names, literals, operators) and parse_call.c (what is written like a call).
 * Nodes are NULL only when memory is out. */
#ifndef VY_IR_TEXT_PARSE_EXPR_H
#define VY_IR_TEXT_PARSE_EXPR_H

#include "ir/text/parser.h"

/* ---- nodes: parse_expr.c ---- */

vy_ast_node *vy_parse_node(vy_parser *parser, vy_ast_node_kind kind, vy_position at);
/* What stands for an expression that was reported. */
vy_ast_node *vy_parse_bad(vy_parser *parser);
/* Makes `node` deeper than an operand `below`; one that gets too deep is reported and cut. */
void vy_parse_update_depth(vy_parser *parser, vy_ast_node *node, const vy_ast_node *below);
vy_ast_node *vy_parse_number(vy_parser *parser, int negative, vy_position at);

/* ---- calls: parse_call.c; the word before the bracket is consumed ---- */

/* Parses `(…)` and spreads exactly `taken` arguments over a, b, c. */
void vy_parse_operands(vy_parser *parser, vy_ast_node *node, unsigned taken);
vy_ast_node *vy_parse_atomic(vy_parser *parser, vy_identifier_info word, vy_position at);
vy_ast_node *vy_parse_collective(vy_parser *parser, vy_identifier_info word, uint32_t name, vy_position at);
vy_ast_node *vy_parse_cast(vy_parser *parser, vy_ast_node_kind kind, uint8_t type, vy_position at);
vy_ast_node *vy_parse_bitcast(vy_parser *parser, vy_position at);
vy_ast_node *vy_parse_len(vy_parser *parser);
/* A call of a function or of an op id: `name` is the function's name or the whole dotted id. */
vy_ast_node *vy_parse_call(vy_parser *parser, vy_ast_node_kind kind, uint32_t name, vy_position at);
/* The rest of a dotted id after its first name; `at` grows over it. Returns 0 after an error. */
int vy_parse_op_id(vy_parser *parser, uint32_t first, vy_position *at, char id[VY_LIMIT_NAME + 1]);
/* The op id in the string that comes next, which is consumed. Returns 0 after an error. */
int vy_parse_quoted_id(vy_parser *parser, char id[VY_LIMIT_NAME + 1]);
/* A name of the parser's own; VY_SYMBOL_INVALID when memory is out, which is noted. */
uint32_t vy_parse_add_name(vy_parser *parser, const char *text);
/* `first` with members: an op id, which is called. */
vy_ast_node *vy_parse_dotted(vy_parser *parser, vy_position at, uint32_t first);
/* A string in an expression: an op id in quotes, which is called. */
vy_ast_node *vy_parse_quoted(vy_parser *parser);

#endif
