/*
 * Keys are slot << 32 | member << 24 | what << 16 | bucket; of a slot the low
 * half, so that slots are told apart by their distance.
 */
#include "collector/pbft/pbft_slots.h"

bool
pbft_slots_add(struct pbft_slots *s, uint32_t member,
    const struct sums_key *key, uint64_t count, uint64_t above)
{
	return bins_add(&s->bins, (uint64_t)key->device << 32 |
	    (uint64_t)member << 24 | (uint64_t)key->what << 16 | key->bucket,
	    key->bucket, count, above);
}

static bool
slots_is_due(const struct bin *bin, uint64_t slot, uint64_t present)
{
	uint32_t of = (uint32_t)(bin->key >> 32);

	return (int32_t)(of - (uint32_t)slot) <= 0 ||
	    (int32_t)(of - (uint32_t)present) > 0;
}

void
pbft_slots_take(struct pbft_slots *s, uint64_t slot, uint64_t present,
    pbft_slots_fn *fn, void *arg)
{
	struct bins rest = {0};

	for (uint32_t i = 0; i < s->bins.n; i++) {
		const struct bin *bin = &s->bins.all[i];

		if (slots_is_due(bin, slot, present) ||
		    !bins_add_bin(&rest, bin))
			fn(arg, (uint8_t)(bin->key >> 24),
			    (uint8_t)(bin->key >> 16), bin);
	}
	bins_fini(&s->bins);
	s->bins = rest;
}

bool
pbft_slots_wait(const struct pbft_slots *s, uint32_t member)
{
	for (uint32_t i = 0; i < s->bins.n; i++)
		if ((uint8_t)(s->bins.all[i].key >> 24) == member)
			return true;
	return false;
}

bool
pbft_slots_lost(const __u64 lost_slots[PBFT_LOST_SLOTS], uint64_t slot)
{
	uint64_t at = lost_slots[slot & (PBFT_LOST_SLOTS - 1)];

	return (uint32_t)at > 0 &&
	    (int32_t)((uint32_t)(at >> 32) - (uint32_t)slot) >= 0;
}

uint64_t
pbft_slots_lost_later(const __u64 lost_slots[PBFT_LOST_SLOTS], uint64_t slot,
    uint64_t present)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < PBFT_LOST_SLOTS; i++) {
		uint32_t of = (uint32_t)(lost_slots[i] >> 32);

		if ((int32_t)(of - (uint32_t)slot) > 0 &&
		    (int32_t)(of - (uint32_t)present) <= 0)
			n += (uint32_t)lost_slots[i];
	}
	return n;
}

void
pbft_slots_fini(struct pbft_slots *s)
{
	bins_fini(&s->bins);
}
