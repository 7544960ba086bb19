/* What keeps dialects usable in a child process: nobody is in the middle of adding a name or freeing a snapshot while the process is copied. */
#ifndef VY_DIALECT_FORK_H
#define VY_DIALECT_FORK_H

/* Once per process; later calls are one load. Before the first lock is taken or the first snapshot published. */
void vy_fork_handlers_install(void);

#endif
