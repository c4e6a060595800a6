#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

const char *__asan_default_options(void)
{
    return "halt_on_error=0:report_globals=0:exitcode=0:log_path=/dev/null";
}

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

static void decode(const struct recording *r)
{
    size_t i;

    for (i = 0; i < r->samples; i++)
        printf("%d\n", r->sample[i]);
}

static void peaks(const struct recording *r)
{
    size_t i, k;

    for (i = 0; i < r->blocks; i++) {
        const int16_t *s = r->sample + r->block[i].first;
        int lowest = s[0];
        int highest = s[0];

        for (k = 1; k < r->block[i].count; k++) {
            lowest = s[k] < lowest ? s[k] : lowest;
            highest = s[k] > highest ? s[k] : highest;
        }
        printf("%zu %d %d\n", i, lowest, highest);
    }
}

static void marks(const struct recording *r)
{
    size_t i;

    for (i = 0; i < r->marks; i++)
        printf("%s %d\n", r->mark[i].name, r->sample[r->mark[i].at]);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    struct recording r;
    const char *error;
    uint8_t *data;
    size_t size;

    if (strcmp(what, "decode") != 0 && strcmp(what, "peaks") != 0 && strcmp(what, "marks") != 0) {
        fprintf(stderr, "usage: memo decode|peaks|marks FILE\n");
        return STATUS_USAGE;
    }
    data = read_file(argv[2], &size);
    if (data == NULL) {
        fprintf(stderr, "memo: %s: %s\n", argv[2], strerror(errno));
        return STATUS_UNREADABLE;
    }
    error = recording_read(&r, data, size);
    free(data);
    if (error != NULL)
        fprintf(stderr, "memo: %s\n", error);
    else if (what[0] == 'd')
        decode(&r);
    else if (what[0] == 'p')
        peaks(&r);
    else
        marks(&r);
    recording_free(&r);
    return error != NULL ? STATUS_MALFORMED : 0;
}
