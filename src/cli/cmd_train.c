/* priorboost train: play both parties on one table, or learn from an oracle. */
#include <string.h>

#include "train_classes.h"
#include "train_columns.h"
#include "train_wide.h"

static const cli_usage USAGE = {
    .synopsis =
        "--data FILE --label COL --family F --min-bag K [OPTION...]\n"
        "       priorboost train --data FILE --id COL --family F --oracle URL --token-file F\n"
        "       priorboost train --data FILE --bag COL --answers FILE --family F [OPTION...]\n"
        "       priorboost train --data FILE --sums FILE --family F [OPTION...]",
    .text =
        "Trains a model of individuals from the mean labels of bags of at least K rows.  The\n"
        "labels of the table go to an oracle inside the program, which uses each label in one\n"
        "answer only; the trainer sees only the answers.  With --oracle the labels stay with\n"
        "another party, who sets the rules.\n"
        "With --bag and --answers the bags are given: a column of the table names each row's\n"
        "bag, and the answers file has that column, 'count' and 'mean' or 'sum' (and, where the\n"
        "means are noisy, 'noise_variance').  If the table does not have every row of a bag, such\n"
        "as a district, --rows says what it has.\n"
        "With --sums label sums by key are given, such as sums by age, by region and by both: a\n"
        "row may be in several.  A line has cells in columns of the table (empty: any value),\n"
        "'sum' or 'mean' of the rows with these cells and, if wanted, 'count', which is checked,\n"
        "and 'variance' of noise.  Rows with a label in --label, if any, and --bag with --answers\n"
        "can be given as well."};

static pboost_status train(cli_context *cli, const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_data data = {0};
    train_result result = {.options = PBOOST_TRAINER_OPTIONS_INIT,
                           .rules = PBOOST_RULES_INIT,
                           .fit_options = PBOOST_FIT_OPTIONS_INIT};
    train_oracle oracle = {0};
    pboost_output *output = NULL, *page = NULL;
    double began = cli_seconds();

    train_memory_return_freed();
    TRY(train_settings_choose(&result, a, err));
    result.fit_options.cancel = &cli->watch;
    TRY(train_data_load(&data, cli, a, err));
    if (a->classes && !train_is_given(a) && a->oracle == NULL)
        TRY(train_classes_rules(&result, &data, err));
    if (a->labels != NULL)
        TRY(train_columns_rules(&result, &data, err));
    if (!train_is_given(a))
        TRY(train_oracle_open(&oracle, cli, a, &data, &result, err));
    if (data.targets.n > 0) {
        st = train_columns_run(&result, cli, a, &data, &oracle, err);
        goto done;
    }
    size_t k = a->bag_size > 0 ? a->bag_size : result.rules.min_bag;
    result.options.rounds =
        result.options.algorithm == PBOOST_ONESHOT ? 1
        : a->rounds > 0                            ? a->rounds
                        : pboost_rounds_default(data.rows, data.cols - data.encoding.n_curves, k);
    result.fit_options.curves = data.encoding.n_curves;
    result.fit_options.curve_of = data.curve_of;
    result.fit_options.category_of = data.category_of;
    result.options.row_key = data.row_key;
    result.options.prior_score = data.prior_score;
    if (a->wide)
        train_wide_choose(&result, a);
    else if (a->automatic && !train_is_given(a))
        TRY(a->classes ? train_classes_plan(&result, a, &data, err)
                       : train_auto_choose(&result, a, &data, err));
    if (a->out != NULL) /* before any label is spent */
        TRY(pboost_output_open(&output, a->out, err));
    if (a->report != NULL)
        TRY(pboost_output_open(&page, a->report, err));
    if (oracle.remote != NULL)
        TRY(train_remote_begin(oracle.remote, &data, err));
    TRY(a->wide      ? train_wide_run(&result, cli, a, &data, a->bag == NULL ? &oracle : NULL, err)
        : a->classes ? train_classes_run(&result, cli, a, &data, &oracle, err)
        : train_is_given(a) ? train_run_given(&result, cli, a, &data, err)
                            : train_run(&result, cli, a, &data, &oracle, err));
    if (a->test != NULL && !a->wide && !a->classes)
        TRY(train_test_losses(&result, a, &data, err));
    result.seconds = cli_seconds() - began;
    const train_description about = train_describe(a, &data, &result);
    if (!result.usable && !a->force) {
        if (cli->json)
            TRY(train_print_result(cli, a, &about, err));
        TRY(train_refuse_fit(&result, train_remote_checkpoint(oracle.remote), err));
    }
    TRY(train_write(&output, &page, &about, err));
    TRY(train_print_result(cli, a, &about, err));
done:
    train_remote_end(oracle.remote, st);
    pboost_output_discard(output);
    pboost_output_discard(page);
    train_oracle_close(&oracle);
    train_result_free(&result);
    train_data_free(&data);
    return st;
}

static pboost_status read_l2(void *target, const char *option, const char *text, pboost_error *err)
{
    pboost_l2 *l2 = target;
    l2->mode = strcmp(text, "cv") == 0 ? PBOOST_L2_CV : PBOOST_L2_FIXED;
    l2->value = 0.0;
    return l2->mode == PBOOST_L2_CV ? PBOOST_OK
                                    : cli_read_not_negative(&l2->value, option, text, err);
}

/* The number of a word among `words`. */
static pboost_status read_word(size_t *out, const char *option, const char *text,
                               const char *const *words, size_t n, pboost_error *err)
{
    for (*out = 0; *out < n; ++*out)
        if (strcmp(text, words[*out]) == 0)
            return PBOOST_OK;
    return pboost_fail(err, PBOOST_INVALID, "%s is '%s'; it must be %s%s%s%s%s", option, text,
                       words[0], n > 2 ? ", " : "", n > 2 ? words[1] : "", " or ", words[n - 1]);
}

static pboost_status read_rows(void *target, const char *option, const char *text,
                               pboost_error *err)
{
    static const char *const WORDS[] = {
        [ROWS_ALL] = "all", [ROWS_SAMPLE] = "sample", [ROWS_MEANS] = "means"};
    size_t word;
    pboost_status st = read_word(&word, option, text, WORDS, 3, err);
    *(train_rows_kind *)target = (train_rows_kind)word;
    return st;
}

static pboost_status read_yes(void *target, const char *option, const char *text, pboost_error *err)
{
    static const char *const WORDS[] = {"yes", "no"};
    size_t word;
    pboost_status st = read_word(&word, option, text, WORDS, 2, err);
    *(bool *)target = word == 0;
    return st;
}

/* A family, one for each label, or classes, which the rest of the options see as logistic. */
static pboost_status read_family(void *target, const char *option, const char *text,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_arguments *a = target;
    pboost_family family;

    TRY(cli_read_list(&a->families, option, text, err));
    a->classes = strcmp(text, "classes") == 0;
    a->family = PBOOST_LOGISTIC;
    for (size_t i = 0; !a->classes && i < a->families.n; i++) {
        if (pboost_family_parse(&family, a->families.item[i], NULL) != PBOOST_OK)
            FAIL(err, PBOOST_INVALID,
                 "family '%s' is unknown; it must be one of linear, logistic, poisson, classes",
                 a->families.item[i]);
        a->family = i == 0 ? family : a->family;
    }
done:
    return st;
}

pboost_status cli_train(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_arguments a = {.patience = 60};
    const cli_option options[] = {
        {"--data", "FILE", cli_read_text, &a.data, NULL, "the table: " DATA_TABLE},
        {"--label", "COL", cli_read_text, &a.label, NULL, "the column of labels"},
        {"--labels", "COL[=LO:HI[:Q]],...", cli_read_text, &a.labels, NULL,
         "several columns of labels, learnt from the same bags: a\n"
         "model for each; LO:HI are its bounds and Q its step,\n"
         "which noise needs; --family has a word for all or for\n"
         "each, and {label} in --out and --report is the column"},
        {"--shares", "N,...", cli_read_text, &a.shares, NULL,
         "the parts of epsilon that --labels have; default: equal"},
        {"--positive", "VALUE", cli_read_text, &a.positive, NULL,
         "logistic: the label that counts as 1; not needed for\n"
         "0/1, yes/no, true/false, y/n, t/f, positive/negative"},
        {"--id", "COL", cli_read_text, &a.id, NULL,
         "the column that names a row; with it the result does not\n"
         "depend on the order of the rows"},
        {"--unit", "COL", cli_read_text, &a.unit, NULL,
         "the column that names the unit of a row, such as a\n"
         "person; one row of each unit is used"},
        COLUMN_OPTIONS(a.columns),
        {"--hash", "BITS", cli_read_count, &a.hash, NULL,
         "for very many categories: each cell is hashed to one of\n"
         "2^BITS columns (1 to 26), numbers are standardised; the\n"
         "model is then a glm on sparse rows, see docs/sparse.md"},
        {"--cross", "A*B,...", cli_read_list, &a.cross, NULL,
         "--hash: also each pair of values of columns A and B"},
        {"--bag-key", "COL,...", cli_read_list, &a.bag_key, NULL,
         "sparse rows: bags of rows that are neighbours in the order\n"
         "of these columns, the first before the others; instead of\n"
         "bags from all features (svmlight: indices)"},
        {"--errors", "COL=VALUE,...", cli_read_list, &a.errors, NULL,
         "sparse rows: show also the weights of these, and standard\n"
         "errors of all that are shown; a number by its name, a\n"
         "column of an svmlight file by its index"},
        {"--index-base", "0|1", cli_read_text, &a.index_base, NULL,
         "svmlight files (.svm, .svmlight, .libsvm, or any name with\n"
         "this option): the first index; default: 0 if the file\n"
         "has an index 0, else 1"},
        {"--columns", "N", cli_read_count, &a.columns_given, NULL,
         "svmlight files: how many columns there are; default: as\n"
         "many as the largest index says"},
        {"--weight", "COL", cli_read_text, &a.weight, NULL, "weight of each row in the fit"},
        {"--offset", "COL", cli_read_text, &a.offset, NULL,
         "added to the linear predictor, such as log exposure"},
        {"--standardize", NULL, NULL, &a.standardize, NULL,
         "fit on columns of mean 0 and variance 1 (matters for l2);\n"
         "weights are reported in the units of the file"},
        {"--winsorize", "Z", cli_read_positive, &a.winsorize, NULL,
         "limit numbers to Z standard deviations around their\n"
         "mean; the model does the same when it predicts"},
        {"--bag", "COL", cli_read_text, &a.bag, NULL,
         "given bags: the column that names the bag of a row"},
        {"--answers", "FILE", cli_read_text, &a.answers, NULL,
         "given bags: COL, 'count' and 'mean' or 'sum' of each"},
        {"--sums", "FILE", cli_read_text, &a.sums, NULL,
         "given sums: columns of the table, 'sum' or 'mean', and\n"
         "'count' and 'variance' if known"},
        {"--answer-columns", "ROLE=COL,...", cli_read_list, &a.answer_columns, NULL,
         "other names in the answers: count=voters,sum=votes"},
        {"--class-columns", "COL,...", cli_read_list, &a.class_columns, NULL,
         "classes: the columns of the answers that have the count\n"
         "or proportion of each class; the first is the base;\n"
         "default: all other columns"},
        {"--rows", "all|sample|means", read_rows, &a.given_rows, &a.has_rows,
         "given bags: what the rows of a bag are.\n"
         "all (default): all of them are there;\n"
         "sample: a random sample of its 'count' persons;\n"
         "means: one row, the means of its features; --data\n"
         "and --answers can then be the same file"},
        {"--sd", "SUFFIX", cli_read_text, &a.sd, NULL,
         "--rows means: column COLSUFFIX is the standard\n"
         "deviation of COL within the bag"},
        {"--bag-effects", "yes|no", read_yes, &a.effects, &a.has_effects,
         "given bags: they differ by more than their features\n"
         "explain; default: yes with --rows sample and means"},
        {"--family", CLI_FAMILIES "|classes", read_family, &a, &a.has_family,
         "distribution of the labels; classes: one of 3 values or\n"
         "more, text or numbers; the default for labels of text\n"
         "that has 3 values or more"},
        {"--min-bag", "K", cli_read_count, &a.min_bag, NULL,
         "least rows in a bag: the label holder's rule"},
        {"--method", "auto|paper", cli_read_text, &a.method, NULL,
         "auto (default): plan (see 'priorboost plan') and run what\n"
         "is recommended; options that are set are kept, and the\n"
         "plan chooses the rest;\n"
         "paper: the paper's PriorBoost; --algorithm,\n"
         "--estimator event and --round imply it"},
        {"--auto", NULL, NULL, &a.automatic, NULL, "the same as --method auto"},
        {"--bag-size", "S", cli_read_count, &a.bag_size, NULL,
         "ask for bags of at least S >= K rows;\n"
         "auto: planned; paper: default K"},
        {"--algorithm", "priorboost|oneshot|pbprefix", cli_read_text, &a.algorithm, NULL,
         "paper: priorboost (default): train on the last slice only;\n"
         "oneshot: one round of random bags;\n"
         "pbprefix: train on all slices so far"},
        {"--estimator", "event|aggregate|interpolated|cv", cli_read_text, &a.estimator, NULL,
         "aggregate (default of auto): each bag's mean prediction\n"
         "is fitted to its answer: no bias, standard errors,\n"
         "answers of all rounds;\n"
         "event (default of paper): every row's target is its\n"
         "bag's answer;\n"
         "interpolated: between the unweighted bag-level loss\n"
         "and event; cv: the one of these that predicts bags left\n"
         "out of the fit best"},
        {"--rho", "R", cli_read_not_negative, &a.rho, &a.has_rho,
         "interpolated: 0 is bag-level, 1 is event; default 0.5"},
        {"--model", "glm|smooth|trees|auto", cli_read_text, &a.model, NULL,
         "what is fitted to the answers:\n"
         "glm (default): a straight line for every number, with\n"
         "weights and intervals that one can read;\n"
         "smooth: a curve, bent as far as the answers support;\n"
         "trees: boosted trees, for effects that bend or depend on\n"
         "each other; they have no weights and no intervals;\n"
         "auto: the mean of these and of trees that correct the\n"
         "glm, weighed by how they predict bags left out"},
        {"--covariance", "model|sandwich", cli_read_text, &a.covariance, NULL,
         "aggregate: model (default), or sandwich, which does not\n"
         "rely on the model's variances"},
        {"--bags", "prior|random|features|hybrid", cli_read_text, &a.bags, NULL,
         "auto: planned, features or hybrid; paper: default prior.\n"
         "prior: optimal for the last round's predictions;\nrandom;\n"
         "features: rows with similar features share a bag;\n"
         "hybrid: features and the last round's predictions"},
        {"--rounds", "T", cli_read_count, &a.rounds, NULL,
         "auto: planned; paper: default the largest power of two\n"
         "<= 16 that leaves max(S, 20 features) rows a round, else 1"},
        {"--schedule", "equal|geometric", cli_read_text, &a.schedule, NULL,
         "equal (default) slices, or geometric: growing 16-fold;\n"
         "auto: geometric if it asks a small first round"},
        {"--prior", "FILE", cli_read_text, &a.prior, NULL,
         "a model whose predictions make the bags of round 1, if\n"
         "these are prior or hybrid; auto plans with their mean"},
        {"--epsilon", "E", cli_read_epsilon, &a.epsilon, NULL,
         "answer with noise for E-label differential privacy"},
        {"--bounds", "LO,HI", cli_read_bounds, &a.bounds, &a.has_bounds,
         "public bounds of the labels"},
        {"--step", "Q", cli_read_positive, &a.step, NULL,
         "labels are rounded to multiples of Q; default: the\n"
         "largest power of two <= (HI-LO)/2^20"},
        {"--clamp", NULL, NULL, &a.clamp, NULL,
         "move labels outside the bounds to the nearest bound"},
        {"--round", NULL, NULL, &a.round, NULL,
         "logistic: answers are rounded to 0 or 1, as in the paper"},
        {"--l2", "L", read_l2, &a.l2, NULL,
         "adds (L/2) |theta|^2 to the sum of losses;\n"
         "default of aggregate: depends on family and answers, on\n"
         "standardised features; default of the others: 1;\n"
         "cv: chosen by cross-validation over bags (aggregate)"},
        {"--no-intercept", NULL, NULL, &a.no_intercept, NULL, "fit no intercept"},
        {"--test", "FILE", cli_read_text, &a.test, NULL,
         "a labelled table, as --data; report the loss on it after\nevery round"},
        {"--oracle", "URL", cli_read_each, &a.oracles, NULL,
         "the oracle with the labels: https://HOST:PORT or unix:PATH;\n"
         "repeat it where several have the labels, each of some\n"
         "rows: bags are then made within an oracle"},
        {"--oracle-of", "COL", cli_read_text, &a.oracle_of, NULL,
         "several oracles: the column with the number of the row's\n"
         "--oracle, from 1; default: all ids are shown to each, and\n"
         "the first that can be asked about a row is"},
        {"--token-file", "FILE", cli_read_each, &a.token_file, NULL,
         "file with the token that the label holder gave you;\nFILE.head keeps what the next fit "
         "shows the oracle;\nseveral oracles: one for each, in their order"},
        {"--ca", "FILE", cli_read_each, &a.ca, NULL,
         "certificate authorities to trust for the oracle, PEM;\n"
         "several oracles: one for all, or one for each"},
        {"--client-cert", "FILE", cli_read_each, &a.client_cert, NULL,
         "certificate of this learner, PEM, if the oracle asks for\none; for all, or for each"},
        {"--client-key", "FILE", cli_read_each, &a.client_key, NULL, "its key, PEM"},
        {"--checkpoint", "DIR", cli_read_text, &a.checkpoint, NULL,
         "the folder for questions and answers, which is kept;\n"
         "default: FILE.checkpoint beside --out FILE, removed once\n"
         "FILE is written; without --out: priorboost.checkpoint\n"
         "in the current folder, which is kept"},
        {"--resume", NULL, NULL, &a.resume, NULL,
         "continue from the checkpoint of this run; an error if\n"
         "there is none"},
        {"--no-checkpoint", NULL, NULL, &a.no_checkpoint, NULL,
         "keep no checkpoint: after a crash, answers are lost"},
        {"--skip-unavailable", NULL, NULL, &a.skip_unavailable, NULL,
         "leave out rows that are spent or unknown to the oracle"},
        {"--patience", "S", cli_read_count, &a.patience, NULL,
         "seconds to retry when the oracle fails; default 60"},
        {"--seed", "S", cli_read_seed, &a.seed, &a.has_seed,
         "seed of slices and bags (default 0); if it is given, the noise\n"
         "is drawn from it too: anyone who knows the seed can\n"
         "remove the noise, and the output says \"simulated\""},
        {"--threads", "N", cli_read_threads, &a.threads, NULL,
         "default: all cores; the result does not depend on it"},
        {"--out", "FILE", cli_read_text, &a.out, NULL, "the model, as JSON"},
        {"--force", NULL, NULL, &a.force, NULL,
         "write the model even if the fit must not be used\n(otherwise exit code 6)"},
        {"--report", "FILE", cli_read_text, &a.report, NULL,
         "a page about the run; see 'priorboost report'"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    a.oracle = a.oracles.n > 0 ? a.oracles.item[0] : NULL;
    TRY(train_settings_check(cli, &a, err));
    TRY(train(cli, &a, err));
done:
    column_arguments_free(&a.columns);
    cli_list_free(&a.answer_columns);
    cli_list_free(&a.class_columns);
    cli_list_free(&a.families);
    cli_list_free(&a.cross);
    cli_list_free(&a.bag_key);
    cli_list_free(&a.errors);
    free(a.oracles.item);
    free(a.token_file.item);
    free(a.ca.item);
    free(a.client_cert.item);
    free(a.client_key.item);
    return st;
}
