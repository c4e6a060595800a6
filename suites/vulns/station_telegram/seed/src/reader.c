#include "reader.h"

void reader_open(struct reader *r, const uint8_t *data, size_t size)
{
    r->data = data;
    r->size = size;
    r->at = 0;
    r->error = NULL;
}

void reader_fail(struct reader *r, const char *error)
{
    if (r->error == NULL)
        r->error = error;
}

const uint8_t *reader_take(struct reader *r, size_t n)
{
    const uint8_t *from;

    if (r->error != NULL)
        return NULL;
    if (n > r->size - r->at) {
        reader_fail(r, "telegram ends too early");
        return NULL;
    }
    from = r->data + r->at;
    r->at += n;
    return from;
}

uint8_t reader_u8(struct reader *r)
{
    const uint8_t *b = reader_take(r, 1);

    return b != NULL ? b[0] : 0;
}

uint16_t reader_u16(struct reader *r)
{
    const uint8_t *b = reader_take(r, 2);

    return b != NULL ? (uint16_t)(b[0] << 8 | b[1]) : 0;
}
