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

static struct node *read_one(struct parser *p)
{
    struct token first = p->next;
    struct node *n;
    struct node *part;

    if (accept(p, WORD, "not")) {
        part = read_one(p);
        if (part == NULL)
            return NULL;
        n = node_new(NOT);
        n->parts = part;
        return n;
    }
    if (!accept(p, OPEN, NULL))
        return read_comparison(p);
    n = read_joined(p, OR);
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

/* is_deep reads ahead, token by token, and says whether there are more than 200 levels at any place. */
static int is_deep(struct lexer l)
{
    static struct token t;
    static int nots_of[202]; /* of each parenthesis that is open, the "not"s before it and within it */
    int nots = 0;
    int open = 0;
    int total = 0;

    for (lexer_next(&l, &t); t.kind != END && t.kind != BAD; lexer_next(&l, &t)) {
        int joins = t.kind == WORD && (strcmp(t.text, "or") == 0 || strcmp(t.text, "and") == 0);
        int negates = t.kind == WORD && strcmp(t.text, "not") == 0;

        if (t.kind == OPEN || negates) {
            if (++total > 200)
                return 1;
            if (negates) {
                nots++;
                continue;
            }
            nots_of[open++] = nots;
            nots = 0;
        } else if (t.kind == CLOSE && open > 0) {
            total -= nots + 1;
            nots = nots_of[--open];
        } else if (joins) {
            total -= nots;
            nots = 0;
        }
    }
    return 0;
}

struct node *parser_read(struct parser *p, const char *text)
{
    struct node *n;

    p->lexer.at = text;
    p->lexer.error[0] = '\0';
    if (is_deep(p->lexer)) {
        fail(p, "expression is nested too deeply");
        return NULL;
    }
    lexer_next(&p->lexer, &p->next);
    n = read_joined(p, OR);
    if (n != NULL && p->next.kind != END) {
        fail(p, "something follows the expression");
        node_free(n);
        return NULL;
    }
    return n;
}
