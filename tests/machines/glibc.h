/* For ./dev wheel alone, included before every file: takes functions from glibc in the version
 * of 2.2.5 (2.17 on ARM), which every glibc has.  Those of 2.27 and 2.29 differ in how they report
 * errors, which nobody asks for
 * (-fno-math-errno).  Without this the wheel would need glibc 2.29. */
#ifndef PBOOST_GLIBC_H
#define PBOOST_GLIBC_H

#ifdef __x86_64__
#define GLIBC_OLD "2.2.5"
#else
#define GLIBC_OLD "2.17"
#endif
#define FROM_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_" GLIBC_OLD)

FROM_OLD(exp);
FROM_OLD(exp2);
FROM_OLD(log);
FROM_OLD(log2);
FROM_OLD(pow);
FROM_OLD(glob);

#endif
