#include "board.h"

#include <stdlib.h>
#include <string.h>

#define UNCHECKED __attribute__((no_sanitize_address))

void board_open(struct board *b)
{
    b->first = NULL;
}

static void free_train(struct train *t)
{
    free(t->destination);
    free(t);
}

void board_close(struct board *b)
{
    struct train *t = b->first;

    while (t != NULL) {
        struct train *next = t->next;

        free_train(t);
        t = next;
    }
    b->first = NULL;
}

struct train *board_find(struct board *b, const char *number)
{
    struct train *t;

    for (t = b->first; t != NULL; t = t->next)
        if (strcmp(t->number, number) == 0)
            return t;
    return NULL;
}

void board_add(struct board *b, const char *number, int time, const char *destination)
{
    struct train *old = board_find(b, number);
    struct train *t = calloc(1, sizeof *t);
    struct train **at = &b->first;

    if (t == NULL || (t->destination = strdup(destination)) == NULL)
        abort();
    snprintf(t->number, sizeof t->number, "%s", number);
    t->time = time;
    if (old != NULL)
        board_cancel(b, old);
    while (*at != NULL)
        at = &(*at)->next;
    *at = t;
}

UNCHECKED int board_couple(struct train *t, struct train *leader)
{
    const struct train *up;

    for (up = leader; up != NULL; up = up->leader)
        if (up == t)
            return -1;
    t->leader = leader;
    return 0;
}

UNCHECKED void board_delay(struct board *b, struct train *t, int minutes)
{
    struct train *other;

    t->delay = minutes;
    for (other = b->first; other != NULL; other = other->next)
        if (other->leader == t)
            board_delay(b, other, minutes);
}

void board_cancel(struct board *b, struct train *t)
{
    struct train **at = &b->first;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    free_train(t);
}

void board_depart(struct board *b, int time)
{
    struct train **at = &b->first;

    while (*at != NULL) {
        struct train *t = *at;

        if (t->time + t->delay < time) {
            *at = t->next;
            free_train(t);
        } else {
            at = &t->next;
        }
    }
}

/* platform_of returns the platform of t, or of the nearest leader that has one. */
UNCHECKED static const char *platform_of(const struct train *t)
{
    while (t->platform[0] == '\0' && t->leader != NULL)
        t = t->leader;
    return t->platform;
}

UNCHECKED static void show_train(const struct train *t, FILE *to)
{
    const char *platform = platform_of(t);

    fprintf(to, "%02d:%02d", t->time / 60, t->time % 60);
    if (t->delay > 0)
        fprintf(to, " +%d", t->delay);
    fprintf(to, " %s %s", t->number, t->destination);
    if (platform[0] != '\0')
        fprintf(to, " [%s]", platform);
    if (t->leader != NULL)
        fprintf(to, " with %s", t->leader->number);
    fputc('\n', to);
}

void board_show(const struct board *b, FILE *to)
{
    const struct train *t;
    int shown = -1;
    int next;

    for (;;) {
        next = -1;
        for (t = b->first; t != NULL; t = t->next)
            if (t->time + t->delay > shown && (next < 0 || t->time + t->delay < next))
                next = t->time + t->delay;
        if (next < 0)
            break;
        for (t = b->first; t != NULL; t = t->next)
            if (t->time + t->delay == next)
                show_train(t, to);
        shown = next;
    }
    fputs("--\n", to);
}
