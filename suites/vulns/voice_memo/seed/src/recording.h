#ifndef RECORDING_H
#define RECORDING_H

#include <stddef.h>
#include <stdint.h>

#define NAME_LENGTH 4

struct block {
    size_t first; /* of its samples, in those of the recording */
    size_t count;
};

struct mark {
    uint32_t at;
    char name[NAME_LENGTH + 1];
};

struct recording {
    size_t blocks;
    struct block *block;
    size_t samples;
    int16_t *sample;
    size_t marks;
    struct mark *mark;
};

/*
 * recording_read decodes a recording. It returns NULL, or what is wrong with it.
 * Either way the caller ends it with recording_free.
 */
const char *recording_read(struct recording *r, const uint8_t *data, size_t size);
void recording_free(struct recording *r);

#endif
