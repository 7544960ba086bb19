/* libvyre's own records of dialects. As with its backends, they sit in one object that the registry names by symbol: a linker drops members of an
 * archive that nobody names. The streams have the prefix of libvyre's own, so that an application linked with the archive keeps its records
 * apart. */
#define VYRE_STREAM_PREFIX vyre_builtin_stream
#include "dialect/registry.h"

VYRE_STREAM_BOUNDS(vyre_op_definition, VYRE_STREAM(ops));
VYRE_STREAM_BOUNDS(vyre_extern_dialect, VYRE_STREAM(extern_dialects));
VYRE_STREAM_BOUNDS(vyre_extern_op, VYRE_STREAM(extern_ops));

const vy_dialect_streams vy_builtin_dialects = {VYRE_MODULE_STREAM(ops), VYRE_MODULE_STREAM(extern_dialects),
                                                VYRE_MODULE_STREAM(extern_ops)};
