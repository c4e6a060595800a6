#include "node.h"

#include <stdlib.h>
#include <string.h>

struct node *node_new(enum type type)
{
    struct node *n = calloc(1, sizeof *n);

    if (n == NULL)
        abort();
    n->type = type;
    return n;
}

void node_free(struct node *n)
{
    while (n != NULL) {
        struct node *next = n->next;

        node_free(n->parts);
        free(n->field);
        free(n->value);
        free(n);
        n = next;
    }
}

static void print_value(const char *value, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    int quoted = value[0] == '\0' || value[strspn(value, plain)] != '\0';

    fprintf(to, quoted ? "\"%s\"" : "%s", value);
}

/* print_part prints a part of a node, in parentheses where it binds less than that node does. */
static void print_part(const struct node *part, enum type of, FILE *to)
{
    int less = part->type == OR || (part->type == AND && of == NOT);

    if (less)
        fputc('(', to);
    node_print(part, to);
    if (less)
        fputc(')', to);
}

void node_print(const struct node *n, FILE *to)
{
    static const char *const ops[] = {[EQUAL] = "=", [UNEQUAL] = "!=", [LESS] = "<", [MORE] = ">", [PART] = "~"};
    const struct node *part;

    switch (n->type) {
    case IS:
        fprintf(to, "%s %s ", n->field, ops[n->op]);
        print_value(n->value, to);
        break;
    case NOT:
        fputs("not ", to);
        print_part(n->parts, NOT, to);
        break;
    case AND:
    case OR:
        for (part = n->parts; part != NULL; part = part->next) {
            if (part != n->parts)
                fputs(n->type == AND ? " and " : " or ", to);
            print_part(part, n->type, to);
        }
    }
}

/* field_of copies the value of a field of an event into to. */
static void field_of(const char *event, const char *field, char *to, size_t size)
{
    size_t length = strlen(field);

    to[0] = '\0';
    while (*event != '\0') {
        size_t n = strcspn(event, " \n");

        if (n > length && strncmp(event, field, length) == 0 && event[length] == '=') {
            snprintf(to, size, "%.*s", (int)(n - length - 1), event + length + 1);
            return;
        }
        event += n;
        event += strspn(event, " \n");
    }
}

static int is_true(const struct node *n, const char *event)
{
    char have[2048];

    field_of(event, n->field, have, sizeof have);
    switch (n->op) {
    case EQUAL:
        return strcmp(have, n->value) == 0;
    case UNEQUAL:
        return strcmp(have, n->value) != 0;
    case LESS:
        return strtod(have, NULL) < strtod(n->value, NULL);
    case MORE:
        return strtod(have, NULL) > strtod(n->value, NULL);
    default:
        return strstr(have, n->value) != NULL;
    }
}

int node_true(const struct node *n, const char *event)
{
    const struct node *part;

    if (n->type == IS)
        return is_true(n, event);
    if (n->type == NOT)
        return !node_true(n->parts, event);
    for (part = n->parts; part != NULL; part = part->next)
        if (node_true(part, event) != (n->type == AND))
            return n->type == OR;
    return n->type == AND;
}
