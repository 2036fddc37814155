/* Audit files, line by line: see wire_audit.c. */
#ifndef PBOOST_NET_WIRE_AUDIT_H
#define PBOOST_NET_WIRE_AUDIT_H

#include <priorboost/ledger.h>

#include "buffer.h"

#define WIRE_AUDIT_TYPE "application/jsonl"

void pboost_wire_write_audit_entry(pboost_buffer *b, const pboost_ledger_entry *entry);
void pboost_wire_write_audit_head(pboost_buffer *b, const pboost_signed_head *head);

typedef struct wire_audit_line {
    bool is_head;
    pboost_ledger_entry entry; /* it borrows from the members below */
    char kind[32];
    unsigned char data[8192], seal[PBOOST_SEAL];
    pboost_signed_head head;
} wire_audit_line;

/* PBOOST_BAD_DATA where it is neither. */
pboost_status pboost_wire_read_audit(wire_audit_line *out, const char *text, size_t length,
                                     pboost_error *err);

#endif
