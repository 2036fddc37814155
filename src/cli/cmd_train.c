/* priorboost train: play both parties on one table, or learn from an oracle. */
#include <math.h>
#include <string.h>

#include "train.h"
#include "train_remote.h"
#include "train_rows.h"

static const cli_usage USAGE = {
    .synopsis =
        "--data FILE --label COL --family F --min-bag K [OPTION...]\n"
        "       priorboost train --data FILE --id COL --family F --oracle URL --token-file F",
    .text =
        "Trains a model of individuals from the mean labels of bags of at least K rows.  The\n"
        "labels of the table are handed to an oracle that answers each row once; the trainer\n"
        "sees the answers alone.  With --oracle the labels stay with another party, who sets the\n"
        "rules."};

/* ---- The run --------------------------------------------------------------------------------- */

/* What happens after a round: keep its coefficients, show progress, stop if asked. */
typedef struct {
    cli_context *cli;
    const pboost_glm *glm;
    const train_data *data;
    train_result *result;
    bool out_of_memory;
} observer;

static bool on_round(void *user, pboost_round *round)
{
    observer *o = user;
    const pboost_coef *coef = pboost_glm_coef(o->glm);
    pboost_coef *copy = &o->result->path[round->round - 1];

    if (pboost_coef_init(copy, coef->n, NULL) != PBOOST_OK) {
        o->out_of_memory = true;
        return false;
    }
    memcpy(copy->theta, coef->theta, coef->n * sizeof *coef->theta);
    copy->intercept = coef->intercept;
    train_data_unscale(copy, o->data);
    cli_progress(o->cli, "training", round->round, round->rounds);
    return !cli_interrupted();
}

static pboost_status run_trainer(cli_context *cli, const train_arguments *a, const train_data *data,
                                 const pboost_oracle *oracle, train_result *result,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_glm *glm = NULL;
    pboost_trainer *trainer = NULL;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;

    fit.family = a->family;
    fit.l2 = a->l2;
    fit.intercept = !a->no_intercept;
    fit.threads = a->threads;
    TRY(pboost_glm_create(&glm, &x, data->weight, data->offset, &fit, err));
    pboost_learner learner = pboost_glm_learner(glm);
    observer watch = {cli, glm, data, result, false};
    result->options.on_round = on_round;
    result->options.user = &watch;
    result->rules = oracle->rules;
    NEED(result->path = calloc(result->options.rounds, sizeof *result->path), err);
    TRY(pboost_trainer_create(&trainer, data->rows, oracle, &learner, &result->options, err));
    st = pboost_trainer_run(trainer, err);
    if (watch.out_of_memory)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    TRY(st);
    result->rounds = pboost_trainer_rounds_done(trainer);
    result->rows_spent = pboost_trainer_answers(trainer)->n_rows;
    result->fit = *pboost_glm_report(glm);
    NEED(result->history = pboost_alloc(result->rounds, sizeof *result->history), err);
    memcpy(result->history, pboost_trainer_history(trainer),
           result->rounds * sizeof *result->history);
done:
    result->options.user = NULL; /* it watched from this stack */
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    return st;
}

/* The test loss after every round, all models in one pass. */
static pboost_status test_losses(const train_arguments *a, const train_data *data,
                                 train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(data->test_x, data->test_rows, data->cols);
    pboost_samples samples = {
        .x = &x, .n = data->test_rows, .target = data->test_label, .offset = data->test_offset};
    double *loss = NULL;

    NEED(loss = pboost_alloc(result->rounds, sizeof *loss), err);
    TRY(pboost_losses(loss, a->family, &samples, result->path, result->rounds, a->threads, err));
    for (size_t t = 0; t < result->rounds; t++)
        result->history[t].test_loss = loss[t];
done:
    free(loss);
    return st;
}

static void result_free(train_result *result)
{
    for (size_t t = 0; result->path != NULL && t < result->options.rounds; t++)
        pboost_coef_free(&result->path[t]);
    free(result->path);
    free(result->history);
}

/* ---- Options to settings --------------------------------------------------------------------- */

static pboost_status require_options(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } required[] = {{a->data != NULL, "--data"},
                    {a->label != NULL || a->oracle != NULL, "--label"},
                    {a->has_family, "--family"},
                    {a->min_bag > 0 || a->oracle != NULL, "--min-bag"}};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!required[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s is required; see 'priorboost train --help'",
                               required[i].name);
    if (a->epsilon.den > 0 && !a->has_bounds)
        return pboost_fail(err, PBOOST_INVALID,
                           "--epsilon needs --bounds LO,HI: the noise depends on the range of the "
                           "labels");
    if ((a->clamp || a->step > 0.0) && !a->has_bounds)
        return pboost_fail(err, PBOOST_INVALID, "%s needs --bounds LO,HI",
                           a->clamp ? "--clamp" : "--step");
    if (a->positive != NULL && a->family != PBOOST_LOGISTIC)
        return pboost_fail(err, PBOOST_INVALID, "--positive is for the logistic family, not for %s",
                           pboost_family_name(a->family));
    if (a->round && a->family != PBOOST_LOGISTIC)
        return pboost_fail(err, PBOOST_INVALID, "--round is for the logistic family, not for %s",
                           pboost_family_name(a->family));
    if (a->impute != NULL && strcmp(a->impute, "mean") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--impute is '%s'; it must be mean", a->impute);
    return train_remote_check(a, err);
}

static pboost_status choose_settings(train_result *result, const train_arguments *a,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer_options *o = &result->options;

    if (a->algorithm != NULL)
        TRY(pboost_algorithm_parse(&o->algorithm, a->algorithm, err));
    if (a->estimator != NULL)
        TRY(pboost_estimator_parse(&result->estimator, a->estimator, err));
    if (a->bags != NULL)
        TRY(pboost_strategy_parse(&o->bags, a->bags, err));
    if (a->schedule != NULL)
        TRY(pboost_schedule_parse(&o->schedule, a->schedule, err));
    if (o->algorithm == PBOOST_ONESHOT && a->rounds > 1)
        FAIL(err, PBOOST_INVALID, "--rounds is %zu, but oneshot has one round by definition",
             a->rounds);
    if (o->algorithm == PBOOST_ONESHOT && a->bags != NULL && o->bags != PBOOST_BAGS_RANDOM)
        FAIL(err, PBOOST_INVALID, "--bags is %s, but oneshot means random bags", a->bags);
    if (a->bag_size > 0 && a->bag_size < a->min_bag)
        FAIL(err, PBOOST_INVALID, "--bag-size is %zu; it must be at least --min-bag, %zu",
             a->bag_size, a->min_bag);
    o->bag_size = a->bag_size > 0 ? a->bag_size : a->min_bag;
    o->seed = a->seed;
    o->threads = a->threads;
    if (a->oracle != NULL) /* it has its own rules */
        goto done;
    result->rules.min_bag = a->min_bag;
    result->rules.epsilon = a->epsilon;
    result->rules.bounded = a->has_bounds;
    result->rules.lower = a->bounds.lower;
    result->rules.upper = a->bounds.upper;
    result->rules.step = a->step;
    result->rules.round = a->round;
    TRY(pboost_rules_check(&result->rules, err));
    result->simulated = a->has_seed && (a->epsilon.den > 0 || a->round);
done:
    return st;
}

/* ---- Who answers ------------------------------------------------------------------------------- */

typedef struct {
    pboost_memory_oracle *labels; /* of the table */
    train_remote *remote;         /* or another party's */
    pboost_oracle interface;
} answerer;

static pboost_status one_row_a_unit(cli_context *cli, train_data *data, train_result *result,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *keep = NULL;

    NEED(keep = pboost_alloc(data->rows, sizeof *keep), err);
    memset(keep, true, data->rows * sizeof *keep);
    TRY(train_rows_one_by_unit(keep, &result->same_unit, data, err));
    train_rows_select(data, keep);
    if (result->same_unit > 0)
        cli_note(cli, "%zu rows of units that are there already are left out", result->same_unit);
done:
    free(keep);
    return st;
}

/* Rows that cannot be asked about leave the data. */
static pboost_status open_oracle(answerer *out, cli_context *cli, const train_arguments *a,
                                 train_data *data, train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle_options holder = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;

    if (a->oracle != NULL) {
        TRY(train_remote_open(&out->remote, &result->rules, cli, a, err));
        TRY(train_remote_choose_rows(out->remote, data, result, err));
        out->interface = train_remote_oracle(out->remote);
        return PBOOST_OK;
    }
    TRY(one_row_a_unit(cli, data, result, err));
    holder.clamp = a->clamp;
    holder.simulated = a->has_seed;
    holder.seed = a->seed;
    TRY(pboost_memory_oracle_create(&out->labels, data->label, data->rows, &result->rules, &holder,
                                    err));
    out->interface = pboost_memory_oracle_interface(out->labels);
done:
    return st;
}

static pboost_status train(cli_context *cli, const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_data data = {0};
    train_result result = {.options = PBOOST_TRAINER_OPTIONS_INIT, .rules = PBOOST_RULES_INIT};
    answerer oracle = {0};
    pboost_output *output = NULL;
    double began = cli_seconds();

    TRY(choose_settings(&result, a, err));
    TRY(train_data_load(&data, a, err));
    TRY(open_oracle(&oracle, cli, a, &data, &result, err));
    size_t k = result.options.bag_size > 0 ? result.options.bag_size : result.rules.min_bag;
    result.options.rounds = result.options.algorithm == PBOOST_ONESHOT ? 1
                            : a->rounds > 0                            ? a->rounds
                                            : pboost_rounds_default(data.rows, data.cols, k);
    result.options.row_key = data.row_key;
    result.options.prior_score = data.prior_score;
    if (a->out != NULL) /* before any label is spent */
        TRY(pboost_output_open(&output, a->out, err));
    TRY(run_trainer(cli, a, &data, &oracle.interface, &result, err));
    if (a->test != NULL)
        TRY(test_losses(a, &data, &result, err));
    result.seconds = cli_seconds() - began;
    if (output != NULL) {
        st = train_write_model(output, a, &data, &result, err);
        output = NULL;
        TRY(st);
    }
    TRY(cli->json ? train_print_json(a, &data, &result, err)
                  : train_print(cli, a, &data, &result, err));
done:
    pboost_output_discard(output);
    pboost_memory_oracle_free(oracle.labels);
    train_remote_close(oracle.remote);
    result_free(&result);
    train_data_free(&data);
    return st;
}

pboost_status cli_train(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_arguments a = {.l2 = 1.0, .patience = 60};
    const cli_option options[] = {
        {"--data", "FILE", cli_read_text, &a.data, NULL, "the table (CSV or NPY); - is stdin"},
        {"--label", "COL", cli_read_text, &a.label, NULL, "the column of labels"},
        {"--positive", "VALUE", cli_read_text, &a.positive, NULL,
         "logistic: the label that counts as 1"},
        {"--id", "COL", cli_read_text, &a.id, NULL,
         "what names a row; makes the run independent of their order"},
        {"--unit", "COL", cli_read_text, &a.unit, NULL,
         "whom a row is about; one row of each takes part"},
        {"--exclude", "COL,...", cli_read_list, &a.exclude, NULL, "columns that are no features"},
        {"--categorical", "COL,...", cli_read_list, &a.categorical, NULL,
         "columns of numbers that are codes of categories"},
        {"--weight", "COL", cli_read_text, &a.weight, NULL, "weight of each row in the fit"},
        {"--offset", "COL", cli_read_text, &a.offset, NULL,
         "added to the linear predictor, such as log exposure"},
        {"--impute", "mean", cli_read_text, &a.impute, NULL,
         "replace missing numbers by the mean, missing categories\nby the first level"},
        {"--standardize", NULL, NULL, &a.standardize, NULL,
         "fit on columns of mean 0 and variance 1 (matters for l2);\n"
         "weights are reported in the units of the file"},
        {"--family", "F", cli_read_family, &a.family, &a.has_family, "linear, logistic or poisson"},
        {"--min-bag", "K", cli_read_count, &a.min_bag, NULL,
         "least rows in a bag: the label holder's rule"},
        {"--bag-size", "S", cli_read_count, &a.bag_size, NULL,
         "ask for bags of at least S >= K rows; default K"},
        {"--algorithm", "A", cli_read_text, &a.algorithm, NULL,
         "priorboost (default): train on the last slice only;\n"
         "oneshot: one round of random bags;\n"
         "pbprefix: train on all slices so far"},
        {"--estimator", "E", cli_read_text, &a.estimator, NULL,
         "event (default): every row's target is its bag's answer"},
        {"--bags", "B", cli_read_text, &a.bags, NULL,
         "prior (default): optimal for the last round's predictions;\nrandom"},
        {"--rounds", "T", cli_read_count, &a.rounds, NULL,
         "default: the largest power of two <= 16 that leaves\nmax(K, 20 features) rows a round"},
        {"--schedule", "S", cli_read_text, &a.schedule, NULL,
         "equal (default) slices, or geometric: growing 16-fold"},
        {"--prior", "FILE", cli_read_text, &a.prior, NULL,
         "a model whose predictions make the bags of round 1"},
        {"--epsilon", "E", cli_read_epsilon, &a.epsilon, NULL,
         "answer with noise for E-label differential privacy"},
        {"--bounds", "LO,HI", cli_read_bounds, &a.bounds, &a.has_bounds,
         "public bounds of the labels"},
        {"--step", "Q", cli_read_step, &a.step, NULL,
         "labels are rounded to multiples of Q; default: the\n"
         "largest power of two <= (HI-LO)/2^20"},
        {"--clamp", NULL, NULL, &a.clamp, NULL, "move labels outside the bounds to them"},
        {"--round", NULL, NULL, &a.round, NULL,
         "logistic: answers are rounded to 0 or 1, as in the paper"},
        {"--l2", "L", cli_read_positive, &a.l2, NULL,
         "adds (L/2) |theta|^2 to the sum of losses; default 1"},
        {"--no-intercept", NULL, NULL, &a.no_intercept, NULL, "fit none"},
        {"--test", "FILE", cli_read_text, &a.test, NULL, "report the loss on it after every round"},
        {"--oracle", "URL", cli_read_text, &a.oracle, NULL,
         "who has the labels: https://HOST:PORT or unix:PATH"},
        {"--token-file", "FILE", cli_read_text, &a.token_file, NULL,
         "holds the token that the oracle's owner gave out"},
        {"--ca", "FILE", cli_read_text, &a.ca, NULL,
         "authorities that may vouch for the oracle, PEM"},
        {"--checkpoint", "DIR", cli_read_text, &a.checkpoint, NULL,
         "what was asked and answered; the same command goes on\nfrom there after a crash"},
        {"--skip-unavailable", NULL, NULL, &a.skip_unavailable, NULL,
         "leave out rows that are spent or unknown to the oracle"},
        {"--patience", "S", cli_read_count, &a.patience, NULL,
         "seconds to try an oracle that fails; default 60"},
        {"--seed", "S", cli_read_seed, &a.seed, &a.has_seed,
         "of slices and bags (default 0); noise then comes from it\n"
         "too, and the output says \"simulated\""},
        {"--threads", "N", cli_read_threads, &a.threads, NULL,
         "default: all cores; the result does not depend on it"},
        {"--out", "FILE", cli_read_text, &a.out, NULL, "the model, as JSON"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(require_options(&a, err));
    TRY(train(cli, &a, err));
done:
    cli_list_free(&a.exclude);
    cli_list_free(&a.categorical);
    return st;
}
