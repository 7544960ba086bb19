/* libvyre's own module: the records of the backends it brings along, and their descriptor.
 *
 * All of them are in this file because a linker drops members of an archive that nobody names: the registry names the descriptor, and
 * the records here name the constructors. The streams have a prefix of their own, so that a program linked with the archive keeps
 * its records apart from these, as one linked with the shared library does. */
#define VYRE_STREAM_PREFIX vyre_builtin_stream
#include "driver/registry.h"

VYRE_MODULE_AS(vy_builtin_module, "libvyre");
