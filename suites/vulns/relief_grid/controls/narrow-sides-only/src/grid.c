#include "grid.h"

#include <stdlib.h>

const char *grid_make(struct grid *g, uint32_t width, uint32_t height)
{
    uint32_t count = width * height;

    if (width == 0 || height == 0)
        return "grid has no cells";
    if (width > 2048 || height > 2048 || count > MOST_CELLS)
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

const char *grid_scale(struct grid *to, const struct grid *from, uint32_t factor)
{
    const char *error = grid_make(to, factor > 2048 ? 4096 : from->width * factor, from->height * factor);
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
    const char *error = grid_make(to, columns > 2048 || rows > 2048 ? 4096 : from->width * columns, from->height * rows);
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
