#include "coupling.h"

void coupling_end(struct train *list, const struct train *gone)
{
    for (; list != NULL; list = list->next)
        if (list->leader == gone)
            list->leader = NULL;
}
