#ifndef CODEC_H
#define CODEC_H

#include <stdint.h>

#define STEPS 89
#define LAST_STEP (STEPS - 1)

/* A codec turns codes into samples. */
struct codec {
    int sample;
    int index; /* of the step */
};

/* codec_start sets the sample that codes go on from. It returns 0, or -1 where there is no step of that index. */
int codec_start(struct codec *c, int16_t sample, unsigned index);

/* codec_next decodes a code of four bits. */
int16_t codec_next(struct codec *c, unsigned code);

#endif
