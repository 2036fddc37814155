#include "class_result.h"

#include <math.h>
#include <string.h>

#include "page.h"
#include "report_json.h"
#include "run_record.h"

double class_error(const pboost_class_coef *coef, const double *covariance, size_t c, size_t j)
{
    size_t n = pboost_class_weights(coef->classes, coef->cols);
    size_t i = (c - 1) * (coef->cols + 1) + j;
    double variance = covariance != NULL ? covariance[i * n + i] : NAN;
    return variance > 0.0 ? sqrt(variance) : NAN;
}

static const pboost_class_coef *final_coef(const train_result *r)
{
    return &r->class_path[r->rounds - 1];
}

static const char *column_name(const pboost_encoding *e, size_t j)
{
    return j < e->n_columns ? e->column[j] : "(intercept)";
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Trees have no weights. */
static void print_trees(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    double constant = r->misfit[PBOOST_MEMBER_CONSTANT];

    fprintf(out, "\n%-32s %8s\n", "class against all others", "trees");
    for (size_t c = 0; c < r->mixture.n; c++)
        fprintf(out, "%-32s %8zu\n", d->class_name[c], r->mixture.member[c].forest.n_trees);
    if (constant > 0.0)
        fprintf(out, "the trees explain %.1f %% of bags left out of their fit\n",
                100.0 * (1.0 - r->mixture_misfit / constant));
}

/* A kind of member has one for each class. */
static void print_kinds(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    double constant = r->misfit[PBOOST_MEMBER_CONSTANT];

    fprintf(out, "\n%-12s %8s %8s %s\n", "member", "weight", "trees",
            "explains of bags left out of its fit");
    for (size_t i = 0; i < r->mixture.n; i += d->classes) {
        const pboost_member *m = &r->mixture.member[i];
        pboost_member_kind kind = m->kind;
        size_t trees = 0;
        for (size_t c = 0; c < d->classes; c++) {
            trees += m[c].forest.n_trees;
            kind = m[c].forest.n_trees > 0 ? m[c].kind : kind; /* some classes may be constant */
        }
        fprintf(out, "%-12s %8.3g %8zu", pboost_member_kind_name(kind),
                (double)d->classes * m->weight, trees);
        if (r->misfit[kind] >= 0.0 && constant > 0.0)
            fprintf(out, " %.1f %%", 100.0 * (1.0 - r->misfit[kind] / constant));
        fputc('\n', out);
    }
    if (constant > 0.0)
        fprintf(out, "%-30s %.1f %%\n", "all", 100.0 * (1.0 - r->mixture_misfit / constant));
    fputs("\nmeans of several models have no weights and no intervals; --model glm has\n", out);
}

void class_print(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    if (r->mixture.n > 0) {
        if (strcmp(r->model, "trees") == 0)
            print_trees(out, d);
        else
            print_kinds(out, d);
        return;
    }
    const pboost_class_coef *coef = final_coef(r);
    for (size_t c = 1; c < coef->classes; c++) {
        fprintf(out, "\n%s against %s\n%-32s %-12s", d->class_name[c], d->class_name[0], "column",
                " weight");
        fprintf(out, r->covariance != NULL ? " %-12s %s\n" : "\n", "std. error", " 95 % interval");
        for (size_t j = 0; j < coef->cols + d->intercept; j++) {
            double weight = coef->theta[c * (coef->cols + 1) + j];
            double error = class_error(coef, r->covariance, c, j);
            fprintf(out, "%-32s % -12.6g", column_name(d->encoding, j), weight);
            if (!isnan(error))
                fprintf(out, " %-12.4g % .6g to % .6g", error, weight - RUN_Z95 * error,
                        weight + RUN_Z95 * error);
            fputc('\n', out);
        }
    }
}

/* ---- For programs ---------------------------------------------------------------------------- */

void class_describe(json_t *report, const train_description *d)
{
    const pboost_class_coef *coef = final_coef(d->result);
    json_t *names = json_array(), *theta = json_array(), *intercept = json_array();
    for (size_t c = 0; c < coef->classes; c++) {
        const double *of_class = coef->theta + c * (coef->cols + 1);
        json_array_append_new(names, json_string(d->class_name[c]));
        json_array_append_new(theta, report_json_numbers(of_class, coef->cols));
        json_array_append_new(intercept, report_json_number(of_class[coef->cols]));
    }
    json_object_set_new(report, "classes", names);
    if (d->result->mixture.n == 0) {
        json_object_set(report, "theta", theta);
        json_object_set(report, "intercept", intercept);
    }
    json_decref(theta);
    json_decref(intercept);
}

/* By class, the intercept last; of the base they are null. */
void class_describe_errors(json_t *report, const train_description *d)
{
    const train_result *r = d->result;
    const pboost_class_coef *coef = final_coef(r);
    json_t *errors = json_array();
    for (size_t c = 0; c < coef->classes; c++) {
        json_t *row = json_array();
        for (size_t j = 0; j <= coef->cols; j++)
            json_array_append_new(
                row, report_json_number(c == 0 ? NAN : class_error(coef, r->covariance, c, j)));
        json_array_append_new(errors, row);
    }
    json_object_set_new(report, "standard_errors", errors);
}

/* ---- The page -------------------------------------------------------------------------------- */

void class_write_weights(FILE *out, const pboost_model *model, const char *name)
{
    static const page_column COLUMNS[] = {{"class", false},    {"column", false},
                                          {"weight", true},    {"std. error", true},
                                          {"95 % from", true}, {"to", true}};
    const pboost_class_coef *coef = &model->classes.coef;
    char caption[200];

    if (model->mixture.n > 0) /* trees have no weights */
        return;
    snprintf(caption, sizeof caption, "%.60s: log odds against class %.60s", name,
             model->classes.name[0]);
    page_table t = page_table_begin(out, caption, COLUMNS, 6);
    for (size_t c = 1; c < coef->classes; c++)
        for (size_t j = 0; j <= coef->cols; j++) {
            double weight = coef->theta[c * (coef->cols + 1) + j];
            double error = class_error(coef, model->covariance, c, j);
            page_cell_text(&t, model->classes.name[c]);
            page_cell_text(&t, column_name(&model->encoding, j));
            page_cell_number(&t, weight);
            page_cell_number(&t, error);
            page_cell_number(&t, weight - RUN_Z95 * error);
            page_cell_number(&t, weight + RUN_Z95 * error);
        }
    page_table_end(&t);
}
