/* Labels at rest: encrypted, authenticated by row, and encrypted anew under another key. */
#include <signal.h>
#include <sys/wait.h>

#include "ledger_testing.h"

enum { ROWS = 400 };

/* The label of every row, its lowest byte first, as the grid has it. */
static const double LABEL = 0x123456789abc;
static const unsigned char LABEL_BYTES[] = {0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12};

typedef struct {
    unsigned char label[ROWS][SEALED_BYTES(1)];
    size_t n;
} sealed_labels;

static pboost_status take_label(void *user, const store_value *value, size_t n, pboost_error *err)
{
    sealed_labels *all = user;
    (void)n, (void)err;
    assert_true(all->n < ROWS);
    assert_int_equal(value[0].length, SEALED_BYTES(1));
    memcpy(all->label[all->n++], value[0].data, SEALED_BYTES(1));
    return PBOOST_OK;
}

static void read_sealed(sealed_labels *out, const test_store *t)
{
    pboost_error err = {0};
    store *s;
    out->n = 0;
    assert_ok(pboost_store_open(&s, t->url, false, &err), err);
    assert_ok(s->class->run(s, "SELECT label FROM ledger_row ORDER BY slot", NULL, 0, take_label,
                            out, &err),
              err);
    pboost_store_close(s);
}

static bool bytes_hold(const void *data, size_t length, const void *bytes, size_t n)
{
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp((const char *)data + i, bytes, n) == 0)
            return true;
    return false;
}

static bool file_holds(const char *path, const void *bytes, size_t n)
{
    static unsigned char data[1 << 22];
    FILE *f = fopen(path, "rb");
    size_t length = f != NULL ? fread(data, 1, sizeof data, f) : 0;

    assert_true(length < sizeof data);
    if (f != NULL)
        fclose(f);
    return bytes_hold(data, length, bytes, n);
}

static pboost_ledger *make_labels(test_store *t)
{
    double label[ROWS];
    pboost_ledger_rules rules = plain_rules();
    rules.rules.upper = 0x1p47;
    for (size_t i = 0; i < ROWS; i++)
        label[i] = LABEL;
    pboost_ledger *ledger = make_ledger(t, &rules, ROWS / 2, label);
    import_rows(ledger, ROWS / 2 + 1, ROWS / 2, label); /* two imports, two seals */
    return ledger;
}

static void check_labels(const pboost_ledger *ledger, size_t n)
{
    assert_int_equal(ledger->labels.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ledger->labels.label[i], 0x123456789abc);
}

static void labels_are_not_in_the_store(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = make_labels(&t);
    sealed_labels sealed;
    char path[100];

    read_sealed(&sealed, &t);
    for (size_t i = 0; i < ROWS; i++) {
        assert_false(bytes_hold(sealed.label[i], SEALED_BYTES(1), LABEL_BYTES, 6));
        for (size_t j = 0; j < i; j++) /* not even eight bytes agree */
            assert_memory_not_equal(sealed.label[i], sealed.label[j], 8);
    }
    static const char *const END[] = {"", "-wal", "-shm", ".key"};
    for (int k = 0; k < 4 && !on_postgresql(); k++) {
        snprintf(path, sizeof path, "%s/store.db%s", t.folder, END[k]);
        assert_false(file_holds(path, LABEL_BYTES, sizeof LABEL_BYTES));
    }
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    check_labels(ledger, ROWS);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* A slot that is imported again, as after a restored backup, has another key: two labels under one
 * key and nonce would tell their difference. */
static void a_slot_is_never_sealed_twice_under_a_key(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = make_labels(&t);
    pboost_error err = {0};
    store *s = ledger->write.store;
    unsigned char bytes[2][SEALED_BYTES(1)];
    const int64_t label = 1;

    for (int i = 0; i < 2; i++) {
        label_seal seal;
        assert_ok(pboost_store_begin(s, true, &err), err);
        assert_ok(pboost_seal_make(&seal, s, ROWS, 1, &err), err);
        pboost_store_rollback(s);
        pboost_label_seal(bytes[i], &seal, ROWS, &label, 1);
    }
    assert_memory_not_equal(bytes[0], bytes[1], 8);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* What cannot be decrypted is damage, at opening and in an audit. */
static void changed_labels_are_noticed(void **state)
{
    (void)state;
    static const char *const CHANGES[] = {
        /* another row's label, of the same import and of another */
        "UPDATE ledger_row SET label = (SELECT s.label FROM saved s WHERE s.slot = 4) WHERE slot ="
        " 3",
        "UPDATE ledger_row SET label = (SELECT s.label FROM saved s WHERE s.slot = 300) WHERE slot"
        " = 3",
        "UPDATE ledger_seal SET label_key = 7",
        "DELETE FROM ledger_seal",
    };
    test_store t;
    pboost_ledger *ledger = make_labels(&t), *broken;
    pboost_error err = {0};
    pboost_ledger_close(ledger);

    change_store(&t, "CREATE TABLE saved AS SELECT * FROM ledger_row");
    change_store(&t, "CREATE TABLE saved_seal AS SELECT * FROM ledger_seal");
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        change_store(&t, CHANGES[i]);
        assert_int_equal(pboost_ledger_open(&broken, t.url, NULL, &err), PBOOST_BAD_DATA);
        change_store(&t, "UPDATE ledger_row SET label = (SELECT s.label FROM saved s WHERE s.slot ="
                         " ledger_row.slot)");
        change_store(&t, "DELETE FROM ledger_seal");
        change_store(&t, "INSERT INTO ledger_seal SELECT * FROM saved_seal");
        ledger = open_store(&t);
        check_labels(ledger, ROWS);
        pboost_ledger_close(ledger);
    }
    drop_store(&t);
}

/* ---- Another key ----------------------------------------------------------------------------- */

/* All labels change, the old key opens none of them, and it is gone from the key file. */
static void a_new_key_replaces_the_old_one(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = make_labels(&t), *other = open_store(&t), *watch = open_store(&t),
                  *none;
    pboost_error err = {0};
    static sealed_labels before, after;
    char path[300], copy[310];
    size_t rows;
    uint32_t key;
    const pboost_id erased = {NULL, 400};
    size_t forgotten;

    snprintf(path, sizeof path, "%s", ledger->key_file);
    snprintf(copy, sizeof copy, "%s.copy", path);
    copy_file(path, copy);
    assert_int_equal(chmod(copy, 0600), 0);
    read_sealed(&before, &t);
    assert_ok(pboost_ledger_rekey(&rows, &key, ledger, &err), err);
    assert_int_equal(rows, ROWS);
    assert_int_equal(key, 2);
    assert_int_equal(ledger->keys.n_labels, 1);
    read_sealed(&after, &t);
    for (size_t i = 0; i < ROWS; i++)
        assert_memory_not_equal(before.label[i], after.label[i], 8);

    /* A service that was open before sees rows that come under the new key, and one that imports
     * uses it, although it has read the old one. */
    const double label[] = {LABEL, LABEL};
    import_rows(other, ROWS + 1, 1, label);
    bool available = false;
    const pboost_id fresh = {NULL, ROWS + 1};
    pboost_token token = plain_token(watch, "a");
    assert_ok(pboost_ledger_available(&available, watch, &token, &fresh, 1, &err), err);
    assert_true(available);
    pboost_ledger_close(watch);
    import_rows(ledger, ROWS + 2, 1, label);
    pboost_ledger_close(other);
    other = open_store(&t);
    check_labels(other, ROWS + 2);
    assert_sound(other);
    pboost_ledger_close(other);

    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    options.key_file = copy;
    assert_fails(pboost_ledger_open(&none, t.url, &options, &err), PBOOST_BAD_DATA, err,
                 "no label key 2");
    unlink(copy);

    /* Erased rows stay erased. */
    assert_ok(forget_rows(&forgotten, ledger, &erased, 1, &err), err);
    assert_ok(pboost_ledger_rekey(&rows, &key, ledger, &err), err);
    assert_int_equal(rows, ROWS + 1);
    assert_int_equal(key, 3);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* A crash leaves a key file with all keys that the store needs. */
static void a_crash_leaves_the_keys_that_are_needed(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = make_labels(&t);
    pboost_error err = {0};
    pboost_ledger_close(ledger);

    for (unsigned delay = 0; delay < 40; delay++) {
        pid_t child = fork();
        if (child == 0) {
            size_t rows;
            uint32_t key;
            pboost_ledger *mine;
            if (pboost_ledger_open(&mine, t.url, NULL, NULL) != PBOOST_OK)
                _exit(1);
            for (;;)
                if (pboost_ledger_rekey(&rows, &key, mine, NULL) != PBOOST_OK)
                    _exit(1);
        }
        struct timespec wait = {0, 4000000 + 1730000L * delay};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        int how;
        waitpid(child, &how, 0);
        assert_true(WIFSIGNALED(how));
        ledger = open_store(&t);
        check_labels(ledger, ROWS);
        pboost_ledger_close(ledger);
    }
    size_t rows;
    uint32_t key;
    ledger = open_store(&t);
    assert_ok(pboost_ledger_rekey(&rows, &key, ledger, &err), err);
    assert_int_equal(ledger->keys.n_labels, 1); /* what crashes left is gone */
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_not_in_the_store),
        cmocka_unit_test(a_slot_is_never_sealed_twice_under_a_key),
        cmocka_unit_test(changed_labels_are_noticed),
        cmocka_unit_test(a_new_key_replaces_the_old_one),
        cmocka_unit_test(a_crash_leaves_the_keys_that_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
