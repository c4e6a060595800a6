#ifndef BOARD_H
#define BOARD_H

#include <stdio.h>

#define NUMBER_SIZE 8
#define PLATFORM_SIZE 4
#define LONGEST_DELAY 600

struct train {
    char number[NUMBER_SIZE];
    char platform[PLATFORM_SIZE]; /* "": not known */
    char *destination;
    int time;  /* minutes since midnight, without the delay */
    int delay; /* minutes */
    struct train *leader; /* the train that it is coupled to, or NULL */
    struct train *next;
};

/* A board holds trains in the order in which they were added. */
struct board {
    struct train *first;
};

void board_open(struct board *b);
void board_close(struct board *b);

struct train *board_find(struct board *b, const char *number);

/* board_add puts a train on the board, in the place of one with the same number. */
void board_add(struct board *b, const char *number, int time, const char *destination);

/* board_couple returns 0, or -1 when the coupling would lead back to t. */
int board_couple(struct train *t, struct train *leader);

/* board_delay makes t late, and all trains that are coupled to it. */
void board_delay(struct board *b, struct train *t, int minutes);

void board_cancel(struct board *b, struct train *t);

/* board_depart takes all trains off that leave before time. */
void board_depart(struct board *b, int time);

void board_show(const struct board *b, FILE *to);

#endif
