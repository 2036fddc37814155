/* priorboost export: a model for programs that run ONNX files. */
#include <string.h>

#include "cli.h"

static const cli_usage USAGE = {
    .synopsis = "MODEL FILE.onnx",
    .text =
        "Writes a model as an ONNX file (opset 13, ai.onnx.ml 3).  Its inputs are the columns of\n"
        "the training table by name, each of shape [N, 1]: numbers as doubles, NaN where missing;\n"
        "categories as text, empty or NA where missing; a date as one input of doubles for each "
        "of\n"
        "its parts, such as 'day:month'; the offset, if the model has one.  The output\n"
        "'prediction' is the mean response that 'priorboost predict' gives, to 6 digits or more\n"
        "(trees are added up in single precision); of a model of classes the outputs are "
        "'p_NAME',\n"
        "the probability of each class.",
    .operand = "FILE..."};

pboost_status cli_export(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char **operand = NULL;
    pboost_model model = {0};

    NEED(operand = calloc((size_t)argc + 1, sizeof *operand), err);
    TRY(cli_parse(cli, operand, argc, argv, &USAGE, NULL, 0, err));
    if (cli->help)
        goto done;
    if (operand[0] == NULL || operand[1] == NULL || operand[2] != NULL)
        FAIL(err, PBOOST_INVALID,
             "two files are needed, the model and the file to write; see 'priorboost export "
             "--help'");
    const char *out = operand[1];
    size_t n = strlen(out);
    if (strcmp(out, "-") != 0 && (n < 5 || strcmp(out + n - 5, ".onnx") != 0))
        FAIL(err, PBOOST_INVALID, "'%s' does not end in .onnx, the only format there is", out);
    if (cli->json && strcmp(out, "-") == 0)
        FAIL(err, PBOOST_INVALID, "--json and the file '-' both write to standard output");
    TRY(pboost_model_load(&model, operand[0], err));
    TRY(pboost_model_export_onnx(&model, out, err));
    if (cli->json)
        TRY(cli_print_json(
            json_pack("{s:s, s:s, s:s}", "model", operand[0], "family",
                      model.classes.n > 0 ? "classes" : pboost_family_name(model.family), "out",
                      out),
            err));
done:
    pboost_model_free(&model);
    free(operand);
    return st;
}
