/* priorboost train: what is printed and written of a result. */
#include "train.h"

/* If the fit is refused, there is no model and the error says why. */
pboost_status train_print_result(cli_context *cli, const train_arguments *a,
                                 const train_description *d, pboost_error *err)
{
    const train_result *result = d->result;

    for (size_t i = 0; (result->usable || a->force) && i < result->n_warnings; i++)
        cli_note(cli, "warning: %s", result->warning[i].text);
    if (cli->json)
        return cli_print_json(train_json(d), err);
    if (cli->quiet)
        return PBOOST_OK;
    train_print(cli_text(cli), d);
    return cli_flush(err);
}

train_description train_describe(const train_arguments *a, const train_data *data,
                                 const train_result *result)
{
    return (train_description){.result = result,
                               .family = a->family,
                               .automatic = a->automatic,
                               .intercept = !a->no_intercept,
                               .tested = a->test != NULL,
                               .has_seed = a->has_seed,
                               .seed = a->seed,
                               .rows = data->rows,
                               .encoding = &data->encoding,
                               .scale = data->scale,
                               .sparse = a->wide ? &data->sparse : NULL,
                               .sparse_coef = a->wide ? &data->wide_coef : NULL,
                               .label = a->label,
                               .positive = label_rule_positive(&data->labels),
                               .class_name = (const char *const *)data->classes.name,
                               .classes = data->classes.n,
                               .offset = a->offset,
                               .oracle = a->oracles.item,
                               .oracles = a->oracles.n,
                               .leaves_out = a->oracle != NULL || a->unit != NULL,
                               .out = result->usable || a->force ? a->out : NULL};
}

pboost_status train_refuse_fit(const train_result *result, const char *checkpoint,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (checkpoint != NULL)
        FAIL(err, PBOOST_UNUSABLE,
             "no model is written: %.200s (the answers are in %.200s; --resume --force writes the "
             "model anyway)",
             result->warning[0].text, checkpoint);
    FAIL(err, PBOOST_UNUSABLE, "no model is written: %.300s (--force writes it anyway)",
         result->warning[0].text);
done:
    return st;
}

pboost_status train_write(pboost_output **model, pboost_output **page, const train_description *d,
                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = *model;

    *model = NULL;
    if (output != NULL)
        TRY(train_write_model(output, d, err));
    output = *page;
    *page = NULL;
    if (output != NULL)
        TRY(train_write_page(output, d, err));
done:
    return st;
}
