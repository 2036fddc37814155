/* How well probabilities of classes fit labels. */
#include <math.h>
#include <string.h>

#include <priorboost/classes.h>

#include "try.h"

#define LEAST_PROBABILITY                                                                          \
    1e-300 /* the loss of a label that was said to be impossible is finite                         \
            */

void pboost_class_evaluation_free(pboost_class_evaluation *evaluation)
{
    free(evaluation->confusion);
    free(evaluation->calibration);
    *evaluation = (pboost_class_evaluation){0};
}

/* The first of the largest. */
static size_t most_likely(const double *p, size_t classes)
{
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        best = p[c] > p[best] ? c : best;
    return best;
}

static pboost_status check_row(const double *p, double label, size_t row, size_t classes,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (!(label >= 0.0 && label < (double)classes && label == floor(label)))
        FAIL(err, PBOOST_BAD_DATA, "label %zu is %g; it must be a class number from 0 to %zu", row,
             label, classes - 1);
    for (size_t c = 0; c < classes; c++)
        if (!(p[c] >= 0.0 && p[c] <= 1.0))
            FAIL(err, PBOOST_BAD_DATA, "row %zu has probability %g; it must be from 0 to 1", row,
                 p[c]);
done:
    return st;
}

static pboost_status calibrate(pboost_class_evaluation *out, const double *probability,
                               const double *label, size_t groups, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *mean = NULL, *is = NULL;

    NEED(mean = pboost_alloc(out->rows, sizeof *mean), err);
    NEED(is = pboost_alloc(out->rows, sizeof *is), err);
    for (size_t c = 0; c < out->classes; c++) {
        for (size_t i = 0; i < out->rows; i++) {
            mean[i] = probability[i * out->classes + c];
            is[i] = label[i] == (double)c;
        }
        TRY(pboost_calibrate(&out->calibration[c], mean, is, out->rows, groups, err));
    }
done:
    free(mean);
    free(is);
    return st;
}

/* -sum f log f over the proportions of the labels: row c of the confusion matrix has those of c. */
static double entropy(const pboost_class_evaluation *e)
{
    double sum = 0.0;
    for (size_t c = 0; c < e->classes; c++) {
        size_t rows = 0;
        for (size_t k = 0; k < e->classes; k++)
            rows += e->confusion[c * e->classes + k];
        double f = (double)rows / (double)e->rows;
        sum -= f > 0.0 ? f * log(f) : 0.0;
    }
    return sum;
}

pboost_status pboost_classes_evaluate(pboost_class_evaluation *out, const double *probability,
                                      const double *label, size_t rows, size_t classes,
                                      size_t groups, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t right = 0;

    *out = (pboost_class_evaluation){.rows = rows, .classes = classes};
    if (rows == 0 || classes == 0 || classes > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_INVALID, "there are %zu rows of %zu classes to evaluate", rows, classes);
    NEED(out->confusion = calloc(classes * classes, sizeof *out->confusion), err);
    NEED(out->calibration = calloc(classes, sizeof *out->calibration), err);
    for (size_t i = 0; i < rows; i++) {
        const double *p = probability + i * classes;
        TRY(check_row(p, label[i], i, classes, err));
        size_t is = (size_t)label[i], said = most_likely(p, classes);
        out->loss -= log(fmax(p[is], LEAST_PROBABILITY)) / (double)rows;
        out->confusion[is * classes + said]++;
        right += is == said;
    }
    out->accuracy = (double)right / (double)rows;
    out->constant = entropy(out);
    TRY(calibrate(out, probability, label, groups, err));
done:
    if (st != PBOOST_OK)
        pboost_class_evaluation_free(out);
    return st;
}
