#include <stdio.h>
#include <stdlib.h>

#include "labels.h"

int main(int argc, char **argv)
{
    unsigned char data[512];
    size_t size, at = 0;
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : stdin;

    if (f == NULL) {
        fprintf(stderr, "cannot open %s\n", argv[1]);
        return 1;
    }
    size = fread(data, 1, sizeof data, f);
    while (at < size && data[at] != 0) {
        char *label = malloc(MAX_LABEL);
        int took = decode_label(data + at, size - at, label);

        if (took < 0) {
            fprintf(stderr, "bad label at %zu\n", at);
            free(label);
            return 2;
        }
        printf("%s\n", label);
        free(label);
        at += (size_t)took;
    }
    return 0;
}
