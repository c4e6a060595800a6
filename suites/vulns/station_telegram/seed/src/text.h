#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A text is a string that grows. It always ends in a zero byte. */
struct text {
    char *chars;
    size_t length; /* without the zero byte */
    size_t room;   /* bytes that chars has */
};

void text_open(struct text *t);
void text_close(struct text *t);

/* text_reserve makes sure that n further bytes fit. */
void text_reserve(struct text *t, size_t n);

/* text_put adds one character. There must be room for it. */
void text_put(struct text *t, char c);

/* text_put_byte adds a byte of a telegram in its printable form. There must be room for it. */
void text_put_byte(struct text *t, uint8_t byte, int dots);

#endif
