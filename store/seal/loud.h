/*
 * Which services of a sealed file take the memory that its names need when it
 * is merged: a few of many stacks, as a rule, beside which all others are
 * small.
 */
#ifndef STORE_LOUD_H
#define STORE_LOUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sealed;
struct series_desc;

#define LOUD_MOST 16 /* services */

struct loud {
	char *names[LOUD_MOST];
	size_t n;
	uint64_t rest; /* bytes of names of all that they are not, about */
};

/*
 * The fewest services without which a file's names, which take `names` bytes
 * in all, take `most`; or, where they are too many, the loudest of them.
 * None: without a service nothing is won, or nothing would be left.  The file
 * is open with its dictionary; loud_fini() also after an error.
 */
const struct err *loud_find(struct loud *l, struct sealed *f, uint64_t names,
    uint64_t most);
void loud_fini(struct loud *l);

/* Is it a series of one of them? */
bool loud_is(const struct loud *l, const struct series_desc *d);

#endif
