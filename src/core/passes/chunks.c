/* How passes cut rows.  See chunks.h. */
#include "passes/chunks.h"

#include "base/sizes.h"
#include "data/matrix.h"
#include "kernels/glm.h"

#define PANEL_VALUES 4096              /* a panel of few columns stays in the first cache */
#define CHUNK_VALUES ((size_t)1 << 16) /* less than this is not worth another thread */
#define MAX_CHUNKS 64
#define MAX_SUMS ((size_t)1 << 23) /* values in all chunks' sums together */

size_t pboost_panel_rows(size_t padded, size_t least)
{
    return smaller(larger(PANEL_VALUES / padded / PANEL_LANES * PANEL_LANES, least), GLM_BLOCK);
}

size_t pboost_chunk_count(size_t rows, size_t padded, size_t sums_size)
{
    size_t chunks = rows / larger(1, CHUNK_VALUES / padded);
    return larger(1, smaller(smaller(chunks, MAX_CHUNKS), MAX_SUMS / sums_size));
}
