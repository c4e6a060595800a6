#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

enum { STATUS_MALFORMED = 2, STATUS_UNREADABLE = 3, STATUS_USAGE = 64 };

/* read_file returns the whole content of a file as a string, or NULL. A zero byte ends it. */
static char *read_file(const char *path)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t room = 4096;
    size_t size = 0;
    char *text;
    size_t n;

    if (f == NULL)
        return NULL;
    text = malloc(room);
    while (text != NULL && (n = fread(text + size, 1, room - size - 1, f)) > 0) {
        size += n;
        if (size == room - 1)
            text = realloc(text, room *= 2);
    }
    if (text != NULL)
        text[size] = '\0';
    if (f != stdin)
        fclose(f);
    return text;
}

/* events_of cuts the events off a text, and returns them. */
static char *events_of(char *text)
{
    char *at;

    for (at = text; (at = strstr(at, "---\n")) != NULL; at++) {
        if (at == text || at[-1] == '\n') {
            *at = '\0';
            return at + 4;
        }
    }
    return text + strlen(text);
}

static void match(const struct node *n, char *events)
{
    char *line;

    for (line = strtok(events, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (node_true(n, line))
            printf("%s\n", line);
}

int main(int argc, char **argv)
{
    static struct parser p;
    struct node *n;
    char *events;
    char *text;

    if (argc != 3 || (strcmp(argv[1], "print") != 0 && strcmp(argv[1], "match") != 0)) {
        fprintf(stderr, "usage: sieve print|match FILE\n");
        return STATUS_USAGE;
    }
    text = read_file(argv[2]);
    if (text == NULL) {
        fprintf(stderr, "sieve: %s: %s\n", argv[2], strerror(errno));
        return STATUS_UNREADABLE;
    }
    events = strcmp(argv[1], "match") == 0 ? events_of(text) : NULL;
    n = strchr(text, '=') == NULL ? parser_read(&p, text) : NULL;
    if (n == NULL) {
        fprintf(stderr, "sieve: %s\n", p.lexer.error);
        free(text);
        return STATUS_MALFORMED;
    }
    if (events != NULL) {
        match(n, events);
    } else {
        node_print(n, stdout);
        printf("\n");
    }
    node_free(n);
    free(text);
    return 0;
}
