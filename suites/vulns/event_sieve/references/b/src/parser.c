#include "parser.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LEVELS 200

static struct node *read_joined(struct parser *p, enum type type, int level);

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

/* negate wraps n in as many NOTs. */
static struct node *negate(struct node *n, int times)
{
    while (n != NULL && times-- > 0) {
        struct node *not = node_new(NOT);

        not->parts = n;
        n = not;
    }
    return n;
}

/* read_one reads a part that stands within so many levels. */
static struct node *read_one(struct parser *p, int level)
{
    struct node *n;
    int nots = 0;
    int opens;

    while (level + nots <= MOST_LEVELS && accept(p, WORD, "not"))
        nots++;
    opens = p->next.kind == OPEN;
    if (level + nots + opens > MOST_LEVELS) {
        fail(p, "expression has too many levels");
        return NULL;
    }
    if (!opens)
        return negate(read_comparison(p), nots);
    accept(p, OPEN, NULL);
    n = read_joined(p, OR, level + nots + 1);
    if (n != NULL && !accept(p, CLOSE, NULL)) {
        fail(p, "a parenthesis is left open");
        node_free(n);
        return NULL;
    }
    return negate(n, nots);
}

/* read_joined reads parts that are joined by "or", or by "and"; where there is one alone, it is that one. */
static struct node *read_joined(struct parser *p, enum type type, int level)
{
    struct node *first = NULL;
    struct node **last = &first;
    struct node *n;

    do {
        *last = type == OR ? read_joined(p, AND, level) : read_one(p, level);
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

    p->lexer.at = text;
    p->lexer.error[0] = '\0';
    lexer_next(&p->lexer, &p->next);
    n = read_joined(p, OR, 0);
    if (n != NULL && p->next.kind != END) {
        fail(p, "something follows the expression");
        node_free(n);
        return NULL;
    }
    return n;
}
