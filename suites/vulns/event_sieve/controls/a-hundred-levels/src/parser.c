#include "parser.h"

#include <stdlib.h>
#include <string.h>

static struct node *read_joined(struct parser *p, enum type type);

static void fail(struct parser *p, const char *what)
{
    if (p->lexer.error[0] == '\0')
        snprintf(p->lexer.error, sizeof p->lexer.error, "%s", what);
}

/* accept goes on to the next token when this one is a word or a sign. */
static int accept(struct parser *p, enum kind kind, const char *text)
{
    if (p->next.kind != kind || (text != NULL && strcmp(p->next.text, text) != 0))
        return 0;
    lexer_next(&p->lexer, &p->next);
    return 1;
}

static struct node *read_comparison(struct parser *p)
{
    struct token field = p->next;
    struct node *n;

    if (!accept(p, WORD, NULL)) {
        fail(p, "a field, \"not\" or a parenthesis must stand here");
        return NULL;
    }
    n = node_new(IS);
    n->op = p->next.kind;
    if (n->op < EQUAL || n->op > PART) {
        fail(p, "a field is not compared with anything");
        node_free(n);
        return NULL;
    }
    lexer_next(&p->lexer, &p->next);
    if (p->next.kind != WORD && p->next.kind != QUOTED) {
        fail(p, "a value is missing");
        node_free(n);
        return NULL;
    }
    n->field = strdup(field.text);
    n->value = strdup(p->next.text);
    if (n->field == NULL || n->value == NULL)
        abort();
    lexer_next(&p->lexer, &p->next);
    return n;
}

/* enter begins a level, and returns 0 where there are too many. */
static int enter(struct parser *p)
{
    if (p->level == MOST_LEVELS) {
        fail(p, "expression is nested too deeply");
        return 0;
    }
    p->level++;
    return 1;
}

static struct node *read_one(struct parser *p)
{
    struct token first = p->next;
    struct node *n;
    struct node *part;

    if (accept(p, WORD, "not")) {
        part = enter(p) ? read_one(p) : NULL;
        p->level--;
        if (part == NULL)
            return NULL;
        n = node_new(NOT);
        n->parts = part;
        return n;
    }
    if (!accept(p, OPEN, NULL))
        return read_comparison(p);
    n = enter(p) ? read_joined(p, OR) : NULL;
    p->level--;
    if (n != NULL && !accept(p, CLOSE, NULL)) {
        fail(p, first.kind == OPEN ? "a parenthesis is left open" : "a parenthesis must stand here");
        node_free(n);
        return NULL;
    }
    return n;
}

/* read_joined reads parts that are joined by "or", or by "and"; where there is one alone, it is that one. */
static struct node *read_joined(struct parser *p, enum type type)
{
    struct node *first = NULL;
    struct node **last = &first;
    struct node *n;

    do {
        *last = type == OR ? read_joined(p, AND) : read_one(p);
        if (*last == NULL) {
            node_free(first);
            return NULL;
        }
        last = &(*last)->next;
    } while (accept(p, WORD, type == OR ? "or" : "and"));
    if (first->next == NULL)
        return first;
    n = node_new(type);
    n->parts = first;
    return n;
}

struct node *parser_read(struct parser *p, const char *text)
{
    struct node *n;

    p->level = 0;
    p->lexer.at = text;
    p->lexer.error[0] = '\0';
    lexer_next(&p->lexer, &p->next);
    n = read_joined(p, OR);
    if (n != NULL && p->next.kind != END) {
        fail(p, "something follows the expression");
        node_free(n);
        return NULL;
    }
    return n;
}
