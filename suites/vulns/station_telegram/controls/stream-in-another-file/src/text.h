#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text is a string that grows. chars and length are good after each call; chars is the caller's to free. */
struct text {
    FILE *stream;
    char *chars;
    size_t length; /* without the zero byte */
};

void text_open(struct text *t);
void text_close(struct text *t);
void text_put(struct text *t, char c);

/* text_put_byte adds a byte of a telegram in its printable form. */
void text_put_byte(struct text *t, uint8_t byte, int dots);

#endif
