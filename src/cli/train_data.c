/* priorboost train: reading its files. */
#include <string.h>

#include "train.h"
#include "train_columns.h"
#include "train_rows.h"
#include "train_wide.h"

/* Columns with another role are not features. */
static pboost_status find_roles(bool *use, const pboost_table *table, const train_arguments *a,
                                const train_targets *targets, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool needs_label = !train_is_given(a) && a->oracle == NULL;
    const char *role[] = {
        needs_label ? a->label : NULL, a->id, a->unit, a->weight, a->offset, a->bag, a->oracle_of};
    size_t n = pboost_table_cols(table), col;

    /* A label column that is not needed here is not a feature either. */
    for (size_t j = 0; j < n; j++)
        use[j] = a->label == NULL || strcmp(pboost_table_name(table, j), a->label) != 0;
    for (size_t i = 0; i < sizeof role / sizeof *role; i++) {
        if (role[i] != NULL) {
            TRY(pboost_table_find(&col, table, role[i], err));
            use[col] = false;
        }
    }
    for (size_t i = 0; i < targets->n; i++) {
        TRY(pboost_table_find(&col, table, targets->target[i].name, err));
        use[col] = false;
    }
    if (a->bag != NULL)
        TRY(train_districts_roles(use, table, a, err));
done:
    return st;
}

static pboost_status learn_curves(train_data *out, const cli_context *cli,
                                  const pboost_table *table, const train_arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &out->encoding;
    size_t curve = 0, at = 0;

    TRY(pboost_encoding_curve(&out->encoding, table, 0, a->threads, err));
    if (e->n_curves == 0)
        cli_note(cli,
                 "note: no column of numbers has 8 different values or more; --model smooth is the "
                 "same as glm here");
    NEED(out->curve_of = pboost_alloc(e->n_curves, sizeof *out->curve_of), err);
    NEED(out->bend = pboost_alloc(e->n_features, sizeof *out->bend), err);
    out->n_bends = pboost_encoding_bends(out->bend, e);
    for (size_t i = 0; i < e->n_features; i++) {
        for (size_t j = 0; j < e->feature[i].curve.n; j++)
            out->curve_of[at++] = curve;
        curve += e->feature[i].curve.n > 0;
    }
done:
    return st;
}

static pboost_status learn_sparse(train_data *out, const cli_context *cli, pboost_table *table,
                                  const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *use = NULL;

    NEED(use = pboost_alloc(pboost_table_cols(table), sizeof *use), err);
    TRY(find_roles(use, table, a, &out->targets, err));
    TRY(train_wide_learn(out, cli, table, use, a, err));
done:
    free(use);
    return st;
}

static pboost_status learn_encoding(train_data *out, const cli_context *cli,
                                    const pboost_table *table, const train_arguments *a,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *use = NULL;

    NEED(use = pboost_alloc(pboost_table_cols(table), sizeof *use), err);
    TRY(find_roles(use, table, a, &out->targets, err));
    TRY(columns_learn(&out->encoding, use, cli, table, &a->columns, err));
    if (a->winsorize > 0.0)
        TRY(pboost_encoding_winsorize(&out->encoding, table, a->winsorize, err));
    if (a->curves)
        TRY(learn_curves(out, cli, table, a, err));
    out->cols = out->encoding.n_columns;
    if (out->cols == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: every feature is constant", pboost_table_path(table));
    NEED(out->category_of = pboost_alloc(out->cols, sizeof *out->category_of), err);
    pboost_encoding_categories(out->category_of, &out->encoding);
done:
    free(use);
    return st;
}

/* The curves of standardised columns are the same functions, with knots in other units. */
static pboost_status standardize_curves(train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(data->standard_bend = pboost_alloc(data->n_bends, sizeof *data->standard_bend), err);
    NEED(data->standard_curve = calloc(data->n_bends + 1, sizeof *data->standard_curve), err);
    for (size_t i = 0; i < data->n_bends; i++) {
        const pboost_bend *bend = &data->bend[i];
        pboost_curve *c = &data->standard_curve[i];
        *c = *bend->curve;
        NEED(c->knot = pboost_alloc(c->n_knots, sizeof *c->knot), err);
        for (size_t k = 0; k < c->n_knots; k++)
            c->knot[k] =
                (bend->curve->knot[k] - data->mean[bend->column]) / data->scale[bend->column];
        data->standard_bend[i] = (pboost_bend){bend->column, c};
    }
done:
    return st;
}

/* Brings every column to mean 0 (only if there is an intercept to absorb it) and variance 1.
 * Functions of curves have units of their own, in which they are fitted. */
static pboost_status standardize(train_data *data, bool center, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = data->rows, d = data->cols - data->encoding.n_curves;
    pboost_matrix x = pboost_matrix_f64(data->x, n, d);

    NEED(data->mean = calloc(data->cols, sizeof *data->mean), err);
    NEED(data->scale = calloc(data->cols, sizeof *data->scale), err);
    TRY(pboost_matrix_moments(data->mean, data->scale, &x, err));
    for (size_t j = 0; j < data->cols; j++) {
        data->scale[j] = data->scale[j] > 0.0 ? data->scale[j] : 1.0;
        data->mean[j] = center ? data->mean[j] : 0.0;
    }
    TRY(standardize_curves(data, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            data->x[i * d + j] = (data->x[i * d + j] - data->mean[j]) / data->scale[j];
done:
    return st;
}

void train_data_unscale(pboost_coef *coef, const train_data *data)
{
    if (data->scale == NULL)
        return;
    for (size_t j = 0; j < coef->n; j++) {
        coef->theta[j] /= data->scale[j];
        coef->intercept -= coef->theta[j] * data->mean[j];
    }
}

/* theta = theta_z / s and intercept = intercept_z - sum of theta m, so C = T C_z T'. */
void train_data_unscale_covariance(double *c, const train_data *data)
{
    size_t d = data->cols, n = d + 1;
    if (data->scale == NULL)
        return;
    for (size_t i = 0; i < n; i++) /* columns first, then rows */
        for (size_t j = 0; j < d; j++) {
            c[i * n + j] /= data->scale[j];
            c[i * n + d] -= c[i * n + j] * data->mean[j];
        }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < d; i++) {
            c[i * n + j] /= data->scale[i];
            c[d * n + j] -= c[i * n + j] * data->mean[i];
        }
}

/* The oracle would refuse such a label too, but knows no file and no line. */
static pboost_status check_bounds(const double *label, const pboost_table *table,
                                  const train_arguments *a, pboost_error *err)
{
    if (!a->has_bounds || a->clamp)
        return PBOOST_OK;
    for (size_t i = 0; i < pboost_table_rows(table); i++)
        if (label[i] < a->bounds.lower || label[i] > a->bounds.upper)
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "%s:%zu: label '%s' is %.17g; it must be within --bounds %g,%g, or "
                               "be moved to the nearest bound (--clamp)",
                               pboost_table_row_path(table, i), pboost_table_line(table, i),
                               a->label, label[i], a->bounds.lower, a->bounds.upper);
    return PBOOST_OK;
}

/* Columns that nobody uses need no memory. */
static pboost_status leave_out(table_reading *text, const train_arguments *a, const cli_list *list,
                               const train_sums *sums, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *const role[] = {a->label, a->weight, a->offset};

    for (size_t i = 0; i < list->n; i++) {
        bool used = train_sums_has_key(sums, list->item[i]);
        for (size_t j = 0; j < sizeof role / sizeof *role; j++)
            used = used || (role[j] != NULL && strcmp(role[j], list->item[i]) == 0);
        if (!used)
            TRY(table_reading_leave_out(text, list->item[i], err));
    }
done:
    return st;
}

/* Labels of rows; with --sums the table need not have the column, and a cell without a label is
 * unknown. */
static pboost_status load_labels(train_data *out, const cli_context *cli, const pboost_table *table,
                                 const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col;

    if (a->sums != NULL && pboost_table_find(&col, table, a->label, NULL) != PBOOST_OK)
        return PBOOST_OK;
    out->labels.partly = a->sums != NULL;
    TRY(data_labels(&out->label, &out->labels, table, a->label, a->family, err));
    out->labels.partly = false; /* those of --test are all known */
    TRY(label_rule_check(&out->labels, a->data, a->label, err));
    label_rule_note(cli, &out->labels, a->label);
    TRY(check_bounds(out->label, table, a, err));
done:
    return st;
}

/* Cells that x has are not kept twice. */
static pboost_status read_sources(pboost_sources *out, const double *x, const train_data *data,
                                  const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &data->encoding;

    TRY(pboost_sources_read(out, NULL, e, table, err));
    TRY(pboost_sources_own(out, e, x, e->n_columns - e->n_curves, err));
done:
    return st;
}

static pboost_status learn_dense(train_data *out, const cli_context *cli, pboost_table *table,
                                 const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &out->encoding;
    bool read_later = a->bag != NULL || a->sums != NULL || a->prior != NULL;

    TRY(learn_encoding(out, cli, table, a, err));
    cli_progress(cli, "encoding", 0.0, 0.0);
    TRY(data_room(&out->x, e->n_columns - e->n_curves, table, err));
    if (a->trees) /* before the table is without its numbers */
        TRY(read_sources(&out->sources, out->x, out, table, err));
    TRY(read_later ? pboost_encoding_apply_straight(out->x, NULL, e, table, err)
                   : pboost_encoding_take_straight(out->x, e, table, err));
    if (a->standardize)
        TRY(standardize(out, !a->no_intercept, err));
    train_data_bend(out);
done:
    return st;
}

static pboost_status load_training(train_data *out, const cli_context *cli,
                                   const train_arguments *a, const pboost_model *prior,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli};
    pboost_table *table = NULL;
    predictions prediction = {0};
    train_sums *sums = NULL;
    bool has_labels =
        a->sums != NULL ? a->label != NULL : a->bag == NULL && a->oracle == NULL && !a->no_labels;

    if (a->sums != NULL)
        TRY(train_sums_open(&sums, a->sums, err));
    out->labels = label_rule_of(a->positive, NULL);
    if (a->id != NULL)
        TRY(table_reading_add(&text, a->id, err));
    if (a->unit != NULL)
        TRY(table_reading_add(&text, a->unit, err));
    if (a->oracle_of != NULL)
        TRY(table_reading_add(&text, a->oracle_of, err));
    if (a->labels != NULL)
        TRY(train_columns_read(&out->targets, &text, a, err));
    else if (has_labels && (a->classes || labels_are_text(a->family, a->positive)))
        TRY(table_reading_add(&text, a->label, err));
    if (a->bag != NULL)
        TRY(table_reading_add(&text, a->bag, err));
    TRY(table_reading_add_model(&text, prior, err));
    if (a->index_base != NULL) {
        text.svmlight = text.has_base = true;
        text.index_base = a->index_base[0] - '0';
        text.sparse_columns = a->columns_given;
    }
    TRY(leave_out(&text, a, &a->columns.exclude, sums, err));
    TRY(leave_out(&text, a, &a->columns.drop, sums, err));
    TRY(columns_read(&table, &text, &a->columns, a->data, err));
    out->rows = out->table_rows = pboost_table_rows(table);
    TRY(data_row_keys(&out->row_key, table, a->id, err));
    TRY(train_rows_load_ids(out, table, a, err));
    TRY(train_rows_load_units(out, table, a, err));
    TRY(train_rows_load_parts(out, table, a, err));
    if (a->labels != NULL) {
        TRY(train_columns_load(out, cli, table, a, err));
    } else if (has_labels && a->classes) {
        TRY(class_names_learn(&out->classes, table, a->label, err));
        TRY(class_labels(&out->label, &out->classes, table, a->label, err));
    } else if (has_labels) {
        TRY(load_labels(out, cli, table, a, err));
    }
    TRY(data_weights(&out->weight, table, a->weight, err));
    TRY(data_numbers(&out->offset, table, a->offset, err));
    if (a->wide) {
        out->table = table; /* entries and names are the table's */
        TRY(learn_sparse(out, cli, table, a, err));
    } else {
        TRY(learn_dense(out, cli, table, a, err));
    }
    if (a->bag != NULL)
        TRY(train_bags_load(out, table, a, err));
    if (sums != NULL)
        TRY(train_sums_load(out, sums, table, a, err));
    if (a->prior != NULL)
        TRY(data_predict(&prediction, prior, table, 0.0, a->threads, err));
    out->prior_score = prediction.mean;
done:
    train_sums_free(sums);
    table_reading_free(&text);
    if (out->table == NULL)
        pboost_table_free(table);
    return st;
}

static pboost_status load_test(train_data *out, const cli_context *cli, const train_arguments *a,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_unseen unseen = {0};
    unseen_cells cells = {.trees = a->trees};
    table_reading text = {.cli = cli, .missing = a->columns.na.item, .n_missing = a->columns.na.n};
    pboost_table *table = NULL;

    TRY(table_reading_add_encoding(&text, &out->encoding, err));
    TRY(table_reading_add_sparse(&text, &out->sparse, err));
    if (a->labels != NULL)
        TRY(train_columns_text(&text, &out->targets, err));
    else if (a->classes || labels_are_text(a->family, a->positive))
        TRY(table_reading_add(&text, a->label, err));
    TRY(table_reading_read(&table, &text, a->test, err));
    out->test_rows = pboost_table_rows(table);
    TRY(a->labels != NULL ? train_columns_load_test(&out->targets, table, err)
        : a->classes
            ? class_labels(&out->test_label, &out->classes, table, a->label, err)
            : data_labels(&out->test_label, &out->labels, table, a->label, a->family, err));
    TRY(data_numbers(&out->test_offset, table, a->offset, err));
    if (a->wide) {
        out->test_table = table;
        TRY(train_wide_learn_test(out, table, err));
        goto done;
    }
    TRY(data_room(&out->test_x, out->encoding.n_columns - out->encoding.n_curves, table, err));
    TRY(pboost_encoding_apply_straight(out->test_x, &unseen, &out->encoding, table, err));
    unseen_cells_add(&cells, &unseen, &out->encoding, table);
    unseen_cells_note(cli, &cells);
    if (a->trees)
        TRY(read_sources(&out->test_sources, out->test_x, out, table, err));
done:
    table_reading_free(&text);
    if (out->test_table == NULL)
        pboost_table_free(table);
    return st;
}

pboost_status train_data_load(train_data *out, const cli_context *cli, const train_arguments *a,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model prior = {0};

    if (a->prior != NULL)
        TRY(data_model_of_numbers(&prior, a->prior, err));
    if (!a->wide)
        train_memory_note(cli, a->data);
    st = load_training(out, cli, a, &prior, err);
    if (st == PBOOST_NO_MEMORY && !a->wide)
        (void)train_memory_explain(a, err);
    TRY(st);
    if (a->test != NULL)
        TRY(load_test(out, cli, a, err));
done:
    pboost_model_free(&prior);
    return st;
}

pboost_matrix train_matrix(pboost_curved *room, const double *x, size_t rows,
                           const train_data *data)
{
    size_t straight = data->cols - data->encoding.n_curves;
    *room = (pboost_curved){pboost_matrix_f64(x, rows, straight), data->n_bends, data->bend};
    return data->n_bends > 0 ? pboost_matrix_curved(room) : room->x;
}

pboost_features train_straight_features(const train_data *data)
{
    size_t straight = data->cols - data->encoding.n_curves;
    return (pboost_features){.x = pboost_matrix_f64(data->x, data->rows, straight),
                             .weight = data->weight,
                             .offset = data->offset};
}

pboost_features train_features(const train_data *data)
{
    pboost_features features = train_straight_features(data);
    if (data->n_bends > 0)
        features.x = pboost_matrix_curved(&data->curved);
    return features;
}

void train_data_bend(train_data *data)
{
    (void)train_matrix(&data->curved, data->x, data->rows, data);
    if (data->standard_bend != NULL)
        data->curved.bend = data->standard_bend;
}

void train_data_free(train_data *data)
{
    pboost_encoding_free(&data->encoding);
    pboost_hashing_free(&data->sparse.hashing);
    pboost_entries_free(&data->entries);
    free(data->bag_key);
    pboost_entries_free(&data->test_entries);
    pboost_coef_free(&data->wide_coef);
    pboost_sources_free(&data->sources);
    pboost_sources_free(&data->test_sources);
    pboost_table_free(data->table);
    pboost_table_free(data->test_table);
    free(data->category_of);
    free(data->curve_of);
    for (size_t i = 0; data->standard_curve != NULL && i < data->n_bends; i++)
        free(data->standard_curve[i].knot);
    free(data->standard_curve);
    free(data->standard_bend);
    free(data->bend);
    free(data->x);
    free(data->mean);
    free(data->scale);
    free(data->weight);
    free(data->persons_weight);
    free(data->offset);
    free(data->prior_score);
    free(data->row_key);
    free(data->id);
    free(data->id_text);
    free(data->unit);
    free(data->part);
    free(data->test_x);
    free(data->test_offset);
    free(data->label);
    free(data->sum_line);
    free(data->test_label);
    pboost_answers_free(data->given);
    label_rule_free(&data->labels);
    class_names_free(&data->classes);
    train_targets_free(&data->targets);
    *data = (train_data){0};
}
