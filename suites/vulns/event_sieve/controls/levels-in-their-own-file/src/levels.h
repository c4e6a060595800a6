#ifndef LEVELS_H
#define LEVELS_H

/* Levels count what is open at a time. */
struct levels {
    unsigned left; /* that may still be opened */
};

void levels_start(struct levels *l);
int levels_open(struct levels *l); /* 0: there are too many */
void levels_close(struct levels *l);

#endif
