/* The plug-in line, pinned: a member that moves does not compile (abi.def; docs/abi.md). tests/driver/test_abi.c sees that none is left out. */
#include "vyre/backend.h"
#include "vyre/dialect.h"

#include <stddef.h>

#define PIN(type, member, offset)                                                                                      \
    _Static_assert(sizeof(void *) != 8 || offsetof(type, member) == (offset),                                          \
                   #type "." #member " has moved: plug-ins built before break");
#include "driver/abi.def"
