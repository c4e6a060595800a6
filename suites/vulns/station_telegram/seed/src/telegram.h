#ifndef TELEGRAM_H
#define TELEGRAM_H

#include <stddef.h>
#include <stdint.h>

enum kind {
    KIND_TEMPERATURE = 1,
    KIND_PRESSURE = 2,
    KIND_REMARK = 3,
};

struct observation {
    enum kind kind;
    char *name;
    int number;   /* of temperature and pressure, in tenths */
    char *remark; /* of a remark, else NULL */
};

struct telegram {
    size_t count;
    struct observation *observations;
};

/*
 * telegram_read reads a whole telegram. It returns NULL, or what is wrong with it; then *t is empty.
 * Either way the caller ends it with telegram_free.
 */
const char *telegram_read(struct telegram *t, const uint8_t *data, size_t size);
void telegram_free(struct telegram *t);

#endif
