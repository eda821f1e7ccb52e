/*
 * What test_store_random.c knows of its store: a plain list of what was
 * acknowledged, slot by slot, and notes of all that was done, from which it
 * says on a failure which slots are wrong, by what, and what was done there.
 */
#ifndef TESTS_UNIT_RANDOM_MODEL_H
#define TESTS_UNIT_RANDOM_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(20000000) /* 20 ms */
#define FIRST 4000
#define SLOTS 20000
#define SERVICES 3
#define FUNCTIONS 24
#define NOTES 65536

/* A thing done; of a batch with its values, to compare with what is wrong. */
struct note {
	const char *what;
	uint64_t from, until, now, operation;
	int service; /* -1: all */
	int32_t values[FUNCTIONS];
};

/* Shared with the children that die. */
struct model {
	int32_t want[SERVICES][SLOTS][FUNCTIONS];
	int32_t given[FUNCTIONS]; /* the batch at hand */
	int service;
	uint64_t slot;
	bool unsure; /* it may count or not: its writer died */
	uint64_t now, operations, faults, crashes, refused;
	unsigned seed;
	char dir[64];
	bool explained; /* the first failure has been, and its store is kept */
	struct store_options options;
	uint32_t n_notes;
	struct note notes[NOTES];
};

/* ---- notes ---- */

static struct note *
note_add(struct model *m, const char *what, int service, uint64_t from,
    uint64_t until)
{
	struct note *n = &m->notes[m->n_notes++ % NOTES];

	*n = (struct note){what, from, until, m->now, m->operations, service,
	    {0}};
	return n;
}

/* What became of the batch at hand. */
static void
note_batch(struct model *m, const char *what)
{
	struct note *n = note_add(m, what, m->service, m->slot, m->slot + 1);

	memcpy(n->values, m->given, sizeof(n->values));
}

/* Is what is wrong just what this batch holds, lost or counted twice? */
static const char *
note_verdict(const struct note *n, const int64_t wrong[FUNCTIONS])
{
	bool lost = true, twice = true, any = false;

	for (int k = 0; k < FUNCTIONS; k++) {
		lost &= wrong[k] == -(int64_t)n->values[k];
		twice &= wrong[k] == n->values[k];
		any |= n->values[k] != 0;
	}
	return !any ? "" : lost ? " = LOST" : twice ? " = ONCE TOO OFTEN" : "";
}

static void
notes_print(const struct model *m, int service, uint64_t slot,
    const int64_t wrong[FUNCTIONS])
{
	uint32_t first = m->n_notes > NOTES ? m->n_notes - NOTES : 0;

	for (uint32_t i = first; i < m->n_notes; i++) {
		const struct note *n = &m->notes[i % NOTES];
		bool here = n->service == service && n->from <= slot &&
		    slot < n->until;
		/* and the openings, closings and deaths around it */
		bool near = n->service < 0 && n->now + 300 > slot &&
		    n->now < slot + 700;

		if (here || near)
			printf("#   %8lu now %lu: %s %lu to %lu%s\n",
			    (unsigned long)n->operation,
			    (unsigned long)n->now, n->what,
			    (unsigned long)n->from, (unsigned long)n->until,
			    here ? note_verdict(n, wrong) : "");
	}
}

/* ---- answers ---- */

static const struct err *
ask(struct store *s, int service, uint64_t from, uint64_t until,
    struct profile **p)
{
	struct profile_query q = {NULL, (int64_t)from * SLOT,
	    (int64_t)until * SLOT, NULL, false};
	struct selector *selector = NULL;
	const struct err *e;
	char text[48];

	snprintf(text, sizeof(text), "cpu{service=\"s%d\"}", service);
	*p = NULL;
	if ((e = selector_parse(text, &selector)) != NULL)
		return e;
	q.selector = selector;
	e = store_query_profile(s, &q, p);
	selector_free(selector);
	return e;
}

/* Per function what a profile has more than the list over what it says it
 * covers; false when that is nothing at all. */
static bool
model_wrong(const struct model *m, int service, const struct profile *p,
    int64_t wrong[FUNCTIONS])
{
	uint64_t from = (uint64_t)(p->from_ns / SLOT);
	uint64_t until = (uint64_t)(p->until_ns / SLOT);
	int64_t all = 0;

	memset(wrong, 0, FUNCTIONS * sizeof(*wrong));
	for (uint64_t i = from < FIRST ? FIRST : from;
	     i < until && i < FIRST + SLOTS; i++) {
		for (int k = 0; k < FUNCTIONS; k++)
			wrong[k] -= m->want[service][i - FIRST][k];
	}
	for (size_t i = 1; i < p->n_nodes; i++)
		wrong[atoi(p->nodes[i].name)] += (int64_t)counts_of(p, i).self;
	for (int k = 0; k < FUNCTIONS; k++)
		all |= wrong[k];
	return all != 0;
}

static void
model_say(const struct model *m, int service, const struct profile *p,
    const int64_t wrong[FUNCTIONS])
{
	uint64_t from = (uint64_t)(p->from_ns / SLOT);
	uint64_t until = (uint64_t)(p->until_ns / SLOT);

	printf("# s%d, slots %lu to %lu, now %lu; got more than wanted:",
	    service, (unsigned long)from, (unsigned long)until,
	    (unsigned long)m->now);
	for (int k = 0; k < FUNCTIONS; k++) {
		if (wrong[k] != 0)
			printf(" %02d:%+ld", k, (long)wrong[k]);
	}
	printf("\n");
}

/* ---- the first failure of a store ---- */

/* Which files of the manifest may hold the slot? */
static void
model_say_files(const struct model *m, uint64_t slot)
{
	char command[256];

	snprintf(command, sizeof(command),
	    "awk '$1 == \"journal\" || NF == 8 && $3 <= %lu && %lu < $3 + $4 "
	    "{ print \"#     \" $0 }' %s.failed/manifest",
	    (unsigned long)slot, (unsigned long)slot, m->dir);
	fflush(stdout);
	if (system(command) != 0)
		printf("# no manifest\n");
}

/* Keeps the store as it is now, and looks at each slot by itself: all right
 * means that a block of a higher level is wrong. */
static void
model_explain(struct model *m, struct store *s, int service, uint64_t from,
    uint64_t until)
{
	char command[192];
	unsigned bad = 0;

	if (m->explained)
		return;
	m->explained = true;
	snprintf(command, sizeof(command), "cp -r %s %s.failed", m->dir,
	    m->dir);
	printf("# %s.failed is the store%s, in which are wrong:\n", m->dir,
	    system(command) == 0 ? "" : ", in part");
	if (until > m->now + 200)
		until = m->now + 200;
	for (uint64_t i = from < FIRST ? FIRST : from; i < until && bad < 5;) {
		int64_t wrong[FUNCTIONS];
		struct profile *p;

		if (ask(s, service, i, i + 1, &p) != NULL || p == NULL) {
			printf("# slot %lu is not answered\n",
			    (unsigned long)i++);
			bad++;
			continue;
		}
		if (model_wrong(m, service, p, wrong)) {
			model_say(m, service, p, wrong);
			model_say_files(m, i);
			notes_print(m, service, i, wrong);
			bad++;
		}
		i = (uint64_t)(p->until_ns / SLOT) > i
		    ? (uint64_t)(p->until_ns / SLOT)
		    : i + 1;
		profile_free(p);
	}
	printf("# %u of its slots wrong by themselves\n", bad);
	fflush(stdout);
}

#endif
