/* priorboost/ledger.h — the label holder's store: labels, rules, and a durable record of every
 * answer.
 *
 * A store is one SQLite file or one PostgreSQL database.  It keeps the labels, the rules that were
 * fixed when it was made, who may ask, and a hash-chained ledger of what was answered.  A row
 * enters at most one answered bag, ever; constraints of the database guarantee this, so any number
 * of processes may use one store at the same time.
 *
 * Conventions are those of core.h.  A question that a rule forbids returns PBOOST_REFUSED, spends
 * nothing, and the reply names the problem and what caused it.  No message ever holds a label or a
 * sum without noise.
 *
 * Threads: all calls on one ledger may be made from any thread; it does one thing at a time.
 *
 * Failure: if it is not certain what the store has kept (a write or fsync failed), or if others
 * exchanged or edited it, the ledger is broken: every later call fails with PBOOST_ORACLE and
 * pboost_ledger_broken() is true.  The process must end; a new one continues from what is on the
 * disk.
 */
#ifndef PRIORBOOST_LEDGER_H
#define PRIORBOOST_LEDGER_H

#include <priorboost/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Why a question was refused -------------------------------------------------------------- */

typedef enum pboost_problem {
    PBOOST_PROBLEM_NONE = 0,
    PBOOST_PROBLEM_MALFORMED,       /* no bags, an empty or over-long request id or row id */
    PBOOST_PROBLEM_TOKEN_INVALID,   /* unknown or revoked */
    PBOOST_PROBLEM_TOKEN_EXPIRED,   /* it was valid once */
    PBOOST_PROBLEM_TOKEN_ROLE,      /* only a learner's token can ask, only an approver's approve */
    PBOOST_PROBLEM_LEDGER_ROLLBACK, /* the client has seen a head that this store never had */
    PBOOST_PROBLEM_REQUEST_CONFLICT, /* the request id was used for another question */
    PBOOST_PROBLEM_BAG_TOO_SMALL,    /* offenders are bags */
    PBOOST_PROBLEM_DUPLICATE_ROW,    /* a row is named twice in the request */
    PBOOST_PROBLEM_UNKNOWN_ROW, /* unknown, unlabelled or outside the scope: the reply is the same
                                 */
    PBOOST_PROBLEM_ROW_SPENT,
    PBOOST_PROBLEM_UNIT_REPEATED,      /* a bag holds two rows of one unit */
    PBOOST_PROBLEM_UNIT_SPENT,         /* the unit has been in as many answered bags as it may */
    PBOOST_PROBLEM_QUOTA_EXCEEDED,     /* the token has too few rows left */
    PBOOST_PROBLEM_TOKEN_PENDING,      /* it waits for approval, or its approval is not valid */
    PBOOST_PROBLEM_UNKNOWN_TOKEN,      /* no token of this name */
    PBOOST_PROBLEM_NOT_PENDING,        /* it does not wait for approval */
    PBOOST_PROBLEM_OWN_TOKEN,          /* its creator cannot approve it, nor a younger approver */
    PBOOST_PROBLEM_REFUSAL_LIMIT,      /* refusals have named as many rows in an hour as they may */
    PBOOST_PROBLEM_ANSWER_KIND,        /* the question does not expect what this store answers */
    PBOOST_PROBLEM_REQUEST_INCOMPLETE, /* a crash came between the commits of several stores: its
                                          rows are spent and it has no answer */
    PBOOST_PROBLEMS
} pboost_problem;

typedef struct pboost_problem_info {
    pboost_problem problem;
    const char *name;  /* stable: "bag-too-small" */
    const char *title; /* for people */
    int http_status;
    bool of_bags; /* offenders are bags rather than rows */
} pboost_problem_info;

const pboost_problem_info *pboost_problem_describe(pboost_problem problem);

/* ---- Stores ---------------------------------------------------------------------------------- */

typedef struct pboost_ledger pboost_ledger;

enum { PBOOST_STORE_VERSION = 3 };     /* of the stores that this program makes and opens */
enum { PBOOST_SCOPE_ROWS_TEXT = 512 }; /* bytes, with the final zero */
enum { PBOOST_STORES_MAX = 64, PBOOST_ORACLE_TEXT = 33 };
enum { PBOOST_LABEL_NAMES_TEXT = 4096, PBOOST_LABEL_COLUMNS_MAX = 32 };
/* The epsilon of a row (or of a unit: unit_rows times it) above which noise protects almost
 * nothing. */
enum { PBOOST_EPSILON_MOST = 10 };
#define PBOOST_WEAK_WORDS "labels can be guessed" /* by which the label holder says so */

/* The data sheet: what learners can read about the labels, beside the rules. */
enum { PBOOST_SHEET_LABEL, PBOOST_SHEET_OWNER, PBOOST_SHEET_PURPOSE, PBOOST_SHEET_CONTACT };
#define PBOOST_SHEET_NAMES                                                                         \
    {                                                                                              \
        "label", "owner", "purpose", "contact"                                                     \
    }
enum { PBOOST_SHEET_FIELDS = 4, PBOOST_SHEET_TEXT = 201 }; /* bytes, with the final zero */

typedef struct pboost_sheet {
    char text[PBOOST_SHEET_FIELDS][PBOOST_SHEET_TEXT]; /* one line of UTF-8 each; "": not given */
} pboost_sheet;

pboost_status pboost_sheet_set(pboost_sheet *sheet, size_t field, const char *text,
                               pboost_error *err);

/* What the label holder fixes when the store is made; none of it can change later. */
typedef struct pboost_ledger_rules {
    size_t struct_size;
    pboost_rules rules;     /* bounded, min_bag >= 2, not round */
    bool no_noise;          /* true if and only if epsilon is none */
    bool weak_privacy;      /* true if and only if a row or unit may lose more than
                               PBOOST_EPSILON_MOST */
    bool units;             /* rows belong to units (a person with several rows) */
    size_t unit_rows;       /* a unit enters at most this many answered bags */
    unsigned claim_seconds; /* longest wait for other users of the store */
    /* "A=2,B=1": how many of a unit's answered bags each scope may have; "": a unit's rows lie in
     * one scope, which may have all. */
    char scope_rows[PBOOST_SCOPE_ROWS_TEXT];
    pboost_sheet sheet;
    bool require_approval; /* learners' tokens are pending until an approver approves them */
    /* The names of the classes or of the label columns, one on each line; "": they have none.  Two
     * classes are those of a mean of labels 0 and 1. */
    char names[PBOOST_LABEL_NAMES_TEXT];
    pboost_label_column
        column[PBOOST_LABEL_COLUMNS_MAX]; /* of label columns; rules.columns is NULL */
    /* An oracle may have its rows in several stores: this is number `store`, from 1, of `stores`,
     * and `oracle` is the same in all of them.  0, 0 and "": it is the only one. */
    size_t store, stores;
    char oracle[PBOOST_ORACLE_TEXT];
} pboost_ledger_rules;

#define PBOOST_LEDGER_RULES_INIT                                                                   \
    {                                                                                              \
        sizeof(pboost_ledger_rules), PBOOST_RULES_INIT, false, false, false, 1, 30, "", {{""}},    \
            false, "", {{0.0, 0.0, 0.0, 0}}, 0, 0, ""                                              \
    }

/* The rules with `columns`, which borrows from its argument. */
pboost_rules pboost_ledger_rules_core(const pboost_ledger_rules *rules);

typedef struct pboost_ledger_options {
    size_t struct_size;
    const char *key_file; /* NULL: FILE.key beside a SQLite file; for PostgreSQL by the store's id
                             in the user's state directory: see docs/operating.md */
    const char *witness_file; /* NULL: FILE.witness, or there */
    bool inspect; /* to look at a store that may be damaged or old: what is wrong with its witness
                     or entries is not refused but found by an audit, and nothing may be changed */
    bool without_labels; /* leave labels and rows on the disk: tokens, status, audit, export */
    int64_t (*now)(void *user); /* seconds since 1970; NULL: the system's clock.  Only the expiry of
                                   tokens and the limit of refusals depend on it */
    void *user;
    uint64_t refusal_rows; /* rows that refusals may name to a token in an hour; a refusal that
                              names none counts as one.  0: any number */
    bool check_standbys;   /* refuse a database that may fail over to a server which has not kept
                              every answer */
} pboost_ledger_options;

#define PBOOST_LEDGER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pboost_ledger_options), NULL, NULL, false, false, NULL, NULL, 0, false              \
    }

/* Makes a new store at "sqlite:FILE", "FILE", or "postgresql://...", its key file and its witness.
 * Existing ones are refused.  options may be NULL. */
pboost_status pboost_ledger_create(const char *store, const pboost_ledger_rules *rules,
                                   const pboost_ledger_options *options, pboost_error *err);

/* Brings a store of an older version forward, in one transaction; *from gets the version it had.
 * A store that is of this version already is left as it is.  One that is not sound is refused. */
pboost_status pboost_ledger_upgrade(int *from, const char *store,
                                    const pboost_ledger_options *options, pboost_error *err);

/* What a restore did. */
typedef struct pboost_restored {
    size_t lost;    /* entries that the store does not know */
    size_t burned;  /* rows that it spent */
    size_t erased;  /* labels */
    size_t revoked; /* tokens */
    size_t imports; /* that are lost, and must be repeated */
    size_t banned;  /* rows of them that are spent or erased, and cannot be imported again */
} pboost_restored;

/* After a backup was put in the place of a store: spends the rows that were answered since, by what
 * the witness says, and repeats erasures and revocations.  without_witness, where it is lost:
 * spends every row, revokes every token and begins a new witness.  Nobody may be using the store.
 */
pboost_status pboost_ledger_restore(pboost_restored *out, const char *store,
                                    const pboost_ledger_options *options, bool without_witness,
                                    pboost_error *err);

/* Opens a store and reads its labels into memory; options may be NULL.  A store that is older than
 * its witness is refused, and one whose claims, tokens or names are not what its chain says. */
pboost_status pboost_ledger_open(pboost_ledger **out, const char *store,
                                 const pboost_ledger_options *options, pboost_error *err);
void pboost_ledger_close(pboost_ledger *ledger);

/* ---- Several stores -------------------------------------------------------------------------- */

/* Makes n >= 1 empty stores of one oracle, with the same rules.  options has one for each store.
 * Where one cannot be made, the message says which ones were. */
pboost_status pboost_ledger_create_all(const char *const *store, size_t n,
                                       const pboost_ledger_rules *rules,
                                       const pboost_ledger_options *options, pboost_error *err);

/* Opens them, in any order, as one ledger.  A row lies in the store that its id says, or its unit
 * where there are units.  A bag may have rows of several stores; its answer is one sum with one
 * draw of noise.  The first store has the tokens, the refusals and the replies; every store has its
 * own rows, claims, chain, key and witness.  Refused: stores of different oracles or rules, one
 * that is given twice.  Where some are missing, all but questions can be done with those that are
 * there. */
pboost_status pboost_ledger_open_all(pboost_ledger **out, const char *const *store, size_t n,
                                     const pboost_ledger_options *options, pboost_error *err);

/* Fails where stores are missing. */
pboost_status pboost_ledger_check_whole(const pboost_ledger *ledger, pboost_error *err);

const pboost_ledger_rules *pboost_ledger_get_rules(const pboost_ledger *ledger);

/* Whether the process must end (see above). */
bool pboost_ledger_broken(const pboost_ledger *ledger);
const char *pboost_ledger_why_broken(const pboost_ledger *ledger); /* "": it is not */

/* ---- Rows and labels ------------------------------------------------------------------------- */

enum { PBOOST_ID_MAX = 255 }; /* bytes of an id, of a request id, of a token's name or scope */

/* The id of a row or unit: `text` if it is not NULL, `number` otherwise.  The text "12" and the
 * number 12 are the same id; "012" is another. */
typedef struct pboost_id {
    const char *text;
    int64_t number;
} pboost_id;

typedef struct pboost_import {
    size_t struct_size;
    size_t n;
    const pboost_id *id;
    const double *label;    /* by row: a number, or that of its class; or its label columns */
    const pboost_id *unit;  /* needed exactly when the rules have units */
    const pboost_id *scope; /* the group of tokens that may ask about the row; NULL: none */
    bool clamp;             /* move labels outside the bounds to the nearest bound */
    bool replace_bad;       /* take a label that is not finite, or outside the bounds without clamp,
                               in as bad_label: a public value within the bounds */
    double bad_label;
    bool (*progress)(void *user, size_t done, size_t total); /* false stops it; may be NULL */
    void *user;
} pboost_import;

#define PBOOST_IMPORT_INIT                                                                         \
    {                                                                                              \
        sizeof(pboost_import), 0, NULL, NULL, NULL, NULL, false, false, 0, NULL, NULL              \
    }

typedef struct pboost_import_report {
    size_t rows;          /* that are now in the store and were not before */
    size_t clamped;       /* labels moved to a bound */
    size_t replaced;      /* bad labels taken in as bad_label */
    size_t bad_row;       /* the row that was refused; SIZE_MAX: none */
    const char *bad_part; /* what of that row: "id", "label", "unit" or "scope" */
    size_t bad_column;    /* which label, where bad_part is "label" */
} pboost_import_report;

/* Adds rows; all or none.  A row that is already in the store or twice in the import is refused,
 * and so is a bad label unless replace_bad says what to take it for.  Rows must not be left out
 * because of their labels: whether a row can be asked about would then tell its label.  Servers on
 * the same store see the new rows. */
pboost_status pboost_ledger_import(pboost_import_report *out, pboost_ledger *ledger,
                                   const pboost_import *import, pboost_error *err);

typedef struct pboost_erasure {
    size_t struct_size;
    const pboost_id *id; /* these rows */
    size_t n;
    const pboost_id *unit; /* and all rows of these units */
    size_t n_units;
} pboost_erasure;

#define PBOOST_ERASURE_INIT                                                                        \
    {                                                                                              \
        sizeof(pboost_erasure), NULL, 0, NULL, 0                                                   \
    }

/* Erases the labels and ids of these rows, and the ids of units all of whose rows are erased; the
 * rows count as spent, and their ids cannot be imported again.  All or none; *forgotten gets how
 * many were not erased before.  When it returns PBOOST_OK, their bytes are in no file of the store;
 * if another process is in the way of that it fails with PBOOST_ORACLE, and the same call is to be
 * made again. */
pboost_status pboost_ledger_forget(size_t *forgotten, pboost_ledger *ledger,
                                   const pboost_erasure *erasure, pboost_error *err);

/* Makes a new label key in the key file, encrypts all labels with it and removes the older keys
 * from the file.  After a failure or a crash the store can be used as before, and it can be done
 * again. *rows gets how many labels there are, *key the number of the new key. */
pboost_status pboost_ledger_rekey(size_t *rows, uint32_t *key, pboost_ledger *ledger,
                                  pboost_error *err);

/* ---- Tokens ---------------------------------------------------------------------------------- */

typedef enum pboost_role {
    PBOOST_LEARNER,  /* asks */
    PBOOST_OPERATOR, /* monitors */
    PBOOST_AUDITOR,  /* reads the ledger; makes nothing, asks nothing */
    PBOOST_APPROVER, /* approves tokens */
    PBOOST_ROLES
} pboost_role;

const char *pboost_role_name(pboost_role role);            /* "learner" */
bool pboost_role_read(pboost_role *out, const char *name); /* false: there is no such role */
#define PBOOST_MAY(role) (1u << (role))                    /* a set of roles is the sum of these */

/* A pending token waits for approval and can do nothing. */
typedef enum pboost_token_state {
    PBOOST_TOKEN_PENDING,
    PBOOST_TOKEN_ACTIVE,
    PBOOST_TOKEN_REVOKED,
    PBOOST_TOKEN_STATES
} pboost_token_state;

const char *pboost_token_state_name(pboost_token_state state); /* "pending" */

enum { PBOOST_TOKEN_TEXT = 48, PBOOST_HEAD_TEXT = 65 }; /* bytes, with the final zero */
enum { PBOOST_SEAL = 32, PBOOST_PUBLIC_KEY = 32, PBOOST_SIGNATURE = 64 };
enum { PBOOST_PUBLIC_KEY_TEXT = 65, PBOOST_SIGNATURE_TEXT = 129, PBOOST_REGISTRATION_TEXT = 129 };

typedef struct pboost_token_options {
    size_t struct_size;
    const char *name; /* unique, also among revoked ones */
    pboost_role role;
    int64_t expires;   /* seconds since 1970; 0: never */
    uint64_t max_rows; /* rows it may ever have answered; 0: any number */
    const char *scope; /* only rows imported with this scope; NULL: all rows */
    bool pending;      /* it waits for approval, also where the store does not require that */
    const char
        *creator; /* secret of the operator's or approver's token that makes it; NULL: none */
    const char *registration;  /* what pboost_token_prepare gave its holder; NULL: make a secret */
    struct pboost_token *made; /* gets the token; may be NULL */
} pboost_token_options;

#define PBOOST_TOKEN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pboost_token_options), NULL, PBOOST_LEARNER, 0, 0, NULL, false, NULL, NULL, NULL    \
    }

typedef struct pboost_token {
    int64_t id;
    char name[PBOOST_ID_MAX + 1];
    pboost_role role;
    int64_t created, expires;
    uint64_t max_rows, rows_used;
    bool scoped;
    char scope[PBOOST_ID_MAX + 1];
    pboost_token_state state;
    char created_by[PBOOST_ID_MAX + 1];  /* name of a token; "": the label holder's command line */
    char approved_by[PBOOST_ID_MAX + 1]; /* name of an approver; "": nobody */
    unsigned char hash[32];              /* of its secret */
    unsigned char public_key[PBOOST_PUBLIC_KEY]; /* of an approver: verifies its approvals */
    unsigned char approval[PBOOST_SIGNATURE];    /* by approved_by */
} pboost_token;

/* A secret of 256 random bits for the holder of a token to come, made without a store, and what the
 * label holder registers of it: its hash and public key, in hex, which do not tell the secret. */
pboost_status pboost_token_prepare(char secret[PBOOST_TOKEN_TEXT],
                                   char registration[PBOOST_REGISTRATION_TEXT], pboost_error *err);

/* Makes a token of 256 random bits.  The store keeps only its hash: secret is shown here, once.  It
 * is "" where the holder has prepared it. */
pboost_status pboost_token_create(char secret[PBOOST_TOKEN_TEXT], pboost_ledger *ledger,
                                  const pboost_token_options *options, pboost_error *err);
/* All tokens by age; free the array with free(). */
pboost_status pboost_token_list(pboost_token **out, size_t *n, pboost_ledger *ledger,
                                pboost_error *err);
pboost_status pboost_token_revoke(pboost_ledger *ledger, const char *name, pboost_error *err);

/* Approves a pending token with the secret of an approver other than its creator.  PBOOST_REFUSED
 * with *problem where that may not be. */
pboost_status pboost_token_approve(pboost_token *out, pboost_problem *problem,
                                   pboost_ledger *ledger, const char *name, const char *secret,
                                   pboost_error *err);

/* Whose secret this is.  PBOOST_REFUSED with *problem TOKEN_INVALID, _EXPIRED, _PENDING or _ROLE
 * (none of these roles) otherwise.  The time taken does not depend on how much of a guess is right.
 */
pboost_status pboost_token_authenticate(pboost_token *out, pboost_problem *problem,
                                        pboost_ledger *ledger, const char *secret, unsigned roles,
                                        pboost_error *err);

/* How many answered bags a unit may be in for this token: the share of its scope, or all. */
size_t pboost_ledger_unit_rows(const pboost_ledger *ledger, const pboost_token *token);

/* ---- Questions ------------------------------------------------------------------------------- */

/* What was answered, for rendering. */
typedef struct pboost_ledger_answer {
    const char *request_id;
    size_t n_bags;
    const size_t *size; /* by bag: rows in it */
    pboost_answer answer;
    size_t width;
    /* By bag, `width` each: the mean (S + Z) q / s, the noisy counts of the classes, or the means
     * of the label columns. */
    const double *value;
    bool dp; /* false: no noise was added and nothing is claimed */
    pboost_rational epsilon;
    const char *head; /* of the chain, this answer included */
} pboost_ledger_answer;

/* Turns an answer into the bytes that are sent, stored, and sent again at every retry.  Allocates
 * *body with malloc.  Called inside the transaction: if it fails, nothing is spent. */
typedef pboost_status pboost_render(void *user, unsigned char **body, size_t *length,
                                    const pboost_ledger_answer *answer, pboost_error *err);

typedef struct pboost_question {
    size_t struct_size;
    const pboost_token *token; /* as authenticated */
    const char *request_id;    /* 1 .. PBOOST_ID_MAX bytes; each token has its own */
    size_t n_bags;
    const size_t *start; /* bag b holds id[start[b] .. start[b+1]); start[0] is 0 */
    const pboost_id *id;
    const char *head;      /* last head the client has seen, in hex; NULL or "": none */
    uint32_t format;       /* of the reply; a retry in another format is another question */
    pboost_render *render; /* NULL: values as little-endian doubles, then the head's 32 bytes */
    void *user;
    pboost_answer answer; /* what the learner expects; refused if the store answers otherwise */
} pboost_question;

#define PBOOST_QUESTION_INIT                                                                       \
    {                                                                                              \
        sizeof(pboost_question), NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL,                   \
            PBOOST_ANSWER_MEAN                                                                     \
    }

enum { PBOOST_MAX_OFFENDERS = 1000 };

typedef struct pboost_reply {
    unsigned char *body; /* what render made, at the first time of asking */
    size_t length;
    uint32_t format;
    bool retried; /* it had been answered before: nothing was spent now */
    pboost_problem problem;
    size_t n_offenders, n_listed; /* all, and those listed: at most PBOOST_MAX_OFFENDERS */
    size_t *offender;             /* positions in the question's id array, or numbers of bags */
    unsigned retry_after;         /* with REFUSAL_LIMIT: seconds until the next hour */
} pboost_reply;

/* One transaction: claims the rows, sums, draws noise, stores the reply's bytes and appends to the
 * chain.  Returns only after that is durable.  The same question under the same request id always
 * gets the same bytes.  PBOOST_REFUSED with out->problem where a rule forbids it. */
pboost_status pboost_ledger_ask(pboost_reply *out, pboost_ledger *ledger,
                                const pboost_question *question, pboost_error *err);
void pboost_reply_free(pboost_reply *reply);

/* The stored reply to this token's request id; *found says whether there is one.  Its length is
 * known at a small cost before it is read. */
pboost_status pboost_ledger_find(pboost_reply *out, bool *found, pboost_ledger *ledger,
                                 const pboost_token *token, const char *request_id,
                                 pboost_error *err);
pboost_status pboost_ledger_find_length(size_t *out, pboost_ledger *ledger,
                                        const pboost_token *token, const char *request_id,
                                        pboost_error *err); /* 0: there is none */

/* available[i]: the token may still ask about id[i].  Unknown, spent and forbidden rows give the
 * same result. */
pboost_status pboost_ledger_available(bool *available, pboost_ledger *ledger,
                                      const pboost_token *token, const pboost_id *id, size_t n,
                                      pboost_error *err);

/* ---- Watching -------------------------------------------------------------------------------- */

typedef struct pboost_ledger_status {
    uint64_t rows;      /* ever imported */
    uint64_t spent;     /* used in an answer, or forgotten */
    uint64_t forgotten; /* erased on request */
    uint64_t answers;   /* questions answered */
    uint64_t bags;      /* in them */
    uint64_t entries;   /* of the chain */
    char head[PBOOST_HEAD_TEXT];
    const char *store; /* "sqlite" or "postgresql" */
} pboost_ledger_status;

pboost_status pboost_ledger_get_status(pboost_ledger_status *out, pboost_ledger *ledger,
                                       pboost_error *err);

/* *most: the largest number of answered bags that a row, or unit, was in; times epsilon, it is what
 * the labels of one row or unit have lost.  by_token[i]: the same for the answers to token[i]
 * alone, all of pboost_token_list.  It reads every use of a unit. */
pboost_status pboost_ledger_uses(uint64_t *most, uint64_t *by_token, pboost_ledger *ledger,
                                 const pboost_token *token, size_t n, pboost_error *err);

typedef struct pboost_ledger_entry {
    uint64_t number;  /* from 0 */
    const char *kind; /* "init", "import", "answer", "forget", "token", "approve", "revoke",
                         "upgrade", "burn", "burn-all", "restore", "rekey"; "claim": rows of an
                         answer that another store has */
    int64_t time;     /* seconds since 1970, by the clock of then */
    const char *token, *request_id; /* of an answer; of tokens the name; NULL otherwise */
    uint64_t rows, bags;
    char head[PBOOST_HEAD_TEXT]; /* of the chain, this entry included */
    const unsigned char *data;   /* what the head hashes, beside number, kind, time and the last */
    size_t data_length;
    const unsigned char *seal; /* 32 bytes: hash of the reply's body */
} pboost_ledger_entry;

/* Visits at most `most` entries in order, from number `first`; false ends the visit.  Visitors must
 * not call the ledger. */
typedef bool pboost_entry_visit(void *user, const pboost_ledger_entry *entry);
pboost_status pboost_ledger_entries(pboost_ledger *ledger, uint64_t first, uint64_t most,
                                    pboost_entry_visit *visit, void *user, pboost_error *err);

/* Visits claimed rows in order of import, with the entry that claimed each; id is NULL where it was
 * erased. */
typedef bool pboost_claim_visit(void *user, const char *id, uint64_t entry);
pboost_status pboost_ledger_claims(pboost_ledger *ledger, pboost_claim_visit *visit, void *user,
                                   pboost_error *err);

/* What was refused: by token, hour and problem; kept for 90 days. */
typedef struct pboost_refusal {
    const char *token, *problem; /* names */
    int64_t hour, last;          /* when the hour began, and the last refusal in it */
    uint64_t count;              /* rows that were named, and refusals that named none */
} pboost_refusal;

/* Visits what was refused since then, the last first. */
typedef bool pboost_refusal_visit(void *user, const pboost_refusal *refusal);
pboost_status pboost_ledger_refusals(pboost_ledger *ledger, int64_t since,
                                     pboost_refusal_visit *visit, void *user, pboost_error *err);

/* Whether the chain has ever had this head (in hex), such as one that a learner was given. */
pboost_status pboost_ledger_knows(bool *out, pboost_ledger *ledger, const char *head,
                                  pboost_error *err);

typedef struct pboost_audit {
    uint64_t entries, answers, rows, bags; /* that were checked */
    uint64_t rows_imported;                /* that are there as they came, labels aside */
    uint64_t sums;        /* bags whose sum could be computed again: no noise, nothing forgotten */
    uint64_t interrupted; /* claims in other stores without an answer: a crash came between the
                             commits, and their rows stay spent */
    uint64_t problems;    /* found */
    char first_problem[256];
} pboost_audit;

/* Verifies the chain and computes again what can be computed.  Damage is a result, not an error. */
pboost_status pboost_ledger_audit(pboost_audit *out, pboost_ledger *ledger, pboost_error *err);

/* ---- Audit files ----------------------------------------------------------------------------- */

/* The chain without replies, ids and secrets, for those who have only the store's public key. */
typedef struct pboost_signed_head {
    uint64_t entries; /* before it; 0: there is no such head */
    char head[PBOOST_HEAD_TEXT], signature[PBOOST_SIGNATURE_TEXT];
} pboost_signed_head;

/* Visits at most `most` entries from number `first`, and signs the head after the last of them. */
pboost_status pboost_ledger_audit_file(pboost_signed_head *out, pboost_ledger *ledger,
                                       uint64_t first, uint64_t most, pboost_entry_visit *visit,
                                       void *user, pboost_error *err);

/* The Ed25519 key, in hex, that verifies the heads of this store. */
void pboost_ledger_public_key(char out[PBOOST_PUBLIC_KEY_TEXT], const pboost_ledger *ledger);

/* Checks entries and heads in their order, without a store.  PBOOST_BAD_DATA says what is wrong;
 * the verifier can then only be closed. */
typedef struct pboost_verifier pboost_verifier;
pboost_status pboost_verifier_open(pboost_verifier **out, const char *public_key,
                                   pboost_error *err);
void pboost_verifier_close(pboost_verifier *v);
pboost_status pboost_verifier_entry(pboost_verifier *v, const pboost_ledger_entry *entry,
                                    pboost_error *err);
pboost_status pboost_verifier_head(pboost_verifier *v, const pboost_signed_head *head,
                                   pboost_error *err);

typedef struct pboost_verified {
    uint64_t entries, tokens, rows; /* rows answered */
    bool whole;                     /* the last entry is under a signed head */
    char head[PBOOST_HEAD_TEXT];
} pboost_verified;

void pboost_verifier_result(pboost_verified *out, const pboost_verifier *v);

#ifdef __cplusplus
}
#endif

#endif
