#ifndef LABELS_H
#define LABELS_H

#include <stddef.h>

#define MAX_LABEL 16

/* Each label is a byte with its length, then its bytes. A length of zero ends the list. */
int decode_label(const unsigned char *from, size_t left, char *into);

#endif
