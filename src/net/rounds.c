/* Rounds in parts, in memory and in a file.
 *
 * How a round is cut is kept with it: a part that was sent must be sent again as it was, also to a
 * service whose limits have changed, for its request id is made from its content. */
#include "rounds.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "checkpoint.h"
#include "try.h"

void pboost_round_free(asked_round *round)
{
    pboost_wire_question_free(&round->all);
    free(round->end);
    *round = (asked_round){0};
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* The bag after the last one of a part that begins with bag `first`. */
static size_t part_end(const wire_question *q, size_t first, size_t max_body)
{
    enum { MOST_ROWS = 1 << 20, HEADER = 512 };
    size_t rows = 0, bytes = HEADER, end = first;

    while (end < q->n_bags) {
        bytes += 4;
        for (size_t i = q->start[end]; i < q->start[end + 1]; i++)
            /* A number that shares a question with text is sent as up to 20 digits. */
            bytes += q->id[i].text != NULL ? 1 + strlen(q->id[i].text) : 21;
        rows += q->start[end + 1] - q->start[end];
        if (end > first && (rows > MOST_ROWS || bytes > max_body))
            break;
        end++;
    }
    return end;
}

pboost_status pboost_round_cut(asked_round *round, size_t max_body, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const wire_question *q = &round->all;

    NEED(round->end = pboost_alloc(q->n_bags, sizeof *round->end), err);
    for (size_t bag = 0; bag < q->n_bags; bag = round->end[round->n_parts++])
        round->end[round->n_parts] = part_end(q, bag, max_body);
done:
    return st;
}

pboost_status pboost_round_part(wire_question *out, const asked_round *round, size_t p,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const wire_question *all = &round->all;
    size_t first = p > 0 ? round->end[p - 1] : 0, from = all->start[first];

    *out = (wire_question){.n_bags = round->end[p] - first,
                           .n_rows = all->start[round->end[p]] - from,
                           .answer = all->answer};
    NEED(out->start = pboost_alloc(out->n_bags + 1, sizeof *out->start), err);
    NEED(out->id = pboost_alloc(out->n_rows, sizeof *out->id), err);
    for (size_t b = 0; b <= out->n_bags; b++)
        out->start[b] = all->start[first + b] - from;
    memcpy(out->id, all->id + from, out->n_rows * sizeof *out->id);
    TRY(pboost_wire_name_question(out, err));
done:
    return st;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void file_name(char name[40], size_t number)
{
    snprintf(name, 40, "ask-%06zu", number);
}

pboost_status pboost_round_write(const asked_round *round, const char *folder, size_t number,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_buffer b = {0};
    unsigned char *question = NULL, *file = NULL;
    size_t length;
    char name[40];

    file_name(name, number);
    TRY(pboost_wire_write_question(&question, &length, WIRE_BINARY, &round->all, err));
    pboost_buffer_u32(&b, (uint32_t)round->n_parts);
    for (size_t p = 0; p < round->n_parts; p++)
        pboost_buffer_u32(&b, (uint32_t)(round->end[p] - (p > 0 ? round->end[p - 1] : 0)));
    pboost_buffer_bytes(&b, question, length);
    TRY(pboost_buffer_take(&file, &length, &b, err));
    TRY(pboost_checkpoint_write(folder, name, file, length, err));
done:
    free(question);
    free(file);
    return st;
}

static size_t get32(const unsigned char *at)
{
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static pboost_status parse(asked_round *out, const unsigned char *file, size_t length,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = length >= 4 ? get32(file) : 0, bags = 0;

    if (n == 0 || length / 4 - 1 < n)
        FAIL(err, PBOOST_BAD_DATA, "%zu parts in %zu bytes", n, length);
    NEED(out->end = pboost_alloc(n, sizeof *out->end), err);
    for (; out->n_parts < n; out->n_parts++)
        out->end[out->n_parts] = bags += get32(file + 4 + 4 * out->n_parts);
    TRY(pboost_wire_read_question(&out->all, WIRE_BINARY, file + 4 + 4 * n, length - 4 - 4 * n,
                                  err));
    if (bags != out->all.n_bags)
        FAIL(err, PBOOST_BAD_DATA, "the parts have %zu bags, the round has %zu", bags,
             out->all.n_bags);
done:
    return st;
}

pboost_status pboost_round_read(asked_round *out, const char *folder, size_t number,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *file = NULL;
    size_t length;
    char name[40];
    pboost_error why = {0};

    *out = (asked_round){0};
    file_name(name, number);
    TRY(pboost_checkpoint_read(&file, &length, folder, name, err));
    if (file == NULL)
        goto done;
    st = parse(out, file, length, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "%s/%s is damaged: %.200s", folder, name, why.message);
done:
    free(file);
    if (st != PBOOST_OK)
        pboost_round_free(out);
    return st;
}
