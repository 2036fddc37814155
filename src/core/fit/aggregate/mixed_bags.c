/* Whether bags are as mixed as random ones: then their means vary no more than by chance. */
#include "fit/aggregate/aggregate.h"
#include "try.h"

#define TWICE 2.0

pboost_status pboost_bags_are_mixed(bool *out, const aggregate_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &fit->data.rows;
    bag_pass pass = {0};
    bag_moments means = {0};
    double *zero = NULL, *gram = NULL, *size = NULL, between = 0.0;
    size_t n = rows->start[rows->n_bags] - rows->start[0], cols = fit->pass.cols;

    *out = false;
    TRY(pboost_bagpass_features(&pass, &fit->pass, err));
    TRY(pboost_bag_moments_init(&means, &pass, err));
    NEED(zero = calloc(cols, sizeof *zero), err);
    NEED(gram = pboost_alloc(cols * cols, sizeof *gram), err);
    NEED(size = pboost_alloc(rows->n_bags, sizeof *size), err);
    for (size_t b = 0; b < rows->n_bags; b++)
        size[b] = (double)(rows->start[b + 1] - rows->start[b]);
    pboost_bagpass_run(&means, &pass, zero);
    pboost_bagpass_gram(gram, NULL, &pass, &means, size, NULL);
    for (size_t j = 0; j < cols; j++)
        between += gram[j * cols + j];
    /* Standardised features have variance 1, and by chance a fraction of bags / rows of it is
     * between bags. */
    *out = rows->n_bags < n && between < TWICE * (double)rows->n_bags * (double)cols;
done:
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&means);
    free(zero);
    free(gram);
    free(size);
    return st;
}
