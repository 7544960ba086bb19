/* What the fuzz target and the tests need beside vyre/wire.h. */
#ifndef VY_IR_WIRE_H
#define VY_IR_WIRE_H

#include "vyre/wire.h"

/* Makes magic, version, length and digest right, taking all the bytes for one program without a debug section, so that only the body
 * decides. Returns 0 and changes nothing if they are too few to hold a header and a digest. */
int vy_wire_fix_header(uint8_t *bytes, size_t size);

#endif
