#ifndef GRID_H
#define GRID_H

#include <stddef.h>
#include <stdint.h>

#define MOST_CELLS 4194304u

/* A grid holds its cells row by row. */
struct grid {
    uint32_t width;
    uint32_t height;
    int16_t *cells;
};

/* Functions that make a grid return NULL, or what is wrong; then there is nothing to free. */
const char *grid_make(struct grid *g, uint64_t width, uint64_t height);
const char *grid_scale(struct grid *to, const struct grid *from, uint32_t factor);
const char *grid_tile(struct grid *to, const struct grid *from, uint32_t columns, uint32_t rows);
void grid_free(struct grid *g);

int16_t grid_at(const struct grid *g, uint32_t x, uint32_t y);
void grid_set(struct grid *g, uint32_t x, uint32_t y, int16_t cell);

#endif
