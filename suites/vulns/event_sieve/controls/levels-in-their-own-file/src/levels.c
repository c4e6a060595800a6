#include "levels.h"

void levels_start(struct levels *l)
{
    l->left = 200;
}

int levels_open(struct levels *l)
{
    return l->left > 0 ? (int)l->left-- : 0;
}

void levels_close(struct levels *l)
{
    l->left++;
}
