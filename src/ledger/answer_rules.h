/* What answers a store gives, as its first entry says it.
 *
 * The rules' text has " answer classes 5" after its other numbers, and " mechanism gaussian delta
 * 1/1000000 rho N/D" where that is; a mean has nothing there, as in stores of before.  The names of
 * classes or label columns are a text of their own in the entry. */
#ifndef PBOOST_ANSWER_RULES_H
#define PBOOST_ANSWER_RULES_H

#include "chain.h"

enum { ANSWER_TEXT = 192 };

/* The part of the rules' text; "" for a mean. */
void pboost_answer_print(char out[ANSWER_TEXT], const pboost_ledger_rules *rules);

/* Reads it where it stands; text that is no such part leaves the rules those of a mean. */
void pboost_answer_read(pboost_ledger_rules *rules, const char *text);

/* Whether the entry has a text of names, after the store's id. */
bool pboost_answer_has_names(const pboost_ledger_rules *rules);

/* The names, and then the bounds, step and share of each label column. */
void pboost_names_write(record *out, const pboost_ledger_rules *rules);
void pboost_names_read(pboost_ledger_rules *rules, record_reader *r);

/* Names that are missing, twice, or no line of text; bounds and shares of columns. */
pboost_status pboost_answer_check(pboost_ledger_rules *rules, pboost_error *err);

#endif
