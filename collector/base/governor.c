/*
 * Down one step when it is too much, up to what a higher rate would cost.
 */
#include "collector/base/governor.h"

#include "store/base/clock.h"

const struct governor_steps governor_rates = {3, {1, 2, 5}};
const struct governor_steps governor_halves = {11,
    {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};

void
governor_init(struct governor *g, const struct governor_steps *steps,
    int64_t budget)
{
	*g = (struct governor){.steps = steps, .budget = budget,
	    .patience = GOVERNOR_PATIENCE, .since_up = GOVERNOR_RELAPSE};
}

int64_t
governor_hz(const struct governor *g, int64_t hz)
{
	int64_t slower = hz / g->steps->divisors[g->level];

	return slower > 0 ? slower : 1;
}

int64_t
governor_period(const struct governor *g, int64_t period)
{
	return period * g->steps->divisors[g->level];
}

static void
governor_restart(struct governor *g)
{
	g->over = 0;
	for (unsigned i = 0; i < GOVERNOR_LEVELS; i++)
		g->calm[i] = 0;
}

static bool
governor_down(struct governor *g)
{
	governor_restart(g);
	if (g->level + 1 == g->steps->n)
		return false;
	if (g->since_up < GOVERNOR_RELAPSE)
		g->patience = g->patience * 2 < GOVERNOR_PATIENCE_MAX ?
		    g->patience * 2 : GOVERNOR_PATIENCE_MAX;
	g->level++;
	return true;
}

/* The highest rate that all of the last spans would have borne. */
static bool
governor_up(struct governor *g)
{
	unsigned to = 0;

	while (to < g->level && g->calm[to] < g->patience)
		to++;
	if (to == g->level)
		return false;
	governor_restart(g);
	g->level = to;
	g->since_up = 0;
	return true;
}

/* A long time without a relapse makes up for old ones. */
static void
governor_forgive(struct governor *g)
{
	if (g->since_up < GOVERNOR_RELAPSE &&
	    ++g->since_up == GOVERNOR_RELAPSE)
		g->patience = GOVERNOR_PATIENCE;
}

bool
governor_step(struct governor *g, const struct governor_used *used)
{
	const int64_t *divisors = g->steps->divisors;
	double span = (double)used->span_ns, share, with, beside;

	if (g->budget == 0 || used->span_ns <= 0)
		return false;
	share = (double)g->budget / 1e6;
	with = (double)used->with_ns / span;
	beside = (double)used->beside_ns / span;
	share -= beside < share / 4 ? beside : share / 4;
	governor_forgive(g);
	g->over = with > share ? g->over + 1 : 0;
	for (unsigned i = 0; i < g->level; i++) {
		double more = with * (double)divisors[g->level] /
		    (double)divisors[i];

		g->calm[i] = more < share * 4 / 5 ? g->calm[i] + 1 : 0;
	}
	return g->over >= GOVERNOR_OVER ? governor_down(g) : governor_up(g);
}

#define WINDOW_NS (10 * NS_PER_S)

void
governor_window_begin(struct governor_window *w, int64_t slot_ns,
    const struct governor_used *sums)
{
	*w = (struct governor_window){.until = *sums,
	    .window_ns = slot_ns > WINDOW_NS ? slot_ns : WINDOW_NS};
}

bool
governor_window_is_over(const struct governor_window *w, int64_t now_ns)
{
	return now_ns - w->until.span_ns >= w->window_ns * 9 / 10;
}

struct governor_used
governor_window_next(struct governor_window *w,
    const struct governor_used *sums)
{
	struct governor_used used = {sums->span_ns - w->until.span_ns,
	    sums->with_ns - w->until.with_ns,
	    sums->beside_ns - w->until.beside_ns};

	w->until = *sums;
	w->ratio = (double)(used.with_ns + used.beside_ns) /
	    (double)used.span_ns;
	return used;
}
