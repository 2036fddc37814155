/* priorboost oracle export-audit, public-key and verify-audit: proof for those without the store.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "wire_audit.h"

/* ---- export-audit ---------------------------------------------------------------------------- */

static const cli_usage EXPORT = {
    .synopsis = "--store S [--out FILE] [--first N]",
    .text = "Writes the entries of the chain and a signed head, one JSON object a line, for an "
            "auditor\n"
            "who has only the public key.  It holds no label, no sum, no id and no secret.  With\n"
            "--first it continues an earlier file: append it there.",
    .operand = NULL};

typedef struct {
    FILE *stream;
    pboost_status status;
    pboost_error *err;
} exporting;

static pboost_status write_buffer(FILE *stream, pboost_buffer *b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *text = NULL;
    size_t length;

    TRY(pboost_buffer_take(&text, &length, b, err));
    if (fwrite(text, 1, length, stream) != length)
        FAIL(err, PBOOST_OUTPUT, "the audit file could not be written: %s", strerror(errno));
done:
    free(text);
    return st;
}

static bool write_entry(void *user, const pboost_ledger_entry *e)
{
    exporting *x = user;
    pboost_buffer b = {0};

    pboost_wire_write_audit_entry(&b, e);
    x->status = write_buffer(x->stream, &b, x->err);
    return x->status == PBOOST_OK;
}

static pboost_status write_file(FILE *stream, pboost_ledger *ledger, uint64_t first,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exporting x = {stream, PBOOST_OK, err};
    pboost_signed_head head;
    pboost_buffer b = {0};

    TRY(pboost_ledger_audit_file(&head, ledger, first, UINT64_MAX, write_entry, &x, err));
    TRY(x.status);
    if (head.entries == 0)
        FAIL(err, PBOOST_INVALID, "--first is %llu, but the ledger has no such entry",
             (unsigned long long)first);
    pboost_wire_write_audit_head(&b, &head);
    TRY(write_buffer(stream, &b, err));
done:
    return st;
}

pboost_status oracle_export_audit(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    const char *out = "-";
    uint64_t first = 0;
    pboost_ledger *ledger = NULL;
    pboost_output *output = NULL;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--out", "FILE", cli_read_text, &out, NULL, "default: standard output"},
        {"--first", "N", cli_read_seed, &first, NULL, "number of the first entry; default 0"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &EXPORT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_open_one(&ledger, cli, &place, ORACLE_CHANGE, err));
    TRY(pboost_output_open(&output, out, err));
    TRY(write_file(pboost_output_stream(output), ledger, first, err));
    pboost_output *whole = output;
    output = NULL;
    TRY(pboost_output_commit(whole, err));
done:
    pboost_output_discard(output);
    pboost_ledger_close(ledger);
    return st;
}

/* ---- public-key ------------------------------------------------------------------------------ */

static const cli_usage KEY = {
    .synopsis = "--store S",
    .text =
        "Prints the public key that verifies the store's audit files.  Give it to auditors when\n"
        "the store is made, by a way of its own.",
    .operand = NULL};

pboost_status oracle_public_key(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    char key[PBOOST_PUBLIC_KEY_TEXT];
    pboost_ledger *ledger = NULL;
    const cli_option options[] = {ORACLE_PLACE(place)};

    TRY(cli_parse(cli, NULL, argc, argv, &KEY, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_open_one(&ledger, cli, &place, ORACLE_INSPECT, err));
    pboost_ledger_public_key(key, ledger);
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:s}", "public_key", key), err));
    else
        printf("%s\n", key);
    TRY(cli_flush(err));
done:
    pboost_ledger_close(ledger);
    return st;
}

/* ---- verify-audit ---------------------------------------------------------------------------- */

static const cli_usage VERIFY = {
    .synopsis = "FILE --public-key HEX [--previous OLD]",
    .text =
        "Checks an audit file without the store: that no entry was changed, left out, added or\n"
        "reordered, that the store signed the head, and that every answer went to a token that "
        "was\n"
        "valid, approved where approval is needed, and within its rows.  With --previous also "
        "that\n"
        "FILE continues the older file OLD.",
    .operand = "FILE"};

/* The head that an older file ends with must be there, at the same entry. */
typedef struct {
    uint64_t entries; /* 0: there is no older file */
    char head[PBOOST_HEAD_TEXT];
} milestone;

static pboost_status verify_line(pboost_verifier *v, const char *line, size_t length,
                                 const milestone *old, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_audit_line parsed;

    TRY(pboost_wire_read_audit(&parsed, line, length, err));
    if (parsed.is_head) {
        TRY(pboost_verifier_head(v, &parsed.head, err));
        goto done;
    }
    TRY(pboost_verifier_entry(v, &parsed.entry, err));
    if (parsed.entry.number + 1 == old->entries && strcmp(parsed.entry.head, old->head) != 0)
        FAIL(err, PBOOST_BAD_DATA, "entry %llu differs from that of the older file",
             (unsigned long long)parsed.entry.number);
done:
    return st;
}

static pboost_status verify_file(pboost_verified *out, const char *path, const char *public_key,
                                 const milestone *old, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_verifier *v = NULL;
    pboost_error why = {0};
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    FILE *file = NULL;

    TRY(pboost_verifier_open(&v, public_key, err));
    bool standard = strcmp(path, "-") == 0;
    file = standard ? stdin : fopen(path, "re");
    path = standard ? "standard input" : path;
    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    while ((length = getline(&line, &room, file)) > 0) {
        st = verify_line(v, line, (size_t)length, old, &why);
        number++;
        if (st != PBOOST_OK)
            FAIL(err, st, "%s:%zu: %s", path, number, why.message);
    }
    if (ferror(file))
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    pboost_verifier_result(out, v);
    if (!out->whole)
        FAIL(err, PBOOST_BAD_DATA, "%s: it does not end with a signed head; its end was cut off",
             path);
    if (out->entries < old->entries)
        FAIL(err, PBOOST_BAD_DATA, "%s: it has %llu entries, the older file has %llu", path,
             (unsigned long long)out->entries, (unsigned long long)old->entries);
done:
    if (file != NULL && file != stdin)
        fclose(file);
    free(line);
    pboost_verifier_close(v);
    return st;
}

pboost_status oracle_verify_audit(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = NULL, *key = NULL, *previous = NULL;
    milestone old = {0, ""};
    pboost_verified result;
    const cli_option options[] = {
        {"--public-key", "HEX", cli_read_text, &key, NULL, "as 'oracle public-key' printed it"},
        {"--previous", "FILE", cli_read_text, &previous, NULL, "an older file of the same store"},
    };

    TRY(cli_parse(cli, &path, argc, argv, &VERIFY, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (path == NULL || key == NULL)
        FAIL(err, PBOOST_INVALID,
             "FILE and --public-key are required; see 'priorboost oracle verify-audit --help'");
    if (previous != NULL) {
        TRY(verify_file(&result, previous, key, &old, err));
        old.entries = result.entries;
        memcpy(old.head, result.head, sizeof old.head);
    }
    TRY(verify_file(&result, path, key, &old, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:b, s:I, s:I, s:I, s:s}", "sound", 1, "entries",
                                     (json_int_t)result.entries, "tokens",
                                     (json_int_t)result.tokens, "rows", (json_int_t)result.rows,
                                     "head", result.head),
                           err));
    else
        printf("%llu entries, %llu tokens, %llu rows answered, head %s: sound\n",
               (unsigned long long)result.entries, (unsigned long long)result.tokens,
               (unsigned long long)result.rows, result.head);
    TRY(cli_flush(err));
done:
    return st;
}
