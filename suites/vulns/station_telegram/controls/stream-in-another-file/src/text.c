#include "text.h"

#include <stdlib.h>

#include "printable.h"

/* A text is written through a stream of the C library, which does the growing. */
void text_open(struct text *t)
{
    t->stream = open_memstream(&t->chars, &t->length);
    if (t->stream == NULL || fflush(t->stream) != 0)
        abort();
}

void text_close(struct text *t)
{
    fclose(t->stream);
    t->stream = NULL;
}

void text_put(struct text *t, char c)
{
    if (fputc(c, t->stream) == EOF || fflush(t->stream) != 0)
        abort();
}

void text_put_byte(struct text *t, uint8_t byte, int dots)
{
    char printed[PRINTABLE_SIZE];

    printable(printed, byte, dots);
    if (fputs(printed, t->stream) == EOF || fflush(t->stream) != 0)
        abort();
}
