/* What keeps dialects usable in a child process: nobody is in the middle of adding a name or freeing a snapshot while the process is copied. */
#ifndef VY_DIALECT_ATFORK_H
#define VY_DIALECT_ATFORK_H

/* Once per process; later calls are one load. Before the first lock is taken or the first snapshot published. */
void vy_dialects_atfork_install(void);

#endif
