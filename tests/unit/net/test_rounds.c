/* Rounds in parts: no bag is lost or cut, the file returns what was written, other files are
 * refused, and ids are found. */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "idindex.h"
#include "rounds.h"

enum { BAGS = 50, SIZE = 4, ROWS = BAGS * SIZE };

typedef struct {
    char folder[64], text[ROWS][24];
    asked_round round;
} fixture;

/* Every third id is text. */
static void setup(fixture *f)
{
    wire_question *q = &f->round.all;
    pboost_error err;

    *f = (fixture){.folder = "/tmp/rounds-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    q->n_bags = BAGS;
    q->n_rows = ROWS;
    q->start = malloc((BAGS + 1) * sizeof *q->start);
    q->id = malloc(ROWS * sizeof *q->id);
    for (size_t b = 0; b <= BAGS; b++)
        q->start[b] = b * SIZE;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(f->text[i], sizeof f->text[i], "row-%zu", i);
        q->id[i] = (pboost_id){i % 3 == 0 ? f->text[i] : NULL, i % 3 == 0 ? 0 : (int64_t)i - 70};
    }
    assert_ok(pboost_wire_name_question(q, &err), err);
}

static void teardown(fixture *f)
{
    pboost_error err;
    assert_ok(pboost_checkpoint_remove(f->folder, &err), err);
    assert_int_not_equal(access(f->folder, F_OK), 0);
    pboost_round_free(&f->round);
}

static void parts_hold_all_bags(void **state)
{
    (void)state;
    const size_t bodies[] = {1, 600, 1024, 2048, 1 << 20};
    fixture f;
    pboost_error err;
    setup(&f);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        asked_round *round = &f.round;
        size_t row = 0;
        free(round->end);
        round->end = NULL;
        round->n_parts = 0;
        assert_ok(pboost_round_cut(round, bodies[i], &err), err);
        assert_int_equal(round->end[round->n_parts - 1], BAGS);
        assert_int_equal(round->n_parts == BAGS, bodies[i] <= 600);
        assert_int_equal(round->n_parts == 1, bodies[i] == 1 << 20);
        for (size_t p = 0; p < round->n_parts; p++) {
            wire_question part;
            unsigned char *body;
            size_t length;
            assert_ok(pboost_round_part(&part, round, p, &err), err);
            for (size_t j = 0; j < part.n_rows; j++, row++)
                assert_memory_equal(&part.id[j], &round->all.id[row], sizeof part.id[j]);
            assert_ok(pboost_wire_write_question(&body, &length, WIRE_BINARY, &part, &err), err);
            assert_true(part.n_bags == 1 || length <= bodies[i]);
            assert_int_equal(strlen(part.request_id), 40);
            free(body);
            pboost_wire_question_free(&part);
        }
        assert_int_equal(row, ROWS);
    }
    teardown(&f);
}

static void a_file_gives_back_the_round(void **state)
{
    (void)state;
    fixture f;
    asked_round again;
    pboost_error err;
    unsigned char *file;
    size_t length;
    setup(&f);
    assert_ok(pboost_round_cut(&f.round, 1024, &err), err);
    assert_ok(pboost_round_read(&again, f.folder, 7, &err), err);
    assert_int_equal(again.n_parts, 0); /* there is none */
    assert_ok(pboost_round_write(&f.round, f.folder, 7, &err), err);
    assert_ok(pboost_round_read(&again, f.folder, 7, &err), err);
    assert_string_equal(again.all.request_id, f.round.all.request_id);
    assert_int_equal(again.n_parts, f.round.n_parts);
    assert_memory_equal(again.end, f.round.end, again.n_parts * sizeof *again.end);
    assert_memory_equal(again.all.start, f.round.all.start, (BAGS + 1) * sizeof(size_t));
    pboost_round_free(&again);

    assert_ok(pboost_checkpoint_read(&file, &length, f.folder, "ask-000007", &err), err);
    for (size_t cut = 0; cut < length; cut += 37) {
        assert_ok(pboost_checkpoint_write(f.folder, "ask-000007", file, cut, &err), err);
        assert_fails(pboost_round_read(&again, f.folder, 7, &err), PBOOST_BAD_DATA, err,
                     "ask-000007 is damaged");
        assert_int_equal(again.n_parts, 0);
    }
    file[4]++; /* bags of the first part */
    assert_ok(pboost_checkpoint_write(f.folder, "ask-000007", file, length, &err), err);
    assert_fails(pboost_round_read(&again, f.folder, 7, &err), PBOOST_BAD_DATA, err, "51 bags");
    free(file);
    teardown(&f);
}

static void ids_are_found(void **state)
{
    (void)state;
    fixture f;
    id_index index;
    pboost_error err;
    setup(&f);
    assert_ok(pboost_id_index_make(&index, f.round.all.id, ROWS, &err), err);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(pboost_id_index_find(&index, &f.round.all.id[i]), i);
    assert_true(pboost_id_index_find(&index, &(pboost_id){"row-1", 0}) == SIZE_MAX);
    assert_true(pboost_id_index_find(&index, &(pboost_id){NULL, -70}) == SIZE_MAX);
    pboost_id_index_free(&index);
    teardown(&f);
}

/* What is not of a checkpoint is not removed with it. */
static void a_strangers_file_stays(void **state)
{
    (void)state;
    fixture f;
    pboost_error err;
    char path[128];
    setup(&f);
    assert_ok(pboost_checkpoint_write(f.folder, "run", (const unsigned char *)"x", 1, &err), err);
    assert_ok(pboost_checkpoint_write(f.folder, "notes", (const unsigned char *)"x", 1, &err), err);
    assert_ok(pboost_checkpoint_remove(f.folder, &err), err);
    snprintf(path, sizeof path, "%s/run", f.folder);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/notes", f.folder);
    assert_int_equal(unlink(path), 0);
    teardown(&f);
    assert_fails(pboost_checkpoint_remove(f.folder, &err), PBOOST_OUTPUT, err, f.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_hold_all_bags),
        cmocka_unit_test(a_file_gives_back_the_round),
        cmocka_unit_test(ids_are_found),
        cmocka_unit_test(a_strangers_file_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
