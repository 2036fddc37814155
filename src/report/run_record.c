/* Reading runs of train from their model files. */
#include "run_record.h"

#include <math.h>
#include <string.h>

#include "try.h"

void run_free(run_record *run)
{
    pboost_model_free(&run->model);
    json_decref(run->root);
    *run = (run_record){0};
}

/* "out/k-16.json" is shown as "k-16". */
static void set_name(run_record *run, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL && slash[1] ? slash + 1 : path;
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".json") == 0)
        length -= 5;
    snprintf(run->name, sizeof run->name, "%.*s", (int)(length < 60 ? length : 60), base);
}

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A model of sparse rows has more columns than a page: those with the heaviest weights, as train
 * recorded them, take their place. */
static pboost_status keep_heaviest(run_record *run, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *heaviest = json_object_get(run->record, "heaviest");
    const json_t *columns = json_object_get(heaviest, "columns");
    const json_t *weights = json_object_get(heaviest, "weights");
    pboost_model *m = &run->model;
    size_t n = json_array_size(columns);
    pboost_coef kept = {0};

    if (m->sparse.columns == 0)
        goto done;
    if (json_array_size(weights) != n)
        FAIL(err, PBOOST_BAD_DATA, "%s: \"heaviest\" must have as many weights as columns", name);
    TRY(pboost_coef_init(&kept, n, err));
    kept.intercept = m->coef.intercept;
    pboost_coef_free(&m->coef);
    m->coef = kept;
    NEED(m->encoding.column = calloc(n > 0 ? n : 1, sizeof *m->encoding.column), err);
    m->encoding.n_columns = n;
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(columns, i));
        m->coef.theta[i] = number_of(json_array_get(weights, i));
        NEED(m->encoding.column[i] = strdup(text != NULL ? text : ""), err);
    }
done:
    return st;
}

static pboost_status take_root(run_record *run, json_t *root, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    run->root = root;
    NEED(root, err);
    set_name(run, name);
    run->record = json_object_get(root, "run");
    if (run->record != NULL && !json_is_object(run->record))
        FAIL(err, PBOOST_BAD_DATA, "%s: \"run\" must be an object", name);
    TRY(keep_heaviest(run, name, err));
done:
    if (st != PBOOST_OK)
        run_free(run);
    return st;
}

pboost_status run_parse(run_record *out, const char *text, const char *name, pboost_error *err)
{
    *out = (run_record){0};
    pboost_status st = pboost_model_parse(&out->model, text, strlen(text), name, err);
    return st == PBOOST_OK ? take_root(out, json_loads(text, 0, NULL), name, err) : st;
}

/* Standard input can be read once only. */
static pboost_status load_standard(run_record *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = NULL;
    size_t room = 0;

    if (getdelim(&text, &room, '\0', stdin) < 0)
        FAIL(err, PBOOST_BAD_DATA, "standard input is empty; it must be a model file");
    TRY(run_parse(out, text, "standard input", err));
done:
    free(text);
    return st;
}

pboost_status run_load(run_record *out, const char *path, pboost_error *err)
{
    *out = (run_record){0};
    if (strcmp(path, "-") == 0)
        return load_standard(out, err);
    pboost_status st = pboost_model_load(&out->model, path, err);
    return st == PBOOST_OK ? take_root(out, json_load_file(path, 0, NULL), path, err) : st;
}

size_t run_rounds(const run_record *run)
{
    return json_array_size(json_object_get(run->record, "history"));
}

double run_number(const run_record *run, const char *key)
{
    return number_of(json_object_get(run->record, key));
}

double run_round_number(const run_record *run, size_t t, const char *key)
{
    return number_of(
        json_object_get(json_array_get(json_object_get(run->record, "history"), t), key));
}

bool run_has_plan(const run_record *run)
{
    return json_is_object(json_object_get(run->record, "plan"));
}

double run_plan_number(const run_record *run, const char *key)
{
    return number_of(json_object_get(json_object_get(run->record, "plan"), key));
}

const char *run_plan_text(const run_record *run, const char *key)
{
    return json_string_value(json_object_get(json_object_get(run->record, "plan"), key));
}

double run_loss(const run_record *run)
{
    size_t rounds = run_rounds(run);
    return rounds > 0 ? run_round_number(run, rounds - 1, "test_loss") : NAN;
}

const char *run_family(const run_record *run)
{
    return run->model.classes.n > 0 ? "classes" : pboost_family_name(run->model.family);
}

bool run_same_family(const run_record *a, const run_record *b)
{
    return strcmp(run_family(a), run_family(b)) == 0;
}

double run_error(const run_record *run, size_t j)
{
    size_t n = run->model.coef.n + 1;
    double variance = run->model.covariance != NULL ? run->model.covariance[j * (n + 1)] : NAN;
    return variance > 0.0 ? sqrt(variance) : NAN;
}

double run_error_forecast(const run_record *run, size_t j)
{
    const json_t *plan = json_object_get(run->record, "plan");
    return number_of(json_array_get(json_object_get(plan, "standard_errors"), j));
}
