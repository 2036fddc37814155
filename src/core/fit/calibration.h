/* Calibration of samples that come in the order of their means. */
#ifndef PBOOST_CALIBRATION_H
#define PBOOST_CALIBRATION_H

#include <priorboost/predict.h>

/* The next sample. */
typedef void calibration_next(void *from, double *mean, double *label);

/* Cuts n samples into groups. */
pboost_status pboost_calibration_cut(pboost_calibration *out, size_t n, size_t groups,
                                     calibration_next *next, void *from, pboost_error *err);

/* Sorts n items of `width` doubles by their first, in place: qsort may copy them all. */
void pboost_sort_items(double *item, size_t n, size_t width);

#endif
