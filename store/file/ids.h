/*
 * Ids of batches that were taken in the last 24 to 48 hours, so that the
 * same batch counts once: two generations, of which the older one is dropped
 * when the younger is a day old (or full: a bound on memory).
 */
#ifndef STORE_IDS_H
#define STORE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/intern.h"

struct err;

#define IDS_MAX 262144 /* a generation */

struct ids {
	struct intern young, old; /* 16 bytes each */
	int64_t since_ns;         /* when young began */
	int64_t lost_ns;          /* when ids of before were lost, or 0 */
	uint64_t dropped;         /* generations dropped before their day */
};

void ids_fini(struct ids *ids);
bool ids_has(const struct ids *ids, const uint8_t id[16]);
/* Makes sure that ids_add() at this time cannot fail. */
const struct err *ids_reserve(struct ids *ids, int64_t now_ns);
const struct err *ids_add(struct ids *ids, const uint8_t id[16],
    int64_t now_ns);
/* The file: "MLI1", be32 CRC-32C of what follows, be64 since, be32 number
 * of old ones, be32 of young ones, 16 bytes each, be64 when ids were lost
 * (older files do not say). */
void ids_encode(const struct ids *ids, struct buf *out);
const struct err *ids_decode(struct ids *ids, const void *p, size_t n);
/* Reads a file into an empty list, which an error leaves empty. */
const struct err *ids_load(struct ids *ids, int dir, const char *name);
/* Is the file gone, or not what was written? */
bool ids_lost(const struct err *e);

#endif
