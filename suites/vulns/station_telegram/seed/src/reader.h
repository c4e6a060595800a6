#ifndef READER_H
#define READER_H

#include <stddef.h>
#include <stdint.h>

/* A reader walks over bytes that it does not own. Once it has failed it stays failed and yields zeros. */
struct reader {
    const uint8_t *data;
    size_t size;
    size_t at;
    const char *error; /* NULL: none so far */
};

void reader_open(struct reader *r, const uint8_t *data, size_t size);
uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);

/* reader_take returns the next n bytes, or NULL when there are fewer. */
const uint8_t *reader_take(struct reader *r, size_t n);

/* reader_fail notes what is wrong; the first word stands. */
void reader_fail(struct reader *r, const char *error);

#endif
