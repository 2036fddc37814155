/* Models that are no GLM: their members, what columns do to their predictions, and how any model
 * fits its answers. */
#include "train_members.h"

#include <math.h>

#include "report_json.h"

void train_print_members(FILE *out, const train_description *d)
{
    const train_result *r = d->result;

    double constant = r->misfit[PBOOST_MEMBER_CONSTANT];

    fprintf(out, "\n%-12s %8s %8s %s\n", "member", "weight", "trees",
            "explains of bags left out of its fit");
    for (size_t i = 0; i < r->mixture.n; i++) {
        const pboost_member *m = &r->mixture.member[i];
        fprintf(out, "%-12s %8.3g %8zu", pboost_member_kind_name(m->kind), m->weight,
                m->forest.n_trees);
        if (r->misfit[m->kind] >= 0.0 && constant > 0.0)
            fprintf(out, " %.1f %%", 100.0 * (1.0 - r->misfit[m->kind] / constant));
        fputc('\n', out);
    }
    if (r->mixture.n > 1 && constant > 0.0)
        fprintf(out, "%-30s %.1f %%\n", "all", 100.0 * (1.0 - r->mixture_misfit / constant));
}

enum { PRINTED_EFFECTS = 12 };

void train_print_effects(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    size_t n = r->n_effects < PRINTED_EFFECTS ? r->n_effects : PRINTED_EFFECTS;

    fprintf(out, "\n%-32s %s\n", "column", "change of predictions when its cells are shuffled");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%-32s %.4g\n", d->encoding->feature[r->effect[i].feature].name,
                r->effect[i].change);
    if (n < r->n_effects)
        fprintf(out, "(%zu more columns change less)\n", r->n_effects - n);
    fprintf(
        out,
        "\ntrees and means of several models have no weights and no intervals; --model glm has\n");
}

static size_t count_trees(const train_result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->mixture.n; i++)
        n += r->mixture.member[i].forest.n_trees;
    return n;
}

static json_t *describe_members(const train_result *r)
{
    json_t *members = json_array();
    for (size_t i = 0; members != NULL && i < r->mixture.n; i++) {
        const pboost_member *m = &r->mixture.member[i];
        json_array_append_new(members, json_pack("{s:s, s:o, s:I, s:o}", "kind",
                                                 pboost_member_kind_name(m->kind), "weight",
                                                 report_json_number(m->weight), "trees",
                                                 (json_int_t)m->forest.n_trees, "misfit",
                                                 report_json_number(r->misfit[m->kind])));
    }
    return members;
}

/* Numbers are where a curve is drawn, or texts of categories. */
static json_t *describe_effect(const train_effect *e, const char *name)
{
    json_t *effect =
        json_pack("{s:s, s:o}", "column", name, "change", report_json_number(e->change));
    json_t *levels = json_array();
    bool numbers = e->n > 0 && !isnan(e->at[0]);

    for (size_t k = 0; k < e->n && !numbers; k++)
        json_array_append_new(levels, json_string(e->text[k]));
    if (effect != NULL && e->n > 0) {
        json_object_set_new(effect, "at",
                            numbers ? report_json_numbers(e->at, e->n) : json_incref(levels));
        json_object_set_new(effect, "mean", report_json_numbers(e->mean, e->n));
    }
    json_decref(levels);
    return effect;
}

static json_t *describe_effects(const train_description *d)
{
    json_t *effects = json_array();
    for (size_t i = 0; effects != NULL && i < d->result->n_effects; i++) {
        const train_effect *e = &d->result->effect[i];
        json_array_append_new(effects, describe_effect(e, d->encoding->feature[e->feature].name));
    }
    return effects;
}

/* Predicted against answered, in groups of bags. */
static json_t *describe_groups(const train_result *r)
{
    json_t *groups = json_array();
    for (size_t i = 0; groups != NULL && i < r->by_bag.n_groups; i++) {
        const pboost_reliability *g = &r->by_bag.group[i];
        json_array_append_new(groups, json_pack("{s:I, s:o, s:o, s:o}", "bags", (json_int_t)g->rows,
                                                "predicted", report_json_number(g->predicted),
                                                "answered", report_json_number(g->observed),
                                                "standard_error", report_json_number(g->error)));
    }
    return groups;
}

/* What is known of the model, in both records of a run. */
void train_describe_model(json_t *report, const train_description *d)
{
    const train_result *r = d->result;
    json_object_set_new(report, "model", json_string(r->model));
    json_object_set_new(report, "bag_groups", describe_groups(r));
    if (r->mixture.n == 0)
        return;
    json_object_set_new(report, "members", describe_members(r));
    json_object_set_new(report, "trees", json_integer((json_int_t)count_trees(r)));
    json_object_set_new(report, "misfit", report_json_number(r->mixture_misfit));
    json_object_set_new(report, "constant_misfit",
                        report_json_number(r->misfit[PBOOST_MEMBER_CONSTANT]));
    json_object_set_new(report, "effects", describe_effects(d));
}
