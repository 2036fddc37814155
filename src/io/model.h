/* What the two halves of the model file agree on. */
#ifndef PBOOST_MODEL_H
#define PBOOST_MODEL_H

#define MODEL_FORMAT "priorboost-model"

enum { MODEL_VERSION = 2 }; /* newest that is understood */

#endif
