/* Declares getentropy, which POSIX has since 2024 and Linux, macOS and the BSDs have had for
 * longer. */
#ifndef PBOOST_ENTROPY_H
#define PBOOST_ENTROPY_H

#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#endif
