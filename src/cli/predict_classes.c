/* priorboost predict with a model of classes: the most likely class of each row, and the
 * probability of every class. */
#include "predict_classes.h"

#include <string.h>

void class_predictions_free(class_predictions *p)
{
    free(p->probability);
    free(p->lower);
    free(p->upper);
    *p = (class_predictions){0};
}

pboost_status class_predict(class_predictions *out, const pboost_model *model,
                            const pboost_table *table, double level, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_rows(table), cells = n * model->classes.n;
    double *x = NULL;
    pboost_sources sources = {0};

    *out = (class_predictions){0};
    TRY(data_features(&x, &out->unseen, &model->encoding, table, err));
    pboost_matrix matrix = pboost_matrix_f64(x, n, model->encoding.n_columns);
    pboost_samples samples = {.x = &matrix, .n = n};
    NEED(out->probability = pboost_alloc(cells, sizeof(double)), err);
    if (model->mixture.n > 0) {
        TRY(pboost_sources_read(&sources, NULL, &model->encoding, table, err));
        TRY(pboost_classes_predict_mixture(out->probability, &model->mixture, model->classes.n,
                                           &samples, &sources.columns, threads, err));
        goto done;
    }
    TRY(pboost_classes_predict(out->probability, &samples, &model->classes.coef, threads, err));
    if (level > 0.0) {
        NEED(out->lower = pboost_alloc(cells, sizeof(double)), err);
        NEED(out->upper = pboost_alloc(cells, sizeof(double)), err);
        TRY(pboost_classes_predict_interval(out->lower, out->upper, &samples, &model->classes.coef,
                                            model->covariance, level, threads, err));
    }
done:
    free(x);
    pboost_sources_free(&sources);
    if (st != PBOOST_OK)
        class_predictions_free(out);
    return st;
}

const char *class_most_likely(const pboost_model *model, const double *probability)
{
    size_t best = 0;
    for (size_t c = 1; c < model->classes.n; c++)
        best = probability[c] > probability[best] ? c : best;
    return model->classes.name[best];
}

void class_write_header(FILE *stream, const pboost_model *model, bool interval,
                        void (*cell)(FILE *stream, const char *text))
{
    static const char *const PREFIX[] = {"p_", "lower_", "upper_"};
    char name[300];

    fputs("prediction", stream);
    for (size_t c = 0; c < model->classes.n; c++)
        for (size_t i = 0; i < (interval ? 3 : 1); i++) {
            snprintf(name, sizeof name, "%s%.280s", PREFIX[i], model->classes.name[c]);
            fputc(',', stream);
            cell(stream, name);
        }
    fputc('\n', stream);
}

void class_write_row(FILE *stream, const pboost_model *model, const class_predictions *p,
                     size_t row, void (*cell)(FILE *stream, const char *text))
{
    size_t first = row * model->classes.n;

    cell(stream, class_most_likely(model, p->probability + first));
    for (size_t i = first; i < first + model->classes.n; i++) {
        fprintf(stream, ",%.17g", p->probability[i]);
        if (p->lower != NULL)
            fprintf(stream, ",%.17g,%.17g", p->lower[i], p->upper[i]);
    }
    fputc('\n', stream);
}
