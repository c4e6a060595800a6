#ifndef CODEC_H
#define CODEC_H

#include <stdint.h>

#define STEPS 89

/* A codec turns codes into samples. */
struct codec {
    int sample;
    int index; /* of the step */
};

/* codec_is_sound says whether c can decode. It stays so while it does. */
int codec_is_sound(const struct codec *c);

/* codec_next decodes a code of four bits. */
int16_t codec_next(struct codec *c, unsigned code);

#endif
