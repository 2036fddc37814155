/* Stores whose answers are vectors: counts of classes, means of label columns.
 *
 * Sums, the chain, retries, erasure and other keys are as with means; a question that does not say
 * what it expects is refused and spends nothing; and the noise of all numbers together protects one
 * label as epsilon says. */
#include "ledger_testing.h"
#include "privacy/gaussian_law.h"

enum { N = 24, WIDTH = 4 };

static pboost_ledger_rules class_rules(void)
{
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    rules.rules.min_bag = 4;
    rules.rules.answer = PBOOST_ANSWER_CLASSES;
    rules.rules.width = WIDTH;
    rules.no_noise = true;
    strcpy(rules.names, "north\nsouth east\nö\n4");
    return rules;
}

static pboost_ledger_rules column_rules(void)
{
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    rules.rules.min_bag = 4;
    rules.rules.answer = PBOOST_ANSWER_COLUMNS;
    rules.rules.width = 2;
    rules.rules.bounded = true;
    rules.no_noise = true;
    strcpy(rules.names, "visits\ncost");
    rules.column[0] = (pboost_label_column){0, 20, 1, 2};
    rules.column[1] = (pboost_label_column){-5, 5, 0, 1};
    return rules;
}

static pboost_status ask_for(pboost_reply *out, pboost_ledger *ledger, const pboost_token *token,
                             const char *request, size_t first, size_t n, size_t size,
                             pboost_answer answer, pboost_error *err)
{
    pboost_question q = PBOOST_QUESTION_INIT;
    int64_t *row = calloc(n, sizeof *row);

    for (size_t i = 0; i < n; i++)
        row[i] = (int64_t)(first + i);
    q.token = token;
    q.request_id = request;
    q.answer = answer;
    pboost_status st = ask_as(out, ledger, q, row, n, size, err);
    free(row);
    return st;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static const double CLASSES[N] = {0, 0, 1, 3, 2, 2, 2, 2, 1, 0, 3, 3,
                                  0, 1, 2, 3, 0, 0, 0, 0, 3, 3, 1, 1};

static void counts_are_those_of_the_bags(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = class_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, N, CLASSES);
    pboost_token token = plain_token(ledger, "a");
    pboost_reply reply, again;
    static const double counts[] = {2, 1, 0, 1, 0, 0, 4, 0, 1, 1, 0, 2};

    assert_ok(ask_for(&reply, ledger, &token, "r", 1, 12, 4, PBOOST_ANSWER_CLASSES, &err), err);
    assert_int_equal(reply.length, sizeof counts + 32);
    assert_memory_equal(reply.body, counts, sizeof counts);
    assert_ok(ask_for(&again, ledger, &token, "r", 1, 12, 4, PBOOST_ANSWER_CLASSES, &err), err);
    assert_true(again.retried);
    assert_memory_equal(again.body, reply.body, reply.length);
    pboost_reply_free(&again);
    pboost_reply_free(&reply);
    assert_refused(ask_for(&reply, ledger, &token, "s", 9, 8, 4, PBOOST_ANSWER_CLASSES, &err),
                   reply, PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);

    ledger = open_store(&t); /* names and counts are those of the chain */
    assert_string_equal(pboost_ledger_get_rules(ledger)->names, rules.names);
    pboost_audit audit;
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_int_equal(audit.problems, 0);
    assert_int_equal(audit.sums, 3);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void means_are_by_column(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = column_rules();
    double label[2 * N];
    for (size_t i = 0; i < N; i++) {
        label[2 * i] = (double)(i % 21);
        label[2 * i + 1] = i % 2 ? -5 : 0.25 * (double)(i % 8);
    }
    pboost_ledger *ledger = make_ledger(&t, &rules, N, label);
    pboost_token token = plain_token(ledger, "a");
    pboost_reply reply;
    size_t rows;
    uint32_t key;

    assert_ok(pboost_ledger_rekey(&rows, &key, ledger, &err), err);
    assert_int_equal(rows, N);
    assert_ok(ask_for(&reply, ledger, &token, "r", 1, 8, 4, PBOOST_ANSWER_COLUMNS, &err), err);
    static const double means[] = {1.5, -9.5 / 4, 5.5, -7.5 / 4};
    for (size_t i = 0; i < 4; i++)
        assert_close(mean_of(&reply, i), means[i], 1e-12);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_id erased = {NULL, 20};
    size_t forgotten;
    assert_ok(forget_rows(&forgotten, ledger, &erased, 1, &err), err);
    assert_refused(ask_for(&reply, ledger, &token, "s", 17, 4, 4, PBOOST_ANSWER_COLUMNS, &err),
                   reply, PBOOST_PROBLEM_UNKNOWN_ROW, err);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_sound(ledger);
    const pboost_ledger_rules *read = pboost_ledger_get_rules(ledger);
    assert_true(read->column[1].lower == -5 && read->column[1].step > 0);
    assert_int_equal(read->column[0].share, 2);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* An older learner does not say that it knows vectors. */
static void a_question_that_expects_something_else_spends_nothing(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_reply reply;
    const pboost_ledger_rules all[] = {plain_rules(), class_rules(), column_rules()};
    double label[2 * N] = {0};

    for (int kind = 0; kind < 3; kind++) {
        pboost_ledger *ledger = make_ledger(&t, &all[kind], N, label);
        pboost_token token = plain_token(ledger, "a");
        for (int expected = 0; expected < 3; expected++) {
            if (expected == kind)
                continue;
            assert_refused(
                ask_for(&reply, ledger, &token, "r", 1, 8, 4, (pboost_answer)expected, &err), reply,
                PBOOST_PROBLEM_ANSWER_KIND, err);
            pboost_reply_free(&reply);
        }
        assert_int_equal(status_of(ledger).spent, 0);
        assert_int_equal(status_of(ledger).answers, 0);
        assert_ok(ask_for(&reply, ledger, &token, "r", 1, 8, 4, (pboost_answer)kind, &err), err);
        pboost_reply_free(&reply);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* The chain hashes the counts of all classes. */
static void one_changed_count_is_found(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = class_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, N, CLASSES);
    pboost_token token = plain_token(ledger, "a");
    pboost_reply reply;
    pboost_audit audit;

    assert_ok(ask_for(&reply, ledger, &token, "r", 1, 4, 4, PBOOST_ANSWER_CLASSES, &err), err);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    change_store(&t, on_postgresql()
                         ? "UPDATE ledger_answer SET released = "
                           "set_byte(released, 8, get_byte(released, 8) + 1)"
                         : "UPDATE ledger_answer SET released = substr(released, 1, 8) || x'02' || "
                           "substr(released, 10)");
    ledger = open_store(&t);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_true(audit.problems > 0);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* A label that was exchanged by someone with the key file no longer gives the answer.  It is
 * sealed anew here, so that only the sums can tell. */
static void labels_that_do_not_give_the_answer_are_found(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    const pboost_ledger_rules all[] = {plain_rules(), class_rules(), column_rules()};
    double label[2 * N] = {0};

    for (int kind = 0; kind < 3; kind++) {
        pboost_ledger *ledger = make_ledger(&t, &all[kind], N, label);
        pboost_token token = plain_token(ledger, "a");
        pboost_reply reply;
        pboost_audit audit;
        size_t rows;
        uint32_t key;
        assert_ok(ask_for(&reply, ledger, &token, "r", 1, 8, 4, (pboost_answer)kind, &err), err);
        pboost_reply_free(&reply);
        assert_sound(ledger);
        assert_ok(pboost_labels_refresh(&ledger->labels, ledger->write.store, &err), err);
        ledger->labels.label[ledger->labels.columns - 1] = 1; /* the last label of row 1 */
        assert_ok(pboost_ledger_rekey(&rows, &key, ledger, &err), err);
        assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
        assert_int_equal(audit.problems, 1);
        assert_non_null(strstr(audit.first_problem, "another sum"));
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* ---- Rules and imports ----------------------------------------------------------------------- */

static void senseless_names_are_refused(void **state)
{
    (void)state;
    pboost_error err = {0};
    test_store t = new_store();
    static const struct {
        const char *names, *message;
    } wrong[] = {{"a\nb\nc", "there are 3 names"},
                 {"a\nb\nc\na", "class 'a' occurs twice"},
                 {"a\n\nc\nd", "class 2 must be 1 to 255 bytes"},
                 {"a\nb\x1b[2J\nc\nd", "class 2 must be"}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pboost_ledger_rules rules = class_rules();
        strcpy(rules.names, wrong[i].names);
        assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                     wrong[i].message);
    }
    pboost_ledger_rules rules = class_rules();
    memset(rules.names, 'x', sizeof rules.names);
    assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                 "more than 4095 bytes");
    rules = column_rules();
    rules.column[1].share = 0;
    assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                 "column 1 in epsilon is 0");
    rules = plain_rules();
    strcpy(rules.names, "no\nyes");
    rules.rules.upper = 2;
    assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                 "two classes are labels 0 and 1");
    drop_store(&t);
}

/* As many classes, with names as long, as rules may have. */
static void many_classes_are_kept(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger_rules rules = class_rules();
    char *to = rules.names;
    rules.rules.width = 1000;
    for (int i = 0; i < 1000; i++)
        to += sprintf(to, "%s%d", i > 0 ? "\n" : "", i);
    strcpy(rules.sheet.text[0], "districts");
    rules.require_approval = true;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    const pboost_ledger_rules *read = pboost_ledger_get_rules(ledger);
    assert_string_equal(read->names, rules.names);
    assert_string_equal(read->sheet.text[0], "districts");
    assert_true(read->require_approval);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void labels_that_are_no_class_are_refused(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = class_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    static const double bad[] = {-1, WIDTH, 0.5, NAN, INFINITY};
    pboost_id id[2] = {{NULL, 1}, {NULL, 2}};
    double label[2] = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;

    in.n = 2;
    in.id = id;
    in.label = label;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        label[1] = bad[i];
        memset(&err, 0, sizeof err);
        assert_int_equal(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA);
        assert_int_equal(report.bad_row, 1);
        assert_string_equal(report.bad_part, "label");
    }
    in.clamp = true;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_INVALID, err,
                 "cannot be moved to bounds");
    in.clamp = false;
    in.replace_bad = true;
    in.bad_label = WIDTH;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_INVALID, err,
                 "--bad-label");
    in.bad_label = 3;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    assert_int_equal(report.replaced, 1);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Noise ----------------------------------------------------------------------------------- */

/* Bags of 2 rows, of which the first is of class 0 in half of the bags and of class 1 in the
 * others: neighbouring data, on which two counts differ.  An observer who adds up the evidence of
 * both, as the likelihood ratio does, gains at most epsilon; and near that much, or the audit sees
 * nothing.  The draws are random: 6 distances of 5 deviates and the audit of 5.5 fail by chance
 * less than once in 50,000 runs. */
enum { BAGS = 2500, REQUESTS = 24, DRAWS = BAGS * REQUESTS };

typedef struct {
    int64_t noise[3][DRAWS], evidence[2][DRAWS];
    size_t n[2];
} class_noise;

static bool is_changed(size_t draw)
{
    return (draw * 2654435761u >> 7 & 1) != 0;
}

/* How many steps of log-likelihood, of rate each, an observer of both counts has for class 1:
 * |a - 1| - |a| + |b| - |b - 1| for counts a of class 0 and b of class 1 of the first row. */
static int64_t evidence_of(int64_t a, int64_t b)
{
    return llabs(a - 1) - llabs(a) + llabs(b) - llabs(b - 1);
}

static class_noise *ask_classes(pboost_rational epsilon)
{
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = class_rules();
    class_noise *out = calloc(1, sizeof *out);
    double *label = calloc(2 * (size_t)DRAWS, sizeof *label);

    rules.rules.min_bag = 2;
    rules.rules.width = 3;
    rules.rules.epsilon = epsilon;
    rules.no_noise = false;
    strcpy(rules.names, "a\nb\nc");
    for (size_t i = 0; i < DRAWS; i++) {
        label[2 * i] = is_changed(i);
        label[2 * i + 1] = 2;
    }
    pboost_ledger *ledger = make_ledger(&t, &rules, 2 * (size_t)DRAWS, label);
    pboost_token token = plain_token(ledger, "a");
    for (size_t r = 0; r < REQUESTS; r++) {
        pboost_reply reply;
        char name[32];
        snprintf(name, sizeof name, "round-%zu", r);
        assert_ok(ask_for(&reply, ledger, &token, name, 1 + 2 * BAGS * r, 2 * BAGS, 2,
                          PBOOST_ANSWER_CLASSES, &err),
                  err);
        for (size_t b = 0; b < BAGS; b++) {
            size_t draw = r * BAGS + b, changed = is_changed(draw);
            int64_t count[3];
            for (size_t j = 0; j < 3; j++)
                count[j] = llround(mean_of(&reply, 3 * b + j));
            out->noise[0][draw] = count[0] - !changed;
            out->noise[1][draw] = count[1] - (int64_t)changed;
            out->noise[2][draw] = count[2] - 1;
            out->evidence[changed][out->n[changed]++] = evidence_of(count[0], count[1]);
        }
        pboost_reply_free(&reply);
    }
    pboost_ledger_close(ledger);
    drop_store(&t);
    free(label);
    return out;
}

static void class_noise_protects_one_label(void **state)
{
    (void)state;
    static const pboost_rational epsilons[] = {{1, 1}, {7, 3}};

    for (size_t i = 0; i < 2; i++) {
        double epsilon = pboost_rational_value(epsilons[i]);
        class_noise *c = ask_classes(epsilons[i]);
        for (size_t j = 0; j < 3; j++) {
            assert_true(distance(c->noise[j], DRAWS, epsilon / 2) < 5);
            assert_true(dependence(c->noise[j], c->noise[(j + 1) % 3], DRAWS, epsilon / 2) < 5);
        }
        observed plain = {c->n[0], c->evidence[0]}, changed = {c->n[1], c->evidence[1]};
        double gain = observed_gain(plain, changed, -2, 2, 5.5);
        if (!(gain <= epsilon && gain > 0.8 * epsilon))
            fail_msg("epsilon is %g, but the observer gains %g", epsilon, gain);
        free(c);
    }
}

/* Column j has its part of epsilon, whatever the others have. */
static void columns_have_their_parts_of_epsilon(void **state)
{
    (void)state;
    enum { COLUMN_DRAWS = 2500 * 4 };
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = column_rules();
    static int64_t noise[2][COLUMN_DRAWS];
    double *label = calloc(4 * (size_t)COLUMN_DRAWS, sizeof *label);

    rules.rules.min_bag = 2;
    rules.rules.epsilon = (pboost_rational){3, 2}; /* 1 for the first column, 1/2 for the second */
    rules.no_noise = false;
    rules.column[1].step = 0.5;
    pboost_ledger *ledger = make_ledger(&t, &rules, 2 * (size_t)COLUMN_DRAWS, label);
    pboost_token token = plain_token(ledger, "a");
    for (size_t r = 0; r < 4; r++) {
        pboost_reply reply;
        char name[32];
        snprintf(name, sizeof name, "round-%zu", r);
        assert_ok(ask_for(&reply, ledger, &token, name, 1 + 5000 * r, 5000, 2,
                          PBOOST_ANSWER_COLUMNS, &err),
                  err);
        for (size_t b = 0; b < 2500; b++) {
            noise[0][r * 2500 + b] = llround(2 * mean_of(&reply, 2 * b));
            noise[1][r * 2500 + b] = llround(2 * mean_of(&reply, 2 * b + 1) / 0.5);
        }
        pboost_reply_free(&reply);
    }
    assert_true(distance(noise[0], COLUMN_DRAWS, 1.0 / 20) < 5);
    assert_true(distance(noise[1], COLUMN_DRAWS, 0.5 / 20) < 5);
    pboost_ledger_close(ledger);
    drop_store(&t);
    free(label);
}

/* Gaussian noise through the ledger: of the variance that rho needs at sensitivity sqrt 2, exactly,
 * and independent; what it costs a unit in many bags adds up by zCDP. */
static void gaussian_noise_has_the_variance_of_rho(void **state)
{
    (void)state;
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = class_rules();
    static int64_t noise[3][4 * BAGS];
    double *label = calloc(2 * (size_t)4 * BAGS, sizeof *label);

    rules.rules.min_bag = 2;
    rules.rules.width = 3;
    rules.rules.epsilon = (pboost_rational){2, 1};
    rules.rules.delta = (pboost_rational){1, 1000000};
    rules.rules.mechanism = PBOOST_GAUSSIAN;
    rules.no_noise = false;
    strcpy(rules.names, "a\nb\nc");
    pboost_ledger *ledger = make_ledger(&t, &rules, 2 * (size_t)4 * BAGS, label);
    pboost_token token = plain_token(ledger, "a");
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    const pboost_rules *read = &pboost_ledger_get_rules(ledger)->rules;
    assert_int_equal(read->mechanism, PBOOST_GAUSSIAN);
    double rho = pboost_rational_value(read->rho);
    for (size_t r = 0; r < 4; r++) {
        pboost_reply reply;
        char name[32];
        snprintf(name, sizeof name, "round-%zu", r);
        assert_ok(ask_for(&reply, ledger, &token, name, 1 + 2 * BAGS * r, 2 * BAGS, 2,
                          PBOOST_ANSWER_CLASSES, &err),
                  err);
        for (size_t b = 0; b < BAGS; b++)
            for (size_t j = 0; j < 3; j++)
                noise[j][r * BAGS + b] = llround(mean_of(&reply, 3 * b + j)) - (j == 0 ? 2 : 0);
        pboost_reply_free(&reply);
    }
    for (size_t j = 0; j < 3; j++) {
        double product = 0;
        for (size_t i = 0; i < 4 * BAGS; i++)
            product += (double)(noise[j][i] * noise[(j + 1) % 3][i]) / (4 * BAGS);
        assert_true(gaussian_distance(noise[j], 4 * BAGS, 1 / rho) < 5);
        assert_true(fabs(product) < 5 / rho / sqrt(4 * BAGS));
    }
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);

    rules = plain_rules();
    rules.rules.epsilon = (pboost_rational){1, 1};
    rules.rules.delta = (pboost_rational){1, 1000000};
    rules.rules.mechanism = PBOOST_GAUSSIAN;
    rules.no_noise = false;
    t = new_store(); /* a learner of before would take it for Laplace noise */
    assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                 "for --classes and --labels");
    rules = column_rules();
    rules.rules.epsilon = (pboost_rational){1, 1};
    rules.rules.delta = (pboost_rational){1, 1000000};
    rules.rules.mechanism = PBOOST_GAUSSIAN;
    rules.no_noise = false;
    rules.units = true;
    rules.unit_rows = 60; /* Laplace noise would cost a unit 60, Gaussian less than 10 */
    assert_ok(pboost_ledger_create(t.url, &rules, NULL, &err), err);
    drop_store(&t);
    free(label);
}

/* The bytes of the first entry of a store of means: those of the stores that there are. */
static void stores_of_means_are_as_before(void **state)
{
    (void)state;
    static const char text[] = "rules 2 min_bag 4 epsilon 0/0 lower 0000000000000000 upper "
                               "3ff0000000000000 step 3ff0000000000000 units 0 unit_rows 1 "
                               "claim_seconds 30\0store";
    pboost_ledger_rules rules = plain_rules(), read;
    pboost_error err = {0};
    record first;

    pboost_first_entry_print(&first, &rules, "store");
    assert_int_equal(first.used, sizeof text);
    assert_memory_equal(first.byte, text, sizeof text);
    assert_ok(pboost_first_entry_parse(&read, text, sizeof text, &err), err);
    assert_int_equal(read.rules.answer, PBOOST_ANSWER_MEAN);
    assert_int_equal(read.rules.width, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_bags),
        cmocka_unit_test(means_are_by_column),
        cmocka_unit_test(a_question_that_expects_something_else_spends_nothing),
        cmocka_unit_test(one_changed_count_is_found),
        cmocka_unit_test(labels_that_do_not_give_the_answer_are_found),
        cmocka_unit_test(senseless_names_are_refused),
        cmocka_unit_test(many_classes_are_kept),
        cmocka_unit_test(labels_that_are_no_class_are_refused),
        cmocka_unit_test(class_noise_protects_one_label),
        cmocka_unit_test(columns_have_their_parts_of_epsilon),
        cmocka_unit_test(gaussian_noise_has_the_variance_of_rho),
        cmocka_unit_test(stores_of_means_are_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
