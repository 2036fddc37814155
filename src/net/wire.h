/* What travels between learner and oracle: questions, answers, lists of rows, the rules.
 *
 * A question and its answer have two forms that say the same.  JSON is for people and for any
 * language:
 *
 *     {"request_id": "...", "bags": [["id", ...], ...], "head": "..."}
 *     {"request_id": "...", "answers": [{"mean": 0.25, "size": 32}, ...],
 *      "dp": true, "epsilon": 0.5, "head": "..."}
 *
 * Where the oracle answers with the counts of classes or the means of label columns, the question
 * must say so, with "answer": "classes" or "columns"; a learner that does not know such answers
 * does not.  Then an answer is {"counts": [20, 5, 7], "size": 32} or {"means": [0.25, 3], ...}.
 *
 * The binary form is for bulk.  All integers are little-endian, all doubles IEEE 754 little-endian:
 *
 *     question                                     answer
 *       0  "PBQ1"                                    0  "PBA1"; "PBA2": classes or columns
 *       4  u8   1: ids are numbers, 2: text          4  u8   1: with noise, 0: without
 *       5  u8   bytes of the request id              5  u8   bytes of the request id
 *       6  u8   1: a head follows, 0: none           6  u8   as byte 7 of the question
 *       7  u8   answers: 0 mean, 1 classes,          7  u8   0
 *               2 columns                            8  u32  number of bags
 *       8  u32  number of bags                      12  u32  PBA2: numbers in an answer, else 0
 *      12  u32  number of rows                      16  u64  numerator of epsilon (0: none)
 *      16  the request id                           24  u64  its denominator (0: none)
 *          32 bytes of head, if any                 32  32 bytes of head
 *          u32 by bag: rows in it                   64  the request id
 *          numbers: i64 by row                          f64 by bag and number: mean, or count
 *          text: u8 by row: bytes of the id,            u32 by bag: size
 *                then the ids one after another
 *
 * Nothing may follow.  The sender is not trusted: every length is checked before use, and
 * what is allocated is bounded by the length of the input. */
#ifndef PBOOST_NET_WIRE_H
#define PBOOST_NET_WIRE_H

#include <priorboost/ledger.h>

#define WIRE_JSON_TYPE "application/json"
#define WIRE_BINARY_TYPE "application/vnd.priorboost.bags"

/* Also the `format` under which the ledger keeps a reply: never renumber. */
typedef enum wire_format { WIRE_JSON = 1, WIRE_BINARY = 2 } wire_format;

const char *pboost_wire_type(wire_format format); /* Content-Type */

typedef struct wire_question {
    char request_id[PBOOST_ID_MAX + 1];
    char head[PBOOST_HEAD_TEXT]; /* "": none */
    pboost_answer answer;        /* that is expected */
    size_t n_bags, n_rows;
    size_t *start; /* bag b holds id[start[b] .. start[b+1]) */
    pboost_id *id;
    char *text; /* of the ids */
} wire_question;

void pboost_wire_question_free(wire_question *q);

/* PBOOST_BAD_DATA says what is wrong with the body. */
pboost_status pboost_wire_read_question(wire_question *out, wire_format format,
                                        const unsigned char *body, size_t length,
                                        pboost_error *err);
/* Bytes that reading the question or list of rows in the body and answering it, with `width`
 * numbers a bag, may take, beside the body itself; known before anything is allocated. */
size_t pboost_wire_cost(wire_format format, const unsigned char *body, size_t length, size_t width);
/* Text ids if any id is text, numbers otherwise (the binary form has one kind). */
pboost_status pboost_wire_write_question(unsigned char **body, size_t *length, wire_format format,
                                         const wire_question *q, pboost_error *err);

/* Fills in a request id that depends on bags and ids alone: the same question is a retry. */
pboost_status pboost_wire_name_question(wire_question *q, pboost_error *err);

pboost_status pboost_wire_write_answer(unsigned char **body, size_t *length, wire_format format,
                                       const pboost_ledger_answer *answer, pboost_error *err);

typedef struct wire_answer {
    char request_id[PBOOST_ID_MAX + 1];
    char head[PBOOST_HEAD_TEXT];
    size_t n_bags;
    pboost_answer answer;
    size_t width;
    size_t *size;
    double *value; /* by bag, `width` each: mean, counts of classes, or means of columns */
    bool dp;
    pboost_rational epsilon;
} wire_answer;

void pboost_wire_answer_free(wire_answer *a);
pboost_status pboost_wire_read_answer(wire_answer *out, const unsigned char *body, size_t length,
                                      pboost_error *err); /* the binary form */

/* {"rows": ["id", ...]}: one bag without a request id. */
pboost_status pboost_wire_read_rows(wire_question *out, const unsigned char *body, size_t length,
                                    pboost_error *err);
pboost_status pboost_wire_write_rows(unsigned char **body, size_t *length, const pboost_id *id,
                                     size_t n, pboost_error *err);
/* {"available": ["id", ...]}: those of the rows asked about, in their order. */
pboost_status pboost_wire_write_available(unsigned char **body, size_t *length, const pboost_id *id,
                                          const bool *available, size_t n, pboost_error *err);
pboost_status pboost_wire_read_available(bool *available, const pboost_id *id, size_t n,
                                         const unsigned char *body, size_t length,
                                         pboost_error *err);

/* What a learner must know before it asks. */
typedef struct wire_config {
    pboost_rules rules;
    bool units;
    size_t unit_rows;
    size_t max_body; /* bytes of a question */
    pboost_sheet sheet;
    char names[PBOOST_LABEL_NAMES_TEXT]; /* of classes or label columns, one on each line */
    pboost_label_column column[PBOOST_LABEL_COLUMNS_MAX];
} wire_config;

/* The rules with `columns`, which borrows from its argument. */
pboost_rules pboost_wire_rules(const wire_config *config);

pboost_status pboost_wire_write_config(unsigned char **body, size_t *length,
                                       const wire_config *config, pboost_error *err);
pboost_status pboost_wire_read_config(wire_config *out, const unsigned char *body, size_t length,
                                      pboost_error *err);

/* The text of an id, at most 20 digits for a number. */
const char *pboost_wire_id_text(char room[24], const pboost_id *id);

#endif
