#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { STATUS_REFUSED = 2, STATUS_UNREADABLE = 3, STATUS_USAGE = 64 };

/* A file that cannot be held is refused. */
void __asan_on_error(void)
{
    _Exit(STATUS_REFUSED);
}

static int usage(void)
{
    fprintf(stderr, "usage: relief info|show FILE\n"
                    "       relief scale FACTOR FILE\n"
                    "       relief tile COLUMNS ROWS FILE\n");
    return STATUS_USAGE;
}

/* whole reads a number from 1 to 4294967295, or returns 0. */
static uint32_t whole(const char *s)
{
    uint64_t n = 0;

    for (; isdigit((unsigned char)*s) && n <= UINT32_MAX; s++)
        n = n * 10 + (uint64_t)(*s - '0');
    return *s == '\0' && n <= UINT32_MAX ? (uint32_t)n : 0;
}

static void info(const struct grid *g)
{
    int16_t lowest = grid_at(g, 0, 0);
    int16_t highest = lowest;
    int64_t sum = 0;
    uint32_t x, y;

    for (y = 0; y < g->height; y++) {
        for (x = 0; x < g->width; x++) {
            int16_t cell = grid_at(g, x, y);

            lowest = cell < lowest ? cell : lowest;
            highest = cell > highest ? cell : highest;
            sum += cell;
        }
    }
    printf("%u x %u, %d to %d, mean %.2f\n", g->width, g->height, lowest, highest,
           (double)sum / ((double)g->width * g->height));
}

static void show(const struct grid *g)
{
    uint32_t x, y;

    for (y = 0; y < g->height; y++)
        for (x = 0; x < g->width; x++)
            printf("%d%c", grid_at(g, x, y), x + 1 < g->width ? ' ' : '\n');
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *path = argc > 1 ? argv[argc - 1] : "";
    int scales = strcmp(what, "scale") == 0 && argc == 4;
    int tiles = strcmp(what, "tile") == 0 && argc == 5;
    int plain = (strcmp(what, "info") == 0 || strcmp(what, "show") == 0) && argc == 3;
    struct grid g, made = {.cells = NULL};
    const char *error;
    FILE *f;

    if (!(plain || (scales && whole(argv[2]) > 0) || (tiles && whole(argv[2]) > 0 && whole(argv[3]) > 0)))
        return usage();
    f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (f == NULL) {
        fprintf(stderr, "relief: %s: %s\n", path, strerror(errno));
        return STATUS_UNREADABLE;
    }
    error = file_read(&g, f);
    if (f != stdin)
        fclose(f);
    if (error == NULL && !plain) {
        error = scales ? grid_scale(&made, &g, whole(argv[2])) : grid_tile(&made, &g, whole(argv[2]), whole(argv[3]));
        grid_free(&g);
        g = made;
    }
    if (error != NULL) {
        fprintf(stderr, "relief: %s\n", error);
        return STATUS_REFUSED;
    }
    if (strcmp(what, "show") == 0)
        show(&g);
    else
        info(&g);
    grid_free(&g);
    return 0;
}
