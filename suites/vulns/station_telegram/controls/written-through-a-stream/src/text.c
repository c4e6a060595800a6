#include "text.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 32

void text_open(struct text *t)
{
    t->chars = malloc(FIRST_ROOM);
    if (t->chars == NULL)
        abort();
    t->chars[0] = '\0';
    t->length = 0;
    t->room = FIRST_ROOM;
}

void text_close(struct text *t)
{
    free(t->chars);
    t->chars = NULL;
}

void text_reserve(struct text *t, size_t n)
{
    size_t room = t->room;

    while (room < t->length + n)
        room *= 2;
    if (room == t->room)
        return;
    t->chars = realloc(t->chars, room);
    if (t->chars == NULL)
        abort();
    t->room = room;
}

void text_put(struct text *t, char c)
{
    FILE *f = fmemopen(t->chars + t->length, 2, "w");

    if (f == NULL)
        abort();
    fputc(c, f);
    fclose(f);
    t->length++;
}

void text_put_byte(struct text *t, uint8_t byte, int dots)
{
    if (byte < 0x20 || byte > 0x7e || byte == '\\' || (byte == '.' && !dots)) {
        text_put(t, '\\');
        text_put(t, (char)('0' + byte / 100));
        text_put(t, (char)('0' + byte / 10 % 10));
        text_put(t, (char)('0' + byte % 10));
        return;
    }
    text_put(t, (char)byte);
}
