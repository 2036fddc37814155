/* priorboost/io.h — tables from files, features from tables, models to and from files.
 *
 * A table is what a CSV or NPY file holds.  An encoding is how its columns become features; it is
 * learnt on the training table and stored in the model, so that prediction sees the same features.
 */
#ifndef PRIORBOOST_IO_H
#define PRIORBOOST_IO_H

#include <stdio.h>

#include <priorboost/classes.h>
#include <priorboost/curves.h>
#include <priorboost/smooth.h>
#include <priorboost/sparse.h>

PBOOST_BEGIN

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef struct pboost_table pboost_table;

/* Rows that come from elsewhere than a file, such as the result of a query. */
typedef struct pboost_cell {
    const char *text; /* NULL: missing */
    size_t length;
    bool is_text; /* a text even if it looks like a number */
} pboost_cell;

typedef struct pboost_rows {
    void *self;
    /* Starts at the first row, also a second time.  The names last until the next start. */
    pboost_status (*start)(void *self, size_t *n_columns, const char *const **names,
                           pboost_error *err);
    /* The cells of the next row, which last until the next call; NULL after the last row. */
    pboost_status (*next)(void *self, const pboost_cell **cells, pboost_error *err);
} pboost_rows;

typedef struct pboost_table_options {
    size_t struct_size;
    const char *const *text; /* names of columns to read as text even if they look like numbers */
    size_t n_text;
    const char *const *numbers; /* names of columns to read as numbers; other cells are errors */
    size_t n_numbers;
    const char *const *missing; /* cells that are missing, beside the empty one and NA */
    size_t n_missing;
    const char *const *unused; /* columns whose cells are not kept, unless they are named above */
    size_t n_unused;
    bool only_named;             /* so are all columns that are not named above */
    const pboost_rows *rows;     /* where the rows come from, and path is only a name; NULL: file */
    const pboost_cancel *cancel; /* told about the stages "reading" and "encoding", so it must
                                    outlive the table; NULL: none */
    bool svmlight;               /* the files are, whatever their names */
    int index_base;              /* svmlight: the first index, 0 or 1, or PBOOST_INDEX_BASE_AUTO */
    size_t sparse_columns;       /* svmlight: of which there are so many; 0: as the files say */
} pboost_table_options;

/* 0 if there is an index 0 in the file (of a reader: in the first block), else 1. */
#define PBOOST_INDEX_BASE_AUTO (-1)

#define PBOOST_TABLE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pboost_table_options), NULL, 0, NULL, 0, NULL, 0, NULL, 0, false, NULL, NULL,       \
            false, PBOOST_INDEX_BASE_AUTO, 0                                                       \
    }

/* Reads a CSV (RFC 4180 with a header, UTF-8; comma, semicolon or tab, whichever the header has) or
 * an NPY file; the first bytes show which, and gzip and zstd files are unpacked.  "-" is standard
 * input.  If there is no file of that name, path may be a pattern ("part-*.csv") or several names
 * with commas between them: CSV files that have the same columns and become one table.  A file
 * whose name ends in .svm, .svmlight or .libsvm (before .gz or .zst) has sparse rows: see
 * pboost_table_entries.
 * options may be NULL.
 *
 * All cells of a column decide what it is.  It is a column of numbers if each cell is a number
 * (with a decimal comma if the separator is not a comma), missing, or a word such as "unknown" or
 * "?" that then counts as missing; otherwise it is text.  A few other words among many numbers are
 * errors when the column is used. */
pboost_status pboost_table_read(pboost_table **out, const char *path,
                                const pboost_table_options *options, pboost_error *err);
void pboost_table_free(pboost_table *table);

/* A column in memory: numbers (NaN: missing), or texts by their codes. */
typedef struct pboost_column_cells {
    const char *name;
    const double *number;     /* by row; NULL: it has texts */
    const uint32_t *code;     /* by row: a level; UINT32_MAX: missing */
    const char *const *level; /* "" and "NA" are missing cells, as in a file */
    size_t n_levels;
} pboost_column_cells;

/* A table from columns in memory, which are copied; messages call it `name`.  Cells that are texts
 * decide what their column is as those of a file do; in options->text are columns that are
 * categories whatever they look like.  options may be NULL. */
pboost_status pboost_table_from_columns(pboost_table **out, const char *name,
                                        const pboost_column_cells *columns, size_t n_columns,
                                        size_t rows, const pboost_table_options *options,
                                        pboost_error *err);

/* The same in blocks of rows, for tables that do not fit in memory.  The options must outlive the
 * reader.  Each block decides for itself what a column is that the options do not name.  A block
 * counts its rows from 0, but messages name the lines of the file. */
typedef struct pboost_table_reader pboost_table_reader;

pboost_status pboost_table_reader_open(pboost_table_reader **out, const char *path,
                                       const pboost_table_options *options, pboost_error *err);
/* The next block of at most `rows` rows, at least 1 (an NPY file in Fortran order is one block);
 * *out is NULL after the last.  It is the reader's, and lasts until the next call. */
pboost_status pboost_table_reader_next(const pboost_table **out, pboost_table_reader *reader,
                                       size_t rows, pboost_error *err);
void pboost_table_reader_close(pboost_table_reader *reader);

size_t pboost_table_rows(const pboost_table *table);
size_t pboost_table_cols(const pboost_table *table);
const char *pboost_table_name(const pboost_table *table, size_t col);
const char *pboost_table_path(const pboost_table *table);
/* The file that a row comes from. */
const char *pboost_table_row_path(const pboost_table *table, size_t row);
/* The line of a row in the file, for messages (NPY: the row, from 1). */
size_t pboost_table_line(const pboost_table *table, size_t row);

/* The number of a column; a missing name is an error that lists the columns. */
pboost_status pboost_table_find(size_t *col, const pboost_table *table, const char *name,
                                pboost_error *err);

bool pboost_table_is_text(const pboost_table *table, size_t col);

typedef enum pboost_column_kind {
    PBOOST_COLUMN_NUMBER,
    PBOOST_COLUMN_CATEGORY,
    PBOOST_COLUMN_DATE, /* every value is a date, such as 2024-03-31 or 31.03.2024 12:30 */
    PBOOST_COLUMN_ID,   /* text or whole numbers, all different, in 100 rows or more */
    PBOOST_COLUMN_EMPTY /* missing in every row */
} pboost_column_kind;

typedef struct pboost_column_info {
    pboost_column_kind kind;
    size_t missing;            /* cells, those below included */
    size_t words;              /* cells such as "unknown" that count as missing numbers */
    const char *word;          /* the first of them; "": none */
    bool decimal_comma;        /* numbers are written with one */
    size_t levels;             /* different values of text */
    double lower, upper, mean; /* of numbers; NaN: there are none */
    size_t offender;           /* first row whose cell does not fit the others; SIZE_MAX: none */
    const char *offending;     /* that cell */
} pboost_column_info;

/* What a column is, for people.  The texts are the table's. */
void pboost_table_describe(pboost_column_info *out, const pboost_table *table, size_t col);

/* The cells of a number column, NaN where missing (only with allow_missing).  Text, "nan", "inf"
 * and missing cells are errors that name file, line and column. */
pboost_status pboost_table_numbers(const double **out, const pboost_table *table, size_t col,
                                   bool allow_missing, pboost_error *err);

/* The same, but a cell that is text, "nan" or "inf" is NaN as well. */
pboost_status pboost_table_cells(const double **out, const pboost_table *table, size_t col,
                                 pboost_error *err);

/* A text column is a dictionary: cell (row, col) is level code[row], UINT32_MAX where missing.
 * Levels are numbered in order of appearance. */
const uint32_t *pboost_table_codes(const pboost_table *table, size_t col);
size_t pboost_table_n_levels(const pboost_table *table, size_t col);
const char *pboost_table_level(const pboost_table *table, size_t col, uint32_t code);
/* Whether a level is a finite number, and which. */
bool pboost_table_level_number(double *out, const pboost_table *table, size_t col, uint32_t code);

/* ---- Sparse rows ----------------------------------------------------------------------------- */

/* Whether a name ends in .svm, .svmlight or .libsvm, before .gz or .zst. */
bool pboost_names_svmlight(const char *name);

/* Sparse rows that own their memory. */
typedef struct pboost_entries {
    pboost_sparse x; /* what is below, borrowed */
    uint64_t *start;
    uint32_t *column;
    void *value;
} pboost_entries;

void pboost_entries_free(pboost_entries *entries);
/* Rows row[0 .. n) of a matrix, copied. */
pboost_status pboost_entries_gather(pboost_entries *out, const pboost_sparse *x, const size_t *row,
                                    size_t n, pboost_error *err);

/* The sparse rows of a table, borrowed from it. */
typedef struct pboost_table_sparse {
    pboost_sparse x;
    int index_base; /* of the file; x.column starts at 0 */
    size_t qids;    /* entries "qid:N", which are ignored */
} pboost_table_sparse;

/* The rows of an svmlight file, LABEL INDEX:VALUE ... # COMMENT; false: the table has none.  Its
 * other columns are "label" and "comment". */
bool pboost_table_entries(pboost_table_sparse *out, const pboost_table *table);

/* Some columns of a table, hashed: an entry for every cell, in one of 2^bits columns. */
typedef struct pboost_hash_column {
    char *name;
    bool number;        /* its entry is (cell - mean) / scale; a category's is 1 */
    double mean, scale; /* of a number, in the training table; scale is not 0 */
} pboost_hash_column;

typedef struct pboost_hash_cross {
    size_t a, b; /* two categories: an entry for each pair of values */
} pboost_hash_cross;

/* The entry of a category is that of the text NAME=VALUE (a missing cell: NAME=), that of a number
 * the one of NAME (a missing cell: NAME=, with 1).  A hash of the text gives the column and a sign,
 * by which the value is multiplied; entries that meet in a column are added.  Values are rounded to
 * floats. */
typedef struct pboost_hashing {
    unsigned bits; /* 1 to PBOOST_HASH_BITS; 0: nothing is hashed */
    size_t n_columns, n_crosses;
    pboost_hash_column *column;
    pboost_hash_cross *cross;
} pboost_hashing;

#define PBOOST_HASH_BITS 26

void pboost_hashing_free(pboost_hashing *hashing);

/* Learns mean and scale of the columns with use[col] (NULL: all).  A cross is text such as "a*b".
 */
pboost_status pboost_hashing_learn(pboost_hashing *out, const pboost_table *table, const bool *use,
                                   unsigned bits, const char *const *cross, size_t n_crosses,
                                   pboost_error *err);

/* The rows of the table.  A column that is missing, or is of another kind than in training, and a
 * cell that is not a number are errors. */
pboost_status pboost_hashing_apply(pboost_entries *out, const pboost_hashing *hashing,
                                   const pboost_table *table, pboost_error *err);

/* The column and the sign of a text: NAME of a number, NAME=VALUE, or A=VALUE*B=VALUE of a cross.
 * Other texts are refused (PBOOST_INVALID). */
pboost_status pboost_hashing_find(uint32_t *column, double *sign, const pboost_hashing *hashing,
                                  const char *text, pboost_error *err);

/* Columns of a hashed table by what is in them: name[i] (NULL: nothing) is the text of the first
 * entry of the table in column[i] and, if there are others, " and others"; free each with free().
 * sign[i], 1 or -1, is that of this entry.  Columns ascend. */
pboost_status pboost_hashing_names(char **name, double *sign, const uint32_t *column, size_t n,
                                   const pboost_hashing *hashing, const pboost_table *table,
                                   pboost_error *err);

/* ---- Encodings ------------------------------------------------------------------------------- */

/* What a date becomes: bits of pboost_feature.date. */
typedef enum pboost_date_part {
    PBOOST_DATE_DAYS = 1,    /* days since 1970-01-01, with the time as a fraction: a number */
    PBOOST_DATE_YEAR = 2,    /* a number */
    PBOOST_DATE_MONTH = 4,   /* one indicator per month but January */
    PBOOST_DATE_WEEKDAY = 8, /* one per day of the week but Monday */
    PBOOST_DATE_HOUR = 16    /* one per hour but the first */
} pboost_date_part;

/* Reads parts such as "days+month"; every part's name is listed where one is wrong. */
pboost_status pboost_date_parts_parse(unsigned *out, const char *text, pboost_error *err);

/* One source column and how it becomes features. */
typedef struct pboost_feature {
    char *name;
    size_t
        n_levels; /* 0: a number or date; otherwise a category with these levels, sorted by bytes */
    char **level; /* the first is the reference and gets no column of its own */
    bool impute;  /* missing numbers become `fill`, missing categories the reference level */
    double fill;  /* the mean of the training table; of a date in seconds since 1970 */
    bool winsorize; /* numbers outside lower .. upper become the nearer of the two */
    double lower, upper;
    bool other;         /* values that are no level share one more column, "city=(other)" */
    unsigned date;      /* pboost_date_part bits; 0: no date */
    pboost_curve curve; /* of its first column, a number; n_knots 0: none */
} pboost_feature;

typedef struct pboost_encoding {
    size_t n_features, n_columns;
    pboost_feature *feature;
    char **column;      /* names of the encoded columns: "age", "sex=Male", "day:month=2" */
    bool refuse_unseen; /* a category that was not in training is an error, not the reference */
    size_t n_curves;    /* the last columns are those of curves, "s(age).1", by feature */
} pboost_encoding;

void pboost_encoding_free(pboost_encoding *encoding);

typedef struct pboost_encoding_options {
    size_t struct_size;
    const bool *use;      /* by column of the table: it is a feature; NULL: all are */
    const unsigned *date; /* by column: the parts of a date; NULL: there are no dates */
    bool impute;          /* missing cells are filled, rather than errors */
    bool refuse_unseen;
    size_t max_levels; /* a category with more levels keeps those of at least 20 rows, 500 at most;
                          the other values share one column */
} pboost_encoding_options;

#define PBOOST_ENCODING_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(pboost_encoding_options), NULL, NULL, false, false, 100                             \
    }

/* Learns how columns become features: numbers as they are, text one-hot with the first level
 * dropped, dates by their parts. */
pboost_status pboost_encoding_learn(pboost_encoding *out, const pboost_table *table,
                                    const pboost_encoding_options *options, pboost_error *err);

/* Makes every number feature take no value further than z standard deviations from its mean, both
 * those of the table; z > 0.  A feature of two values is left alone. */
pboost_status pboost_encoding_winsorize(pboost_encoding *encoding, const pboost_table *table,
                                        double z, pboost_error *err);

/* Gives every number feature, and every date that has days or years, a curve of at most `columns`
 * columns (4 to PBOOST_CURVE_COLUMNS; 0: about 200 for all features together), made from the table;
 * call it after pboost_encoding_winsorize.  A number with fewer than 8 different values stays a
 * straight line. After a failure the encoding is as it was. */
pboost_status pboost_encoding_curve(pboost_encoding *encoding, const pboost_table *table,
                                    size_t columns, int threads, pboost_error *err);

/* Cells whose category was not in the training table, and the first of them. */
typedef struct pboost_unseen {
    size_t cells;
    size_t row, feature;
    const char *level; /* the table's */
} pboost_unseen;

/* x (rows of the table by n_columns, row-major) = the table's features.  A column that is missing
 * and a cell that is not a number are errors.  unseen may be NULL. */
pboost_status pboost_encoding_apply(double *x, pboost_unseen *unseen,
                                    const pboost_encoding *encoding, const pboost_table *table,
                                    pboost_error *err);
/* The same without the last n_curves columns, which pboost_encoding_bends says how to compute: with
 * x and them a pboost_curved has all columns. */
pboost_status pboost_encoding_apply_straight(double *x, pboost_unseen *unseen,
                                             const pboost_encoding *encoding,
                                             const pboost_table *table, pboost_error *err);
/* The same, and takes the numbers from the table: its columns get shorter while x is filled, so
 * that the two need the memory of one.  After that the table has none of these columns.  For large
 * tables x should be memory that was not used before. */
pboost_status pboost_encoding_take_straight(double *x, const pboost_encoding *encoding,
                                            pboost_table *table, pboost_error *err);
/* The curves, in the order of their columns, and which column each is a function of.  bend has room
 * for n_features; returns how many there are.  They are the encoding's. */
size_t pboost_encoding_bends(pboost_bend *bend, const pboost_encoding *encoding);
/* By column, which category it is a level of, as pboost_fit_options.category_of has it. */
void pboost_encoding_categories(size_t *category_of, const pboost_encoding *encoding);

/* ---- Columns for trees ----------------------------------------------------------------------- */

/* Trees split source columns, not encoded ones: a number, a category, or one part of a date. */
typedef struct pboost_source {
    size_t feature;
    const char *part; /* of a date, such as "month", a number; NULL: no date */
    size_t levels;    /* of a category, "(other)" included; 0: a number */
} pboost_source;

/* How many encoded columns a feature makes, without those of its curve. */
size_t pboost_feature_columns(const pboost_feature *feature);

/* The i-th source column; false where there are fewer. */
bool pboost_encoding_source(pboost_source *out, const pboost_encoding *encoding, size_t i);
/* How many there are. */
size_t pboost_encoding_n_sources(const pboost_encoding *encoding);

/* The source columns of a table.  The numbers of the table are borrowed from it. */
typedef struct pboost_sources {
    pboost_columns columns;
    void **block; /* by column: its cells, where they are not the table's */
} pboost_sources;

/* Reads the source columns of the encoding from a table: a number as it is, not winsorized, NaN
 * where it is missing; a category by the number of its level, with "(other)" after the last level
 * and UINT32_MAX where it is missing or was not seen in training; a date by its parts.  Errors are
 * those of pboost_encoding_apply.  unseen may be NULL. */
pboost_status pboost_sources_read(pboost_sources *out, pboost_unseen *unseen,
                                  const pboost_encoding *encoding, const pboost_table *table,
                                  pboost_error *err);
/* Makes the columns independent of the table, which may then be freed: those whose cells are all in
 * x (rows by cols, as pboost_encoding_apply, _apply_straight or _take_straight makes it, before or
 * after this call) refer to x, and the others, such as those with missing cells, become copies. */
pboost_status pboost_sources_own(pboost_sources *sources, const pboost_encoding *encoding,
                                 const double *x, size_t cols, pboost_error *err);
/* Rows row[0 .. n) of other columns, copied. */
pboost_status pboost_sources_gather(pboost_sources *out, const pboost_columns *columns,
                                    const size_t *row, size_t n, pboost_error *err);
void pboost_sources_free(pboost_sources *sources);

/* ---- Models ---------------------------------------------------------------------------------- */

/* How a model was trained; strings are owned and may be NULL if unknown. */
typedef struct pboost_training {
    char *algorithm, *estimator, *bags;
    size_t min_bag, rounds, rows_spent;
    pboost_rational epsilon; /* none: no noise */
    double l2;
    bool simulated;
    bool has_seed;
    uint64_t seed;
} pboost_training;

/* What the columns of a model of sparse rows are. */
typedef struct pboost_model_sparse {
    size_t columns;         /* that coef has weights of; 0: the model is none of sparse rows */
    int index_base;         /* of svmlight files: the index of the first column, 0 or 1 */
    pboost_hashing hashing; /* what makes the rows from a table; bits 0: they come as they are */
} pboost_model_sparse;

/* The classes of a model whose labels are one of them. */
typedef struct pboost_model_classes {
    size_t n;               /* 0: the model is none of classes */
    char **name;            /* by class; the first is the base */
    pboost_class_coef coef; /* in the units of the encoded columns */
} pboost_model_classes;

typedef struct pboost_model {
    pboost_family family; /* not used if the model is one of classes */
    pboost_encoding encoding;
    pboost_coef coef;   /* in the units of the encoded columns; n 0 if the model is a mixture */
    char *label;        /* name of the response; NULL where unknown */
    char *positive;     /* logistic: the text level that counts as 1; NULL: labels are 0 and 1 */
    char *offset;       /* name of the offset column; NULL: none */
    double *covariance; /* (n+1) x (n+1), the intercept last; of classes: pboost_class_weights
                           squared; NULL where unknown */
    pboost_training training;
    pboost_mixture mixture; /* trees, or the mean of several models; n 0: the GLM coef */
    pboost_model_sparse sparse;
    pboost_model_classes classes;
} pboost_model;

void pboost_model_free(pboost_model *model);

/* Versioned JSON, numbers in 17 digits.  Saving is atomic: the file is whole or not there. */
pboost_status pboost_model_save(const pboost_model *model, const char *path, pboost_error *err);
pboost_status pboost_model_load(pboost_model *out, const char *path, pboost_error *err);
/* The same from and to memory; free the text with free(). */
pboost_status pboost_model_parse(pboost_model *out, const char *text, size_t length,
                                 const char *name, pboost_error *err);
pboost_status pboost_model_print(char **out, const pboost_model *model, pboost_error *err);

/* Writes the model as an ONNX file (opset 13, ai.onnx.ml 3), whose inputs are columns by name:
 * numbers as doubles (NaN: missing), categories as text ("" or NA: missing), a date as one input of
 * doubles for each of its parts, such as "day:month", and the offset.  The output "prediction" is
 * the mean response.  "-" is standard output. */
pboost_status pboost_model_export_onnx(const pboost_model *model, const char *path,
                                       pboost_error *err);

/* ---- Curves ---------------------------------------------------------------------------------- */

/* effect[i] = what the linear predictor of a row with this number is above the average over the
 * knots of the feature's curve; se[i] its standard error, NaN where the model has no covariance.
 * The feature must have a curve (PBOOST_INVALID). */
pboost_status pboost_model_effect(double *effect, double *se, const pboost_model *model,
                                  size_t feature, const double *number, size_t n,
                                  pboost_error *err);

/* The weights of a curve in squared standard errors: theta' C^-1 theta.  Where the truth is a
 * straight line, it is about the curve's effective degrees of freedom; NaN without covariance. */
pboost_status pboost_model_bend(double *out, const pboost_model *model, size_t feature,
                                pboost_error *err);

/* ---- Output files ---------------------------------------------------------------------------- */

/* A file that appears under its name only when it is complete.  "-" is standard output; a device or
 * pipe is written as it is. */
typedef struct pboost_output pboost_output;

pboost_status pboost_output_open(pboost_output **out, const char *path, pboost_error *err);
FILE *pboost_output_stream(pboost_output *output);
/* Flushes, syncs and gives the file its name; frees output in any case. */
pboost_status pboost_output_commit(pboost_output *output, pboost_error *err);
/* Leaves no trace; NULL is fine. */
void pboost_output_discard(pboost_output *output);

PBOOST_END

#endif
