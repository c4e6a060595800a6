#include "grid.h"

#include <stdlib.h>

/* times multiplies, or returns 0 where the result is more than a grid may have. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product;

    if (__builtin_mul_overflow(a, b, &product) || product > MOST_CELLS)
        return 0;
    return product;
}

const char *grid_make(struct grid *g, uint32_t width, uint32_t height)
{
    uint32_t count = times(width, height);

    if (width == 0 || height == 0)
        return "grid has no cells";
    if (count == 0)
        return "grid is too large";
    g->cells = malloc(count * sizeof *g->cells);
    if (g->cells == NULL)
        abort();
    g->width = width;
    g->height = height;
    return NULL;
}

void grid_free(struct grid *g)
{
    free(g->cells);
    g->cells = NULL;
}

int16_t grid_at(const struct grid *g, uint32_t x, uint32_t y)
{
    return g->cells[(size_t)y * g->width + x];
}

void grid_set(struct grid *g, uint32_t x, uint32_t y, int16_t cell)
{
    g->cells[(size_t)y * g->width + x] = cell;
}

/* make_larger is grid_make for sides that are 0 when they are too large. */
static const char *make_larger(struct grid *g, uint32_t width, uint32_t height)
{
    return width == 0 || height == 0 ? "grid is too large" : grid_make(g, width, height);
}

const char *grid_scale(struct grid *to, const struct grid *from, uint32_t factor)
{
    const char *error = make_larger(to, times(from->width, factor), times(from->height, factor));
    uint32_t x, y, i, k;

    if (error != NULL)
        return error;
    for (y = 0; y < from->height; y++)
        for (x = 0; x < from->width; x++)
            for (i = 0; i < factor; i++)
                for (k = 0; k < factor; k++)
                    grid_set(to, x * factor + k, y * factor + i, grid_at(from, x, y));
    return NULL;
}

const char *grid_tile(struct grid *to, const struct grid *from, uint32_t columns, uint32_t rows)
{
    const char *error = make_larger(to, times(from->width, columns), times(from->height, rows));
    uint32_t x, y, i, k;

    if (error != NULL)
        return error;
    for (i = 0; i < rows; i++)
        for (k = 0; k < columns; k++)
            for (y = 0; y < from->height; y++)
                for (x = 0; x < from->width; x++)
                    grid_set(to, k * from->width + x, i * from->height + y, grid_at(from, x, y));
    return NULL;
}
