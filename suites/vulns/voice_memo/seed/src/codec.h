#ifndef CODEC_H
#define CODEC_H

#include <stdint.h>

#define STEPS 89

/* A codec turns codes into samples. */
struct codec {
    int sample;
    int index; /* of the step */
};

/* codec_next decodes a code of four bits. */
int16_t codec_next(struct codec *c, unsigned code);

#endif
