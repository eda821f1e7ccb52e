/*
 * source_pbft: rounds of each replica and how long their phases took.
 *
 *	processes by name ──► files ──► where the functions are (pbft_find.h)
 *	        │                                  │
 *	        └──► replicas, counted by the probe that is attached there
 *
 * Nothing is loaded before there is such a program.  A file that has not the
 * functions is refused with its reason.  Where a file is attached already the
 * kernel counts a new process from its first call on, and it is looked at when
 * it is heard of: between two looks rounds would be lost.  A replica that says
 * nothing has zeros; one that is gone has nothing, and so have all of them in a
 * slot of which any sums found no room: a part would be told as the whole.
 */
#include "collector/pbft/pbft.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/pbft/pbft_private.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

#define LOOK_NS INT64_C(1000000000) /* between two looks at the processes */
#define STRANGERS PBFT_LOSTS /* a reason more, of no replica */
#define PROCESS_LABELS 4
#define LOST_SLOTS 30 /* in which a loss is said */

static const char *const pbft_states[PBFT_STATES] = {"request", "pre-prepare",
    "prepare", "commit", "execute"};
static const char *const pbft_phases[PBFT_WHATS] = {"prepare", "commit",
    "execute"};
static const char *const pbft_reasons[PBFT_LOSTS + 1] = {"sums full",
    "beginning unknown", "end not seen", "state unknown",
    "process unknown"};

/* ---- a slot ---- */

static void
pbft_take(void *arg, const struct sums_key *key, uint64_t count,
    uint64_t above)
{
	struct pbft *p = arg;
	const struct pbft_member *m;

	pbft_members_hear(p);
	m = pbft_member_counted(p, (int32_t)key->tgid);
	if (m == NULL || key->what >= PBFT_WHATS + PBFT_STATES ||
	    !pbft_slots_add(&p->slots, (uint32_t)(m - p->members), key, count,
	    above))
		p->unknown += count;
}

/* Labels by name; returns how many. */
static size_t
member_labels(const struct pbft_member *m, const char *name,
    const char *value, struct label l[PROCESS_LABELS])
{
	l[0] = (struct label){name, value};
	l[1] = (struct label){"service", m->service};
	l[2] = (struct label){"instance", m->instance};
	l[3] = (struct label){"cluster", m->cluster};
	return PROCESS_LABELS - (m->cluster[0] == '\0');
}

struct pbft_put {
	struct pbft *p;
	struct batch *b;
	uint64_t slot;
};

/* Of a slot that the daemon skipped: not of the one before, which may come
 * late. */
static bool
pbft_is_skipped(const struct bin *bin, uint64_t slot)
{
	return (int32_t)((uint32_t)slot - (uint32_t)(bin->key >> 32)) > 1;
}

/* Of one that came late there may be a second bin: batches add. */
static void
pbft_put_bin(void *arg, uint32_t member, uint32_t what, const struct bin *bin)
{
	const struct pbft_put *put = arg;
	struct pbft_member *m = &put->p->members[member];
	struct label labels[PROCESS_LABELS];
	struct series_desc desc = {.kind = SERIES_HISTOGRAM, .labels = labels,
	    .name = "pbft_phase_seconds", .unit = "seconds", .scale = 9};

	if (put->p->lossy || pbft_is_skipped(bin, put->slot)) {
		m->dropped += bin->count;
		return;
	}
	if (what >= PBFT_WHATS) {
		m->states[what - PBFT_WHATS] += bin->count;
		return;
	}
	desc.n_labels = member_labels(m, "phase", pbft_phases[what], labels);
	bins_put(bin, put->b, batch_series(put->b, &desc), put->slot);
}

struct pbft_counter {
	const char *name, *label, *value;
	uint64_t now, told;
};

static void
member_put_counter(const struct pbft_member *m, const struct pbft_counter *c,
    struct batch *b, uint64_t slot, int64_t time_ns)
{
	struct label labels[PROCESS_LABELS];
	struct series_desc desc = {.kind = SERIES_COUNTER, .labels = labels,
	    .name = c->name, .unit = ""};

	desc.n_labels = member_labels(m, c->label, c->value, labels);
	batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
	    (int64_t)(c->now - c->told), (int64_t)c->now);
}

static void
member_put_rounds(const struct pbft_member *m, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	for (size_t i = 0; i < PBFT_STATES; i++)
		member_put_counter(m, &(struct pbft_counter){
		    "pbft_rounds_total", "state", pbft_states[i],
		    m->states[i], m->told[i]}, b, slot, time_ns);
}

/* All that had no room until this slot: the kernel may be further. */
static uint64_t
member_lost_sums(const struct pbft_member *m, const struct pbft_replica *now,
    uint64_t slot, uint64_t present)
{
	uint64_t lost = now->lost[PBFT_LOST_SUM] + m->dropped -
	    pbft_slots_lost_later(now->lost_slots, slot, present);
	uint64_t told = m->told_lost[PBFT_LOST_SUM];

	return (int64_t)(lost - told) > 0 ? lost : told;
}

static void
member_put(struct pbft *p, struct pbft_member *m, struct batch *b,
    uint64_t slot, uint64_t present)
{
	int64_t time_ns = (int64_t)(slot + 1) * p->config->slot_ns - 1;
	struct pbft_replica now;
	size_t i;

	if (!m->counted || !pbft_probe_read(p->probe, m->pid, &now))
		return;
	if (!p->lossy)
		member_put_rounds(m, b, slot, time_ns);
	now.lost[PBFT_LOST_SUM] = member_lost_sums(m, &now, slot, present);
	p->lost += now.lost[PBFT_LOST_SUM] - m->told_lost[PBFT_LOST_SUM];
	for (i = 0; i < PBFT_LOSTS; i++)
		member_put_counter(m, &(struct pbft_counter){
		    "memlens_pbft_lost_total", "reason", pbft_reasons[i],
		    now.lost[i], m->told_lost[i]}, b, slot, time_ns);
	memcpy(m->told, m->states, sizeof(m->told));
	memcpy(m->told_lost, now.lost, sizeof(m->told_lost));
}

/* What is of no replica. */
static void
pbft_put_unknown(struct pbft *p, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	uint64_t strangers = pbft_probe_strangers(p->probe);
	struct label label = {"reason", pbft_reasons[STRANGERS]};
	struct series_desc desc = {.kind = SERIES_COUNTER, .labels = &label,
	    .n_labels = 1, .name = "memlens_pbft_lost_total", .unit = ""};

	batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
	    (int64_t)(p->unknown + strangers - p->told_unknown -
	    p->told_strangers), (int64_t)(p->unknown + strangers));
	p->told_unknown = p->unknown;
	p->told_strangers = strangers;
}

/* The sums are of all: where one finds no room, others may not either. */
static bool
pbft_has_lost(const struct pbft *p, uint64_t slot)
{
	struct pbft_replica now;

	for (size_t i = 0; i < PBFT_REPLICAS; i++)
		if (p->members[i].counted &&
		    pbft_probe_read(p->probe, p->members[i].pid, &now) &&
		    pbft_slots_lost(now.lost_slots, slot))
			return true;
	return false;
}

/* It is said for a while, so that somebody sees it. */
static void
pbft_say(struct pbft *p, uint64_t lost_before, uint64_t slot)
{
	if (p->lost != lost_before || p->lossy) {
		p->lost_slot = slot;
		p->lost_slots++;
		snprintf(p->why, sizeof(p->why), "%llu rounds and phases of "
		    "late were not kept, in %llu slots: these are no data; "
		    "see memlens_pbft_lost_total", (unsigned long long)p->lost,
		    (unsigned long long)p->lost_slots);
	} else if (slot - p->lost_slot > LOST_SLOTS) {
		p->why[0] = '\0';
		p->lost = p->lost_slots = 0;
	}
}

static const struct err *
pbft_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct pbft *p = source;
	uint64_t present, lost = p->lost;
	size_t i;

	(void)first;
	if (p->probe == NULL)
		return NULL;
	pbft_probe_take(p->probe, pbft_take, p);
	p->lossy = pbft_has_lost(p, slot);
	present = (uint64_t)(clock_wall_ns() / p->config->slot_ns) +
	    1; /* or just there */
	pbft_slots_take(&p->slots, slot, present, pbft_put_bin,
	    &(struct pbft_put){p, b, slot});
	for (i = 0; i < PBFT_REPLICAS; i++)
		member_put(p, &p->members[i], b, slot, present);
	pbft_put_unknown(p, b, slot,
	    (int64_t)(slot + 1) * p->config->slot_ns - 1);
	pbft_say(p, lost, slot);
	pbft_members_forget(p);
	return NULL;
}

/* ---- the source ---- */

static const struct err *
pbft_open(void **out, const struct config *config, struct services *services)
{
	struct pbft *p;

	*out = NULL;
	if (config->pbft_programs == NULL || config->pbft_programs[0] == '\0')
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return err_nomem();
	p->config = config;
	p->services = services;
	p->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*out = p;
	return NULL;
}

static void
pbft_close(void *source)
{
	struct pbft *p = source;

	for (uint32_t i = 0; i < PBFT_FILES; i++)
		pbft_file_free(p, i);
	pbft_probe_close(p->probe);
	if (p->proc_fd >= 0)
		close(p->proc_fd);
	pbft_slots_fini(&p->slots);
	free(p);
}

static int
pbft_fd(const void *source)
{
	(void)source;
	return -1;
}

static const struct err *
pbft_poll(void *source, int64_t now_ns)
{
	struct pbft *p = source;
	int64_t mono_ns = clock_mono_ns();

	(void)now_ns;
	if (p->probe != NULL) {
		pbft_probe_set_clock(p->probe);
		pbft_members_hear(p);
		pbft_probe_poll(p->probe, pbft_take, p);
	}
	pbft_files_look(p);
	if (mono_ns < p->look_ns + LOOK_NS)
		return NULL;
	p->look_ns = mono_ns;
	pbft_members_look(p);
	return NULL;
}

static void
pbft_stop(void *source)
{
	struct pbft *p = source;

	if (p->probe != NULL)
		pbft_probe_stop(p->probe);
}

/* What is attached and counted stays; each file is looked at anew. */
static bool
pbft_reload(void *source, const struct config *config)
{
	struct pbft *p = source;

	if (config->pbft_programs == NULL || config->pbft_programs[0] == '\0')
		return false;
	p->config = config;
	p->look_ns = 0;
	for (uint32_t i = 0; i < PBFT_REPLICAS; i++)
		p->members[i].image = UINT32_MAX;
	for (uint32_t i = 0; i < PBFT_FILES; i++)
		if (p->files[i].state == FILE_REFUSED)
			pbft_file_free(p, i);
	return true;
}

static const char *
pbft_name(size_t part)
{
	return part == 0 ? "pbft" : NULL;
}

static enum source_state
pbft_state(const void *source, size_t part, const char **why)
{
	const struct pbft *p = source;
	size_t attached = 0;

	(void)part;
	*why = NULL;
	for (size_t i = 0; i < PBFT_FILES; i++) {
		attached += p->files[i].state == FILE_ATTACHED;
		if (p->files[i].state == FILE_REFUSED)
			*why = p->files[i].why;
	}
	if (p->crowded)
		*why = "more processes or programs than there is room for";
	if (attached == 0)
		return *why != NULL ? SOURCE_NOT_ATTACHED : SOURCE_OFF;
	if (*why == NULL && p->why[0] != '\0')
		*why = p->why;
	return *why != NULL ? SOURCE_DEGRADED : SOURCE_ATTACHED;
}

const struct source_ops source_pbft = {
    .spends = SPENT_OTHER,
    .name = pbft_name,
    .open = pbft_open,
    .fd = pbft_fd,
    .poll = pbft_poll,
    .close_slot = pbft_close_slot,
    .state = pbft_state,
    .close = pbft_close,
    .stop = pbft_stop,
    .reload = pbft_reload,
};
