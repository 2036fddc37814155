/* Audit files: what someone who has only the public key finds. */
#include "ledger_testing.h"

/* A copy of what an audit file says. */
enum { MOST = 32 };
typedef struct {
    size_t n;
    pboost_ledger_entry entry[MOST];
    char kind[MOST][16];
    unsigned char data[MOST][2048], seal[MOST][32];
    pboost_signed_head head;
    char public_key[PBOOST_PUBLIC_KEY_TEXT];
} audit_file;

static bool keep_entry(void *user, const pboost_ledger_entry *e)
{
    audit_file *f = user;
    size_t i = f->n++;

    f->entry[i] = *e;
    strcpy(f->kind[i], e->kind);
    memcpy(f->data[i], e->data, e->data_length);
    memcpy(f->seal[i], e->seal, 32);
    return true;
}

static void borrow(audit_file *f)
{
    for (size_t i = 0; i < f->n; i++) {
        f->entry[i].kind = f->kind[i];
        f->entry[i].data = f->data[i];
        f->entry[i].seal = f->seal[i];
    }
}

static void read_file(audit_file *f, pboost_ledger *ledger)
{
    pboost_error err = {0};

    *f = (audit_file){0};
    assert_ok(pboost_ledger_audit_file(&f->head, ledger, 0, UINT64_MAX, keep_entry, f, &err), err);
    pboost_ledger_public_key(f->public_key, ledger);
}

static pboost_status verify(pboost_verified *out, audit_file *f, pboost_error *err)
{
    pboost_verifier *v;
    pboost_status st = pboost_verifier_open(&v, f->public_key, err);

    borrow(f);
    for (size_t i = 0; i < f->n && st == PBOOST_OK; i++)
        st = pboost_verifier_entry(v, &f->entry[i], err);
    if (st == PBOOST_OK)
        st = pboost_verifier_head(v, &f->head, err);
    if (st == PBOOST_OK)
        pboost_verifier_result(out, v);
    pboost_verifier_close(v);
    return st;
}

static void assert_found(audit_file *f, const char *expected)
{
    pboost_error err = {0};
    pboost_verified result;
    assert_fails(verify(&result, f, &err), PBOOST_BAD_DATA, err, expected);
}

/* Two answers, one of a token that was approved; a revocation. */
static pboost_ledger *make_history(test_store *t)
{
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_ledger(t, &rules, 16, NULL);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_problem problem;
    pboost_token token;
    pboost_reply reply;
    char secret[PBOOST_TOKEN_TEXT], unused[PBOOST_TOKEN_TEXT];
    const int64_t row[] = {1, 2, 3, 4, 5, 6, 7, 8};
    pboost_token plain = plain_token(ledger, "plain");

    options.name = "boss";
    options.role = PBOOST_APPROVER;
    assert_ok(pboost_token_create(secret, ledger, &options, &err), err);
    options.name = "lab";
    options.role = PBOOST_LEARNER;
    options.pending = true;
    options.max_rows = 4;
    assert_ok(pboost_token_create(unused, ledger, &options, &err), err);
    assert_ok(ask(&reply, ledger, &plain, "1", row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_ok(pboost_token_approve(&token, &problem, ledger, "lab", secret, &err), err);
    assert_ok(ask(&reply, ledger, &token, "1", row + 4, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_ok(pboost_token_revoke(ledger, "plain", &err), err);
    return ledger;
}

enum { INIT, IMPORT, PLAIN, BOSS, LAB, FIRST_ANSWER, APPROVAL, SECOND_ANSWER, REVOCATION, ENTRIES };

static void every_change_is_found(void **state)
{
    (void)state;
    static audit_file whole, f;
    test_store t, other;
    pboost_ledger *ledger = make_history(&t), *stranger = make_history(&other);
    pboost_error err = {0};
    pboost_verified result;

    read_file(&whole, ledger);
    assert_int_equal(whole.n, ENTRIES);
    assert_ok(verify(&result, &whole, &err), err);
    assert_true(result.whole && result.entries == ENTRIES && result.tokens == 3);
    assert_int_equal(result.rows, 8);
    assert_string_equal(result.head, status_of(ledger).head);

    for (size_t i = 0; i < whole.n; i++) { /* each part of each entry */
        (f = whole, &f)->entry[i].number++;
        assert_found(&f, "is in the place of");
        (f = whole, &f)->kind[i][0] ^= 1;
        assert_found(&f, "its hash differs");
        (f = whole, &f)->entry[i].time++;
        assert_found(&f, "its hash differs");
        (f = whole, &f)->entry[i].rows++;
        assert_found(&f, "its hash differs");
        (f = whole, &f)->entry[i].bags++;
        assert_found(&f, "its hash differs");
        (f = whole, &f)->data[i][whole.entry[i].data_length / 2] ^= 1;
        assert_found(&f, "its hash differs");
        (f = whole, &f)->entry[i].data_length--;
        assert_found(&f, "its hash differs");
        f = whole;
        f.entry[i].head[5] = f.entry[i].head[5] == '0' ? '1' : '0';
        assert_found(&f, "its hash differs");
        (f = whole, &f)->seal[i][7] ^= 1; /* of an answer: the next entry has another hash */
        assert_found(&f, "differs");
    }
    for (size_t i = 0; i < whole.n; i++) { /* left out, exchanged */
        f = whole;
        for (size_t j = i; j + 1 < whole.n; j++) {
            f.entry[j] = whole.entry[j + 1];
            memcpy(f.kind[j], whole.kind[j + 1], sizeof f.kind[j]);
            memcpy(f.data[j], whole.data[j + 1], sizeof f.data[j]);
            memcpy(f.seal[j], whole.seal[j + 1], sizeof f.seal[j]);
        }
        f.n--;
        assert_found(&f, i + 1 < whole.n ? "is in the place of" : "not that of the");
    }
    (f = whole, &f)->head.entries--;
    assert_found(&f, "not that of the");
    f = whole;
    f.head.signature[3] = f.head.signature[3] == '0' ? '1' : '0';
    assert_found(&f, "was not signed");
    f = whole; /* cut at the end, with the head of then, which nobody signed */
    f.n--;
    f.head.entries--;
    memcpy(f.head.head, f.entry[f.n - 1].head, sizeof f.head.head);
    assert_found(&f, "was not signed");
    f = whole; /* another store's key, another store's signature */
    pboost_ledger_public_key(f.public_key, stranger);
    assert_found(&f, "was not signed");
    strcpy(f.public_key, "abc");
    assert_fails(verify(&result, &f, &err), PBOOST_INVALID, err, "64 hexadecimal digits");

    pboost_ledger_close(ledger);
    pboost_ledger_close(stranger);
    drop_store(&t);
    drop_store(&other);
}

/* Who has the key of the store can make a chain with right hashes.  What it tells must still make
 * sense: entries from `from` on are left out or changed, and the rest is linked anew. */
static void link_anew(audit_file *f)
{
    chain_link last = {.number = -1};

    borrow(f);
    for (size_t i = 0; i < f->n; i++) {
        pboost_ledger_entry *e = &f->entry[i];
        chain_entry entry = {e->kind, e->time, e->rows, e->bags, e->data, e->data_length};
        chain_link link = pboost_chain_next(&last, &entry);
        e->number = (uint64_t)link.number;
        pboost_digest_text(e->head, &link.hash);
        memcpy(f->seal[i], link.seal.byte, sizeof link.seal.byte);
        last = link;
    }
}

static void leave_out(audit_file *f, const audit_file *whole, size_t skip)
{
    *f = *whole;
    for (size_t j = skip; j + 1 < whole->n; j++) {
        f->entry[j] = whole->entry[j + 1];
        memcpy(f->kind[j], whole->kind[j + 1], sizeof f->kind[j]);
        memcpy(f->data[j], whole->data[j + 1], sizeof f->data[j]);
    }
    f->n--;
    link_anew(f);
}

static void a_history_that_cannot_be_is_found(void **state)
{
    (void)state;
    static audit_file whole, f;
    test_store t;
    pboost_ledger *ledger = make_history(&t);

    read_file(&whole, ledger);
    leave_out(&f, &whole, APPROVAL); /* the second answer goes to a pending token */
    assert_found(&f, "entry 6: token 'lab' was answered");
    leave_out(&f, &whole, BOSS);
    assert_found(&f, "its token is not valid");
    leave_out(&f, &whole, PLAIN);
    assert_found(&f, "its token is not valid");
    f = whole; /* an approval with another signature */
    f.data[APPROVAL][f.entry[APPROVAL].data_length - 1] ^= 1;
    link_anew(&f);
    assert_found(&f, "was not signed by approver 'boss'");
    f = whole; /* an approved token that was another one */
    f.entry[LAB].time++;
    link_anew(&f);
    assert_found(&f, "was not signed by approver 'boss'");
    f = whole; /* more rows than the quota */
    f.entry[SECOND_ANSWER].rows = 5;
    link_anew(&f);
    assert_found(&f, "has had 5 rows of 4");
    f = whole; /* the revocation comes before the answer */
    f.entry[SECOND_ANSWER].time = 0;
    strcpy(f.kind[FIRST_ANSWER], "revoke");
    memcpy(f.data[FIRST_ANSWER], "lab", 4);
    f.entry[FIRST_ANSWER].data_length = 4;
    link_anew(&f);
    assert_found(&f, "token 'lab' was not waiting for approval");
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Pages of a file, one after another, are a file; each head signs what is before it. */
static void a_file_grows_at_its_end(void **state)
{
    (void)state;
    static audit_file page;
    test_store t;
    pboost_ledger *ledger = make_history(&t);
    pboost_error err = {0};
    pboost_verifier *v;
    pboost_verified result;
    char key[PBOOST_PUBLIC_KEY_TEXT];

    pboost_ledger_public_key(key, ledger);
    assert_ok(pboost_verifier_open(&v, key, &err), err);
    for (uint64_t first = 0; first < ENTRIES; first += 4) {
        page = (audit_file){0};
        assert_ok(pboost_ledger_audit_file(&page.head, ledger, first, 4, keep_entry, &page, &err),
                  err);
        borrow(&page);
        for (size_t i = 0; i < page.n; i++) {
            assert_ok(pboost_verifier_entry(v, &page.entry[i], &err), err);
            pboost_verifier_result(&result, v);
            assert_false(result.whole);
        }
        assert_ok(pboost_verifier_head(v, &page.head, &err), err);
        pboost_verifier_result(&result, v);
        assert_true(result.whole);
    }
    assert_int_equal(result.entries, ENTRIES);
    pboost_verifier_close(v);
    assert_ok(pboost_ledger_audit_file(&page.head, ledger, ENTRIES, 4, keep_entry, &page, &err),
              err);
    assert_int_equal(page.head.entries, 0);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_found),
        cmocka_unit_test(a_history_that_cannot_be_is_found),
        cmocka_unit_test(a_file_grows_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
