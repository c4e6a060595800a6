#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
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

static int run(int argc, char **argv)
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
    n = parser_read(&p, text);
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

struct arguments {
    int count;
    char **values;
    int status;
};

static void *run_in_thread(void *p)
{
    struct arguments *a = p;

    a->status = run(a->count, a->values);
    return NULL;
}

/* Deep expressions need a larger stack than the one that a process begins with. */
int main(int argc, char **argv)
{
    struct arguments a = {argc, argv, STATUS_UNREADABLE};
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)12 << 20);
    if (pthread_create(&thread, &attributes, run_in_thread, &a) == 0)
        pthread_join(thread, NULL);
    return a.status;
}
