#ifndef PRINTABLE_H
#define PRINTABLE_H

#include <stdint.h>

#define PRINTABLE_SIZE 5

/* printable writes the printable form of a byte as a string. */
void printable(char to[PRINTABLE_SIZE], uint8_t byte, int dots);

#endif
