/* priorboost evaluate with a model of classes: log loss, accuracy, what classes are taken for, and
 * calibration by class. */
#include "evaluate_classes.h"

#include <string.h>

#include "class_evaluation.h"
#include "class_labels.h"
#include "evaluation.h"
#include "predict_classes.h"

/* Probabilities and labels of all blocks. */
typedef struct {
    double *probability, *label;
    size_t rows, n_probabilities, n_labels; /* the latter: capacities */
    unseen_cells unseen;
} class_rows;

static pboost_status add_block(class_rows *all, const class_evaluation_task *task,
                               const pboost_table *block, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_rows(block), classes = task->model->classes.n;
    class_names names = {classes, task->model->classes.name};
    class_predictions p = {0};
    double *y = NULL;

    TRY(class_labels(&y, &names, block, task->label, err));
    TRY(class_predict(&p, task->model, block, 0.0, task->threads, err));
    unseen_cells_add(&all->unseen, &p.unseen, &task->model->encoding, block);
    GROW(all->probability, all->n_probabilities, (all->rows + n) * classes, err);
    GROW(all->label, all->n_labels, all->rows + n, err);
    memcpy(all->probability + all->rows * classes, p.probability, n * classes * sizeof(double));
    memcpy(all->label + all->rows, y, n * sizeof *y);
    all->rows += n;
done:
    class_predictions_free(&p);
    free(y);
    return st;
}

static pboost_status read_rows(class_rows *all, cli_context *cli, const class_evaluation_task *task,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli, .missing = task->na->item, .n_missing = task->na->n};
    data_blocks blocks = {0};
    const pboost_table *block;

    TRY(table_reading_add(&text, task->label, err));
    TRY(table_reading_add_encoding(&text, &task->model->encoding, err));
    TRY(data_blocks_open(&blocks, &text, task->data, task->model->encoding.n_columns, err));
    do {
        TRY(data_blocks_next(&block, &blocks, err));
        if (block != NULL)
            TRY(add_block(all, task, block, err));
    } while (block != NULL);
done:
    data_blocks_close(&blocks);
    table_reading_free(&text);
    return st;
}

pboost_status evaluate_classes(cli_context *cli, const class_evaluation_task *task,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model_classes *classes = &task->model->classes;
    class_rows all = {.unseen = {.trees = task->model->mixture.n > 0}};
    class_evaluation e = {.model = task->model_path,
                          .data = task->data,
                          .class_name = (const char *const *)classes->name};

    cli->reading = "evaluating";
    if (task->label == NULL)
        FAIL(err, PBOOST_INVALID, "--label is required: the model file names no label column");
    TRY(read_rows(&all, cli, task, err));
    unseen_cells_note(cli, &all.unseen);
    e.unseen = all.unseen.n;
    cli_progress(cli, "measuring", 0.0, 0.0);
    TRY(pboost_classes_evaluate(&e.measures, all.probability, all.label, all.rows, classes->n,
                                EVALUATION_GROUPS, err));
    if (task->report != NULL)
        TRY(class_evaluation_write(task->report, &e, err));
    if (cli->json) {
        TRY(cli_print_json(class_evaluation_json(&e), err));
    } else {
        class_evaluation_print(cli_text(cli), &e);
        TRY(cli_flush(err));
    }
done:
    pboost_class_evaluation_free(&e.measures);
    free(all.probability);
    free(all.label);
    return st;
}
