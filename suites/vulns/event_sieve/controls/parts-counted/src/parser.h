#ifndef PARSER_H
#define PARSER_H

#include "node.h"

struct parser {
    int signs; /* parentheses and "not", so far */
    struct lexer lexer;
    struct token next; /* the one that is not used yet */
};

/*
 * parser_read reads the expression that is the whole text. It returns NULL where there is none, and then p->lexer.error
 * says why. The caller frees what it returns.
 */
struct node *parser_read(struct parser *p, const char *text);

#endif
