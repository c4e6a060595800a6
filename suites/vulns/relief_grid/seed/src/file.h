#ifndef FILE_H
#define FILE_H

#include <stdio.h>

#include "grid.h"

/* file_read reads a grid. It returns NULL, or what is wrong; then there is nothing to free. */
const char *file_read(struct grid *g, FILE *from);

#endif
