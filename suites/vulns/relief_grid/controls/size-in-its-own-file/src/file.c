#include "file.h"

#include <string.h>

static uint32_t number(const unsigned char *b, int bytes)
{
    uint32_t n = 0;

    while (bytes-- > 0)
        n = n << 8 | b[bytes];
    return n;
}

/* fill writes a run of cells from the cell *at on, and moves *at. */
static const char *fill(struct grid *g, uint64_t *at, uint32_t run, int16_t cell)
{
    uint64_t all = (uint64_t)g->width * g->height;

    if (run == 0)
        return "run has no cells";
    if (run > all - *at)
        return "runs have more cells than the grid";
    for (; run > 0; run--, (*at)++)
        grid_set(g, *at % g->width, *at / g->width, cell);
    return NULL;
}

static const char *read_runs(struct grid *g, FILE *from)
{
    uint64_t at = 0;
    const char *error = NULL;
    unsigned char b[6];
    size_t n;

    while (error == NULL && (n = fread(b, 1, sizeof b, from)) > 0) {
        if (n < sizeof b)
            return "file ends in a run";
        error = fill(g, &at, number(b, 4), (int16_t)number(b + 4, 2));
    }
    if (error == NULL && at < (uint64_t)g->width * g->height)
        error = "runs have fewer cells than the grid";
    return error;
}

const char *file_read(struct grid *g, FILE *from)
{
    unsigned char head[12];
    const char *error;

    if (fread(head, 1, sizeof head, from) != sizeof head || memcmp(head, "RLF1", 4) != 0)
        return "this is no relief";
    error = grid_make(g, (struct size){number(head + 4, 4), number(head + 8, 4)});
    if (error != NULL)
        return error;
    error = read_runs(g, from);
    if (error != NULL)
        grid_free(g);
    return error;
}
