/*
 * Which series nobody watches: those of services that none of a list names.
 * They may have a shorter retention than all others (store_retain_unwatched()).
 */
#ifndef STORE_UNWATCHED_H
#define STORE_UNWATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct series_desc;

struct unwatched {
	int64_t age_ns; /* at which they go */
	char **names;   /* of services that are watched */
	size_t n;
};

/* With copies of the names. */
const struct err *unwatched_new(struct unwatched **out,
    const char *const *names, size_t n, int64_t age_ns);
/* NULL is fine. */
void unwatched_free(struct unwatched *u);

/* Has it a label `service` that is none of the names?  What has no such label
 * belongs to the host. */
bool unwatched_is(const struct unwatched *u, const struct series_desc *d);

#endif
