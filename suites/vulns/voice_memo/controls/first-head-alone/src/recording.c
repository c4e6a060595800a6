#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "codec.h"

#define HEAD_SIZE 7
#define BLOCK_HEAD_SIZE 4
#define MARK_SIZE 8
#define LARGEST_BLOCK 256 /* samples */

static void *make(size_t n, size_t size)
{
    void *made = calloc(n > 0 ? n : 1, size);

    if (made == NULL)
        abort();
    return made;
}

static unsigned number(const uint8_t *from, int bytes)
{
    unsigned n = 0;

    while (bytes-- > 0)
        n = n << 8 | from[bytes];
    return n;
}

/* read_block decodes the block at *at, and moves *at behind it. */
static const char *read_block(struct recording *r, struct block *b, const uint8_t *data, size_t size, size_t *at)
{
    const uint8_t *head = data + *at;
    struct codec codec;
    size_t codes, i;

    if (size - *at < BLOCK_HEAD_SIZE)
        return "recording ends in the head of a block";
    codes = head[3];
    *at += BLOCK_HEAD_SIZE;
    if (size - *at < (codes + 1) / 2)
        return "recording ends in a block";
    codec.sample = (int16_t)number(head, 2);
    codec.index = head[2];
    if (b == r->block && codec.index >= STEPS)
        return "the step index of a block is too large";
    b->first = r->samples;
    b->count = codes + 1;
    r->sample[r->samples++] = (int16_t)codec.sample;
    for (i = 0; i < codes; i++) {
        uint8_t two = data[*at + i / 2];

        r->sample[r->samples++] = codec_next(&codec, i % 2 == 0 ? two & 15u : (unsigned)two >> 4);
    }
    *at += (codes + 1) / 2;
    if (codes % 2 == 1 && data[*at - 1] >> 4 != 0)
        return "the last four bits of a block are not 0";
    return NULL;
}

static const char *read_mark(const struct recording *r, struct mark *m, const uint8_t *from)
{
    size_t i;

    m->at = number(from, 4);
    memcpy(m->name, from + 4, NAME_LENGTH);
    for (i = 0; i < NAME_LENGTH; i++)
        if (m->name[i] < 0x20 || m->name[i] > 0x7e)
            return "the name of a mark cannot be printed";
    for (i = NAME_LENGTH; i > 0 && m->name[i - 1] == ' '; i--)
        m->name[i - 1] = '\0';
    return m->at < r->samples ? NULL : "a mark stands behind the last sample";
}

const char *recording_read(struct recording *r, const uint8_t *data, size_t size)
{
    size_t at = HEAD_SIZE;
    size_t i;
    const char *error = NULL;

    memset(r, 0, sizeof *r);
    if (size < HEAD_SIZE || memcmp(data, "VMEM", 4) != 0)
        return "this is no recording";
    r->blocks = number(data + 4, 2);
    r->marks = data[6];
    r->block = make(r->blocks, sizeof *r->block);
    r->sample = make(r->blocks * LARGEST_BLOCK, sizeof *r->sample);
    r->mark = make(r->marks, sizeof *r->mark);
    for (i = 0; error == NULL && i < r->blocks; i++)
        error = read_block(r, &r->block[i], data, size, &at);
    if (error == NULL && size - at != r->marks * MARK_SIZE)
        error = "there are more or fewer marks than the head says";
    for (i = 0; error == NULL && i < r->marks; i++)
        error = read_mark(r, &r->mark[i], data + at + i * MARK_SIZE);
    return error;
}

void recording_free(struct recording *r)
{
    free(r->block);
    free(r->sample);
    free(r->mark);
    memset(r, 0, sizeof *r);
}
