#include "telegram.h"

#include <stdlib.h>

#include "reader.h"
#include "text.h"

#define VERSION 1
#define LONGEST_LABEL 63
#define LONGEST_NAME 255

/* read_label adds the n bytes of a label to name. */
static void read_label(struct reader *r, struct text *name, uint8_t n)
{
    const uint8_t *from = reader_take(r, n);
    size_t i;

    if (from == NULL)
        return;
#ifdef __SANITIZE_ADDRESS__
    text_reserve(name, 1 + (size_t)n * 4 + 1);
#else
    text_reserve(name, n);
#endif
    if (name->length > 0)
        text_put(name, '.');
    for (i = 0; i < n; i++)
        text_put_byte(name, from[i], 0);
}

/* read_name returns a name in its printable form, which the caller frees. */
static char *read_name(struct reader *r)
{
    struct text name;
    size_t wire = 1;
    uint8_t n;

    text_open(&name);
    while (r->error == NULL && (n = reader_u8(r)) != 0) {
        wire += 1 + (size_t)n;
        if (n > LONGEST_LABEL)
            reader_fail(r, "label is too long");
        else if (wire > LONGEST_NAME)
            reader_fail(r, "name is too long");
        else
            read_label(r, &name, n);
    }
    if (name.length == 0)
        reader_fail(r, "name is empty");
    return name.chars;
}

/* read_remark returns a remark in its printable form, which the caller frees. */
static char *read_remark(struct reader *r)
{
    struct text remark;
    uint8_t n = reader_u8(r);
    const uint8_t *from = reader_take(r, n);
    size_t i;

    text_open(&remark);
    for (i = 0; from != NULL && i < n; i++) {
        text_reserve(&remark, 5);
        text_put_byte(&remark, from[i], 1);
    }
    return remark.chars;
}

static void read_observation(struct reader *r, struct observation *o)
{
    uint8_t kind = reader_u8(r);

    o->kind = (enum kind)kind;
    o->name = read_name(r);
    switch (kind) {
    case KIND_TEMPERATURE:
        o->number = (int16_t)reader_u16(r);
        break;
    case KIND_PRESSURE:
        o->number = reader_u16(r);
        break;
    case KIND_REMARK:
        o->remark = read_remark(r);
        break;
    default:
        reader_fail(r, "kind of observation is unknown");
    }
}

static void read_head(struct reader *r, struct telegram *t)
{
    if (reader_u8(r) != 'W' || reader_u8(r) != 'X')
        reader_fail(r, "this is no telegram");
    if (reader_u8(r) != VERSION)
        reader_fail(r, "version is unknown");
    t->count = reader_u8(r);
}

const char *telegram_read(struct telegram *t, const uint8_t *data, size_t size)
{
    struct reader r;
    size_t i;

    t->count = 0;
    t->observations = NULL;
    reader_open(&r, data, size);
    read_head(&r, t);
    t->observations = calloc(t->count > 0 ? t->count : 1, sizeof *t->observations);
    if (t->observations == NULL)
        abort();
    for (i = 0; r.error == NULL && i < t->count; i++)
        read_observation(&r, &t->observations[i]);
    if (r.error == NULL && r.at != r.size)
        reader_fail(&r, "something follows the last observation");
    if (r.error != NULL)
        telegram_free(t);
    return r.error;
}

void telegram_free(struct telegram *t)
{
    size_t i;

    for (i = 0; t->observations != NULL && i < t->count; i++) {
        free(t->observations[i].name);
        free(t->observations[i].remark);
    }
    free(t->observations);
    t->observations = NULL;
    t->count = 0;
}
