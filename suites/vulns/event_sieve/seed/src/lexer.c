#include "lexer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int in_word(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_.-", c) != NULL);
}

/* skip_comment goes behind the comment that begins here, and returns 0 when it does not end. */
static int skip_comment(struct lexer *l)
{
    char excerpt[1000];

    snprintf(excerpt, sizeof excerpt, "%.999s", l->at);
    l->at += 2;
    while (*l->at != '\0') {
        if (strncmp(l->at, "*/", 2) == 0) {
            l->at += 2;
            return 1;
        }
        if (strncmp(l->at, "/*", 2) != 0)
            l->at++;
        else if (!skip_comment(l))
            return 0;
    }
    if (l->error[0] == '\0')
        snprintf(l->error, sizeof l->error, "comment does not end: %.20s", excerpt);
    return 0;
}

/* skip_space returns 0 when there is a comment that does not end. */
static int skip_space(struct lexer *l)
{
    for (;;) {
        if (isspace((unsigned char)*l->at))
            l->at++;
        else if (strncmp(l->at, "/*", 2) != 0)
            return 1;
        else if (!skip_comment(l))
            return 0;
    }
}

static void take(struct lexer *l, struct token *t, enum kind kind, size_t n)
{
    if (n > LONGEST_WORD) {
        t->kind = BAD;
        snprintf(l->error, sizeof l->error, "word is too long: %.20s", l->at);
        return;
    }
    t->kind = kind;
    memcpy(t->text, l->at, n);
    t->text[n] = '\0';
    l->at += n;
}

void lexer_next(struct lexer *l, struct token *t)
{
    static const struct {
        const char *sign;
        enum kind kind;
    } signs[] = {{"(", OPEN}, {")", CLOSE}, {"!=", UNEQUAL}, {"=", EQUAL}, {"<", LESS}, {">", MORE}, {"~", PART}};
    size_t i;

    t->kind = BAD;
    t->text[0] = '\0';
    if (!skip_space(l))
        return;
    if (*l->at == '\0') {
        t->kind = END;
        return;
    }
    for (i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strncmp(l->at, signs[i].sign, strlen(signs[i].sign)) == 0) {
            take(l, t, signs[i].kind, strlen(signs[i].sign));
            return;
        }
    }
    if (*l->at == '"') {
        l->at++;
        take(l, t, QUOTED, strcspn(l->at, "\"\n"));
        if (t->kind == QUOTED && *l->at++ != '"') {
            t->kind = BAD;
            snprintf(l->error, sizeof l->error, "quotes are left open");
        }
        return;
    }
    for (i = 0; in_word(l->at[i]); i++)
        ;
    if (i > 0)
        take(l, t, WORD, i);
    else
        snprintf(l->error, sizeof l->error, "sign is unknown: %.1s", l->at);
}
