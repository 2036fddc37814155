/* priorboost train on sparse rows: the options, the rows and the rounds.
 *
 * Nothing here has a size of columns x columns: bags are made from a sketch of the rows, the fit
 * solves by conjugate gradients, and there is no plan, which needs both. */
#include "train_wide.h"

#include <math.h>
#include <string.h>

enum { PAPER_ROUNDS = 4 }; /* by default; a slice of a wide table must not be small */

/* ---- Options --------------------------------------------------------------------------------- */

static pboost_status refuse_others(const train_arguments *a, pboost_error *err)
{
    const column_arguments *c = &a->columns;
    const bool svm = a->hash == 0;
    const struct {
        bool given;
        const char *name, *why;
    } refused[] = {
        {a->model != NULL && strcmp(a->model, "glm") != 0, "--model",
         "the model of sparse rows is a glm"},
        {a->estimator != NULL && strcmp(a->estimator, "event") != 0 &&
             strcmp(a->estimator, "aggregate") != 0,
         "--estimator", "that of sparse rows is event or aggregate"},
        {a->classes, "--family classes", "the model of sparse rows has one response"},
        {a->sums != NULL, "--sums", "it needs columns x columns of memory"},
        {a->covariance != NULL, "--covariance", "sparse rows have none"},
        {a->standardize, "--standardize", "hashed numbers are standardised already"},
        {a->winsorize > 0.0, "--winsorize", "the columns have no names"},
        {a->given_rows != ROWS_ALL, "--rows", "all rows of the bags must be there"},
        {a->has_effects && a->effects, "--bag-effects", "it needs columns x columns of memory"},
        {c->date.n > 0, "--date", "a hashed date is a category"},
        {c->impute != NULL, "--impute", "a missing cell has a weight of its own"},
        {c->unseen != NULL, "--unseen", "a new category is hashed like the others"},
        {svm && c->exclude.n + c->drop.n + c->keep.n > 0, "--exclude", "columns have no names"},
        {svm && c->types.n + c->categorical.n > 0, "--types", "columns have no names"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s cannot be used with %s: %s",
                               refused[i].name, svm ? "an svmlight file" : "--hash",
                               refused[i].why);
    return PBOOST_OK;
}

static pboost_status refuse_without(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name, *needs;
    } sparse[] = {{a->cross.n > 0 && a->hash == 0, "--cross", "--hash BITS"},
                  {a->bag_key.n > 0 && !a->wide, "--bag-key", "--hash BITS or an svmlight file"},
                  {a->columns_given > 0 && a->index_base == NULL, "--columns", "--index-base"},
                  {a->errors.n > 0 && !a->wide, "--errors", "--hash BITS or an svmlight file"}};

    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++)
        if (sparse[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s needs %s", sparse[i].name, sparse[i].needs);
    if (a->hash > PBOOST_HASH_BITS)
        return pboost_fail(err, PBOOST_INVALID, "--hash is %zu; it must be from 1 to %d", a->hash,
                           PBOOST_HASH_BITS);
    if (a->index_base != NULL && strcmp(a->index_base, "0") != 0 && strcmp(a->index_base, "1") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--index-base is '%s'; it must be 0 or 1",
                           a->index_base);
    return PBOOST_OK;
}

pboost_status train_wide_check(train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool svm = a->index_base != NULL || (a->data != NULL && pboost_names_svmlight(a->data));

    a->wide = svm || a->hash > 0;
    TRY(refuse_without(a, err));
    if (!a->wide)
        goto done;
    if (svm && a->hash > 0)
        FAIL(err, PBOOST_INVALID,
             "--hash is for tables; the rows of an svmlight file are sparse already");
    TRY(refuse_others(a, err));
    if (a->bag_key.n > 0 && (a->bags != NULL || a->bag != NULL))
        FAIL(err, PBOOST_INVALID,
             "--bag-key cannot be used with %s: the key decides about the bags",
             a->bags != NULL ? "--bags" : "--bag");
    if (a->bag_key.n > 0)
        a->bags = "features";
    if (svm && a->label == NULL && a->oracle == NULL && a->bag == NULL)
        a->label = "label";
    if (!a->has_family)
        a->family = PBOOST_LOGISTIC;
    a->has_family = true;
done:
    return st;
}

void train_wide_choose(train_result *result, const train_arguments *a)
{
    const pboost_fit_options defaults = PBOOST_WIDE_OPTIONS_INIT;

    result->fit_options.tolerance = defaults.tolerance;
    result->fit_options.max_iterations = defaults.max_iterations;
    if (a->bags == NULL && a->automatic)
        result->options.bags = PBOOST_BAGS_FEATURES;
    if (a->rounds == 0 && result->options.algorithm != PBOOST_ONESHOT)
        result->options.rounds = a->automatic && result->options.bags != PBOOST_BAGS_PRIOR &&
                                         result->options.bags != PBOOST_BAGS_HYBRID
                                     ? 1
                                     : PAPER_ROUNDS;
}

/* ---- The rows -------------------------------------------------------------------------------- */

static pboost_status take_entries(train_data *out, const cli_context *cli,
                                  const pboost_table *table, pboost_error *err)
{
    pboost_table_sparse entries;

    if (!pboost_table_entries(&entries, table))
        return pboost_fail(err, PBOOST_BAD_DATA, "%s is no svmlight file",
                           pboost_table_path(table));
    if (entries.qids > 0)
        cli_note(cli, "note: %zu rows have a qid, which is ignored", entries.qids);
    if (entries.x.cols == 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s: no row has an entry",
                           pboost_table_path(table));
    out->sparse.index_base = entries.index_base;
    out->wide_x = entries.x;
    return PBOOST_OK;
}

pboost_status train_wide_learn(train_data *out, const cli_context *cli, pboost_table *table,
                               bool *use, const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->hash > 0) {
        TRY(columns_choose(use, cli, table, &a->columns, err));
        TRY(pboost_hashing_learn(&out->sparse.hashing, table, use, (unsigned)a->hash, a->cross.item,
                                 a->cross.n, err));
        TRY(pboost_hashing_apply(&out->entries, &out->sparse.hashing, table, err));
        out->wide_x = out->entries.x;
    } else {
        TRY(take_entries(out, cli, table, err));
    }
    out->sparse.columns = out->wide_x.cols;
    if (a->bag_key.n > 0)
        TRY(train_wide_key(&out->bag_key, out, table, a, err));
    TRY(train_wide_check_errors(out, a, err));
done:
    return st;
}

pboost_status train_wide_learn_test(train_data *out, pboost_table *table, pboost_error *err)
{
    return data_sparse(&out->test_wide_x, &out->test_entries, &out->sparse, table, err);
}

/* ---- After a round --------------------------------------------------------------------------- */

/* The sizes of bags first .. end, and the spread of the model's predictions within them. */
static pboost_status measure_bags(train_bags *out, const pboost_wide_features *features,
                                  const pboost_fit_options *fit, const pboost_answers *answers,
                                  size_t first, size_t end, const pboost_coef *coef,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = pboost_answers_bags(answers);
    size_t begin = bags.start[first], n = bags.start[end] - begin;
    pboost_wide_samples samples = {
        .x = &features->x, .row = bags.row + begin, .n = n, .offset = features->offset};
    double *mean = NULL;

    NEED(mean = pboost_alloc(n, sizeof *mean), err);
    TRY(pboost_wide_predict(mean, fit->family, &samples, coef, fit->threads, err));
    train_measure_bags(out, &bags, first, end, mean);
done:
    free(mean);
    return st;
}

static pboost_status test_loss(double *out, const train_arguments *a, const train_data *data,
                               const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide_samples samples = {
        .x = &data->test_wide_x, .n = data->test_rows, .offset = data->test_offset};
    pboost_samples labels = {.n = data->test_rows, .target = data->test_label};
    pboost_evaluator *evaluator = NULL;
    pboost_evaluation evaluation;
    double *mean = NULL;

    *out = NAN;
    if (a->test == NULL)
        goto done;
    NEED(mean = pboost_alloc(data->test_rows, sizeof *mean), err);
    TRY(pboost_wide_predict(mean, a->family, &samples, coef, a->threads, err));
    TRY(pboost_evaluator_create(&evaluator, a->family, err));
    TRY(pboost_evaluator_add_means(evaluator, &labels, mean, err));
    TRY(pboost_evaluator_finish(&evaluation, evaluator, err));
    *out = evaluation.measure[0].value;
done:
    pboost_evaluator_free(evaluator);
    free(mean);
    return st;
}

/* ---- The fit --------------------------------------------------------------------------------- */

/* Those that need no columns by name. */
static void take_warnings(train_result *result, const pboost_coef *coef)
{
    pboost_matrix none = {0};
    pboost_fitted fit = {.report = &result->fit,
                         .options = &result->fit_options,
                         .x = &none,
                         .coef = coef,
                         .feature_bags = "--bags features",
                         .sandwich = "--covariance sandwich"};
    pboost_warning found[PBOOST_MAX_WARNINGS];
    size_t n = pboost_warnings(found, &fit);

    result->usable = pboost_fit_usable(&fit);
    for (size_t i = 0; i < n; i++)
        train_warn(result, found[i].text);
}

static pboost_status keep_coef(pboost_coef *out, const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_coef_init(out, coef->n, err));
    memcpy(out->theta, coef->theta, coef->n * sizeof *coef->theta);
    out->intercept = coef->intercept;
done:
    return st;
}

pboost_status train_wide_sketch(float **sketch, pboost_matrix *x, const pboost_sparse *rows,
                                uint64_t seed, int threads, const pboost_cancel *cancel,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t dims = PBOOST_SKETCH_DIMS, cells;

    if (__builtin_mul_overflow(rows->rows, dims, &cells))
        cells = SIZE_MAX;
    NEED(*sketch = pboost_alloc(cells, sizeof **sketch), err);
    TRY(pboost_sparse_sketch(*sketch, rows, dims, seed, threads, cancel, err));
    *x = (pboost_matrix){.data = *sketch,
                         .type = PBOOST_F32,
                         .rows = rows->rows,
                         .cols = dims,
                         .row_stride = (ptrdiff_t)dims,
                         .col_stride = 1};
done:
    return st;
}

/* What `features` and `hybrid` bags are made from; x is empty for the others.  From a key alone
 * bags are the optimal ones along it: neighbours. */
static pboost_status make_sketch(float **sketch, pboost_matrix *x, const train_result *result,
                                 const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_trainer_options *o = &result->options;

    *x = (pboost_matrix){0};
    if (o->bags != PBOOST_BAGS_FEATURES && o->bags != PBOOST_BAGS_HYBRID)
        goto done;
    if (data->bag_key != NULL) {
        *x = pboost_matrix_f64(data->bag_key, data->rows, 1);
        goto done;
    }
    TRY(train_wide_sketch(sketch, x, &data->wide_x, o->seed, o->threads, o->cancel, err));
done:
    return st;
}

static pboost_status run_rounds(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const pboost_wide_features *features,
                                pboost_wide *wide, pboost_trainer *trainer,
                                const train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rounds = result->options.rounds;

    for (size_t t = 0; t < rounds; t++) {
        TRY(train_begin_round(cli, oracle, trainer, t, rounds, err));
        TRY(pboost_trainer_step(trainer, err));
        const pboost_answers *answers = pboost_trainer_answers(trainer);
        TRY(measure_bags(&result->bags_asked[t], features, &result->fit_options, answers,
                         pboost_answers_round_start(answers, t),
                         pboost_answers_round_start(answers, t + 1), pboost_wide_coef(wide), err));
        result->history[t] = pboost_trainer_history(trainer)[t];
        TRY(test_loss(&result->history[t].test_loss, a, data, pboost_wide_coef(wide), err));
    }
    cli->rounds = 0;
    result->rounds = rounds;
    result->rows_spent = pboost_answers_bags(pboost_trainer_answers(trainer)).n_rows;
done:
    return st;
}

static pboost_status ask_and_fit(train_result *result, cli_context *cli, const train_arguments *a,
                                 train_data *data, const pboost_wide_features *features,
                                 const train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide *wide = NULL;
    pboost_trainer *trainer = NULL;
    pboost_matrix x;
    float *sketch = NULL;

    result->rules = oracle->interface.rules;
    result->options.family = a->family;
    TRY(make_sketch(&sketch, &x, result, data, err));
    result->options.x = x.cols > 0 ? &x : NULL;
    TRY(pboost_wide_create(&wide, features, NULL, &result->fit_options, err));
    pboost_learner learner = pboost_wide_learner(wide);
    TRY(pboost_trainer_create(&trainer, data->rows, &oracle->interface, &learner, &result->options,
                              err));
    TRY(run_rounds(result, cli, a, data, features, wide, trainer, oracle, err));
    result->fit = *pboost_wide_report(wide);
    TRY(keep_coef(&data->wide_coef, pboost_wide_coef(wide), err));
    TRY(train_wide_name(data, result, a, pboost_trainer_answers(trainer), err));
done:
    result->options.x = NULL;
    pboost_trainer_free(trainer);
    pboost_wide_free(wide);
    free(sketch);
    return st;
}

static pboost_status fit_given(train_result *result, const train_arguments *a, train_data *data,
                               const pboost_wide_features *features, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n_bags = pboost_answers_bags(data->given).n_bags;

    TRY(pboost_sparse_check(&features->x, a->threads, err));
    TRY(pboost_coef_init(&data->wide_coef, features->x.cols, err));
    TRY(pboost_wide_answers_fit(&data->wide_coef, &result->fit, features, data->given, 0,
                                &result->fit_options, err));
    TRY(measure_bags(&result->bags_asked[0], features, &result->fit_options, data->given, 0, n_bags,
                     &data->wide_coef, err));
    train_take_one_round(result, data, data->given);
    TRY(test_loss(&result->history[0].test_loss, a, data, &data->wide_coef, err));
    TRY(train_wide_name(data, result, a, data->given, err));
done:
    return st;
}

pboost_status train_wide_run(train_result *result, cli_context *cli, const train_arguments *a,
                             train_data *data, const train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide_features features = {
        .x = data->wide_x, .weight = data->weight, .offset = data->offset};

    cli_interrupted(); /* listen from now on */
    result->fit_options.cancel = result->options.cancel = &cli->interrupt;
    if (oracle == NULL)
        result->options.rounds = 1;
    TRY(train_result_rounds(result, err));
    for (size_t t = 0; t < result->options.rounds; t++)
        result->bag_deviance[t] = result->bag_deviance_ahead[t] = NAN;
    TRY(oracle != NULL ? ask_and_fit(result, cli, a, data, &features, oracle, err)
                       : fit_given(result, a, data, &features, err));
    take_warnings(result, &data->wide_coef);
done:
    return st;
}
