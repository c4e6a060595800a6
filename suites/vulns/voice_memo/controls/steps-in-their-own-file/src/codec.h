#ifndef CODEC_H
#define CODEC_H

#include <stdint.h>

/* A codec turns codes into samples. */
struct codec {
    int sample;
    int index; /* of the step; it may be beyond either end until the next code */
};

/* codec_next decodes a code of four bits. */
int16_t codec_next(struct codec *c, unsigned code);

#endif
