#ifndef LEXER_H
#define LEXER_H

#include <stddef.h>

#define LONGEST_WORD 1000

enum kind { END, WORD, QUOTED, OPEN, CLOSE, EQUAL, UNEQUAL, LESS, MORE, PART, BAD };

struct token {
    enum kind kind;
    char text[LONGEST_WORD + 1]; /* of words, without quotes */
};

struct lexer {
    const char *at; /* the rest of the text */
    char error[128]; /* "": none so far */
};

/* lexer_next reads a token; it is BAD where there is none, and then l->error says why. */
void lexer_next(struct lexer *l, struct token *t);

#endif
