#include "codec.h"

#include "steps.h"

static const int changes[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

static int clamp(int n, int least, int most)
{
    if (n < least)
        return least;
    return n > most ? most : n;
}

int16_t codec_next(struct codec *c, unsigned code)
{
    int step = step_at(&c->index);
    int difference = step >> 3;

    if (code & 4)
        difference += step;
    if (code & 2)
        difference += step >> 1;
    if (code & 1)
        difference += step >> 2;
    c->sample = clamp(code & 8 ? c->sample - difference : c->sample + difference, -32768, 32767);
    c->index += changes[code & 7];
    return (int16_t)c->sample;
}
