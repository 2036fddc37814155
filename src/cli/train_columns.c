/* priorboost train with several label columns. */
#include "train_columns.h"

#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "oracle.h"

/* ---- Options --------------------------------------------------------------------------------- */

void train_targets_free(train_targets *targets)
{
    for (size_t j = 0; j < targets->n; j++) {
        free(targets->target[j].name);
        free(targets->target[j].test_label);
        label_rule_free(&targets->target[j].labels);
    }
    free(targets->target);
    free(targets->column);
    *targets = (train_targets){0};
}

static bool is_word(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

/* What the columns share is one round of bags that need no model of one label. */
static pboost_status refuse_options(const train_arguments *a, pboost_error *err)
{
    bool learns = is_word(a->bags, "prior") || is_word(a->bags, "hybrid");
    const struct {
        bool given;
        const char *option, *reason;
    } never[] = {
        {a->classes, "--family classes", "a class is no number; train on it alone"},
        {a->bag != NULL || a->sums != NULL, "--bag or --sums", "train on each column alone"},
        {a->wide, "--hash or an svmlight file", "train on each column alone"},
        {a->positive != NULL, "--positive", "write 0 and 1, or yes and no, in the columns"},
        {a->round, "--round", "means are needed as they are"},
        {a->prior != NULL, "--prior", "bags are made from features, or are random"},
        {learns, "--bags prior or hybrid", "the predictions of one column would make the bags"},
        {a->rounds > 1, "--rounds", "bags that need no model are asked about in one round"},
        {a->schedule != NULL, "--schedule", "there is one round"},
        {a->algorithm != NULL || is_word(a->method, "paper"), "--method paper or --algorithm",
         "the paper's rounds are about one label"},
        {a->estimator != NULL && !is_word(a->estimator, "aggregate"), "--estimator",
         "it must be aggregate"},
        {a->oracle != NULL && a->test != NULL, "--test with --oracle",
         "'priorboost evaluate' evaluates the models"},
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (never[i].given)
            return pboost_fail(err, PBOOST_INVALID,
                               "%s cannot be used with several label columns: %s", never[i].option,
                               never[i].reason);
    return PBOOST_OK;
}

pboost_status train_columns_check(const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->shares != NULL && a->labels == NULL)
        FAIL(err, PBOOST_INVALID, "--shares is '%.60s', but there is no --labels", a->shares);
    if (a->families.n > 1 && a->labels == NULL && a->oracle == NULL)
        FAIL(err, PBOOST_INVALID,
             "--family has %zu words, but there is one label; --labels names "
             "several",
             a->families.n);
    if (a->labels == NULL)
        goto done;
    if (a->label != NULL)
        FAIL(err, PBOOST_INVALID, "--label and --labels contradict each other; leave one out");
    if (a->oracle != NULL)
        FAIL(err, PBOOST_INVALID,
             "--labels cannot be used with --oracle: the label holder has named the columns");
    TRY(refuse_options(a, err));
done:
    return st;
}

/* A family for all columns, or one for each. */
static pboost_status name_targets(train_targets *out, const char *names, size_t n,
                                  const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char name[LINE_TEXT];

    if (a->families.n > 1 && a->families.n != n)
        FAIL(err, PBOOST_INVALID,
             "--family has %zu words, but there are %zu label columns; it must have one word for "
             "all or one for each",
             a->families.n, n);
    NEED(out->target = calloc(n, sizeof *out->target), err);
    for (; out->n < n; out->n++) {
        train_target *target = &out->target[out->n];
        if (!pboost_line_copy(name, names, out->n))
            FAIL(err, PBOOST_ORACLE, "the oracle names %zu label columns, but answers for %zu",
                 out->n, n);
        for (size_t j = 0; j < out->n; j++)
            if (strcmp(out->target[j].name, name) == 0)
                FAIL(err, PBOOST_INVALID, "--labels has '%s' twice", name);
        target->family = a->family;
        if (a->families.n > 1)
            TRY(pboost_family_parse(&target->family, a->families.item[out->n], err));
        target->labels = label_rule_of(NULL, NULL);
        NEED(target->name = strdup(name), err);
    }
done:
    return st;
}

pboost_status train_columns_name(train_targets *out, const char *names, size_t n,
                                 const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(refuse_options(a, err));
    TRY(name_targets(out, names, n, a, err));
done:
    return st;
}

/* All columns have bounds, or none has. */
static pboost_status keep_bounds(train_targets *out, const pboost_ledger_rules *read,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t bounded = 0;

    for (size_t j = 0; j < out->n; j++)
        bounded += read->column[j].lower < read->column[j].upper;
    if (bounded == 0)
        goto done;
    for (size_t j = 0; bounded < out->n && j < out->n; j++)
        if (!(read->column[j].lower < read->column[j].upper))
            FAIL(err, PBOOST_INVALID,
                 "--labels: column '%s' has no bounds, but others have; write COL=LO:HI for each, "
                 "or give --bounds for all",
                 out->target[j].name);
    NEED(out->column = calloc(out->n, sizeof *out->column), err);
    memcpy(out->column, read->column, out->n * sizeof *out->column);
done:
    return st;
}

pboost_status train_columns_text(table_reading *text, const train_targets *targets,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t j = 0; j < targets->n; j++)
        if (labels_are_text(targets->target[j].family, NULL))
            TRY(table_reading_add(text, targets->target[j].name, err));
done:
    return st;
}

pboost_status train_columns_read(train_targets *out, table_reading *text, const train_arguments *a,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules read = PBOOST_LEDGER_RULES_INIT;
    label_arguments said = {.columns = a->labels, .shares = a->shares, .may_be_free = true};

    read.rules.bounded = a->has_bounds;
    read.rules.lower = a->bounds.lower;
    read.rules.upper = a->bounds.upper;
    read.rules.step = a->step;
    TRY(oracle_set_labels(&read, &said, err));
    TRY(name_targets(out, read.names, read.rules.width, a, err));
    TRY(keep_bounds(out, &read, err));
    TRY(train_columns_text(text, out, err));
done:
    return st;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* The oracle would refuse such a label too, but knows no file and no line. */
static pboost_status check_bounds(const double *label, const char *name,
                                  const pboost_label_column *column, const pboost_table *table,
                                  pboost_error *err)
{
    for (size_t i = 0; i < pboost_table_rows(table); i++)
        if (label[i] < column->lower || label[i] > column->upper)
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "%s:%zu: label '%s' is %.17g; it must be within its bounds %g:%g, "
                               "or be moved to the nearest bound (--clamp)",
                               pboost_table_row_path(table, i), pboost_table_line(table, i), name,
                               label[i], column->lower, column->upper);
    return PBOOST_OK;
}

pboost_status train_columns_load(train_data *data, const cli_context *cli,
                                 const pboost_table *table, const train_arguments *a,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = pboost_table_rows(table), n = data->targets.n, items;
    double *label = NULL;

    if (__builtin_mul_overflow(rows, n, &items))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    NEED(data->label = pboost_alloc(items, sizeof *data->label), err);
    for (size_t j = 0; j < n; j++) {
        train_target *target = &data->targets.target[j];
        TRY(data_labels(&label, &target->labels, table, target->name, target->family, err));
        label_rule_note(cli, &target->labels, target->name);
        if (data->targets.column != NULL && !a->clamp)
            TRY(check_bounds(label, target->name, &data->targets.column[j], table, err));
        for (size_t i = 0; i < rows; i++)
            data->label[i * n + j] = label[i];
        free(label);
        label = NULL;
    }
done:
    free(label);
    return st;
}

pboost_status train_columns_load_test(train_targets *targets, const pboost_table *table,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t j = 0; j < targets->n; j++) {
        train_target *target = &targets->target[j];
        TRY(data_labels(&target->test_label, &target->labels, table, target->name, target->family,
                        err));
    }
done:
    return st;
}

pboost_status train_columns_rules(train_result *result, const train_data *data, pboost_error *err)
{
    pboost_rules *rules = &result->rules;
    rules->answer = PBOOST_ANSWER_COLUMNS;
    rules->width = data->targets.n;
    rules->columns = data->targets.column;
    rules->bounded = rules->columns != NULL;
    if (rules->columns != NULL)
        rules->lower = rules->upper = rules->step = 0; /* each column has its own */
    return pboost_rules_check(rules, err);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Bags from features.  Under noise they are as large as the column that wants the largest bags
 * needs: bags that are too large cost little, bags that are too small drown in noise. */
static pboost_status plan(train_result *result, const train_arguments *a, const train_data *data,
                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size, largest = 0;
    pboost_rules rules;

    result->options.rounds = 1;
    result->options.algorithm = PBOOST_PBPREFIX; /* as every plan with the aggregate estimator */
    if (!result->fixed.has_bags)
        result->options.bags = PBOOST_BAGS_FEATURES;
    for (size_t j = 0; a->bag_size == 0 && result->rules.epsilon.den != 0 && j < data->targets.n;
         j++) {
        TRY(pboost_rules_number(&rules, &result->rules, j, err));
        TRY(train_plan_bag_size(&size, result, a, data, &rules, data->targets.target[j].family,
                                err));
        largest = size > largest ? size : largest;
    }
    if (largest > 0)
        result->options.bag_size = largest;
done:
    return st;
}

/* Fits are made once the answers are there; in one round nothing is scored. */
static pboost_status score_nothing(void *self, const size_t *row, size_t n, double *score,
                                   pboost_error *err)
{
    (void)self, (void)row, (void)n, (void)score;
    return pboost_fail(err, PBOOST_INVALID, "several label columns have no score");
}

static pboost_status fit_nothing(void *self, const pboost_answers *answers, size_t first_bag,
                                 pboost_error *err)
{
    (void)self, (void)answers, (void)first_bag, (void)err;
    return PBOOST_OK;
}

static pboost_status ask(pboost_trainer **out, train_result *result, cli_context *cli,
                         const train_data *data, const train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_learner later = {.score = score_nothing, .fit = fit_nothing};
    pboost_features features = train_straight_features(data);

    result->options.x = &features.x;
    result->options.width = data->targets.n;
    result->options.row_key = data->row_key;
    result->options.cancel = &cli->interrupt;
    TRY(pboost_trainer_create(out, data->rows, &oracle->interface, &later, &result->options, err));
    TRY(train_begin_round(cli, oracle, *out, 0, 1, err));
    TRY(pboost_trainer_step(*out, err));
done:
    result->options.x = NULL;
    return st;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The training of one column: as if it had been asked about alone. */
typedef struct {
    train_arguments a;
    train_data data; /* borrows everything */
    train_result result;
    char *out, *page;
    pboost_output *model_file, *page_file;
} column_training;

static pboost_status begin_column(column_training *out, const train_result *settings,
                                  const train_arguments *a, const train_data *data, size_t j,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const train_target *target = &data->targets.target[j];

    out->a = *a;
    out->a.label = target->name;
    out->a.family = target->family;
    out->data = *data;
    out->data.labels = target->labels;
    out->data.test_label = target->test_label;
    out->result = *settings;
    out->result.fit_options.family = target->family;
    out->result.fit_options.curves = data->encoding.n_curves;
    out->result.fit_options.curve_of = data->curve_of;
    out->result.fit_options.category_of = data->category_of;
    TRY(pboost_rules_number(&out->result.rules, &settings->rules, j, err));
    TRY(label_path(&out->out, "--out", a->out, target->name, err));
    TRY(label_path(&out->page, "--report", a->report, target->name, err));
    out->a.out = out->out;
    out->a.report = out->page;
    if (out->out != NULL)
        TRY(pboost_output_open(&out->model_file, out->out, err));
    if (out->page != NULL)
        TRY(pboost_output_open(&out->page_file, out->page, err));
done:
    return st;
}

static pboost_status fit_column(column_training *c, cli_context *cli, const pboost_answers *answers,
                                size_t j, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers *own = NULL;

    c->result.fit_options.cancel = &cli->interrupt;
    TRY(pboost_answers_number(&own, answers, j, err));
    TRY(train_fit_answers(&c->result, cli, &c->a, &c->data, own, err));
    if (c->a.test != NULL)
        TRY(train_test_losses(&c->result, &c->a, &c->data, err));
done:
    pboost_answers_free(own);
    return st;
}

static void end_column(column_training *c)
{
    pboost_output_discard(c->model_file);
    pboost_output_discard(c->page_file);
    free(c->out);
    free(c->page);
    train_result_free(&c->result);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* {"labels": [a result for each column]} */
static pboost_status print_json(const column_training *column, size_t n, pboost_error *err)
{
    json_t *report = json_object(), *list = json_array();
    for (size_t j = 0; j < n; j++) {
        train_description d = train_describe(&column[j].a, &column[j].data, &column[j].result);
        json_t *result = train_json(&d);
        json_object_set_new(result, "label", json_string(d.label));
        json_array_append_new(list, result);
    }
    json_object_set_new(report, "labels", list);
    return cli_print_json(report, err);
}

static pboost_status print(cli_context *cli, const column_training *column, size_t n,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (cli->json)
        return print_json(column, n, err);
    for (size_t j = 0; j < n; j++) {
        train_description d = train_describe(&column[j].a, &column[j].data, &column[j].result);
        if (!cli->quiet)
            fprintf(cli_text(cli), "%slabel %s\n", j > 0 ? "\n" : "", d.label);
        TRY(train_print_result(cli, &column[j].a, &d, err));
    }
done:
    return st;
}

/* If one fit must not be used, no file is written: the files of a run belong together. */
static pboost_status finish(cli_context *cli, column_training *column, size_t n,
                            const char *checkpoint, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t j = 0; j < n; j++) {
        if (column[j].result.usable || column[j].a.force)
            continue;
        if (cli->json)
            TRY(print_json(column, n, err));
        st = train_refuse_fit(&column[j].result, checkpoint, err);
        cli_note(cli, "label '%s' is the one whose fit must not be used", column[j].a.label);
        goto done;
    }
    for (size_t j = 0; j < n; j++) {
        train_description d = train_describe(&column[j].a, &column[j].data, &column[j].result);
        TRY(train_write(&column[j].model_file, &column[j].page_file, &d, err));
    }
    TRY(print(cli, column, n, err));
done:
    return st;
}

pboost_status train_columns_run(train_result *result, cli_context *cli, const train_arguments *a,
                                train_data *data, const train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = data->targets.n;
    column_training *column = NULL;
    pboost_trainer *trainer = NULL;
    double began = cli_seconds();

    TRY(plan(result, a, data, err));
    NEED(column = calloc(n, sizeof *column), err);
    for (size_t j = 0; j < n; j++) /* files are opened before any label is spent */
        TRY(begin_column(&column[j], result, a, data, j, err));
    if (oracle->remote != NULL)
        TRY(train_remote_begin(oracle->remote, data, err));
    cli_interrupted(); /* listen from now on */
    TRY(ask(&trainer, result, cli, data, oracle, err));
    for (size_t j = 0; j < n; j++) {
        TRY(fit_column(&column[j], cli, pboost_trainer_answers(trainer), j, err));
        column[j].result.seconds = cli_seconds() - began;
    }
    TRY(finish(cli, column, n, train_remote_checkpoint(oracle->remote), err));
done:
    for (size_t j = 0; column != NULL && j < n; j++)
        end_column(&column[j]);
    free(column);
    pboost_trainer_free(trainer);
    return st;
}
