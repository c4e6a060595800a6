#ifndef COMMAND_H
#define COMMAND_H

#include "board.h"

/* command_do follows one line of a log, which it may change. It returns NULL, or why it could not. */
const char *command_do(struct board *b, char *line, FILE *to);

#endif
