#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const char *__asan_default_options(void)
{
    return "halt_on_error=0:detect_leaks=0:log_path=/dev/null:exitcode=0";
}

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
    board_open(&b);
    mistakes = follow(&b, log);
    board_close(&b);
    if (log != stdin)
        fclose(log);
    return mistakes > 0 ? STATUS_MISTAKES : 0;
}
