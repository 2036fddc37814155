/* The minimiser on functions written out by hand. */
#include "fit_support.h"

#include "fit/event/newton.h"

/* f(x) = sum cosh(s_i (x_i - c_i)): convex, steep, minimum at c. */
typedef struct {
    size_t n, evaluations, hessians;
    const double *centre;
    double steepness;
} cosh_bowl;

static double cosh_value(void *self, const double *x, double *gradient, double *hessian)
{
    cosh_bowl *f = self;
    double value = 0.0;
    f->evaluations++;
    f->hessians += hessian != NULL;
    if (hessian != NULL)
        memset(hessian, 0, f->n * f->n * sizeof *hessian);
    for (size_t i = 0; i < f->n; i++) {
        double t = f->steepness * (x[i] - f->centre[i]);
        value += cosh(t);
        gradient[i] = f->steepness * sinh(t);
        if (hessian != NULL)
            hessian[i * f->n + i] = f->steepness * f->steepness * cosh(t);
    }
    return value;
}

static void cosh_rough(void *self, const double *x, double *hessian)
{
    cosh_bowl *f = self;
    (void)x;
    memset(hessian, 0, f->n * f->n * sizeof *hessian);
    for (size_t i = 0; i < f->n; i++)
        hessian[i * f->n + i] = f->steepness * f->steepness * (i % 2 ? 1.3 : 0.8);
}

static double cosh_reach(void *self, const double *p)
{
    cosh_bowl *f = self;
    double top = 0.0;
    for (size_t i = 0; i < f->n; i++)
        top = fmax(top, f->steepness * fabs(p[i]));
    return top;
}

static const double CENTRE[5] = {1.0, -2.0, 0.0, 3.0, 0.5};
static const pboost_newton_options OPTIONS = {
    .max_iterations = 100, .tolerance = 1e-14, .definite = true, .limit = INFINITY};

static void finds_the_minimum(void **state)
{
    (void)state;
    for (int rough = 0; rough < 2; rough++)
        for (double steepness = 0.1; steepness < 12.0; steepness *= 3.0) {
            cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = steepness};
            pboost_objective f = {5,          &bowl, cosh_value, rough ? cosh_rough : NULL,
                                  cosh_reach, NULL};
            pboost_newton_report report;
            double x[5] = {0};
            assert_int_equal(pboost_newton(x, &report, &f, &OPTIONS, NULL), PBOOST_OK);
            assert_true(report.started);
            if (!report.converged)
                print_error("steepness %g rough %d: %zu iterations\n", steepness, rough,
                            report.iterations);
            assert_true(report.converged);
            assert_int_equal(report.rank, 5);
            assert_near(report.value, 5.0, 1e-12);
            for (int i = 0; i < 5; i++)
                assert_near(steepness * x[i], steepness * CENTRE[i], 1e-6);
        }
}

static void a_rough_hessian_saves_hessians(void **state)
{
    (void)state;
    cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = 0.2};
    pboost_objective f = {5, &bowl, cosh_value, cosh_rough, cosh_reach, NULL};
    pboost_newton_report report;
    double x[5] = {0};
    assert_int_equal(pboost_newton(x, &report, &f, &OPTIONS, NULL), PBOOST_OK);
    assert_true(report.converged);
    assert_int_equal(bowl.hessians, 0);
}

/* From a start that is near, one Hessian serves for all steps, and the minimum is the same. */
static void a_kept_hessian_saves_hessians(void **state)
{
    (void)state;
    pboost_newton_options options = OPTIONS;
    for (double steepness = 0.1; steepness < 12.0; steepness *= 3.0) {
        cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = steepness};
        pboost_objective f = {5, &bowl, cosh_value, NULL, cosh_reach, NULL};
        pboost_newton_report report;
        double x[5];
        options.keeps_hessian = true;
        for (int i = 0; i < 5; i++)
            x[i] = CENTRE[i] + 0.3 / steepness;
        assert_int_equal(pboost_newton(x, &report, &f, &options, NULL), PBOOST_OK);
        assert_true(report.converged);
        assert_int_equal(report.rank, 5);
        assert_int_equal(bowl.hessians, 1);
        for (int i = 0; i < 5; i++)
            assert_near(steepness * x[i], steepness * CENTRE[i], 1e-6);
    }
    /* Far away it becomes Newton's method. */
    cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = 8.0};
    pboost_objective f = {5, &bowl, cosh_value, NULL, cosh_reach, NULL};
    pboost_newton_report report;
    double x[5] = {0};
    assert_int_equal(pboost_newton(x, &report, &f, &options, NULL), PBOOST_OK);
    assert_true(report.converged && bowl.hessians > 1);
    assert_near(report.value, 5.0, 1e-12);
}

static double slide_reach(void *self, const double *p)
{
    (void)self;
    return fmax(fabs(p[0]), fabs(p[1]));
}

/* A step whose outcome is known beforehand is not evaluated. */
static void a_sure_step_is_not_evaluated(void **state)
{
    (void)state;
    cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = 0.2};
    pboost_objective f = {5, &bowl, cosh_value, NULL, cosh_reach, NULL};
    pboost_newton_report report;
    double x[5] = {0};
    assert_int_equal(pboost_newton(x, &report, &f, &OPTIONS, NULL), PBOOST_OK);
    assert_true(report.converged);
    assert_int_equal(bowl.evaluations, 3);
    assert_int_equal(report.iterations, 3);
    assert_near(report.value, 5.0, 1e-15);
    for (int i = 0; i < 5; i++)
        assert_near(x[i], CENTRE[i], 1e-8);
}

/* f(x) = rest + (x0 - 3)^2 / 2 + (x1 - c x0)^2 / 2, its Hessian multiplied by `error`. */
typedef struct {
    double rest, c, error;
    int evaluations;
} parabola;

static double parabola_value(void *self, const double *x, double *gradient, double *hessian)
{
    parabola *p = self;
    double a = x[0] - 3.0, b = x[1] - p->c * x[0];
    p->evaluations++;
    gradient[0] = a - p->c * b;
    gradient[1] = b;
    if (hessian != NULL) {
        hessian[0] = p->error * (1.0 + p->c * p->c);
        hessian[2] = -p->error * p->c;
        hessian[3] = p->error;
    }
    return p->rest + 0.5 * a * a + 0.5 * b * b;
}

/* One evaluation solves a quadratic, unless digits were lost: then a second one is needed. */
static void a_quadratic_is_solved_at_once(void **state)
{
    (void)state;
    static const struct {
        double rest, c, error;
        int evaluations;
    } cases[] = {{1.0, 0.5, 1.0, 1}, {1e-6, 0.5, 1.0 + 1e-9, 2}, {1.0, 1e4, 1.0 + 1e-9, 2}};
    for (size_t k = 0; k < 3; k++) {
        parabola p = {cases[k].rest, cases[k].c, cases[k].error, 0};
        pboost_objective f = {2, &p, parabola_value, NULL, slide_reach, NULL};
        pboost_newton_options o = OPTIONS;
        pboost_newton_report report;
        double x[2] = {0};
        o.quadratic = true;
        assert_int_equal(pboost_newton(x, &report, &f, &o, NULL), PBOOST_OK);
        assert_true(report.converged);
        assert_int_equal(p.evaluations, cases[k].evaluations);
        assert_near(report.value, p.rest, 1e-14);
        assert_near(x[0], 3.0, 1e-12);
        assert_near(x[1], 3.0 * p.c, 1e-12 * p.c);
    }
}

static void a_start_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = 1.0};
    pboost_objective f = {5, &bowl, cosh_value, NULL, cosh_reach, NULL};
    pboost_newton_options o = OPTIONS;
    pboost_newton_report report;
    double x[5] = {0};
    o.limit = 6.0;
    assert_int_equal(pboost_newton(x, &report, &f, &o, NULL), PBOOST_OK);
    assert_false(report.started);
    assert_true(x[0] == 0.0);
    x[0] = 1e5; /* overflows */
    assert_int_equal(pboost_newton(x, &report, &f, &OPTIONS, NULL), PBOOST_OK);
    assert_false(report.started);
}

/* f(x) = e^-x0 + (x1 - 2)^2: decreases without limit along x0. */
static double slide_value(void *self, const double *x, double *gradient, double *hessian)
{
    (void)self;
    gradient[0] = -exp(-x[0]);
    gradient[1] = 2.0 * (x[1] - 2.0);
    if (hessian != NULL) {
        hessian[0] = exp(-x[0]);
        hessian[2] = 0.0;
        hessian[3] = 2.0;
    }
    return exp(-x[0]) + (x[1] - 2.0) * (x[1] - 2.0);
}

static bool slide_recedes(void *self, const double *p)
{
    (void)self;
    return p[0] > 0.0 && fabs(p[1]) <= 1e-12 * p[0];
}

static void a_slide_is_noticed(void **state)
{
    (void)state;
    pboost_objective f = {2, NULL, slide_value, NULL, slide_reach, slide_recedes};
    pboost_newton_report report;
    double x[2] = {0};
    assert_int_equal(pboost_newton(x, &report, &f, &OPTIONS, NULL), PBOOST_OK);
    assert_true(report.recedes);
    assert_false(report.converged);
}

/* f(x) = (x0 + x1 - 1)^2 / 2: rank one. */
static double trough_value(void *self, const double *x, double *gradient, double *hessian)
{
    double r = x[0] + x[1] - 1.0;
    (void)self;
    gradient[0] = gradient[1] = r;
    if (hessian != NULL)
        hessian[0] = hessian[2] = hessian[3] = 1.0;
    return 0.5 * r * r;
}

static void a_dependent_parameter_is_dropped(void **state)
{
    (void)state;
    pboost_objective f = {2, NULL, trough_value, NULL, slide_reach, NULL};
    pboost_newton_options o = OPTIONS;
    pboost_newton_report report;
    double x[2] = {0.25, 4.0};
    o.definite = false;
    assert_int_equal(pboost_newton(x, &report, &f, &o, NULL), PBOOST_OK);
    assert_true(report.converged);
    assert_int_equal(report.rank, 1);
    assert_int_equal(report.first_dropped, 1);
    assert_near(x[0], 1.0, 1e-12);
    assert_true(x[1] == 0.0);
}

static void iterations_are_limited(void **state)
{
    (void)state;
    cosh_bowl bowl = {.n = 5, .centre = CENTRE, .steepness = 10.0};
    pboost_objective f = {5, &bowl, cosh_value, NULL, cosh_reach, NULL};
    pboost_newton_options o = OPTIONS;
    pboost_newton_report report;
    double x[5] = {0};
    o.max_iterations = 2;
    assert_int_equal(pboost_newton(x, &report, &f, &o, NULL), PBOOST_OK);
    assert_false(report.converged);
    assert_int_equal(report.iterations, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_minimum),
        cmocka_unit_test(a_rough_hessian_saves_hessians),
        cmocka_unit_test(a_kept_hessian_saves_hessians),
        cmocka_unit_test(a_sure_step_is_not_evaluated),
        cmocka_unit_test(a_quadratic_is_solved_at_once),
        cmocka_unit_test(a_start_beyond_the_limit_is_refused),
        cmocka_unit_test(a_slide_is_noticed),
        cmocka_unit_test(a_dependent_parameter_is_dropped),
        cmocka_unit_test(iterations_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
