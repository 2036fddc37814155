// The sort of the Highway library, for bench_sort: pairs of words by the second, then by the first.
#include <hwy/contrib/sort/vqsort.h>

extern "C" void bench_vqsort(void *pairs, size_t n)
{
    hwy::Sorter()(static_cast<hwy::uint128_t *>(pairs), n, hwy::SortAscending());
}
