/* Statements of the program, with what their expressions became. Internal to legal_rewrite*.c; vy_legalizer_body stands in legalizer.h.
 *
 * What must stay true: all operands of a statement are lowered before the first is put, since lowering may write statements and what is put must stand directly before its own; trees
 * are forgotten with their statement. */
#ifndef VY_LOWER_LEGALIZER_STMTS_H
#define VY_LOWER_LEGALIZER_STMTS_H

#include "lower/legalizer.h"

/* Writes the statements [first, end): in a row what stays as it is, if the phase declares all as it is, else one after the other. */
void vy_legalizer_block(vy_legalizer *rw, uint32_t first, uint32_t end);

#endif
