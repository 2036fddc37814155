/* priorboost train: what its files share. */
#ifndef PBOOST_CLI_TRAIN_H
#define PBOOST_CLI_TRAIN_H

#include <priorboost/ledger.h>

#include "class_labels.h"
#include "columns.h"
#include "labels.h"
#include "train_result.h"

/* What the rows of the table are to given bags. */
typedef enum { ROWS_ALL, ROWS_SAMPLE, ROWS_MEANS } train_rows_kind;

/* The command line, read. */
typedef struct train_arguments {
    const char *data, *test, *out, *report, *prior;
    const char *label, *positive, *id, *unit, *weight, *offset;
    const char *labels, *shares; /* several label columns; NULL: one, or those of the oracle */
    const char *bag, *answers;   /* given bags */
    const char *sums;            /* given sums by key */
    cli_list answer_columns;     /* names in the answers: ROLE=COL */
    cli_list class_columns;      /* of the answers, one for each class */
    train_rows_kind given_rows;  /* what the rows are to their bags */
    bool has_rows;
    const char *sd;            /* suffix of columns of standard deviations; NULL: there are none */
    bool effects, has_effects; /* bags have */
    column_arguments columns;
    size_t hash;            /* bits; 0: columns are not hashed */
    cli_list cross;         /* of hashed columns: A*B */
    cli_list bag_key;       /* columns in whose order rows are put into bags */
    const char *index_base; /* of an svmlight file; NULL: found */
    size_t columns_given;   /* of an svmlight file; 0: as it says */
    bool wide;              /* rows are sparse */
    cli_list errors;        /* columns of sparse rows whose standard errors are wanted */
    bool standardize;
    double winsorize; /* 0: not */

    pboost_family family;
    cli_list families; /* the words of --family */
    bool has_family;
    bool classes; /* labels are one of several; family is logistic then */
    const char *method;
    bool automatic; /* method auto; with given bags there is nothing to plan */
    bool no_labels; /* the label column, if any, is not read: a plan needs none */
    const char *algorithm, *estimator, *bags, *schedule;
    size_t min_bag, bag_size, rounds;
    pboost_l2 l2;
    double rho;
    bool has_rho;
    const char *covariance;
    const char *model;
    bool curves; /* numbers have some */
    bool trees;  /* the model has some: the columns of the table are kept for them */
    bool no_intercept;

    pboost_rational epsilon;
    cli_bounds bounds;
    bool has_bounds, clamp, round;
    double step;

    const char *oracle; /* the first of oracles, where labels stay; NULL: none */
    cli_texts oracles, token_file, ca, client_cert, client_key; /* in the order of oracles */
    const char
        *oracle_of; /* the column with the number of each row's oracle; NULL: they are asked */
    const char *checkpoint;
    bool no_checkpoint, resume;
    bool skip_unavailable;
    size_t patience;

    uint64_t seed;
    bool has_seed;
    int threads;
    bool force; /* write a model that must not be used */
} train_arguments;

/* One of several label columns. */
typedef struct train_target {
    char *name;
    pboost_family family;
    label_rule labels;  /* what they were in the file */
    double *test_label; /* by row of the test table */
} train_target;

typedef struct train_targets {
    size_t n; /* 0: there is one label */
    train_target *target;
    pboost_label_column *column; /* bounds and shares by target; NULL: labels have no bounds */
} train_targets;

/* Bags, sums or both are given: nothing is asked. */
static inline bool train_is_given(const train_arguments *a)
{
    return a->bag != NULL || a->sums != NULL;
}

enum { TRAIN_HASH = 32 };

/* The files, read: the learner's data and, separately, the labels. */
typedef struct train_data {
    size_t rows, cols;
    pboost_encoding encoding;
    size_t *category_of; /* by column, as pboost_fit_options has it */
    size_t *curve_of;    /* by column of curves: its curve */
    pboost_bend *bend;   /* curves of columns of the file, and how many */
    size_t n_bends;
    pboost_curve *standard_curve; /* the same of standardised columns; NULL: they are not */
    pboost_bend *standard_bend;
    pboost_curved curved;                 /* the features, if there are curves: x and its curves */
    double *x;                            /* without curves; standardised where asked */
    pboost_table *table, *test_table;     /* of sparse rows, which refer to it; else NULL */
    pboost_sources sources, test_sources; /* they refer to x */
    double *mean, *scale; /* by column, what standardising took away; NULL: nothing */
    double *weight, *offset, *prior_score;
    uint64_t *row_key;
    pboost_id *id; /* with --oracle; text in id_text */
    char *id_text;
    unsigned char hash[TRAIN_HASH]; /* with --oracle: of ids and cells, whatever the rows' order */
    uint32_t *unit;                 /* by row, numbered from 0; NULL: every row is its own */
    size_t n_units;
    uint32_t *part; /* by row: the number of its oracle, from 0; NULL: there is one, or not known */
    size_t test_rows;
    double *test_x, *test_offset; /* without curves, in the units of the file */
    /* label is NULL with --oracle; with --sums NaN: unknown; of several label columns it has that
     * of each by row, and test_label is theirs. */
    double *label, *test_label;
    train_targets targets;
    label_rule labels;     /* what they were in the file */
    class_names classes;   /* that labels are the numbers of; n 0: labels are numbers */
    pboost_answers *given; /* what --answers and --sums say */
    size_t one_row_bags, least_bag;
    size_t given_bags, n_sums, *sum_line; /* bags before the sums; the sums, and their lines */
    size_t table_rows;      /* of the file: rows that stand for a bag's means may be more */
    double *persons_weight; /* by row: persons of its bag over rows; NULL: all rows are there */
    train_warning sample_warning[2]; /* about samples; empty text: none */
    /* Of sparse rows, in place of x; wide_x is that of entries or of the table. */
    pboost_model_sparse sparse;
    pboost_entries entries, test_entries;
    double *bag_key; /* by row; NULL: none is given */
    pboost_sparse wide_x, test_wide_x;
    pboost_coef wide_coef;
} train_data;

pboost_status train_data_load(train_data *out, const cli_context *cli, const train_arguments *a,
                              pboost_error *err);
void train_data_free(train_data *data);

/* From now on the system gets large blocks back when they are freed. */
void train_memory_return_freed(void);

/* The table and its features, per cell. */
enum { TRAIN_CELL_BYTES = 16 };
/* Says what the file needs, if there is not so much memory. */
void train_memory_note(const cli_context *cli, const char *path);
/* The error of a lack of memory, in words. */
pboost_status train_memory_explain(const train_arguments *a, pboost_error *err);
pboost_features train_features(const train_data *data);
void train_data_bend(train_data *data); /* after x or its rows have changed */
/* The matrix of these rows, which are without curves and in the units of the file; *room holds what
 * it refers to. */
pboost_matrix train_matrix(pboost_curved *room, const double *x, size_t rows,
                           const train_data *data);
/* Without the columns of curves: what is planned with. */
pboost_features train_straight_features(const train_data *data);

/* From the units of x to those of the file. */
void train_data_unscale(pboost_coef *coef, const train_data *data);
void train_data_unscale_covariance(double *covariance, const train_data *data);

/* Given bags: the rows by the bag they name, and what the answers file says of each.  After the
 * features, weights and offsets of the rows. */
pboost_status train_bags_load(train_data *out, const pboost_table *table, const train_arguments *a,
                              pboost_error *err);

/* Given sums: the file, then its sums and the known labels, after all bags.  Before the table of
 * the data is read, so that columns can be kept that are keys only. */
typedef struct train_sums train_sums;
pboost_status train_sums_open(train_sums **out, const char *path, pboost_error *err);
void train_sums_free(train_sums *sums);
bool train_sums_has_key(const train_sums *sums, const char *name);
pboost_status train_sums_load(train_data *out, train_sums *sums, const pboost_table *data,
                              const train_arguments *a, pboost_error *err);
/* Names file and line in the error of a fit that is about one of the sums. */
void train_sums_explain(pboost_error *err, const train_data *data, const train_arguments *a);

/* The column of the answers that has this role: count, mean, sum or noise_variance. */
const char *train_answer_column(const train_arguments *a, const char *role);

/* Rows that are a sample of the persons of their bags, or their means (a->given_rows): sets what
 * the rows stand for.  bags may change with the rows.  persons: by bag. */
pboost_status train_districts_apply(train_data *data, pboost_bags *bags, const double *persons,
                                    const pboost_table *table, const train_arguments *a,
                                    pboost_error *err);
/* Refuses names in --answer-columns that are no role. */
pboost_status train_districts_check(const train_arguments *a, pboost_error *err);
/* Columns of standard deviations, and of answers in the same file, are not features. */
pboost_status train_districts_roles(bool *use, const pboost_table *table, const train_arguments *a,
                                    pboost_error *err);
/* What such a fit assumes. */
void train_districts_assume(train_result *result, const train_arguments *a);

void train_result_free(train_result *result);
/* Room for what is recorded of each round. */
pboost_status train_result_rounds(train_result *result, pboost_error *err);
/* The sizes of bags first .. end-1, and the spread of predicted means within them; mean: by row of
 * these bags. */
void train_measure_bags(train_bags *out, const pboost_bags *bags, size_t first, size_t end,
                        const double *mean);
/* Adds a warning; texts that are too long are cut. */
void train_warn(train_result *result, const char *text);
void train_warn_of_samples(train_result *result, const train_data *data);

/* Before round t (from 0): what is said of the progress, and bags that were asked about before. */
struct train_oracle;
pboost_status train_begin_round(cli_context *cli, const struct train_oracle *oracle,
                                pboost_trainer *trainer, size_t t, size_t rounds,
                                pboost_error *err);
/* What is recorded of answers of one round. */
void train_take_one_round(train_result *result, const train_data *data,
                          const pboost_answers *answers);

/* Fits the answers of one round, which are about one number: the GLM, and what --model says. */
pboost_status train_fit_answers(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const pboost_answers *answers,
                                pboost_error *err);
/* Asks the oracle round by round; or, where bags and answers are given, fits them once. */
pboost_status train_run(train_result *result, cli_context *cli, const train_arguments *a,
                        const train_data *data, struct train_oracle *oracle, pboost_error *err);
pboost_status train_run_given(train_result *result, cli_context *cli, const train_arguments *a,
                              const train_data *data, pboost_error *err);
/* What the model of the last round is, or what is fitted to all answers instead of it: trees.
 * coef is that of the round, in the units of x. */
pboost_status train_fit_model(train_result *result, cli_context *cli, const train_arguments *a,
                              const train_data *data, const pboost_answers *answers,
                              const pboost_coef *coef, pboost_error *err);
/* --model auto: all kinds of members, weighed by bags left out. */
pboost_status train_fit_mixture(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const pboost_answers *answers,
                                pboost_error *err);
/* Refuses options that do not go together, and settles what follows from them alone. */
pboost_status train_settings_check(cli_context *cli, train_arguments *a, pboost_error *err);
/* What the options set before the table is read. */
pboost_status train_settings_choose(train_result *result, const train_arguments *a,
                                    pboost_error *err);
/* --model, and the options that go with it. */
pboost_status train_model_check(train_arguments *a, pboost_error *err);

/* The result as text, as JSON, as a file. */
train_description train_describe(const train_arguments *a, const train_data *data,
                                 const train_result *result);
pboost_status train_print_result(cli_context *cli, const train_arguments *a,
                                 const train_description *d, pboost_error *err);
/* The last fit must not be used: nothing is written, and the checkpoint (NULL: none) keeps the
 * answers. */
pboost_status train_refuse_fit(const train_result *result, const char *checkpoint,
                               pboost_error *err);
/* Commits or discards both, where there are some, and sets them to NULL. */
pboost_status train_write(pboost_output **model, pboost_output **page, const train_description *d,
                          pboost_error *err);

/* Fills in the test loss of every round. */
pboost_status train_test_losses(train_result *result, const train_arguments *a,
                                const train_data *data, pboost_error *err);

/* Plans what the command line leaves open and sets options and estimator to what is recommended. */
pboost_status train_auto_choose(train_result *result, const train_arguments *a,
                                const train_data *data, pboost_error *err);
/* The bag size that a plan recommends for bags from features, one round and the aggregate estimator
 * under these rules: for answers of several numbers, those of one of them. */
pboost_status train_plan_bag_size(size_t *out, const train_result *result, const train_arguments *a,
                                  const train_data *data, const pboost_rules *rules,
                                  pboost_family family, pboost_error *err);
/* After the first round, if it was a pilot: plans again with what was learnt from it. */
pboost_status train_auto_revise(train_result *result, pboost_trainer *trainer,
                                const train_arguments *a, const train_data *data,
                                const pboost_coef *coef, pboost_error *err);

#endif
