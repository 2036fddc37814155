/* What the C standard does not have and systems offer under different names.
 *
 * system.c is the only file of the core with calls that not every POSIX system has.  Each has an
 * alternative there, so a new system needs no change elsewhere. */
#ifndef PBOOST_SYSTEM_H
#define PBOOST_SYSTEM_H

#include <stddef.h>

/* Fills the buffer with random bytes of the operating system; 0, or the errno that says why not. */
int pboost_system_entropy(void *buffer, size_t bytes);

/* Sets memory to 0, even if nothing reads it afterwards. */
void pboost_system_wipe(void *buffer, size_t bytes);

/* How many processors this process may use; at least 1. */
int pboost_system_processors(void);

#endif
