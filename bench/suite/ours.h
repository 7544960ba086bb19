/* Our version, for figures that need more than a runner gives. */
#ifndef SUITE_OURS_H
#define SUITE_OURS_H

#include "suite.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

/* The backend that was opened. */
vyre_backend *suite_ours_backend(void);
/* Of its device: how many things it does at once; 1 if that is not known. */
uint32_t suite_ours_units(void);
/* A file of the repository, with the work's definitions (NULL: none). NULL with an error; vyre_module_free follows. */
vyre_module *suite_ours_parse(const char *file, const work *w, vyre_error *error);
/* suite_ours_compile on another backend. */
double suite_ours_compile_on(vyre_backend *on, const char *file, int from_disk);

/* Holds the device (bench/cuda/hold.c): what is put into the driver's stream behind it, or started by the backend
 * (NULL: nothing is), begins when there was time to hand over so many launches. 0: it cannot be held. */
int suite_hold(vyre_backend *backend, size_t launches);
/* Whether all was handed over in time; if not, the next hold is longer. */
int suite_was_held(double handed_over);

#endif
