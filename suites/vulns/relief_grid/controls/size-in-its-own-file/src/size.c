#include "size.h"

#include <stddef.h>

const char *size_error(struct size s)
{
    if (s.width < 1 || s.height < 1)
        return "grid has no cells";
    return s.width * s.height > MOST_CELLS ? "grid is too large" : NULL;
}
