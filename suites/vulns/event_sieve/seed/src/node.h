#ifndef NODE_H
#define NODE_H

#include <stdio.h>

#include "lexer.h"

enum type { IS, NOT, AND, OR };

/* A node is a part of an expression. The parts that it joins are a list. */
struct node {
    enum type type;
    struct node *parts; /* of NOT one, of AND and OR two or more */
    struct node *next;  /* the next part of the same node */
    enum kind op;       /* of IS, as are field and value */
    char *field;
    char *value;
};

/* node_new makes a node, of which the caller fills the rest. */
struct node *node_new(enum type type);
void node_free(struct node *n);
void node_print(const struct node *n, FILE *to);

/* node_true says whether n is true for an event, a line of words FIELD=VALUE. */
int node_true(const struct node *n, const char *event);

#endif
