/* The trainer, for the planner. */
#ifndef PBOOST_TRAINER_H
#define PBOOST_TRAINER_H

#include <priorboost/trainer.h>

/* Changes how later rounds ask: the first round can show what is best for the others. */
pboost_status pboost_trainer_ask_for(pboost_trainer *trainer, pboost_strategy bags, size_t bag_size,
                                     pboost_error *err);

#endif
