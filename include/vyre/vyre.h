/* Includes all public headers of libvyre. */
#ifndef VYRE_VYRE_H
#define VYRE_VYRE_H

#include "vyre/async.h"
#include "vyre/backend.h"
#include "vyre/base.h"
#include "vyre/builder.h"
#include "vyre/cache.h"
#include "vyre/diagnostic.h"
#include "vyre/dialect.h"
#include "vyre/dispatch.h"
#include "vyre/dlpack.h"
#include "vyre/driver.h"
#include "vyre/emit.h"
#include "vyre/interop.h"
#include "vyre/kernel.h"
#include "vyre/manifest.h"
#include "vyre/op.h"
#include "vyre/oracle.h"
#include "vyre/pipeline.h"
#include "vyre/program.h"
#include "vyre/registry.h"
#include "vyre/telemetry.h"
#include "vyre/text.h"
#include "vyre/transform.h"
#include "vyre/type.h"
#include "vyre/wire.h"

#endif
