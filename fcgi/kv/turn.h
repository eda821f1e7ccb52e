/*
 * Turns that the workers of a pool take: what one of them does at a time.
 * They are locks on a file in memory that all have from their parent; one
 * that ends, however, has none any more.
 */
#ifndef FCGI_KV_TURN_H
#define FCGI_KV_TURN_H

#include <stdbool.h>

struct err;

enum turn {
	TURN_KEYS,   /* one request to the target of the playground */
	TURN_ACTION  /* a latency test, or a fault */
};

/* Before workers are forked; the descriptor, or -1: then there are no turns,
 * and everybody has each. */
int turn_open(void);

/* Takes it if nobody has it. */
bool turn_try(int fd, enum turn which);

/* The same, and waits for it.  Errors: gone_check()'s. */
const struct err *turn_wait(int fd, enum turn which);

void turn_end(int fd, enum turn which);

#endif
