#include "class_evaluation.h"

#include <math.h>

#include "chart.h"
#include "evaluation.h"
#include "page.h"
#include "report_json.h"
#include "try.h"

/* Rows whose label is class c, and rows that are predicted to be c. */
static size_t labelled(const pboost_class_evaluation *m, size_t c)
{
    size_t rows = 0;
    for (size_t k = 0; k < m->classes; k++)
        rows += m->confusion[c * m->classes + k];
    return rows;
}

static size_t predicted(const pboost_class_evaluation *m, size_t c)
{
    size_t rows = 0;
    for (size_t k = 0; k < m->classes; k++)
        rows += m->confusion[k * m->classes + c];
    return rows;
}

/* ---- For people ------------------------------------------------------------------------------ */

void class_evaluation_print(FILE *out, const class_evaluation *e)
{
    const pboost_class_evaluation *m = &e->measures;

    fprintf(out, "%-10s %zu\n%-10s %.6g\n%-10s %.6g\n%-10s %.6g\n", "rows", m->rows, "loss",
            m->loss, "constant", m->constant, "accuracy", m->accuracy);
    fprintf(out, "\n%-24s %8s %10s %8s %8s\n", "class", "rows", "predicted", "ratio", "ece");
    for (size_t c = 0; c < m->classes; c++)
        fprintf(out, "%-24s %8zu %10zu %8.4g %8.4g\n", e->class_name[c], labelled(m, c),
                predicted(m, c), m->calibration[c].ratio, m->calibration[c].expected_error);
    fprintf(out, "\nrows by label (down) and most likely class (across)\n%-24s", "");
    for (size_t k = 0; k < m->classes; k++)
        fprintf(out, " %10.10s", e->class_name[k]);
    for (size_t c = 0; c < m->classes; c++) {
        fprintf(out, "\n%-24s", e->class_name[c]);
        for (size_t k = 0; k < m->classes; k++)
            fprintf(out, " %10zu", m->confusion[c * m->classes + k]);
    }
    fputc('\n', out);
}

/* ---- For programs ---------------------------------------------------------------------------- */

json_t *class_evaluation_json(const class_evaluation *e)
{
    const pboost_class_evaluation *m = &e->measures;
    json_t *names = json_array(), *confusion = json_array(), *calibration = json_array();

    for (size_t c = 0; c < m->classes; c++) {
        json_t *row = json_array();
        for (size_t k = 0; k < m->classes; k++)
            json_array_append_new(row, json_integer((json_int_t)m->confusion[c * m->classes + k]));
        json_array_append_new(confusion, row);
        json_array_append_new(names, json_string(e->class_name[c]));
        json_array_append_new(calibration, evaluation_calibration_json(&m->calibration[c]));
    }
    return json_pack("{s:I, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "rows", (json_int_t)m->rows,
                     "family", "classes", "unseen", (json_int_t)e->unseen, "loss",
                     report_json_number(m->loss), "constant", report_json_number(m->constant),
                     "accuracy", report_json_number(m->accuracy), "classes", names, "confusion",
                     confusion, "calibration", calibration);
}

/* ---- The page -------------------------------------------------------------------------------- */

static void write_measures(FILE *out, const pboost_class_evaluation *m)
{
    static const page_column COLUMNS[] = {{"measure", false}, {"value", true}};
    page_table t = page_table_begin(out, NULL, COLUMNS, 2);

    page_cell_text(&t, "rows");
    page_cell(&t, "%zu", m->rows);
    page_cell_text(&t, "log loss");
    page_cell_number(&t, m->loss);
    page_cell_text(&t, "log loss of the classes' proportions alone");
    page_cell_number(&t, m->constant);
    page_cell_text(&t, "accuracy");
    page_cell_number(&t, m->accuracy);
    page_table_end(&t);
}

static pboost_status write_confusion(FILE *out, const class_evaluation *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_class_evaluation *m = &e->measures;
    page_column *columns = NULL;

    NEED(columns = calloc(m->classes + 1, sizeof *columns), err);
    columns[0].heading = "label";
    for (size_t k = 0; k < m->classes; k++)
        columns[k + 1] = (page_column){e->class_name[k], true};
    page_table t =
        page_table_begin(out, "Rows by label and most likely class", columns, m->classes + 1);
    for (size_t c = 0; c < m->classes; c++) {
        page_cell_text(&t, e->class_name[c]);
        for (size_t k = 0; k < m->classes; k++)
            page_cell(&t, "%zu", m->confusion[c * m->classes + k]);
    }
    page_table_end(&t);
done:
    free(columns);
    return st;
}

static void write_groups(FILE *out, const class_evaluation *e)
{
    static const page_column COLUMNS[] = {{"class", false},
                                          {"rows", true},
                                          {"mean probability", true},
                                          {"part with this label", true},
                                          {"std. error", true}};
    page_table t =
        page_table_begin(out, "Groups of rows by the probability of a class", COLUMNS, 5);

    for (size_t c = 0; c < e->measures.classes; c++) {
        const pboost_calibration *of = &e->measures.calibration[c];
        for (size_t i = 0; i < of->n_groups; i++) {
            page_cell_text(&t, e->class_name[c]);
            page_cell(&t, "%zu", of->group[i].rows);
            page_cell_number(&t, of->group[i].predicted);
            page_cell_number(&t, of->group[i].observed);
            page_cell_number(&t, of->group[i].error);
        }
    }
    page_table_end(&t);
}

pboost_status class_evaluation_write(const char *path, const class_evaluation *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    if (chart_names_svg(path))
        FAIL(err, PBOOST_INVALID,
             "--report is %s, but an evaluation of classes has no chart; it must be an HTML page",
             path);
    TRY(pboost_output_open(&output, path, err));
    FILE *out = pboost_output_stream(output);
    page_begin(out, "Evaluation", e->model);
    page_section(out, "measures", "Measures");
    page_paragraph(out, e->data);
    write_measures(out, &e->measures);
    page_section(out, "confusion", "What classes are taken for");
    TRY(write_confusion(out, e, err));
    page_section(out, "calibration", "Calibration");
    page_paragraph(out, "The rows, in the order of the probability of a class, are cut into groups "
                        "of equally many. Where the model is right, the mean probability is the "
                        "part of the rows with this label.");
    write_groups(out, e);
    page_end(out);
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}
