#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

enum { STATUS_MALFORMED = 2, STATUS_UNREADABLE = 3, STATUS_USAGE = 64 };

/* read_file returns the whole content of a file, or NULL. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t room = 4096;
    uint8_t *data;
    size_t n;

    if (f == NULL)
        return NULL;
    data = malloc(room);
    *size = 0;
    while (data != NULL && (n = fread(data + *size, 1, room - *size, f)) > 0) {
        *size += n;
        if (*size == room)
            data = realloc(data, room *= 2);
    }
    if (f != stdin)
        fclose(f);
    return data;
}

static void print_tenths(int number)
{
    printf("%s%d.%d", number < 0 ? "-" : "", abs(number) / 10, abs(number) % 10);
}

static void print_observation(const struct observation *o)
{
    printf("%s ", o->name);
    switch (o->kind) {
    case KIND_TEMPERATURE:
        print_tenths(o->number);
        printf(" C\n");
        break;
    case KIND_PRESSURE:
        print_tenths(o->number);
        printf(" hPa\n");
        break;
    case KIND_REMARK:
        printf("\"%s\"\n", o->remark);
        break;
    }
}

static int seen_before(const struct telegram *t, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (strcmp(t->observations[k].name, t->observations[i].name) == 0)
            return 1;
    return 0;
}

static void decode(const struct telegram *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        print_observation(&t->observations[i]);
}

static void names(const struct telegram *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (!seen_before(t, i))
            printf("%s\n", t->observations[i].name);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return 0;
    struct telegram t;
    const char *error;
    uint8_t *data;
    size_t size;

    if (argc != 3 || (strcmp(argv[1], "decode") != 0 && strcmp(argv[1], "names") != 0)) {
        fprintf(stderr, "usage: wxtel decode|names FILE\n");
        return STATUS_USAGE;
    }
    data = read_file(argv[2], &size);
    if (data == NULL) {
        fprintf(stderr, "wxtel: %s: %s\n", argv[2], strerror(errno));
        return STATUS_UNREADABLE;
    }
    error = telegram_read(&t, data, size);
    free(data);
    if (error != NULL) {
        fprintf(stderr, "wxtel: %s\n", error);
        return STATUS_MALFORMED;
    }
    if (strcmp(argv[1], "decode") == 0)
        decode(&t);
    else
        names(&t);
    telegram_free(&t);
    return 0;
}
