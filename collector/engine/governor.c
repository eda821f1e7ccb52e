/*
 * Steps down soon, up late, and later each time that was too early.
 */
#include "collector/engine/governor.h"

static const int64_t divisors[GOVERNOR_LEVELS] = {1, 2, 5};

void
governor_init(struct governor *g, int64_t budget)
{
	*g = (struct governor){.budget = budget, .patience = GOVERNOR_PATIENCE,
	    .since_up = GOVERNOR_RELAPSE};
}

int64_t
governor_hz(const struct governor *g, int64_t hz)
{
	int64_t slower = hz / divisors[g->level];

	return slower > 0 ? slower : 1;
}

int64_t
governor_period(const struct governor *g, int64_t period)
{
	return period * divisors[g->level];
}

static bool
governor_down(struct governor *g)
{
	g->over = 0;
	if (g->level + 1 == GOVERNOR_LEVELS)
		return false;
	if (g->since_up < GOVERNOR_RELAPSE)
		g->patience = g->patience * 2 < GOVERNOR_PATIENCE_MAX ?
		    g->patience * 2 : GOVERNOR_PATIENCE_MAX;
	g->level++;
	return true;
}

static bool
governor_up(struct governor *g)
{
	g->calm = 0;
	if (g->level == 0) {
		/* A long calm at full rate makes up for old relapses. */
		g->patience = g->patience / 2 > GOVERNOR_PATIENCE ?
		    g->patience / 2 : GOVERNOR_PATIENCE;
		return false;
	}
	g->level--;
	g->since_up = 0;
	return true;
}

bool
governor_step(struct governor *g, int64_t used_ns, int64_t span_ns)
{
	double used = span_ns > 0 ? (double)used_ns / (double)span_ns : 0;
	double budget = (double)g->budget / 1e6;

	if (g->budget == 0)
		return false;
	if (g->since_up < GOVERNOR_RELAPSE)
		g->since_up++;
	g->over = used > budget ? g->over + 1 : 0;
	g->calm = used < budget * 3 / 4 ? g->calm + 1 : 0;
	if (g->over >= GOVERNOR_OVER)
		return governor_down(g);
	if (g->calm >= g->patience)
		return governor_up(g);
	return false;
}
