#ifndef STEPS_H
#define STEPS_H

#define STEPS 89

/* step_at returns a step; indices beyond either end stand for the step there. *index becomes the index of the step. */
int step_at(int *index);

#endif
