// The public headers compile as C++ and the structs start from their macros.
#include <cstdio>

#include <priorboost/priorboost.h>

int main()
{
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options trainer = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_memory_oracle_options oracle = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_synthetic synthetic = PBOOST_SYNTHETIC_INIT;
    pboost_table_options table = PBOOST_TABLE_OPTIONS_INIT;
    double score[] = {5, 1, 5.1, 1.2};
    pboost_bags bags = {};
    pboost_error err = {};

    if (pboost_bags_optimal(&bags, score, 4, 2, 1, &err) != PBOOST_OK)
        return 1;
    std::printf("%s: %zu bags\n", pboost_version(), bags.n_bags);
    bool right = bags.n_bags == 2 && rules.min_bag == 1 && fit.l2.mode == PBOOST_L2_AUTO && trainer.rounds == 1 &&
                 !oracle.clamp && synthetic.features == 8 && table.n_text == 0;
    pboost_bags_free(&bags);
    return right ? 0 : 1;
}
