/* Numbers as bytes, the least significant first: in what is hashed, sealed and kept. */
#ifndef PBOOST_LEDGER_BYTES_H
#define PBOOST_LEDGER_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void pboost_put_number(unsigned char *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number >> 8 * i);
}

static inline uint64_t pboost_get_number(const unsigned char *byte, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)byte[i] << 8 * i;
    return number;
}

#endif
