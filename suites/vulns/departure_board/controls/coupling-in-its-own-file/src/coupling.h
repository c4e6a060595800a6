#ifndef COUPLING_H
#define COUPLING_H

#include "board.h"

/* coupling_end lets each train of a list that is coupled to gone leave alone. */
void coupling_end(struct train *list, const struct train *gone);

#endif
