/* What the rules on the wire say about answers. */
#include "wire_config.h"

#include <inttypes.h>
#include <string.h>

#include "lines.h"
#include "try.h"
#include "utf8.h"

pboost_rules pboost_wire_rules(const wire_config *config)
{
    pboost_rules rules = config->rules;
    if (rules.answer == PBOOST_ANSWER_COLUMNS)
        rules.columns = config->column;
    return rules;
}

static void write_column(pboost_buffer *b, const char *name, const pboost_label_column *column)
{
    const struct {
        const char *name;
        double value;
    } part[] = {{",\"lower\":", column->lower},
                {",\"upper\":", column->upper},
                {",\"step\":", column->step},
                {",\"share\":", (double)column->share}};

    pboost_buffer_text(b, "{\"name\":");
    pboost_buffer_json(b, name);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        pboost_buffer_text(b, part[i].name);
        pboost_buffer_number(b, part[i].value);
    }
    pboost_buffer_text(b, "}");
}

/* Names of two classes stand beside a mean. */
void pboost_config_write_answer(pboost_buffer *b, const wire_config *config)
{
    bool columns = config->rules.answer == PBOOST_ANSWER_COLUMNS;
    size_t n = pboost_lines_count(config->names);
    char name[LINE_TEXT];

    const pboost_rules *r = &config->rules;
    pboost_buffer_format(b, ",\"answer\":\"%s\",\"width\":%zu,\"mechanism\":\"%s\"",
                         pboost_answer_name(r->answer), r->width,
                         pboost_mechanism_name(r->mechanism));
    if (r->mechanism == PBOOST_GAUSSIAN) {
        pboost_buffer_text(b, ",\"delta\":");
        pboost_buffer_number(b, pboost_rational_value(r->delta));
        pboost_buffer_format(b, ",\"delta_fraction\":\"%" PRIu64 "/%" PRIu64 "\",\"rho\":",
                             r->delta.num, r->delta.den);
        pboost_buffer_number(b, pboost_rational_value(r->rho));
        pboost_buffer_format(b, ",\"rho_fraction\":\"%" PRIu64 "/%" PRIu64 "\"", r->rho.num,
                             r->rho.den);
    }
    if (n == 0)
        return;
    pboost_buffer_text(b, columns ? ",\"columns\":[" : ",\"classes\":[");
    for (size_t i = 0; i < n; i++) {
        (void)pboost_line_copy(name, config->names, i);
        pboost_buffer_text(b, i > 0 ? "," : "");
        if (columns)
            write_column(b, name, &config->column[i]);
        else
            pboost_buffer_json(b, name);
    }
    pboost_buffer_text(b, "]");
}

/* Appends a line; what an oracle tells is shown on a terminal, so nothing but text passes. */
static bool add_name(char names[PBOOST_LABEL_NAMES_TEXT], const char *name)
{
    size_t used = strlen(names);

    if (name == NULL || *name == '\0' || strlen(name) >= LINE_TEXT ||
        !pboost_utf8_printable(name) || used + strlen(name) + 2 > PBOOST_LABEL_NAMES_TEXT)
        return false;
    if (used > 0)
        names[used++] = '\n';
    memcpy(names + used, name, strlen(name) + 1);
    return true;
}

static bool read_column(pboost_label_column *out, const json_t *column)
{
    const json_t *share = json_object_get(column, "share");

    out->lower = json_number_value(json_object_get(column, "lower"));
    out->upper = json_number_value(json_object_get(column, "upper"));
    out->step = json_number_value(json_object_get(column, "step"));
    out->share = json_number_value(share) >= 1 && json_number_value(share) <= 1 << 20
                     ? (uint64_t)json_number_value(share)
                     : 0;
    return out->step > 0 && out->share > 0;
}

static bool read_names(wire_config *config, const json_t *object)
{
    bool columns = config->rules.answer == PBOOST_ANSWER_COLUMNS, ok = true;
    const json_t *list = json_object_get(object, columns ? "columns" : "classes");
    size_t n = json_array_size(list);

    if (columns && n > PBOOST_LABEL_COLUMNS_MAX)
        return false;
    for (size_t i = 0; ok && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        ok = add_name(config->names,
                      json_string_value(columns ? json_object_get(item, "name") : item)) &&
             (!columns || read_column(&config->column[i], item));
    }
    return ok && (config->rules.answer == PBOOST_ANSWER_MEAN ? n == 0 || n == 2
                                                             : n == config->rules.width);
}

/* Without one it is Laplace. */
static bool read_mechanism(pboost_rules *rules, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "mechanism"));

    if (name == NULL)
        return true;
    if (pboost_mechanism_parse(&rules->mechanism, name, NULL) != PBOOST_OK)
        return false;
    return rules->mechanism == PBOOST_LAPLACE ||
           (pboost_wire_fraction(&rules->delta,
                                 json_string_value(json_object_get(object, "delta_fraction"))) &&
            pboost_wire_fraction(&rules->rho,
                                 json_string_value(json_object_get(object, "rho_fraction"))));
}

pboost_status pboost_config_read_answer(wire_config *config, const json_t *object,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *kind = json_string_value(json_object_get(object, "answer"));
    json_int_t width = json_integer_value(json_object_get(object, "width"));
    pboost_rules rules;

    if (kind != NULL) {
        if (pboost_answer_parse(&config->rules.answer, kind, NULL) != PBOOST_OK || width < 1 ||
            width > PBOOST_WIDTH_MAX)
            FAIL(err, PBOOST_ORACLE,
                 "the oracle answers with '%.40s', %lld numbers a bag, which this program does not "
                 "know; use a newer one",
                 kind, (long long)width);
        config->rules.width = (size_t)width;
        if (!read_names(config, object) || !read_mechanism(&config->rules, object))
            FAIL(err, PBOOST_ORACLE, "the oracle's rules are not valid");
    }
    rules = pboost_wire_rules(config);
    TRY(pboost_rules_check(&rules, err));
    rules.columns = NULL;
    config->rules = rules;
done:
    return st;
}
