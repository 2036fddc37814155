/* The key of a row's id in shuffles: the same on every machine and for every order of rows. */
#include <priorboost/core.h>

/* FNV-1a; the generator that takes the key mixes it further. */
uint64_t pboost_id_key(const char *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *id != '\0'; id++)
        hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
    return hash;
}
