/*
 * Members are found by the serial of their process, never by its pid, which
 * another process may have had a reading ago.  They are no part of its entry
 * (process.h): a process is in several groups, and belongs to a reading by
 * having been in the one before.
 */
#include "collector/procfs/procfs_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/intern.h"

/* The last known values of a process. */
struct member {
	uint64_t serial;
	uint64_t count[GROUP_COUNTS];
	int64_t level[GROUP_LEVELS];
	uint32_t have_count, have_level;
	int64_t proportional_ns;
	int64_t read_ns[GROUP_FILES];
};

struct members {
	struct member *all;
	size_t n, cap;
	struct map64 by_serial;
};

struct groups {
	struct members now, before;
	bool based; /* a reading has been made before this one */
	int64_t since_ns, latest_ns; /* the last times of it, and of this */
	struct intern names;
	struct group *groups;
	size_t n, cap;
};

struct groups *
groups_new(void)
{
	return calloc(1, sizeof(struct groups));
}

static void
members_clear(struct members *m)
{
	map64_fini(&m->by_serial);
	m->n = 0;
}

void
groups_free(struct groups *g)
{
	if (g == NULL)
		return;
	members_clear(&g->now);
	members_clear(&g->before);
	free(g->now.all);
	free(g->before.all);
	intern_fini(&g->names);
	free(g->groups);
	free(g);
}

void
groups_begin(struct groups *g)
{
	struct members spare = g->before;

	g->before = g->now;
	g->now = spare;
	g->since_ns = g->latest_ns;
	members_clear(&g->now);
	intern_fini(&g->names);
	g->n = 0;
}

static bool
grow(void **array, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return true;
	if ((p = realloc(*array, more * size)) == NULL)
		return false;
	*array = p;
	*cap = more;
	return true;
}

static struct group *
groups_find(struct groups *g, const char *service)
{
	uint32_t i = intern_put(&g->names, service, strlen(service));

	if (i == INTERN_NONE || !grow((void **)&g->groups, i, &g->cap,
	        sizeof(*g->groups)))
		return NULL;
	if (i == g->n) {
		g->n++;
		memset(&g->groups[i], 0, sizeof(g->groups[i]));
		snprintf(g->groups[i].service, sizeof(g->groups[i].service),
		    "%s", service);
	}
	return &g->groups[i];
}

/* The process's record for this reading, with its last known values. */
static struct member *
groups_member(struct groups *g, uint64_t serial, bool *seen)
{
	struct members *m = &g->now;
	uint32_t i = map64_get(&g->before.by_serial, serial);
	struct member *member;

	if (!grow((void **)&m->all, m->n, &m->cap, sizeof(*m->all)) ||
	    !map64_add(&m->by_serial, serial, (uint32_t)m->n))
		return NULL;
	member = &m->all[m->n++];
	*seen = i != INTERN_NONE;
	if (*seen)
		*member = g->before.all[i];
	else
		*member = (struct member){.serial = serial};
	return member;
}

static uint64_t
member_count(struct member *m, int which, uint64_t raw, bool from_birth)
{
	bool known = (m->have_count >> which & 1) != 0;
	uint64_t before = m->count[which];

	m->have_count |= 1u << which;
	if (known && raw < before)
		return 0; /* and the highest value stays */
	m->count[which] = raw;
	if (known)
		return raw - before;
	return from_birth ? raw : 0;
}

static void
groups_add_count(const struct groups *g, struct group *group,
    struct member *m, int which, const struct group_reading *r,
    bool from_birth)
{
	uint64_t increase = member_count(m, which, r->count[which],
	    from_birth);
	struct group_span *span = &group->span[which];
	int file = which <= GROUP_MAJOR_FAULTS ? GROUP_STAT : GROUP_DETAILS;

	group->increase[which] += increase;
	if (span->until_ns == 0 || increase > span->most)
		*span = (struct group_span){m->read_ns[file] != 0 ?
		    m->read_ns[file] : g->since_ns, r->read_ns[file],
		    increase};
}

static void
groups_add_times(struct groups *g, struct member *m,
    const struct group_reading *r)
{
	for (int i = 0; i < GROUP_FILES; i++) {
		if (r->read_ns[i] != 0)
			m->read_ns[i] = r->read_ns[i];
		if (r->read_ns[i] > g->latest_ns)
			g->latest_ns = r->read_ns[i];
	}
}

/* What is not read each time says of when it is. */
static void
groups_add_age(struct group *group, struct member *m,
    const struct group_reading *r)
{
	if ((r->have_level >> GROUP_PROPORTIONAL & 1) != 0)
		m->proportional_ns = r->proportional_ns;
	if ((m->have_level >> GROUP_PROPORTIONAL & 1) != 0 &&
	    (group->proportional_ns == 0 ||
	    m->proportional_ns < group->proportional_ns))
		group->proportional_ns = m->proportional_ns;
}

bool
groups_add(struct groups *g, const struct group_reading *r)
{
	struct group *group = groups_find(g, r->service);
	struct member *m;
	bool seen, from_birth;

	if (group == NULL || (m = groups_member(g, r->serial, &seen)) == NULL)
		return false;
	from_birth = g->based && !seen;
	group->processes += !r->zombie;
	for (int i = 0; i < GROUP_COUNTS; i++) {
		if ((r->have_count >> i & 1) != 0)
			groups_add_count(g, group, m, i, r, from_birth);
		group->raw[i] += m->count[i];
	}
	groups_add_times(g, m, r);
	if (r->zombie) { /* nor has it the last ones it had */
		group->have_count |= m->have_count;
		return true;
	}
	for (int i = 0; i < GROUP_LEVELS; i++) {
		if ((r->have_level >> i & 1) != 0)
			m->level[i] = r->level[i];
		group->level[i] += m->level[i];
	}
	m->have_level |= r->have_level;
	groups_add_age(group, m, r);
	group->have_count |= m->have_count;
	group->have_level |= m->have_level;
	return true;
}

const struct group *
groups_end(struct groups *g, size_t *n)
{
	g->based = true;
	*n = g->n;
	return g->groups;
}
