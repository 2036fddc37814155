/* Decimal text to double, against strtod in the C locale and against cases worked out by hand. */
#include "testing.h"

#include "number.h"

static uint64_t state = 88172645463325252u;

static uint64_t next_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static unsigned below(unsigned n)
{
    return (unsigned)(next_word() % n);
}

/* The same kind and the same bits as strtod. */
static void check(const char *text)
{
    double expected = strtod(text, NULL), got = -1;
    number_kind kind = pboost_number_parse(&got, text, strlen(text));

    if (!isfinite(expected)) {
        if (kind != NUMBER_NOT_FINITE)
            fail_msg("'%s' should not be finite", text);
    } else if (kind != NUMBER_FINITE || memcmp(&got, &expected, sizeof got) != 0) {
        fail_msg("'%s' is %a, not %a", text, got, expected);
    }
}

static double random_double(void)
{
    uint64_t bits;
    double v;

    do {
        bits = next_word();
        memcpy(&v, &bits, sizeof v);
    } while (!isfinite(v));
    return v;
}

static void agrees_with_strtod_on_random_doubles(void **unused)
{
    char text[64];

    (void)unused;
    for (int i = 0; i < 500000; i++) {
        snprintf(text, sizeof text, "%.*g", 1 + (int)below(30), random_double());
        check(text);
    }
}

static void agrees_with_strtod_on_everyday_numbers(void **unused)
{
    char text[64];

    (void)unused;
    for (int i = 0; i < 500000; i++) {
        snprintf(text, sizeof text, "%.*g", 1 + (int)below(20),
                 (double)(int64_t)next_word() / 9.3e18 * (1 + below(1000)));
        check(text);
    }
}

static void agrees_with_strtod_on_random_digits(void **unused)
{
    char text[96];

    (void)unused;
    for (int i = 0; i < 500000; i++) {
        snprintf(text, sizeof text, "%llu.%0*llue%d", (unsigned long long)next_word() >> below(64),
                 1 + (int)below(20), (unsigned long long)next_word() >> below(64),
                 (int)below(720) - 370);
        check(text);
        snprintf(text, sizeof text, "-%llue%d", (unsigned long long)next_word() >> below(64),
                 (int)below(60) - 30);
        check(text);
    }
}

/* A double and its upper neighbour: the text half-way between, a digit more, a digit less. */
static void rounds_half_way_cases(void **unused)
{
    static char text[1200];

    (void)unused;
    for (int i = 0; i < 10000; i++) {
        double v = fabs(random_double());
        if (i % 3 == 0)
            v = ldexp((double)(next_word() >> 11), -1074); /* no implied one */
        else if (i % 3 == 1)
            v = (double)(next_word() >> 11) * pow(2, below(60));
        double above = nextafter(v, INFINITY);
        if (!isfinite(above) || v == 0)
            continue;
        long double half = ((long double)v + above) / 2;
        snprintf(text, sizeof text - 8, "%.1100Lf", half);
        if (v > 1e50 || v < 1e-50)
            snprintf(text, sizeof text - 8, "%.800Le", half);
        check(text);
        char *end = strchr(text, 'e');
        char exponent[16] = "";
        if (end != NULL) {
            snprintf(exponent, sizeof exponent, "%s", end);
            *end = '\0';
        }
        end = text + strlen(text);
        snprintf(end, 20, "1%s", exponent);
        check(text);
    }
}

static void rounds_at_the_edges(void **unused)
{
    static const char *const TEXT[] = {
        "0",
        "-0",
        "0.0",
        "-0e5",
        "+1",
        "1.",
        ".5",
        "-.5",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.470328229206232720e-324",
        "2.470328229206232721e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901"
        "7",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "2.2250738585072012e-308",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740994",
        "9007199254740995",
        "9007199254740993.00000000000000000000000000000000000000000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
        "10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
        "1e-400",
        "1e400",
        "1e999999999999999999999",
        "1e18446744073709551617",
        "1e-999999999999999999999",
        "0e999999999999",
        "1e23",
        "8.5e22",
        "1.448997445238699",
        "6.9294956446009195e15",
        "123456789012345678e-18",
        "0.1e1",
        "7.2057594037927933e16",
        "1e22",
        "1e-22",
        "1e-23",
        "3e-343",
        "1e0000000000001",
        "9214843084008499.0",
        "9214843084008500.5",
        "0.500000000000000166533453693773481063544750213623046875",
        "3."
        "237883913302901289588352412501532174863037669423108059901297049552301970670676565786835742"
        "587"
        "799557860615776559838283435514391084153169252689190564396459577394618038928365305143463955"
        "1003"
        "566966656292020173313440317300443693602052583458034714716600326995807313009548483639755486"
        "9001"
        "0751523376717145860655140410141214e-309"};

    (void)unused;
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        check(TEXT[i]);
}

/* More digits than are kept still decide which side of half-way a number is on. */
static void digits_past_the_limit_still_count(void **unused)
{
    static char text[3000];
    size_t n;

    (void)unused;
    memcpy(text, "9007199254740993.", 17);
    memset(text + 17, '0', 2000);
    text[2017] = '\0';
    check(text);
    text[2016] = '1';
    check(text);
    n = (size_t)snprintf(text, sizeof text, "9007199254740993");
    memset(text + n, '0', 900);
    memcpy(text + n + 900, "1e-901", 7);
    check(text);
    memset(text, '0', 2000);
    memcpy(text + 1, ".", 1);
    memcpy(text + 2000, "17e1990", 8);
    check(text);
}

static void refuses_what_is_no_number(void **unused)
{
    static const char *const TEXT[] = {
        "",     " ",    "-",   "+",     ".",     "-.",        "e5",    "1e",      "1e+", "1e-",
        "0x10", "1,5",  "1 ",  " 1",    "--1",   "1.2.3",     "1e5.0", "abc",     "1a",  "nano",
        "in",   "infi", "+-1", "1_000", "1e5e5", "12345678x", "1f",    "\xd9\xa1"};
    double v = 7;

    (void)unused;
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        if (pboost_number_parse(&v, TEXT[i], strlen(TEXT[i])) != NUMBER_NONE)
            fail_msg("'%s' is no number", TEXT[i]);
    assert_true(v == 7);
}

static void knows_what_is_not_finite(void **unused)
{
    static const char *const TEXT[] = {"nan",  "NaN",      "-nan",      "inf",   "-Inf",
                                       "+INF", "Infinity", "-infinity", "1e999", "-1e309"};
    double v = 7;

    (void)unused;
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        if (pboost_number_parse(&v, TEXT[i], strlen(TEXT[i])) != NUMBER_NOT_FINITE)
            fail_msg("'%s' is not finite", TEXT[i]);
    assert_true(v == 7);
}

/* It reads n bytes and not one more: what follows would change the value. */
static void reads_no_further_than_told(void **unused)
{
    const char text[] = "123456789012345678";
    double v;

    (void)unused;
    for (size_t n = 1; n < sizeof text - 1; n++) {
        char *exact = malloc(n); /* so that the sanitizer sees a byte too many */
        memcpy(exact, text, n);
        assert_int_equal(pboost_number_parse(&v, exact, n), NUMBER_FINITE);
        char copy[32] = "";
        memcpy(copy, text, n);
        assert_true(v == strtod(copy, NULL));
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_strtod_on_random_doubles),
        cmocka_unit_test(agrees_with_strtod_on_everyday_numbers),
        cmocka_unit_test(agrees_with_strtod_on_random_digits),
        cmocka_unit_test(rounds_half_way_cases),
        cmocka_unit_test(rounds_at_the_edges),
        cmocka_unit_test(digits_past_the_limit_still_count),
        cmocka_unit_test(refuses_what_is_no_number),
        cmocka_unit_test(knows_what_is_not_finite),
        cmocka_unit_test(reads_no_further_than_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
