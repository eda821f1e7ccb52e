/*
 * A short list.
 */
#include "collector/pbft/pbft_past.h"

#include <string.h>

bool
pbft_past_is_cluster(const struct pbft_who *a, const struct pbft_who *b)
{
	return strcmp(a->service, b->service) == 0 &&
	    strcmp(a->cluster, b->cluster) == 0;
}

static void
past_remove(struct pbft_past *p, size_t i)
{
	memmove(&p->all[i], &p->all[i + 1],
	    (--p->n - i) * sizeof(p->all[0]));
}

void
pbft_past_keep(struct pbft_past *p, const struct pbft_who *who,
    const uint64_t states[PBFT_STATES])
{
	uint64_t old[PBFT_STATES];

	(void)pbft_past_take(p, who, old);
	if (p->n == PBFT_REPLICAS)
		past_remove(p, 0);
	p->all[p->n].who = *who;
	memcpy(p->all[p->n++].states, states, sizeof(old));
}

bool
pbft_past_take(struct pbft_past *p, const struct pbft_who *who,
    uint64_t states[PBFT_STATES])
{
	for (size_t i = 0; i < p->n; i++) {
		if (!pbft_past_is_cluster(&p->all[i].who, who) ||
		    strcmp(p->all[i].who.instance, who->instance) != 0)
			continue;
		memcpy(states, p->all[i].states, sizeof(p->all[i].states));
		past_remove(p, i);
		return true;
	}
	return false;
}

void
pbft_past_drop(struct pbft_past *p, const struct pbft_who *who)
{
	for (size_t i = p->n; i-- > 0;)
		if (pbft_past_is_cluster(&p->all[i].who, who))
			past_remove(p, i);
}
