/* The sums of eight vectors of eight numbers, as one vector: for any type of number. */
#ifndef PBOOST_KERNELS_SUMS_H
#define PBOOST_KERNELS_SUMS_H

/* A function `name` of const vec m[8]; the result is as if every vector were added up in pairs. */
#define SUMS_OF_EIGHT(name, vec)                                                                   \
    static inline __attribute__((always_inline)) vec name(const vec m[8])                          \
    {                                                                                              \
        vec a[4], b[2];                                                                            \
        for (int i = 0; i < 4; i++)                                                                \
            a[i] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +    \
                   __builtin_shufflevector(m[2 * i], m[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);     \
        for (int i = 0; i < 2; i++)                                                                \
            b[i] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +     \
                   __builtin_shufflevector(a[2 * i], a[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);    \
        return __builtin_shufflevector(b[0], b[1], 0, 1, 2, 3, 8, 9, 10, 11) +                     \
               __builtin_shufflevector(b[0], b[1], 4, 5, 6, 7, 12, 13, 14, 15);                    \
    }

#endif
