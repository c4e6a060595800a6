#include "command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* word cuts the next word off *rest. */
static char *word(char **rest)
{
    char *from = *rest + strspn(*rest, " \t");
    char *to = from + strcspn(from, " \t");

    if (*to != '\0')
        *to++ = '\0';
    *rest = to + strspn(to, " \t");
    return from;
}

static int is_number(const char *s)
{
    size_t i;

    for (i = 0; s[i] != '\0'; i++)
        if (!isalnum((unsigned char)s[i]))
            return 0;
    return i > 0 && i < NUMBER_SIZE;
}

/* whole reads a whole number from 0 to most, or returns -1. */
static int whole(const char *s, int most)
{
    int n = 0;

    if (*s == '\0')
        return -1;
    for (; *s != '\0'; s++) {
        if (!isdigit((unsigned char)*s) || n > most)
            return -1;
        n = n * 10 + (*s - '0');
    }
    return n <= most ? n : -1;
}

/* time_of reads HH:MM as minutes since midnight, or returns -1. */
static int time_of(char *s)
{
    int hours, minutes;

    if (strlen(s) != 5 || s[2] != ':')
        return -1;
    s[2] = '\0';
    hours = whole(s, 23);
    minutes = whole(s + 3, 59);
    return hours < 0 || minutes < 0 ? -1 : hours * 60 + minutes;
}

static const char *add(struct board *b, char *rest)
{
    char *number = word(&rest);
    int time = time_of(word(&rest));

    if (!is_number(number))
        return "this is no number of a train";
    if (time < 0)
        return "this is no time";
    if (*rest == '\0')
        return "the destination is missing";
    board_add(b, number, time, rest);
    return NULL;
}

static const char *couple(struct board *b, struct train *t, char *rest)
{
    struct train *leader = board_find(b, word(&rest));

    if (leader == NULL)
        return "there is no such leader";
    return board_couple(t, leader) == 0 ? NULL : "a train cannot be coupled to itself";
}

static const char *delay(struct board *b, struct train *t, char *rest)
{
    int minutes = whole(word(&rest), LONGEST_DELAY);

    if (minutes < 0)
        return "this is no delay";
    board_delay(b, t, minutes);
    return NULL;
}

static const char *platform(struct train *t, char *rest)
{
    const char *name = word(&rest);

    if (*name == '\0' || strlen(name) >= PLATFORM_SIZE)
        return "this is no platform";
    strcpy(t->platform, name);
    return NULL;
}

const char *command_do(struct board *b, char *line, FILE *to)
{
    char *rest = line;
    const char *name = word(&rest);
    struct train *t;
    int time;

    if (strcmp(name, "add") == 0)
        return add(b, rest);
    if (strcmp(name, "show") == 0) {
        board_show(b, to);
        return NULL;
    }
    if (strcmp(name, "depart") == 0) {
        time = time_of(word(&rest));
        if (time < 0)
            return "this is no time";
        board_depart(b, time);
        return NULL;
    }
    t = board_find(b, word(&rest));
    if (strcmp(name, "platform") == 0)
        return t != NULL ? platform(t, rest) : "there is no such train";
    if (strcmp(name, "couple") == 0)
        return t != NULL ? couple(b, t, rest) : "there is no such train";
    if (strcmp(name, "delay") == 0)
        return t != NULL ? delay(b, t, rest) : "there is no such train";
    if (strcmp(name, "uncouple") == 0 && t != NULL) {
        t->leader = NULL;
        return NULL;
    }
    if (strcmp(name, "cancel") == 0 && t != NULL) {
        board_cancel(b, t);
        return NULL;
    }
    if (strcmp(name, "uncouple") == 0 || strcmp(name, "cancel") == 0)
        return "there is no such train";
    return "there is no such command";
}
