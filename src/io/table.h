/* The inside of a table, for the readers that fill it and the encoding that uses it. */
#ifndef PBOOST_TABLE_H
#define PBOOST_TABLE_H

#include <priorboost/io.h>

#include "dictionary.h"
#include "entries.h"
#include "source.h"

typedef enum {
    COLUMN_UNKNOWN, /* nothing but missing cells so far; held as numbers */
    COLUMN_NUMBER,
    COLUMN_TEXT
} column_kind;

enum { SHOWN_BYTES = 48, PLACE_BYTES = 224 };

/* A value as messages show it: short, in one line, cut between characters. */
typedef struct shown {
    char text[SHOWN_BYTES];
} shown;

shown pboost_shown(const char *text, size_t n);
shown pboost_shown_text(const char *text);

typedef struct column {
    const char *name; /* in the table's dictionary of names; set when the table is finished */
    column_kind kind;
    column_kind asked; /* what the caller said; COLUMN_UNKNOWN: nothing */
    bool forced;       /* the caller said what kind it is */
    bool skipped;      /* nobody asked for it: no cell is kept */
    double *number;    /* by row; NaN where missing */
    uint32_t *code;    /* by row; DICTIONARY_NONE where missing.  While a column of numbers is read,
                        * its words: cells that are no number */
    dictionary levels;
    size_t n_missing, first_missing; /* rows */
    size_t offender;                 /* first row whose cell cannot be a number; SIZE_MAX: none */
    bool offender_text;              /* it is text, rather than a number that is not finite */
    shown offender_cell;             /* what it is */
    size_t n_words;                  /* cells such as "unknown" that count as missing numbers */
    shown word;                      /* the first of them */
    size_t n_commas, n_points;       /* numbers written with a decimal comma, a decimal point; both
                                      * are counted only where the separator is no comma */
    bool read_again;                 /* numbers and words are mixed: it is text */
    bool date;                       /* text of which every level is a date */
} column;

/* From row `row` on, a row stands `shift` lines further down than it would without line breaks in
 * cells and blank lines. */
typedef struct line_mark {
    size_t row, shift;
} line_mark;

/* A file of the table and its first row. */
typedef struct table_part {
    char *path;
    size_t first_row;
} table_part;

/* The sparse rows of an svmlight file (svm.c). */
typedef struct svm_rows {
    entry_list list;        /* while it is read, by the indices of the file */
    pboost_entries entries; /* when it is finished */
    int base;               /* the first index; PBOOST_INDEX_BASE_AUTO: not yet known */
    size_t columns;         /* that there may be; 0: any number */
    uint32_t largest;       /* index so far */
    bool zero;              /* there was an index 0 */
    uint32_t last;          /* index of this row, unless row_begins */
    bool row_begins;
    size_t qids; /* that were ignored */
} svm_rows;

struct pboost_table {
    char *path;       /* as it was asked for: a file, or a pattern of several */
    table_part *part; /* the files */
    size_t n_parts;
    bool is_array; /* NPY: places are rows, not lines */
    size_t rows, cols, capacity, cols_capacity;
    column *column;
    dictionary names;
    line_mark *mark;
    size_t n_marks, marks_capacity;
    const pboost_table_options *options; /* while it is read; may be NULL */
    const pboost_cancel *cancel;         /* told how far work on it is; may be NULL */
    bool comma_separates;                /* then no number has a decimal comma */
    bool read_again;                     /* some columns of numbers turned out to be text */
    svm_rows *svm;                       /* NULL: the file was no svmlight file */
};

/* "data.csv:17", or "data.npy: row 17". */
typedef struct place {
    char text[PLACE_BYTES];
} place;

place pboost_place(const pboost_table *table, size_t row);

pboost_status pboost_table_create(pboost_table **out, const char *path, pboost_error *err);

/* Removes the rows and keeps the columns; `open`: the last file is not yet at its end. */
void pboost_table_clear(pboost_table *table, bool open);

void pboost_table_progress(const pboost_table *table, const char *stage, double done, double total);

/* Says that the rows from here on are those of this file. */
pboost_status pboost_table_add_part(pboost_table *table, const char *path, pboost_error *err);

/* Adds a column, of the kind that the options ask for; the table has no rows yet.  A name that is
 * already there is an error. */
pboost_status pboost_table_add_column(pboost_table *table, const char *name, size_t n,
                                      pboost_error *err);

/* Room for `rows` rows in every column. */
pboost_status pboost_table_reserve(pboost_table *table, size_t rows, pboost_error *err);

/* Says that row stands `shift` lines further down than usual; rows come in order. */
pboost_status pboost_table_mark_line(pboost_table *table, size_t row, size_t shift,
                                     pboost_error *err);

/* Set the cell of a row for which there is room. */
void pboost_column_put_missing(column *c, size_t row);
pboost_status pboost_column_put_text(pboost_table *table, column *c, size_t row, const char *text,
                                     size_t n, pboost_error *err);
/* The same with the type that a database gives it. */
pboost_status pboost_column_put_cell(pboost_table *table, column *c, size_t row,
                                     const pboost_cell *cell, pboost_error *err);

/* Settles what each column is and gives back room that was not needed. */
void pboost_table_finish(pboost_table *table);

/* ---- What a column is (types.c) -------------------------------------------------------------- */

/* Whether a cell among numbers stands for a missing one: "unknown", "?". */
bool pboost_means_missing(const char *text, size_t n);

/* A number with a decimal comma, such as "1,5". */
bool pboost_comma_parse(double *out, const char *text, size_t n);

/* Says that the column has a cell that does not fit the others, and what can be done about it. */
pboost_status pboost_refuse_offender(const pboost_table *table, const column *c, pboost_error *err);

/* Decides from all cells what the column is. */
void pboost_column_settle(pboost_table *table, column *c);

/* Where rows come from. */
typedef struct table_format {
    /* Reads what stands before the rows; a table that has columns already must have these. */
    pboost_status (*open)(void **out, pboost_table *table, source *src, pboost_error *err);
    /* Adds rows until the table has `end` of them, or *over: there are no more. */
    pboost_status (*rows)(void *self, size_t end, bool *over, pboost_error *err);
    void (*close)(void *self);
} table_format;

extern const table_format PBOOST_CSV;
extern const table_format PBOOST_SVM;
extern const table_format PBOOST_NPY;  /* the one file of a table */
extern const table_format PBOOST_ROWS; /* options->rows; the source is NULL */

/* The sparse rows of a table: an end to those of a block, the next block, none any more. */
pboost_status pboost_svm_finish(svm_rows *s, pboost_error *err);
void pboost_svm_clear(svm_rows *s);
void pboost_svm_free(svm_rows *s); /* NULL is fine */

/* pboost_table_read from any source. */
pboost_status pboost_table_read_source(pboost_table **out, source *src,
                                       const pboost_table_options *options, pboost_error *err);

#endif
