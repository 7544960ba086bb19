/* Version `ours`, for figures that need more than a runner. */
#ifndef SUITE_OURS_H
#define SUITE_OURS_H

#include "suite.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

/* The backend that was opened. */
vyre_backend *suite_ours_backend(void);
/* Of its device: the number of concurrent activities; 1 if unknown. */
uint32_t suite_ours_units(void);
/* A file of the repository, with the work's definitions (NULL: none). NULL with an error; vyre_module_free follows. */
vyre_module *suite_ours_parse(const char *file, const work *w, vyre_error *error);
/* suite_ours_compile on another backend. */
double suite_ours_compile_on(vyre_backend *on, const char *file, int from_disk);

/* Holds the device (bench/cuda/hold.c): work that is queued in the driver's stream after it, or started by the backend
 * (NULL: none), begins when there was time to queue so many launches. 0: the device cannot be held. */
int suite_hold(vyre_backend *backend, size_t launches);
/* Whether all work was queued in time; if not, the next hold is longer. */
int suite_was_held(double handed_over);

#endif
