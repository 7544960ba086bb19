/* Linking of the programs that a backend compiles (op_code.c). */
#ifndef VY_DRIVER_OP_CODE_H
#define VY_DRIVER_OP_CODE_H

#include "vyre/dialect.h"
#include "vyre/driver.h"

/* Calls `code_target`. VYRE_TARGET_COUNT: the backend reads no code, or code in an unknown language. */
vyre_target vy_backend_query_code_target(const vyre_backend *backend);

/* Links the ops that a program calls, like vy_program_resolve_newest, with the code that their dialects have for the
 * backend. The program may be linked already. May compile and run trials of that code.
 *
 * VYRE_INVALID_PROGRAM  the code of an op returns other results than its body: the message has the inputs
 * Others                as vy_program_resolve_newest, vyre_compile and a dispatch */
vyre_status vy_backend_resolve(vyre_backend *backend, vyre_program *program, vyre_program **out, vyre_error *error);
/* Whether that may yield another program. */
int vy_backend_must_resolve(const vyre_backend *backend, const vyre_program *program);

#endif
