/* Passes over samples.  See row_pass.h. */
#include "passes/row_pass.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "passes/chunks.h"
#include "try.h"

#define TURNED_ROWS 256 /* of a panel that stays in the first cache beside a turned copy */
#define MIN_PANEL_ROWS                                                                             \
    128             /* a panel of many columns has enough rows to pay for a tile's traffic         \
                     */
#define MIN_STEP 16 /* rows read in place at a time, for the same reason */

#define RUN                                                                                        \
    16 /* samples of a subsample that follow each other: memory is fastest by the kilobyte */

#define CACHE_VALUES ((size_t)1 << 17) /* all panels together, kept between passes */
#define SHIFT_SAMPLE 64                /* rows that decide whether a column is shifted */
#define SHIFT_RATIO 16.0               /* mean over standard deviation from which it is */

/* The head of a chunk's sums; then gradient, cross and gram. */
enum { SUM_REACH = EVENT_SUMS, SUM_SLOPE, SUM_LENGTH, SUM_SQUARES, SUM_HEAD = 8 };

bool pboost_pass_shift(double *shift, const pboost_samples *s)
{
    bool any = false;
    size_t count = s->n < SHIFT_SAMPLE ? s->n : SHIFT_SAMPLE, stride = s->n / count;
    for (size_t j = 0; j < s->x->cols; j++) {
        double base = pboost_matrix_at(s->x, pboost_samples_row(s, 0), j);
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < count; i++) {
            double v = pboost_matrix_at(s->x, pboost_samples_row(s, i * stride), j) - base;
            mean += v;
            square += v * v;
        }
        mean /= (double)count;
        double deviation = sqrt(fmax(square / (double)count - mean * mean, 0.0));
        bool far = isfinite(deviation) && fabs(base + mean) > SHIFT_RATIO * deviation;
        shift[j] = far ? base : 0.0;
        any = any || shift[j] != 0.0;
    }
    return any;
}

static void plan_chunks(pass_plan *plan)
{
    plan->panel_rows = pboost_panel_rows(plan->padded, MIN_PANEL_ROWS);
    /* One row more, or all blocks would fall on the same few cache lines. */
    plan->pitch = plan->panel_rows + 1;
    plan->turned = plan->blocks == 1;
    if (plan->turned)
        plan->panel_rows = plan->pitch = TURNED_ROWS;
    plan->sums_size = SUM_HEAD + plan->padded * (2 + plan->padded);
    size_t chunks = pboost_chunk_count(plan->count, plan->padded, plan->sums_size);
    size_t panels = (plan->count + plan->panel_rows - 1) / plan->panel_rows;
    plan->chunk_rows = (panels + chunks - 1) / chunks * plan->panel_rows;
    plan->n_chunks = (plan->count + plan->chunk_rows - 1) / plan->chunk_rows;
    plan->n_workers = smaller((size_t)pboost_threads(plan->threads), plan->n_chunks);
    plan->work_size = plan->pitch * plan->padded + 5 * plan->panel_rows;
    if (plan->turned)
        plan->work_size += plan->pitch * plan->padded + GLM_COLUMNS_LANES;
}

/* Whether the table itself is a turned panel: its columns lie in memory one after the other. */
static bool are_turned(const pboost_samples *s, size_t stride, const double *shift)
{
    const pboost_matrix *x = s->x;
    return s->row == NULL && stride == 1 && shift == NULL && x->type == PBOOST_F64 &&
           x->row_stride == 1 && x->col_stride > 0 && x->cols == PANEL_LANES;
}

pboost_status pboost_pass_init_part(pass_plan *plan, const pboost_samples *samples,
                                    const family_info *family, size_t stride, const double *shift,
                                    int threads, pboost_workspace *memory, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *plan = (pass_plan){.samples = samples,
                        .family = family,
                        .kernels = pboost_glm_kernels(),
                        .threads = threads,
                        .stride = stride,
                        .count = stride > 1 ? samples->n / (stride * RUN) * RUN : samples->n,
                        .shift = shift,
                        .cross = true,
                        .memory = memory,
                        .cols = samples->x->cols};
    plan->scale = (double)samples->n / (double)plan->count;
    plan->blocks = pboost_panel_blocks(plan->cols);
    plan->padded = plan->blocks * PANEL_LANES;
    plan_chunks(plan);
    NEED(plan->sums = pboost_acquire(memory, plan->n_chunks * plan->sums_size, sizeof *plan->sums),
         err);
    size_t work = plan->n_workers * plan->work_size;
    size_t panels = (plan->count + plan->panel_rows - 1) / plan->panel_rows;
    size_t cache = panels * plan->pitch * plan->padded;
    plan->in_columns = plan->turned && are_turned(samples, stride, shift);
    bool direct =
        plan->in_columns || (!plan->turned && pboost_panel_is_direct(samples, stride, shift));
    if (cache > CACHE_VALUES || direct)
        cache = 0;
    NEED(plan->block = pboost_acquire(memory, work + cache + PANEL_LANES, sizeof *plan->block),
         err);
    plan->work = pboost_panel_align(plan->block);
    plan->cache = cache > 0 ? plan->work + work : NULL;
    plan->in_place = cache == 0 && plan->cols > PANEL_LANES && samples->row == NULL &&
                     samples->x->type == PBOOST_F64 && samples->x->col_stride == 1 && shift == NULL;
done:
    if (st != PBOOST_OK)
        pboost_pass_free(plan);
    return st;
}

pboost_status pboost_pass_init(pass_plan *plan, const pboost_samples *samples,
                               const family_info *family, const double *shift, int threads,
                               pboost_error *err)
{
    return pboost_pass_init_part(plan, samples, family, 1, shift, threads, NULL, err);
}

void pboost_pass_free(pass_plan *plan)
{
    pboost_release(plan->memory, plan->sums);
    pboost_release(plan->memory, plan->block);
    plan->sums = plan->block = NULL;
}

/* One panel of a chunk with what belongs to its rows. */
typedef struct {
    glm_panel panel;
    glm_table table; /* what takes its place where rows are read in place */
    double *eta, *residual, *curvature;
    const double *target, *weight; /* weight may be NULL */
} pass_panel;

typedef struct {
    pass_plan *plan;
    const double *theta;
    double intercept;
    bool gram;
} pass_task;

static bool reads_in_place(const pass_task *task)
{
    return task->plan->in_place && !task->gram;
}

/* Rows taken at a time. */
static size_t step_of(const pass_task *task)
{
    if (!reads_in_place(task))
        return task->plan->panel_rows;
    return smaller(pboost_panel_rows(task->plan->padded, MIN_STEP), task->plan->panel_rows);
}

/* The sample that is number r of the plan. */
static size_t sample_of(const pass_plan *plan, size_t r)
{
    return plan->stride > 1 ? r / RUN * RUN * plan->stride + r % RUN : r;
}

/* How many of the n numbers from r on are samples that follow each other. */
static size_t run_of(const pass_plan *plan, size_t r, size_t n)
{
    return plan->stride > 1 ? smaller(RUN - r % RUN, n) : n;
}

/* Rows to take from number `at` on, before `end`. */
static size_t rows_from(const pass_task *task, size_t at, size_t end)
{
    size_t n = smaller(step_of(task), end - at);
    return reads_in_place(task) ? run_of(task->plan, at, n) : n;
}

/* Fills target, weight and offset of the samples; returns the offsets or NULL. */
static const double *gather_columns(pass_panel *p, const pass_plan *plan, size_t first,
                                    size_t count, double *target, double *weight, double *offset)
{
    const pboost_samples *s = plan->samples;
    p->target = target;
    if (plan->stride == 1)
        p->target = s->target + first;
    else
        for (size_t r = 0; r < count; r++)
            target[r] = s->target[sample_of(plan, first + r)];
    p->weight = s->weight != NULL ? weight : NULL;
    for (size_t r = 0; s->weight != NULL && r < count; r++)
        weight[r] = s->weight[pboost_samples_row(s, sample_of(plan, first + r))];
    for (size_t r = 0; s->offset != NULL && r < count; r++)
        offset[r] = s->offset[pboost_samples_row(s, sample_of(plan, first + r))];
    return s->offset != NULL ? offset : NULL;
}

/* The panel of `count` samples from number `first` on: `to`, filled, or the matrix itself. */
static const double *gather_panel(double *to, const pass_plan *plan, size_t first, size_t count)
{
    const double *x = to;
    for (size_t r = 0, n; r < count; r += n) {
        n = run_of(plan, first + r, count - r);
        double *part = to + r * PANEL_LANES;
        x = pboost_panel_gather(part, plan->pitch, plan->samples,
                                (panel_rows){sample_of(plan, first + r), n, 1, plan->shift});
        if (n == count)
            return x;
        if (x != part)
            memcpy(part, x, n * PANEL_LANES * sizeof *part);
    }
    return to;
}

/* The panel from row `first` of the plan on, turned where the plan says so.  Kernels read turned
 * panels by the register, beyond count: the last rows of a table are copied. */
static glm_panel find_panel(const pass_plan *plan, double *work, size_t first, size_t count)
{
    const pboost_matrix *table = plan->samples->x;
    double *panel = work;
    glm_panel found = {.capacity = plan->pitch, .count = count, .blocks = plan->blocks};
    if (plan->in_columns && count % PANEL_LANES == 0) {
        found.x = (const double *)table->data + first;
        found.capacity = (size_t)table->col_stride;
        return found;
    }
    if (plan->cache != NULL)
        panel = plan->cache + first / plan->panel_rows * plan->pitch * plan->padded;
    found.x = panel;
    if (plan->cached)
        return found;
    if (!plan->turned) {
        found.x = gather_panel(panel, plan, first, count);
        return found;
    }
    const double *x = NULL;
    if (plan->stride == 1)
        x = pboost_panel_direct(plan->samples, (panel_rows){first, count, 1, plan->shift});
    if (x == NULL)
        x = gather_panel(work + plan->work_size - plan->pitch * plan->padded, plan, first, count);
    plan->kernels->transpose(
        panel, (glm_panel){.x = x, .capacity = plan->pitch, .count = count, .blocks = 1});
    return found;
}

/* Says where the next panel will be read from, if that is known and there is a whole one. */
static void look_ahead(glm_panel *panel, const pass_task *task, size_t first)
{
    const pass_plan *plan = task->plan;
    const pboost_matrix *x = plan->samples->x;
    size_t step = step_of(task), next = first + step;
    if (next + step > plan->count)
        return;
    if (plan->in_columns) {
        panel->ahead = (const double *)x->data + next;
        panel->ahead_stride = x->col_stride;
        panel->ahead_turned = true;
    } else if (plan->cached && plan->turned) {
        panel->ahead = panel->x + plan->pitch * plan->padded;
        panel->ahead_stride = PANEL_LANES;
    } else if (plan->cache == NULL && plan->samples->row == NULL && x->type == PBOOST_F64 &&
               x->col_stride == 1 && (plan->stride == 1 || reads_in_place(task))) {
        panel->ahead = (const double *)x->data + (ptrdiff_t)sample_of(plan, next) * x->row_stride;
        panel->ahead_stride = x->row_stride;
    }
}

static pass_panel load_panel(const pass_task *task, int worker, size_t first, size_t count,
                             bool with_offset)
{
    const pass_plan *plan = task->plan;
    size_t pitch = plan->pitch, length = plan->panel_rows;
    double *work = plan->work + (size_t)worker * plan->work_size;
    double *rest = work + pitch * plan->padded;
    pass_panel p = {.eta = rest, .residual = rest + length, .curvature = rest + 2 * length};
    /* The offset is needed before residual exists, and shares its place. */
    const double *offset =
        gather_columns(&p, plan, first, count, rest + 3 * length, rest + 4 * length, p.residual);
    bool in_place = reads_in_place(task);
    if (in_place)
        p.panel = (glm_panel){.count = count, .blocks = plan->blocks};
    else
        p.panel = find_panel(plan, work, first, count);
    look_ahead(&p.panel, task, first);
    if (in_place) {
        const pboost_matrix *x = plan->samples->x;
        p.table = (glm_table){
            .x = (const double *)x->data + (ptrdiff_t)sample_of(plan, first) * x->row_stride,
            .row_stride = x->row_stride,
            .count = count,
            .cols = plan->cols,
            .ahead = p.panel.ahead,
        };
    }
    if (in_place)
        plan->kernels->eta_table(p.eta, &p.table, task->theta, task->intercept);
    else if (plan->turned)
        plan->kernels->eta_columns(p.eta, p.panel.x, p.panel.capacity, count, plan->cols,
                                   task->theta, task->intercept);
    else
        plan->kernels->eta(p.eta, p.panel, task->theta, task->intercept);
    for (size_t r = 0; with_offset && offset != NULL && r < count; r++)
        p.eta[r] += offset[r];
    return p;
}

/* Adds a turned panel to lanes. */
static void add_turned(double *lanes, const pass_plan *plan, const pass_panel *p, bool gram)
{
    size_t count = p->panel.count;
    for (size_t r = count; r % PANEL_LANES != 0; r++)
        p->residual[r] = p->curvature[r] = 0.0;
    glm_columns columns = {.x = p->panel.x,
                           .capacity = p->panel.capacity,
                           .count = count,
                           .cols = plan->cols,
                           .residual = p->residual,
                           .curvature = p->curvature,
                           .cross = plan->cross,
                           .ahead = p->panel.ahead,
                           .ahead_stride = p->panel.ahead_stride,
                           .ahead_turned = p->panel.ahead_turned};
    plan->kernels->add_columns(lanes, &columns, gram);
}

static void add_chunk(void *context, size_t chunk, int worker)
{
    const pass_task *task = context;
    const pass_plan *plan = task->plan;
    const glm_kernels *kernels = plan->kernels;
    const family_kernels *family = &kernels->family[plan->family->family];
    double *head = plan->sums + chunk * plan->sums_size, *gradient = head + SUM_HEAD;
    double *cross = gradient + plan->padded, *gram = cross + plan->padded;
    double *lanes = plan->work + (size_t)worker * plan->work_size + plan->pitch * plan->padded +
                    5 * plan->panel_rows;
    memset(head, 0, (task->gram ? plan->sums_size : SUM_HEAD + 2 * plan->padded) * sizeof *head);
    if (plan->turned)
        memset(lanes, 0, GLM_COLUMNS_LANES * sizeof *lanes);

    size_t end = smaller((chunk + 1) * plan->chunk_rows, plan->count);
    for (size_t at = chunk * plan->chunk_rows, count; at < end; at += count) {
        count = rows_from(task, at, end);
        pass_panel p = load_panel(task, worker, at, count, true);
        family->event(head, p.residual, p.curvature, p.eta, p.target, p.weight, count);
        if (plan->turned) {
            add_turned(lanes, plan, &p, task->gram);
            continue;
        }
        if (reads_in_place(task))
            kernels->gradient_table(gradient, &p.table, p.residual);
        else
            kernels->gradient(gradient, cross, p.panel, p.residual, p.curvature);
        if (task->gram)
            kernels->gram(gram, p.panel, p.curvature);
        for (size_t i = 0; task->gram && i < count; i++)
            head[SUM_SQUARES] += p.curvature[i] * p.curvature[i];
    }
    if (plan->turned)
        kernels->finish_columns(gradient, cross, gram, lanes, task->gram);
}

static int pass_threads(const pass_plan *plan, bool gram)
{
    double width = (double)plan->padded;
    double row = pboost_row_ns(plan->padded) + (gram ? GRAM_NS * width * width : 0.0);
    return pboost_threads_for(plan->threads, row * (double)plan->count);
}

pass_sums pboost_pass_run(pass_plan *plan, const double *theta, double intercept, bool gram)
{
    pass_task task = {plan, theta, intercept, gram};
    size_t used = gram ? plan->sums_size : SUM_HEAD + 2 * plan->padded;
    pboost_parallel(plan->n_chunks, pass_threads(plan, gram), add_chunk, &task);
    plan->cached = plan->cache != NULL;
    double *head = plan->sums;
    for (size_t chunk = 1; chunk < plan->n_chunks; chunk++)
        for (size_t i = 0; i < used; i++)
            head[i] += plan->sums[chunk * plan->sums_size + i];
    for (size_t i = 0; plan->scale != 1.0 && i < used; i++)
        head[i] *= plan->scale;
    double *gradient = head + SUM_HEAD;
    return (pass_sums){.value = head[EVENT_LOSS],
                       .residual = head[EVENT_RESIDUAL],
                       .curvature = head[EVENT_CURVATURE],
                       .squares = head[SUM_SQUARES],
                       .gradient = gradient,
                       .cross = gradient + plan->padded,
                       .gram = gradient + 2 * plan->padded,
                       .stride = plan->padded};
}

static void direction_chunk(void *context, size_t chunk, int worker)
{
    const pass_task *task = context;
    const pass_plan *plan = task->plan;
    double *head = plan->sums + chunk * plan->sums_size;
    double reach = 0.0, slope = 0.0, length = 0.0;
    size_t end = smaller((chunk + 1) * plan->chunk_rows, plan->count);
    for (size_t at = chunk * plan->chunk_rows, count; at < end; at += count) {
        count = rows_from(task, at, end);
        pass_panel p = load_panel(task, worker, at, count, false);
        for (size_t r = 0; r < count; r++) {
            double w = p.weight != NULL ? p.weight[r] : 1.0, v = p.eta[r];
            if (w == 0.0)
                continue;
            reach = fabs(v) <= reach ? reach : fabs(v);
            slope += w * plan->family->slope_at_infinity(p.target[r], v);
            length += w * fabs(v);
        }
    }
    head[SUM_REACH] = reach;
    head[SUM_SLOPE] = slope;
    head[SUM_LENGTH] = length;
}

pass_direction pboost_pass_direction(pass_plan *plan, const double *theta, double intercept)
{
    pass_task task = {plan, theta, intercept, false};
    pboost_parallel(plan->n_chunks, pass_threads(plan, false), direction_chunk, &task);
    double reach = 0.0, slope = 0.0, length = 0.0;
    for (size_t chunk = 0; chunk < plan->n_chunks; chunk++) {
        const double *head = plan->sums + chunk * plan->sums_size;
        reach = head[SUM_REACH] <= reach ? reach : head[SUM_REACH];
        slope += head[SUM_SLOPE];
        length += head[SUM_LENGTH];
    }
    return (pass_direction){reach, length > 0.0 ? slope / length : INFINITY, length};
}

static pass_sums local_sums(void *self, const double *theta, double intercept, bool gram)
{
    return pboost_pass_run(self, theta, intercept, gram);
}

static pass_direction local_direction(void *self, const double *theta, double intercept)
{
    return pboost_pass_direction(self, theta, intercept);
}

row_pass pboost_pass_local(pass_plan *plan)
{
    return (row_pass){plan, local_sums, local_direction};
}
