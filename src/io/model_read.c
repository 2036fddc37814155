/* Reading the model file.
 *
 * What the rest of the program relies on is checked here: the columns are those that the features
 * make, and there is one weight for each.  Keys that this version does not know are ignored. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "copy.h"
#include "encoding.h"
#include "json.h"
#include "model.h"
#include "source.h"
#include "table.h"
#include "try.h"

static pboost_status get_levels(pboost_feature *f, const json_t *object, const char *name,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *levels;
    size_t n;

    TRY(get_array(&n, object, "levels", &levels, name, err));
    if (n == 0 || n > MAX_LEVELS)
        FAIL(err, PBOOST_BAD_DATA, "%s: feature '%s' has %zu levels; it must have 1 to %d", name,
             pboost_shown(f->name, strlen(f->name)).text, n, (int)MAX_LEVELS);
    NEED(f->level = calloc(n, sizeof *f->level), err);
    f->n_levels = n;
    for (size_t k = 0; k < n; k++) {
        TRY(get_item(&f->level[k], levels, k, "levels", name, err));
        if (k > 0 && strcmp(f->level[k - 1], f->level[k]) >= 0)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: the levels of feature '%s' are not sorted or not unique", name,
                 pboost_shown(f->name, strlen(f->name)).text);
    }
done:
    return st;
}

static pboost_status get_date(pboost_feature *f, const json_t *object, const char *name,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *parts;
    pboost_error why;
    size_t n;

    TRY(get_array(&n, object, "date", &parts, name, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(parts, i);
        unsigned part;
        if (!json_is_string(v))
            TRY(refuse_kind(name, "date", v, "an array of text", err));
        if (pboost_date_parts_parse(&part, json_string_value(v), &why) != PBOOST_OK)
            FAIL(err, PBOOST_BAD_DATA, "%s: feature '%s': %s", name,
                 pboost_shown_text(f->name).text, why.message);
        f->date |= part;
    }
    if (f->date == 0 || f->n_levels > 0)
        TRY(refuse_kind(name, "date", parts, "parts of a feature without levels", err));
done:
    return st;
}

static pboost_status get_curve(pboost_feature *f, const json_t *object, const char *name,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_curve *c = &f->curve;
    const json_t *knots, *values;
    size_t n, n_knots;

    if (!json_is_object(object) || !pboost_feature_can_bend(f))
        TRY(refuse_kind(name, "curve", object,
                        "an object in a feature that is a number, or a date by days or year", err));
    TRY(get_array(&n_knots, object, "knots", &knots, name, err));
    TRY(get_array(&n, object, "value", &values, name, err));
    if (n_knots < 3 || n_knots > PBOOST_CURVE_COLUMNS + 2 || n == 0 || n > n_knots - 2)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: the curve of feature '%s' has %zu knots and %zu functions; it must have 3 to %d "
             "knots, and from 1 function to 2 fewer than knots",
             name, pboost_shown_text(f->name).text, n_knots, n, PBOOST_CURVE_COLUMNS + 2);
    NEED(c->knot = pboost_alloc(n_knots, sizeof *c->knot), err);
    for (size_t k = 0; k < n_knots; k++) {
        TRY(get_real(&c->knot[k], json_array_get(knots, k), "knots", name, err));
        if (k > 0 && !(c->knot[k] > c->knot[k - 1]))
            FAIL(err, PBOOST_BAD_DATA, "%s: the knots of feature '%s' do not ascend", name,
                 pboost_shown_text(f->name).text);
    }
    if (!isfinite(c->knot[n_knots - 1] - c->knot[0]))
        FAIL(err, PBOOST_BAD_DATA, "%s: the knots of feature '%s' are too far apart", name,
             pboost_shown_text(f->name).text);
    TRY(get_matrix(&c->value, object, "value", n, n_knots, name, err));
    TRY(get_matrix(&c->bend, object, "bend", n, n_knots, name, err));
    c->n_knots = n_knots;
    c->n = n;
done:
    return st;
}

static pboost_status get_feature(pboost_feature *f, const json_t *object, const char *name,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *fill = json_object_get(object, "fill"), *lower = json_object_get(object, "lower");

    if (!json_is_object(object))
        TRY(refuse_kind(name, "features", object, "an array of objects", err));
    TRY(get_text(&f->name, object, "name", false, name, err));
    if (json_object_get(object, "levels") != NULL)
        TRY(get_levels(f, object, name, err));
    f->other = json_is_true(json_object_get(object, "other"));
    if (f->other && f->n_levels == 0)
        TRY(refuse_kind(name, "other", json_object_get(object, "other"), "in a category", err));
    if (json_object_get(object, "date") != NULL)
        TRY(get_date(f, object, name, err));
    f->winsorize = lower != NULL && !json_is_null(lower);
    if (f->winsorize) {
        if (f->n_levels > 0 || f->date != 0)
            TRY(refuse_kind(name, "lower", lower, "in a feature that is a number", err));
        TRY(get_real(&f->lower, lower, "lower", name, err));
        TRY(get_real(&f->upper, json_object_get(object, "upper"), "upper", name, err));
        if (!(f->lower <= f->upper))
            FAIL(err, PBOOST_BAD_DATA, "%s: \"lower\" is %g, which is more than \"upper\", %g",
                 name, f->lower, f->upper);
    }
    if (json_object_get(object, "curve") != NULL)
        TRY(get_curve(f, json_object_get(object, "curve"), name, err));
    f->impute = fill != NULL && !json_is_null(fill);
    if (!f->impute)
        goto done;
    if (f->n_levels == 0)
        TRY(get_real(&f->fill, fill, "fill", name, err));
    else if (!json_is_string(fill) || strcmp(json_string_value(fill), f->level[0]) != 0)
        TRY(refuse_kind(name, "fill", fill, "the first level of its feature", err));
done:
    return st;
}

/* Features, and the columns they make, which must be the columns that the file lists. */
static pboost_status get_encoding(pboost_encoding *out, const json_t *root, const char *name,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *features, *columns, *unseen = json_object_get(root, "unseen");
    size_t n, n_columns;

    out->refuse_unseen = unseen == NULL; /* files of 0.2 and before do not say */
    if (unseen != NULL) {
        const char *policy = json_is_string(unseen) ? json_string_value(unseen) : "";
        out->refuse_unseen = strcmp(policy, "error") == 0;
        if (!out->refuse_unseen && strcmp(policy, "baseline") != 0)
            TRY(refuse_kind(name, "unseen", unseen, "baseline or error", err));
    }
    TRY(get_array(&n, root, "features", &features, name, err));
    TRY(get_array(&n_columns, root, "columns", &columns, name, err));
    NEED(out->feature = calloc(n > 0 ? n : 1, sizeof *out->feature), err);
    out->n_features = n;
    for (size_t i = 0; i < n; i++)
        TRY(get_feature(&out->feature[i], json_array_get(features, i), name, err));
    TRY(pboost_encoding_name_columns(out, name, err));
    if (out->n_columns != n_columns)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu columns, but the features make %zu", name,
             n_columns, out->n_columns);
    for (size_t i = 0; i < n_columns; i++) {
        const json_t *v = json_array_get(columns, i);
        if (!json_is_string(v) || strcmp(json_string_value(v), out->column[i]) != 0)
            FAIL(err, PBOOST_BAD_DATA, "%s: column %zu is %s; the features make it '%s'", name,
                 i + 1,
                 json_is_string(v)
                     ? pboost_shown(json_string_value(v), strlen(json_string_value(v))).text
                     : kind_name(v),
                 pboost_shown(out->column[i], strlen(out->column[i])).text);
    }
done:
    return st;
}

static pboost_status get_coef(pboost_coef *out, const json_t *root, size_t n, const char *name,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *theta;
    size_t n_theta;

    TRY(get_array(&n_theta, root, "theta", &theta, name, err));
    if (n_theta != n)
        FAIL(err, PBOOST_BAD_DATA, "%s: theta has %zu entries, but there are %zu columns", name,
             n_theta, n);
    TRY(pboost_coef_init(out, n, err));
    for (size_t i = 0; i < n; i++)
        TRY(get_real(&out->theta[i], json_array_get(theta, i), "theta", name, err));
    TRY(get_real(&out->intercept, json_object_get(root, "intercept"), "intercept", name, err));
done:
    return st;
}

static pboost_status get_covariance(double **out, const json_t *root, size_t n, const char *name,
                                    pboost_error *err)
{
    const json_t *rows = json_object_get(root, "covariance");
    return rows == NULL || json_is_null(rows)
               ? PBOOST_OK
               : get_matrix(out, root, "covariance", n, n, name, err);
}

/* Decimal digits alone, or nothing. */
static bool parse_whole(uint64_t *out, const char *text, const char *end)
{
    *out = 0;
    for (const char *p = text; p < end; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*p - '0'), out))
            return false;
    return end > text;
}

static pboost_status get_epsilon(pboost_rational *out, const json_t *object, const char *name,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_object_get(object, "epsilon");
    const char *text = json_string_value(v), *slash;

    if (v == NULL || json_is_null(v))
        goto done;
    if (text == NULL)
        TRY(refuse_kind(name, "epsilon", v, "decimal text or null", err));
    slash = strchr(text, '/');
    if (slash != NULL && parse_whole(&out->num, text, slash) &&
        parse_whole(&out->den, slash + 1, text + strlen(text)) && out->num > 0 && out->den > 0)
        goto done;
    if (pboost_rational_parse(out, text, NULL) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA, "%s: \"epsilon\" is \"%s\"; it must be a number above 0", name,
             pboost_shown(text, strlen(text)).text);
done:
    return st;
}

static pboost_status get_seed(pboost_training *out, const json_t *object, const char *name,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_object_get(object, "seed");
    const char *text = json_string_value(v);

    if (v == NULL || json_is_null(v))
        goto done;
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        out->seed = (uint64_t)json_integer_value(v);
    else if (text == NULL || !parse_whole(&out->seed, text, text + strlen(text)))
        TRY(refuse_kind(name, "seed", v, "a whole number, not negative", err));
    out->has_seed = true;
done:
    return st;
}

static pboost_status get_training(pboost_training *out, const json_t *root, const char *name,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *object = json_object_get(root, "training"), *l2;

    if (object == NULL || json_is_null(object))
        goto done;
    if (!json_is_object(object))
        TRY(refuse_kind(name, "training", object, "an object", err));
    TRY(get_text(&out->algorithm, object, "algorithm", true, name, err));
    TRY(get_text(&out->estimator, object, "estimator", true, name, err));
    TRY(get_text(&out->bags, object, "bags", true, name, err));
    TRY(get_size(&out->min_bag, object, "min_bag", name, err));
    TRY(get_size(&out->rounds, object, "rounds", name, err));
    TRY(get_size(&out->rows_spent, object, "rows_spent", name, err));
    TRY(get_epsilon(&out->epsilon, object, name, err));
    l2 = json_object_get(object, "l2");
    if (l2 != NULL)
        TRY(get_real(&out->l2, l2, "l2", name, err));
    out->simulated = json_is_true(json_object_get(object, "simulated"));
    TRY(get_seed(out, object, name, err));
done:
    return st;
}

static pboost_status check_format(const json_t *root, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *version = json_object_get(root, "version");

    if (format == NULL || strcmp(format, MODEL_FORMAT) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is not a model file: its \"format\" is not \"%s\"", name,
             MODEL_FORMAT);
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        TRY(refuse_kind(name, "version", version, "a whole number from 1", err));
    if (json_integer_value(version) > MODEL_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: version %lld is newer than this program understands (%d); use a newer priorboost",
             name, (long long)json_integer_value(version), (int)MODEL_VERSION);
done:
    return st;
}

static pboost_status get_model(pboost_model *out, const json_t *root, const char *name,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *family = NULL;

    TRY(check_format(root, name, err));
    TRY(get_text(&family, root, "family", false, name, err));
    bool classes = strcmp(family, MODEL_CLASSES) == 0;
    if (!classes && pboost_family_parse(&out->family, family, NULL) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: \"family\" is \"%s\"; it must be linear, logistic, poisson or " MODEL_CLASSES,
             name, pboost_shown(family, strlen(family)).text);
    TRY(get_text(&out->label, root, "label", true, name, err));
    TRY(get_text(&out->positive, root, "positive", true, name, err));
    TRY(get_text(&out->offset, root, "offset", true, name, err));
    if (classes && json_object_get(root, "sparse") != NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: a model of classes has no \"sparse\"", name);
    if (json_object_get(root, "sparse") == NULL)
        TRY(get_encoding(&out->encoding, root, name, err));
    if (json_object_get(root, "sparse") != NULL) {
        TRY(pboost_model_get_sparse(out, root, name, err));
    } else if (classes) {
        TRY(pboost_model_get_classes(out, root, name, err));
    } else if (json_object_get(root, "members") != NULL) {
        TRY(pboost_model_get_members(out, root, name, err));
    } else {
        TRY(get_coef(&out->coef, root, out->encoding.n_columns, name, err));
        TRY(get_covariance(&out->covariance, root, out->coef.n + 1, name, err));
    }
    TRY(get_training(&out->training, root, name, err));
done:
    free(family);
    return st;
}

pboost_status pboost_model_parse(pboost_model *out, const char *text, size_t length,
                                 const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_error_t why;
    json_t *root = NULL;

    *out = (pboost_model){0};
    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (why.text[0] == '\0') /* jansson has nothing to say about a failed allocation */
        NEED(root, err);
    if (root == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s:%d: not a model file: %s", name, why.line, why.text);
    TRY(get_model(out, root, name, err));
done:
    json_decref(root);
    if (st != PBOOST_OK)
        pboost_model_free(out);
    return st;
}

pboost_status pboost_model_load(pboost_model *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source src;

    *out = (pboost_model){0};
    TRY(pboost_source_open(&src, path, err));
    st = pboost_source_need(&src, SIZE_MAX, err);
    if (st == PBOOST_OK)
        st = pboost_model_parse(out, src.data + src.begin, src.end - src.begin, src.name, err);
    pboost_source_close(&src);
done:
    return st;
}
