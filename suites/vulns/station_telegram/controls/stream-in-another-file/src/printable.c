#include "printable.h"

#include <stdio.h>

void printable(char to[PRINTABLE_SIZE], uint8_t byte, int dots)
{
    int plain = byte >= 0x20 && byte <= 0x7e && byte != '\\' && (byte != '.' || dots);

    snprintf(to, PRINTABLE_SIZE, plain ? "%c" : "\\%03d", byte);
}
