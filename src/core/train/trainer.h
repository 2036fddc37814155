/* The trainer, as the planner sees it. */
#ifndef PBOOST_TRAINER_H
#define PBOOST_TRAINER_H

#include <priorboost/trainer.h>

/* Changes what the rounds to come ask for: a first round can teach what is best for the others. */
pboost_status pboost_trainer_ask_for(pboost_trainer *trainer, pboost_strategy bags, size_t bag_size,
                                     pboost_error *err);

#endif
