/* Questions, answers and rules as they travel: both forms read what they write, and bytes from
 * strangers are refused without harm. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "wire.h"

/* ---- Questions ------------------------------------------------------------------------------- */

static pboost_id NUMBERS[] = {
    {NULL, 1}, {NULL, -7}, {NULL, INT64_MAX}, {NULL, INT64_MIN}, {NULL, 0}};
static pboost_id MIXED[] = {
    {"a\"\\\x01ü", 0}, {NULL, 12}, {"\xf0\x9f\x8c\x8d", 0}, {"x", 0}, {"007", 0}};
static size_t START[] = {0, 2, 5};

static wire_question make(pboost_id *id)
{
    wire_question q = {.n_bags = 2, .n_rows = 5, .start = START, .id = id};
    strcpy(q.request_id, "r-ß");
    memset(q.head, 'a', 64);
    return q;
}

static void assert_same(const wire_question *a, const wire_question *b)
{
    char room_a[24], room_b[24];

    assert_string_equal(a->request_id, b->request_id);
    assert_string_equal(a->head, b->head);
    assert_int_equal(a->n_bags, b->n_bags);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_memory_equal(a->start, b->start, (a->n_bags + 1) * sizeof *a->start);
    for (size_t i = 0; i < a->n_rows; i++)
        assert_string_equal(pboost_wire_id_text(room_a, &a->id[i]),
                            pboost_wire_id_text(room_b, &b->id[i]));
}

static void questions_survive_the_way(void **state)
{
    (void)state;
    pboost_id *ids[] = {NUMBERS, MIXED};
    const wire_format formats[] = {WIRE_JSON, WIRE_BINARY};
    pboost_error err;

    for (int i = 0; i < 2; i++) {
        for (int f = 0; f < 2; f++) {
            wire_question q = make(ids[i]), back;
            unsigned char *body;
            size_t length;
            assert_int_equal(pboost_wire_write_question(&body, &length, formats[f], &q, &err), 0);
            assert_int_equal(pboost_wire_read_question(&back, formats[f], body, length, &err), 0);
            assert_same(&q, &back);
            /* Every shorter body is refused. */
            for (size_t n = 0; n < length; n++) {
                wire_question cut;
                unsigned char *copy = malloc(n + 1); /* so that a sanitizer sees the end */
                memcpy(copy, body, n);
                copy = realloc(copy, n > 0 ? n : 1);
                assert_int_equal(pboost_wire_read_question(&cut, formats[f], copy, n, &err),
                                 PBOOST_BAD_DATA);
                assert_null(cut.id);
                free(copy);
            }
            pboost_wire_question_free(&back);
            free(body);
        }
    }
}

static void the_name_depends_on_bags_and_ids_alone(void **state)
{
    (void)state;
    wire_question q = make(NUMBERS), other = make(NUMBERS);
    size_t start[] = {0, 3, 5};
    pboost_id swapped[5];

    assert_int_equal(pboost_wire_name_question(&q, NULL), PBOOST_OK);
    strcpy(other.request_id, "another");
    other.head[0] = '\0';
    assert_int_equal(pboost_wire_name_question(&other, NULL), PBOOST_OK);
    assert_string_equal(q.request_id, other.request_id);
    assert_int_equal(strlen(q.request_id), 40);
    other.start = start;
    assert_int_equal(pboost_wire_name_question(&other, NULL), PBOOST_OK);
    assert_string_not_equal(q.request_id, other.request_id);
    memcpy(swapped, NUMBERS, sizeof swapped);
    swapped[0] = NUMBERS[1];
    swapped[1] = NUMBERS[0];
    other = make(swapped);
    assert_int_equal(pboost_wire_name_question(&other, NULL), PBOOST_OK);
    assert_string_not_equal(q.request_id, other.request_id);
}

static pboost_status read_text(const char *text)
{
    wire_question q;
    pboost_status st =
        pboost_wire_read_question(&q, WIRE_JSON, (const unsigned char *)text, strlen(text), NULL);
    pboost_wire_question_free(&q);
    return st;
}

static void json_is_read_strictly(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"request_id\":\"a\",\"bags\":[]}",
        " {\n\"bags\" : [ [ ] , [ \"1\" ] ] ,\t\"request_id\":\"\" , \"head\":null } \r\n",
        "{\"request_id\":\"\\u00e4\\ud83c\\udf0d\\n\\/\",\"bags\":[[\"\\\"\"]],\"head\":\"zz\"}"};
    static const char *const bad[] = {"",
                                      "{}",
                                      "null",
                                      "[]",
                                      "{\"request_id\":\"a\"}",
                                      "{\"bags\":[]}",
                                      "{\"request_id\":\"a\",\"bags\":[],}",
                                      "{\"request_id\":\"a\",\"bags\":[]}}",
                                      "{\"request_id\":\"a\",\"bags\":[,]}",
                                      "{\"request_id\":\"a\",\"bags\":[[]",
                                      "{\"a\":1}",
                                      "{\"request_id\":\"a\",\"bags\":[[1]]}",
                                      "{\"request_id\":\"a\",\"bags\":[\"1\"]}",
                                      "{\"request_id\":\"a\",\"bags\":[],\"bags\":[]}",
                                      "{\"request_id\":1,\"bags\":[]}",
                                      "{\"request_id\":\"a\",\"bags\":[[\"\\u0000\"]]}",
                                      "{\"request_id\":\"\\ud83c\",\"bags\":[]}",
                                      "{\"request_id\":\"\\udf0d\",\"bags\":[]}",
                                      "{\"request_id\":\"\\ud83c\\u0041\",\"bags\":[]}",
                                      "{\"request_id\":\"\\x\",\"bags\":[]}",
                                      "{\"request_id\":\"\\u12g4\",\"bags\":[]}",
                                      "{\"request_id\":\"\n\",\"bags\":[]}",
                                      "{\"request_id\":\"\xc0\xaf\",\"bags\":[]}",
                                      "{\"request_id\":\"\xed\xa0\x80\",\"bags\":[]}",
                                      "{\"request_id\":\"\xf4\x90\x80\x80\",\"bags\":[]}",
                                      "{\"request_id\":\"\xe0\x80\x80\",\"bags\":[]}",
                                      "{\"request_id\":\"\xf0\x80\x80\x80\",\"bags\":[]}",
                                      "{\"request_id\":\"\xff\",\"bags\":[]}",
                                      "{\"request_id\":\"a\",\"bags\":[],\"head\":1}",
                                      "{\"rows\":[]}"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(read_text(good[i]), PBOOST_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_text(bad[i]) != PBOOST_BAD_DATA)
            fail_msg("was taken: %s", bad[i]);
}

static void escapes_are_undone(void **state)
{
    (void)state;
    static const char text[] =
        "{\"request_id\":\"\\u00e4\\ud83c\\udf0d\\b\\f\\n\\r\\t\\/\\\\\\\"\\u0041\","
        "\"bags\":[]}";
    wire_question q;

    assert_int_equal(
        pboost_wire_read_question(&q, WIRE_JSON, (const unsigned char *)text, strlen(text), NULL),
        PBOOST_OK);
    assert_string_equal(q.request_id, "ä\xf0\x9f\x8c\x8d\b\f\n\r\t/\\\"A");
    pboost_wire_question_free(&q);
}

static void names_that_are_too_long(void **state)
{
    (void)state;
    char text[600];
    pboost_id id[2] = {{text, 0}, {NULL, 1}};
    size_t start[] = {0, 2};
    wire_question q = {.n_bags = 1, .n_rows = 2, .start = start, .id = id};
    unsigned char *body;
    size_t length;

    snprintf(text, sizeof text, "{\"request_id\":\"%0256d\",\"bags\":[]}", 7);
    assert_int_equal(read_text(text), PBOOST_BAD_DATA);
    snprintf(text, sizeof text, "{\"request_id\":\"%0255d\",\"bags\":[]}", 7);
    assert_int_equal(read_text(text), PBOOST_OK);
    memset(text, 'x', 256);
    text[256] = '\0';
    assert_int_equal(pboost_wire_write_question(&body, &length, WIRE_BINARY, &q, NULL),
                     PBOOST_INVALID);
    assert_null(body);
    text[0] = '\0';
    assert_int_equal(pboost_wire_write_question(&body, &length, WIRE_BINARY, &q, NULL),
                     PBOOST_INVALID);
}

/* ---- False binary headers -------------------------------------------------------------------- */

static void headers_that_lie(void **state)
{
    (void)state;
    wire_question q = make(MIXED), back;
    unsigned char *body;
    size_t length;
    pboost_error err;

    assert_int_equal(pboost_wire_write_question(&body, &length, WIRE_BINARY, &q, &err), PBOOST_OK);
    /* Every header byte, changed to every value: read or refused, never beyond the body. */
    for (size_t at = 0; at < 16; at++) {
        unsigned char was = body[at];
        for (int value = 0; value < 256; value++) {
            body[at] = (unsigned char)value;
            pboost_status st = pboost_wire_read_question(&back, WIRE_BINARY, body, length, &err);
            assert_true(st == PBOOST_OK || st == PBOOST_BAD_DATA);
            bool kind = at == 7 && value <= PBOOST_ANSWER_COLUMNS; /* of the answer expected */
            assert_true(value == was || kind ? st == PBOOST_OK : st == PBOOST_BAD_DATA || at == 5);
            pboost_wire_question_free(&back);
        }
        body[at] = was;
    }
    free(body);
}

static void binary_text_must_be_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff", "\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pboost_id id[] = {{bad[i], 0}};
        size_t start[] = {0, 1};
        wire_question q = {.request_id = "r", .n_bags = 1, .n_rows = 1, .start = start, .id = id},
                      back;
        unsigned char *body;
        size_t length;
        assert_int_equal(pboost_wire_write_question(&body, &length, WIRE_BINARY, &q, NULL),
                         PBOOST_OK);
        assert_int_equal(pboost_wire_read_question(&back, WIRE_BINARY, body, length, NULL),
                         PBOOST_BAD_DATA);
        free(body);
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

static const size_t SIZES[] = {2, 3};
static const double MEANS[] = {0.1, -1e300};

static pboost_ledger_answer make_answer(void)
{
    static const char head[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    return (pboost_ledger_answer){"r", 2, SIZES, PBOOST_ANSWER_MEAN, 1, MEANS, true, {1, 3}, head};
}

static void answers_survive_the_way(void **state)
{
    (void)state;
    pboost_ledger_answer a = make_answer();
    wire_answer back;
    unsigned char *body;
    size_t length;
    pboost_error err;

    assert_int_equal(pboost_wire_write_answer(&body, &length, WIRE_BINARY, &a, &err), PBOOST_OK);
    assert_int_equal(pboost_wire_read_answer(&back, body, length, &err), PBOOST_OK);
    assert_string_equal(back.request_id, a.request_id);
    assert_string_equal(back.head, a.head);
    assert_true(back.dp);
    assert_int_equal(back.epsilon.num, 1);
    assert_int_equal(back.epsilon.den, 3);
    assert_int_equal(back.n_bags, 2);
    assert_memory_equal(back.value, MEANS, sizeof MEANS);
    assert_int_equal(back.answer, PBOOST_ANSWER_MEAN);
    assert_memory_equal(back.size, SIZES, sizeof SIZES);
    pboost_wire_answer_free(&back);
    for (size_t n = 0; n < length; n++)
        assert_int_equal(pboost_wire_read_answer(&back, body, n, &err), PBOOST_BAD_DATA);
    free(body);

    assert_int_equal(pboost_wire_write_answer(&body, &length, WIRE_JSON, &a, &err), PBOOST_OK);
    assert_string_equal(
        (char *)body,
        "{\"request_id\":\"r\",\"answers\":[{\"mean\":0.10000000000000001,\"size\":2},"
        "{\"mean\":-1.0000000000000001e+300,\"size\":3}],\"dp\":true,\"epsilon\":0."
        "33333333333333331,"
        "\"head\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}\n");
    free(body);
}

/* ---- Rows and rules -------------------------------------------------------------------------- */

static pboost_status read_available(bool *available, const char *text)
{
    return pboost_wire_read_available(available, MIXED, 5, (const unsigned char *)text,
                                      strlen(text), NULL);
}

static void available_rows(void **state)
{
    (void)state;
    const bool want[] = {true, false, true, false, true};
    bool got[5];
    unsigned char *body;
    size_t length;
    wire_question q;

    assert_int_equal(pboost_wire_write_available(&body, &length, MIXED, want, 5, NULL), PBOOST_OK);
    assert_int_equal(read_available(got, (char *)body), PBOOST_OK);
    assert_memory_equal(got, want, sizeof want);
    free(body);
    assert_int_equal(read_available(got, "{\"available\":[]}"), PBOOST_OK);
    static const char *const bad[] = {"",
                                      "{}",
                                      "{\"available\":[\"nobody\"]}",
                                      "{\"available\":[\"12\",\"12\"]}",
                                      "{\"available\":[\"x\",\"12\"]}",
                                      "{\"rows\":[]}",
                                      "{\"available\":[]} x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_available(got, bad[i]), PBOOST_BAD_DATA);

    assert_int_equal(pboost_wire_write_rows(&body, &length, MIXED, 5, NULL), PBOOST_OK);
    assert_int_equal(pboost_wire_read_rows(&q, body, length, NULL), PBOOST_OK);
    assert_int_equal(q.n_rows, 5);
    assert_int_equal(q.n_bags, 1);
    pboost_wire_question_free(&q);
    free(body);
}

/* Counts and means of columns, in both forms; what is announced must be there. */
static void vectors_survive_the_way(void **state)
{
    (void)state;
    static const double values[] = {3, -1, 2, 1e6, 0, -7};
    static const char *const json[] = {"{\"counts\":[3,-1,2],\"size\":2}",
                                       "{\"means\":[3,-1,2],\"size\":2}"};
    pboost_error err;

    for (int kind = PBOOST_ANSWER_CLASSES; kind <= PBOOST_ANSWER_COLUMNS; kind++) {
        pboost_ledger_answer a = make_answer();
        wire_answer back;
        unsigned char *body;
        size_t length;
        a.answer = (pboost_answer)kind;
        a.width = 3;
        a.value = values;
        assert_int_equal(pboost_wire_write_answer(&body, &length, WIRE_JSON, &a, &err), PBOOST_OK);
        assert_non_null(strstr((char *)body, json[kind - 1]));
        free(body);
        assert_int_equal(pboost_wire_write_answer(&body, &length, WIRE_BINARY, &a, &err),
                         PBOOST_OK);
        assert_memory_equal(body, "PBA2", 4);
        assert_int_equal(pboost_wire_read_answer(&back, body, length, &err), PBOOST_OK);
        assert_int_equal(back.answer, kind);
        assert_int_equal(back.width, 3);
        assert_memory_equal(back.value, values, sizeof values);
        assert_memory_equal(back.size, SIZES, sizeof SIZES);
        pboost_wire_answer_free(&back);
        for (size_t n = 0; n < length; n++)
            assert_int_equal(pboost_wire_read_answer(&back, body, n, NULL), PBOOST_BAD_DATA);
        static const unsigned char wrong[][2] = {{6, 3}, {12, 0}, {12, 4}, {13, 1}, {15, 255}};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            unsigned char was = body[wrong[i][0]];
            body[wrong[i][0]] = wrong[i][1];
            assert_int_equal(pboost_wire_read_answer(&back, body, length, NULL), PBOOST_BAD_DATA);
            body[wrong[i][0]] = was;
        }
        free(body);
    }
}

/* A question says which answers its learner knows; one that says nothing knows means. */
static void questions_say_what_they_expect(void **state)
{
    (void)state;
    static const char *const text[] = {
        "{\"request_id\":\"r\",\"bags\":[[\"1\"]]}",
        "{\"request_id\":\"r\",\"answer\":\"classes\",\"bags\":[[\"1\"]]}",
        "{\"request_id\":\"r\",\"bags\":[[\"1\"]],\"answer\":\"columns\"}"};
    pboost_error err = {0};
    wire_question q, back;

    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(pboost_wire_read_question(&q, WIRE_JSON, (const unsigned char *)text[kind],
                                                   strlen(text[kind]), &err),
                         PBOOST_OK);
        assert_int_equal(q.answer, kind);
        for (int format = WIRE_JSON; format <= WIRE_BINARY; format++) {
            unsigned char *body;
            size_t length;
            assert_int_equal(
                pboost_wire_write_question(&body, &length, (wire_format)format, &q, &err),
                PBOOST_OK);
            assert_int_equal(
                pboost_wire_read_question(&back, (wire_format)format, body, length, &err),
                PBOOST_OK);
            assert_int_equal(back.answer, kind);
            pboost_wire_question_free(&back);
            free(body);
        }
        pboost_wire_question_free(&q);
    }
    static const char bad[] = "{\"request_id\":\"r\",\"answer\":\"sums\",\"bags\":[[\"1\"]]}";
    assert_fails(
        pboost_wire_read_question(&q, WIRE_JSON, (const unsigned char *)bad, sizeof bad - 1, &err),
        PBOOST_BAD_DATA, err, "answer is \"sums\"");
}

static pboost_status read_config(wire_config *out, const char *text)
{
    return pboost_wire_read_config(out, (const unsigned char *)text, strlen(text), NULL);
}

static void rules_of_vectors_survive_the_way(void **state)
{
    (void)state;
    wire_config back;
    unsigned char *body;
    size_t length;
    wire_config config = {.rules = PBOOST_RULES_INIT, .unit_rows = 1, .max_body = 1 << 20};

    config.rules.min_bag = 5;
    config.rules.epsilon = (pboost_rational){1, 3};
    config.rules.answer = PBOOST_ANSWER_CLASSES;
    config.rules.width = 3;
    strcpy(config.names, "red\nvery \"green\"\nä");
    assert_int_equal(pboost_rules_check(&config.rules, NULL), PBOOST_OK);
    assert_int_equal(pboost_wire_write_config(&body, &length, &config, NULL), PBOOST_OK);
    assert_non_null(strstr(
        (char *)body,
        "\"answer\":\"classes\",\"width\":3,\"mechanism\":\"laplace\",\"classes\":[\"red\","));
    assert_int_equal(pboost_wire_read_config(&back, body, length, NULL), PBOOST_OK);
    assert_string_equal(back.names, config.names);
    assert_int_equal(back.rules.answer, PBOOST_ANSWER_CLASSES);
    assert_int_equal(back.rules.width, 3);
    free(body);

    config.rules.answer = PBOOST_ANSWER_COLUMNS;
    config.rules.width = 2;
    strcpy(config.names, "a\nb");
    config.column[0] = (pboost_label_column){0, 1, 1, 1};
    config.column[1] = (pboost_label_column){-3, 1e3, 0.25, 7};
    assert_int_equal(pboost_wire_write_config(&body, &length, &config, NULL), PBOOST_OK);
    assert_int_equal(pboost_wire_read_config(&back, body, length, NULL), PBOOST_OK);
    assert_memory_equal(back.column, config.column, 2 * sizeof *config.column);
    assert_ptr_equal(pboost_wire_rules(&back).columns, back.column);
    free(body);
    config.rules.mechanism = PBOOST_GAUSSIAN;
    config.rules.delta = (pboost_rational){1, 1000};
    pboost_rules with = pboost_wire_rules(&config);
    with.bounded = true;
    assert_int_equal(pboost_rules_check(&with, NULL), PBOOST_OK);
    config.rules.rho = with.rho;
    assert_int_equal(pboost_wire_write_config(&body, &length, &config, NULL), PBOOST_OK);
    assert_int_equal(pboost_wire_read_config(&back, body, length, NULL), PBOOST_OK);
    assert_int_equal(back.rules.mechanism, PBOOST_GAUSSIAN);
    assert_memory_equal(&back.rules.rho, &config.rules.rho, sizeof(pboost_rational));
    free(body);
#define RULES                                                                                      \
    "{\"min_bag\":5,\"dp\":false,\"lower\":0,\"upper\":1,\"step\":1,\"units\":false,"              \
    "\"unit_rows\":1,\"max_body\":4096"
    static const char *const wrong[] = {
        RULES ",\"answer\":\"sketch\",\"width\":3}",
        RULES ",\"answer\":\"classes\",\"width\":3,\"classes\":[\"a\",\"b\"]}",
        RULES ",\"answer\":\"classes\",\"width\":3,\"classes\":[\"a\",\"b\",\"\\u001b[2J\"]}",
        RULES ",\"answer\":\"classes\",\"width\":100000}",
        RULES ",\"answer\":\"columns\",\"width\":1,\"columns\":[{\"name\":\"a\"}]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_config(&back, wrong[i]), PBOOST_ORACLE);
#undef RULES
    assert_int_equal(read_config(&back, "{\"min_bag\":5,\"dp\":false,\"lower\":0,\"upper\":1,"
                                        "\"step\":1,\"units\":false,\"unit_rows\":1,"
                                        "\"max_body\":4096}"),
                     PBOOST_OK); /* an oracle of before answers with means */
    assert_int_equal(back.rules.width, 1);
}

static void rules_survive_the_way(void **state)
{
    (void)state;
    wire_config config = {.rules = PBOOST_RULES_INIT,
                          .units = true,
                          .unit_rows = 3,
                          .max_body = 1 << 20,
                          .sheet = {{"visits", "", "it's \"fine\"", "ä"}}};
    wire_config back;
    unsigned char *body;
    size_t length;

    config.rules.min_bag = 17;
    config.rules.bounded = true;
    config.rules.lower = -0.1;
    config.rules.upper = 1e3;
    config.rules.step = 1.0 / 3;
    for (int noise = 0; noise < 2; noise++) {
        config.rules.epsilon = noise ? (pboost_rational){1, 10} : (pboost_rational){0, 0};
        assert_int_equal(pboost_wire_write_config(&body, &length, &config, NULL), PBOOST_OK);
        assert_int_equal(pboost_wire_read_config(&back, body, length, NULL), PBOOST_OK);
        assert_memory_equal(&back.rules.epsilon, &config.rules.epsilon, sizeof(pboost_rational));
        assert_true(back.rules.lower == -0.1 && back.rules.upper == 1e3);
        assert_true(back.rules.step == 1.0 / 3);
        assert_int_equal(back.rules.min_bag, 17);
        assert_true(back.units && back.unit_rows == 3 && back.max_body == 1 << 20);
        assert_memory_equal(&back.sheet, &config.sheet, sizeof back.sheet);
        free(body);
    }
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"min_bag\":0,\"dp\":false,\"lower\":0,\"upper\":1,\"step\":1,\"units\":false,\"unit_"
        "rows\":1,\"max_body\":9999}",
        "{\"min_bag\":2,\"dp\":true,\"lower\":0,\"upper\":1,\"step\":1,\"units\":false,\"unit_"
        "rows\":1,\"max_body\":9999}",
        "{\"min_bag\":2,\"dp\":true,\"epsilon_fraction\":\"1/"
        "0\",\"lower\":0,\"upper\":1,\"step\":1,\"units\":false,\"unit_rows\":1,\"max_body\":9999}",
        "{\"min_bag\":2,\"dp\":false,\"lower\":0,\"upper\":1,\"step\":1,\"units\":false,\"unit_"
        "rows\":1,\"max_body\":9}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_config(&back, bad[i]), PBOOST_ORACLE);
    assert_int_not_equal(
        read_config(
            &back, "{\"min_bag\":2,\"dp\":false,\"lower\":1,\"upper\":0,\"step\":1,\"units\":false,"
                   "\"unit_rows\":1,\"max_body\":9999}"),
        PBOOST_OK);
}

/* What an oracle tells is shown on a terminal: text passes, an escape or a novel does not. */
static void sheets_are_text(void **state)
{
    (void)state;
    static const struct {
        const char *sheet;
        pboost_status expected;
    } CASES[] = {{"{\"label\":\"visits\",\"more\":3}", PBOOST_OK},
                 {"{\"owner\":null}", PBOOST_OK},
                 {"null", PBOOST_OK},
                 {"{\"owner\":\"caf\\u00e9 \\u20ac\"}", PBOOST_OK},
                 {"{\"owner\":\"\\u001b[2J\"}", PBOOST_ORACLE},
                 {"{\"owner\":\"a\\nb\"}", PBOOST_ORACLE},
                 {"{\"owner\":\"\\u009b2J\"}", PBOOST_ORACLE},
                 {"{\"owner\":\"\\u202e\"}", PBOOST_ORACLE},
                 {"{\"owner\":\"\\u2067\"}", PBOOST_ORACLE},
                 {"{\"owner\":\"\\u007f\"}", PBOOST_ORACLE}};
    char text[1000], novel[250];
    wire_config back;
    const char *rules = "{\"min_bag\":2,\"dp\":false,\"lower\":0,\"upper\":1,\"step\":1,"
                        "\"units\":false,\"unit_rows\":1,\"max_body\":9999,\"sheet\":";

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        snprintf(text, sizeof text, "%s%s}", rules, CASES[i].sheet);
        assert_int_equal(read_config(&back, text), CASES[i].expected);
    }
    memset(novel, 'a', sizeof novel);
    for (size_t n = PBOOST_SHEET_TEXT - 1; n <= PBOOST_SHEET_TEXT; n++) {
        snprintf(text, sizeof text, "%s{\"owner\":\"%.*s\"}}", rules, (int)n, novel);
        assert_int_equal(read_config(&back, text),
                         n < PBOOST_SHEET_TEXT ? PBOOST_OK : PBOOST_ORACLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_survive_the_way),
        cmocka_unit_test(the_name_depends_on_bags_and_ids_alone),
        cmocka_unit_test(json_is_read_strictly),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(names_that_are_too_long),
        cmocka_unit_test(headers_that_lie),
        cmocka_unit_test(binary_text_must_be_text),
        cmocka_unit_test(answers_survive_the_way),
        cmocka_unit_test(vectors_survive_the_way),
        cmocka_unit_test(questions_say_what_they_expect),
        cmocka_unit_test(rules_of_vectors_survive_the_way),
        cmocka_unit_test(available_rows),
        cmocka_unit_test(rules_survive_the_way),
        cmocka_unit_test(sheets_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
