/*
 * The loop: poll, close slots that are over, hand their batches on, wait.
 */
#include "collector/daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/config.h"
#include "collector/base/source.h"
#include "collector/base/spent.h"
#include "collector/ipc/intake.h"
#include "collector/ipc/notify.h"
#include "collector/ipc/purger.h"
#include "collector/ipc/record.h"
#include "collector/process/services.h"
#include "collector/process/services_rules.h"
#include "collector/sources.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/heap.h"
#include "store/base/log.h"
#include "store/store.h"

#define POLL_NS (250 * NS_PER_MS)
#define STARVED_NS (60 * NS_PER_S) /* it is said for so long */
#define STALL_NS (2 * NS_PER_S) /* between two turns of the loop */

/* ---- the store ---- */

const struct err *
daemon_append(struct daemon *d, struct batch *b)
{
	enum spent_on before = spent_begin(SPENT_STORE);
	const struct err *e = store_append(d->store, b);

	spent_begin(before);
	return e;
}

static const struct err *
daemon_tick_store(struct daemon *d, int64_t now_ns)
{
	enum spent_on before = spent_begin(SPENT_STORE);
	const struct err *e = store_tick(d->store, now_ns);

	spent_begin(before);
	return e;
}

/* ---- batches ---- */

void
daemon_record(struct daemon *d, struct batch *b)
{
	struct batch *alone = NULL;
	const struct err *e = NULL;

	if (d->record == NULL)
		return;
	if (b->stream != 0)
		e = batch_trim(b, &alone);
	if (e == NULL)
		e = record_write(d->record, alone != NULL ? alone : b);
	batch_free(alone);
	if (e != NULL && !d->record_failed)
		log_err("%s: %s", d->options.record_path, e->text);
	d->record_failed = e != NULL;
}

/* Says once that the store refuses, and once that it takes again. */
static void
daemon_tell_store(struct daemon *d, const struct err *e)
{
	if (e != NULL && !d->store_refuses)
		log_err("store: %s; batches wait, and the oldest go after %d",
		    e->text, DAEMON_PENDING_MAX);
	else if (e == NULL && d->store_refuses)
		log_info("store: takes batches again");
	d->store_refuses = e != NULL;
}

static void
daemon_drop_pending(struct daemon *d)
{
	batch_free(d->pending[0]);
	d->n_pending--;
	memmove(d->pending, d->pending + 1,
	    d->n_pending * sizeof(d->pending[0]));
}

/* A batch that will never fit must not stand in the way of the others. */
static bool
daemon_hopeless(const struct err *e)
{
	return e->domain == ERR_FORMAT ||
	    (e->domain == ERR_LIMIT && e->code != 507 && e->code != 503);
}

static void
daemon_flush_pending(struct daemon *d)
{
	const struct err *e = NULL;

	while (d->n_pending > 0) {
		e = daemon_append(d, d->pending[0]);
		if (e != NULL && !daemon_hopeless(e))
			break;
		if (e != NULL) {
			log_err("a batch is lost: %s", e->text);
			d->lost++;
		}
		daemon_drop_pending(d);
		e = NULL;
	}
	daemon_tell_store(d, e);
}

/* Records a batch and appends it; what the store refuses waits. */
static void
daemon_submit(struct daemon *d, struct batch *b)
{
	if (d->n_pending == DAEMON_PENDING_MAX) {
		daemon_drop_pending(d);
		d->lost++;
	}
	daemon_record(d, b);
	d->pending[d->n_pending++] = b;
	daemon_flush_pending(d);
}

/* ---- slots ---- */

/* What retention has taken since the last slot, and that it waits. */
static void
daemon_mark_retention(struct daemon *d, struct batch *b, int64_t start_ns)
{
	struct store_writer_stats now;
	char text[160];
	int n = 0;

	store_writer_stats(d->store, &now);
	if (now.held_ns != 0 && !d->held)
		n = snprintf(text, sizeof(text), "old data is kept: the clock "
		    "has jumped by %lld s",
		    (long long)(now.held_ns / NS_PER_S));
	else if (now.removed != d->removed)
		n = snprintf(text, sizeof(text), "%llu files of slots until "
		    "%lld went by their age or by the cap",
		    (unsigned long long)(now.removed - d->removed),
		    (long long)now.removed_until * d->slots.slot_ns /
		    NS_PER_S);
	if (n > 0)
		batch_add_fact(b, start_ns, FACT_MARK, "retention", text,
		    (size_t)n);
	d->removed = now.removed;
	d->held = now.held_ns != 0;
	if (now.thinned == d->thinned)
		return;
	n = snprintf(text, sizeof(text), "services without a rule went out of "
	    "%llu files of slots until %lld by retain-unwatched",
	    (unsigned long long)(now.thinned - d->thinned),
	    (long long)now.thinned_until * d->slots.slot_ns / NS_PER_S);
	batch_add_fact(b, start_ns, FACT_MARK, "retention", text, (size_t)n);
	d->thinned = now.thinned;
}

void
daemon_close_slot(struct daemon *d, enum sources_which which, uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)d->slots.slot_ns);
	bool first = d->first || slot % 64 == 0;
	int64_t start_ns = (int64_t)slot * d->slots.slot_ns;

	if (b == NULL) {
		log_err("out of memory: slot %llu is lost",
		    (unsigned long long)slot);
		d->lost++;
		return;
	}
	sources_close_slot(d->sources, which, slot, b, start_ns, first);
	services_facts(d->services, b, start_ns, first);
	if (d->mark != NULL)
		batch_add_fact(b, start_ns, FACT_MARK, "memlensd", d->mark,
		    strlen(d->mark));
	d->mark = NULL;
	daemon_mark_retention(d, b, start_ns);
	log_debug("slot %llu: %zu blocks, %zu facts", (unsigned long long)slot,
	    b->n_blocks, b->n_facts);
	daemon_submit(d, b);
	d->first = false;
}

static void
daemon_tell_jump(struct daemon *d, enum slots_jump jump)
{
	static const char *const text[] = {
	    [SLOTS_FORWARD] = "the clock went forward: a gap",
	    [SLOTS_BACK] = "the clock went back a little: the open slot waits",
	    [SLOTS_RESET] = "the clock went far back: going on there",
	};

	if (jump == SLOTS_STEADY)
		return;
	log_warn("%s", text[jump]);
	d->mark = text[jump];
	d->first = true;
}

/* Both clocks went on, and we did not: no CPU, or stopped. */
static void
daemon_tell_stall(struct daemon *d, int64_t mono_ns)
{
	int64_t away_ns = mono_ns - d->slots.mono_ns;

	if (away_ns < STALL_NS || away_ns < 2 * d->slots.slot_ns)
		return;
	log_warn("nothing was read for %lld s: memlensd stood still",
	    (long long)(away_ns / NS_PER_S));
	if (d->mark != NULL)
		return;
	snprintf(d->mark_text, sizeof(d->mark_text), "nothing was read for "
	    "%lld s: memlensd stood still", (long long)(away_ns / NS_PER_S));
	d->mark = d->mark_text;
}

/* ---- the loop ---- */

static void
daemon_status(struct daemon *d)
{
	struct store_writer_stats store;
	struct services_stats services;
	char text[700]; /* some 25 a source */

	store_writer_stats(d->store, &store);
	services_stats(d->services, &services);
	sources_describe(d->sources, text, sizeof(text));
	notify_send("STATUS=%s; %llu services, %llu processes, store %llu KiB"
	    "%s", text, (unsigned long long)services.services,
	    (unsigned long long)services.processes,
	    (unsigned long long)store.bytes / 1024,
	    d->store_refuses ? ", REFUSES BATCHES" : "");
}

/* A push that waits for a descriptor waits without a trace otherwise. */
static bool
daemon_is_starved(struct daemon *d, int64_t mono_ns)
{
	struct intake_stats now;

	intake_stats(d->intake, &now);
	if (now.starved != d->starved) {
		if (d->starved_ns == 0)
			log_err("too few file descriptors to take a batch");
		d->starved_ns = mono_ns;
	} else if (mono_ns - d->starved_ns > STARVED_NS) {
		d->starved_ns = 0;
	}
	d->starved = now.starved;
	return d->starved_ns != 0;
}

/* Why pushes are not taken, to those who read the store. */
static void
daemon_tell_trouble(struct daemon *d, int64_t mono_ns)
{
	bool starved = daemon_is_starved(d, mono_ns);
	const struct err *full = daemon_check_open(d);

	if (full != NULL && !d->open_full)
		log_warn("%s", full->text);
	d->open_full = full != NULL;
	store_say_trouble(d->store, starved
	    ? "too few file descriptors to take what is pushed"
	    : full != NULL ? full->text : "");
}

/* What happens once a second. */
static void
daemon_tick(struct daemon *d, int64_t wall_ns, int64_t mono_ns)
{
	const struct err *e;

	if (wall_ns / NS_PER_S == d->ticked)
		return;
	d->ticked = wall_ns / NS_PER_S;
	purger_tick(d->purger, d->intake);
	intake_tick(d->intake, mono_ns);
	daemon_tell_trouble(d, mono_ns);
	if (d->n_pending > 0)
		daemon_flush_pending(d);
	e = daemon_tick_store(d, d->replay ? d->data_ns : wall_ns);
	if (e != NULL && !d->store_refuses)
		daemon_tell_store(d, e);
	if (d->watchdog_ns > 0 && mono_ns >= d->watchdog_next_ns) {
		notify_send("WATCHDOG=1");
		d->watchdog_next_ns = mono_ns + d->watchdog_ns;
	}
}

/* The list of processes is read as often as the rest of /proc. */
static int64_t
daemon_interval_ns(const struct daemon *d)
{
	const void *procfs = sources_find(d->sources, &source_procfs);

	return procfs != NULL ? procfs_interval_ns(procfs) :
	    d->config->procfs_interval_ns;
}

static void
daemon_sweep(struct daemon *d, int64_t wall_ns)
{
	int64_t period = slots_period(wall_ns, d->slots.slot_ns,
	    daemon_interval_ns(d));
	enum spent_on before;
	const struct err *e;

	if (period == d->swept)
		return;
	d->swept = period;
	before = spent_begin(SPENT_PROC);
	if ((e = services_sweep(d->services, wall_ns)) != NULL)
		log_warn("%s", e->text);
	spent_begin(before);
}

static void
daemon_close_slots(struct daemon *d)
{
	const struct err *e;
	bool closed = false;
	uint64_t slot;

	while (slots_next(&d->slots, &slot)) {
		daemon_close_slot(d, SOURCES_ALL, slot);
		closed = true;
	}
	if (!closed)
		return;
	e = daemon_tick_store(d, clock_wall_ns());
	if (e != NULL)
		daemon_tell_store(d, e);
	daemon_status(d);
	heap_trim();
}

/* What the store has been opened with stays. */
static void
daemon_keep_store(struct daemon *d, struct config *new)
{
	char *directory = new->directory;

	new->directory = d->config->directory;
	d->config->directory = directory;
	new->slot_ns = d->slots.slot_ns;
}

static const struct err *
daemon_read_config(struct daemon *d, struct config **new,
    struct services_rules **rules)
{
	const struct err *e;

	*new = calloc(1, sizeof(**new));
	if (*new == NULL)
		return err_nomem();
	e = config_load(*new, d->options.config_path);
	if (e == NULL && (e = services_rules_new(rules, *new)) != NULL)
		config_free(*new);
	return e;
}

/* Who began anew has missed what was between. */
static void
daemon_tell_reload(struct daemon *d, const char *stopped, int64_t stopped_ns)
{
	d->mark = "reload";
	if (stopped[0] != '\0') {
		snprintf(d->mark_text, sizeof(d->mark_text), "reload: %lld ms "
		    "are missing of %s", (long long)((clock_mono_ns() -
		    stopped_ns) / NS_PER_MS), stopped);
		d->mark = d->mark_text;
	}
	log_info("configuration reloaded; [store] and [socket] take effect "
	    "at the next start%s", d->mark + strlen("reload"));
}

/* Validates first: a mistake in the new file keeps the old one going.
 * Sources that do not come back are an error: without them the daemon would
 * be blind. */
static const struct err *
daemon_reload(struct daemon *d)
{
	struct services_rules *rules;
	struct config *new;
	const struct err *e = daemon_read_config(d, &new, &rules);
	int64_t stopped_ns = clock_mono_ns();
	char stopped[200];

	if (e != NULL) {
		log_err("%s; the old configuration stays", e->text);
		free(new);
		return NULL;
	}
	daemon_keep_store(d, new);
	daemon_reload_sources(d, new, stopped, sizeof(stopped));
	services_reload(d->services, new, rules);
	config_free(d->config);
	free(d->config);
	d->config = new;
	if ((e = daemon_retain_unwatched(d)) != NULL ||
	    (e = daemon_start_sources(d)) != NULL)
		return e;
	daemon_tell_reload(d, stopped, stopped_ns);
	return NULL;
}

static const struct err *
daemon_do_signals(struct daemon *d)
{
	const struct err *e = NULL;

	if (d->dump)
		daemon_dump(d);
	if (d->reload)
		e = daemon_reload(d);
	d->dump = d->reload = false;
	return e;
}

/* Between two polls of all sources. */
static int64_t
daemon_step_ns(const struct daemon *d)
{
	int64_t interval_ns = daemon_interval_ns(d);

	return interval_ns < POLL_NS ? interval_ns : POLL_NS;
}

/* Those with a descriptor are polled when it is readable, too. */
static void
daemon_poll(struct daemon *d, int64_t wall_ns)
{
	int64_t step = slots_period(wall_ns, d->slots.slot_ns,
	    daemon_step_ns(d));

	if (step == d->polled)
		return;
	d->polled = step;
	sources_poll(d->sources, wall_ns);
}

static int64_t
daemon_wait_ns(const struct daemon *d)
{
	int64_t now_ns = clock_wall_ns(), step_ns = daemon_step_ns(d), until_ns;

	until_ns = (now_ns / step_ns + 1) * step_ns;
	if (slots_due_ns(&d->slots) < until_ns)
		until_ns = slots_due_ns(&d->slots);
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

const struct err *
daemon_run(struct daemon *d)
{
	const struct err *e;

	while (!d->stop) {
		int64_t wall_ns = clock_wall_ns(), mono_ns = clock_mono_ns();

		daemon_tell_stall(d, mono_ns);
		daemon_tell_jump(d, slots_update(&d->slots, wall_ns, mono_ns));
		daemon_sweep(d, wall_ns);
		daemon_poll(d, wall_ns);
		daemon_close_slots(d);
		daemon_tick(d, wall_ns, mono_ns);
		if ((e = loop_wait(d->loop, daemon_wait_ns(d))) != NULL)
			return e;
		if ((e = daemon_do_signals(d)) != NULL)
			return e;
	}
	return NULL;
}
