#ifndef SIZE_H
#define SIZE_H

#include <stdint.h>

#define MOST_CELLS 4194304u

/* A size counts in floating point, in which 32-bit sides times 32-bit numbers are exact and their product is never small. */
struct size {
    double width;
    double height;
};

/* size_error says what is wrong with a size; NULL: nothing. */
const char *size_error(struct size s);

#endif
