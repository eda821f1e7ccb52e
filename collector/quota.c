/*
 * A table of the services that took most of a slot; the least of them makes
 * room for a new one, so that names made up by a client cost no memory.
 */
#include "collector/quota.h"

#include "store/base/err.h"
#include "store/batch/batch.h"

static const char *
quota_service(const struct batch *b, const struct batch_block *k)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	const char *service;

	batch_series_desc(b, k->series, &d, labels, BATCH_MAX_LABELS);
	service = label_find(d.labels, d.n_labels, "service");
	return service != NULL ? service : "";
}

static uint64_t
quota_hash(const char *service)
{
	uint64_t h = 0;

	for (; *service != '\0'; service++)
		h = hash64_u64(h, (uint8_t)*service);
	return h;
}

static size_t
quota_find(const struct quota *q, uint64_t service, uint64_t slot)
{
	size_t i = 0;

	while (i < QUOTA_PLACES && (q->places[i].service != service ||
	    q->places[i].slot != slot))
		i++;
	return i;
}

const struct err *
quota_check(const struct quota *q, const struct batch *b)
{
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];
		const char *service;
		size_t at;

		if (!series_is_profile((enum series_kind)k->kind))
			continue;
		service = quota_service(b, k);
		at = quota_find(q, quota_hash(service), k->slot);
		if (at < QUOTA_PLACES && q->places[at].nodes >= QUOTA_NODES)
			return err_new(ERR_LIMIT, 413, "service %.100s has "
			    "brought %u nodes of call trees into one slot, and "
			    "may bring no more into this one: push fewer "
			    "different stacks", service, QUOTA_NODES);
	}
	return NULL;
}

/* Its place, or that of the least. */
static void
quota_add(struct quota *q, uint64_t service, uint64_t slot, uint64_t nodes)
{
	size_t at = quota_find(q, service, slot);

	if (at == QUOTA_PLACES) {
		at = 0;
		for (size_t i = 1; i < QUOTA_PLACES; i++) {
			if (q->places[i].nodes < q->places[at].nodes)
				at = i;
		}
		q->places[at] = (struct quota_place){service, slot, 0};
	}
	q->places[at].nodes += nodes;
}

void
quota_charge(struct quota *q, const struct batch *b, uint64_t nodes)
{
	uint64_t all = 0;

	for (size_t i = 0; i < b->n_blocks; i++) {
		if (series_is_profile((enum series_kind)b->blocks[i].kind))
			all += b->blocks[i].n;
	}
	for (size_t i = 0; i < b->n_blocks && nodes > 0; i++) {
		const struct batch_block *k = &b->blocks[i];

		if (k->n > 0 && series_is_profile((enum series_kind)k->kind))
			quota_add(q, quota_hash(quota_service(b, k)), k->slot,
			    nodes * k->n / all);
	}
}
