/*
 * How much of a slot's journal the pushes of one service may take: nodes of
 * call trees that nobody had before.  The same stacks again cost nothing.
 */
#ifndef COLLECTOR_QUOTA_H
#define COLLECTOR_QUOTA_H

#include <stdint.h>

struct batch;
struct err;

#define QUOTA_NODES (1u << 20) /* of a service in a slot */
#define QUOTA_PLACES 1024      /* the largest of late are remembered */

struct quota {
	struct quota_place {
		uint64_t service, slot; /* hash of the name */
		uint64_t nodes;
	} places[QUOTA_PLACES];
};

/* ERR_LIMIT 413 where a service of the batch has used up one of its slots,
 * which it will never be given again. */
const struct err *quota_check(const struct quota *q, const struct batch *b);
/* The batch was taken and has brought so many new nodes. */
void quota_charge(struct quota *q, const struct batch *b, uint64_t nodes);

#endif
