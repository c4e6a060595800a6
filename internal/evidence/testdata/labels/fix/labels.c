#include "labels.h"

/* decode_label copies the label at from, of which left bytes are there, and returns how many bytes it took; -1 when it is cut off. */
int decode_label(const unsigned char *from, size_t left, char *into)
{
    size_t n, i;

    if (left < 1 || (n = from[0]) > left - 1)
        return -1;
    if (n >= MAX_LABEL)
        return -1;
    for (i = 0; i < n; i++)
        into[i] = (char)from[1 + i];
    into[n] = 0;
    return (int)n + 1;
}
