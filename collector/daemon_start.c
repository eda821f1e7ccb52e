/*
 * The stages of start and stop.  Their order and its reasons are in main.c.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/priv.h"
#include "collector/daemon.h"
#include "collector/ipc/intake.h"
#include "collector/ipc/notify.h"
#include "collector/ipc/purger.h"
#include "collector/ipc/record.h"
#include "collector/ipc/replay.h"
#include "collector/process/services.h"
#include "collector/self.h"
#include "collector/sources.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/heap.h"
#include "store/base/log.h"
#include "store/store.h"

/* ---- loop and signals ---- */

static void
daemon_signal(void *arg, uint32_t events)
{
	struct daemon *d = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(d->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		d->stop |= info.ssi_signo == SIGTERM ||
		    info.ssi_signo == SIGINT;
		d->reload |= info.ssi_signo == SIGHUP;
		d->dump |= info.ssi_signo == SIGUSR1;
	}
}

/* Refused or not: what there is must do. */
static void
daemon_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < 16384 ? limit.rlim_max : 16384;
	setrlimit(RLIMIT_NOFILE, &limit);
}

const struct err *
daemon_start_loop(struct daemon *d)
{
	const struct err *e;
	sigset_t set;

	daemon_raise_descriptors();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if ((e = loop_new(&d->loop)) != NULL)
		return e;
	d->signals = (struct loop_watch){
	    signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), daemon_signal, d};
	if (d->signals.fd < 0)
		return err_errno("signalfd");
	return loop_add(d->loop, &d->signals, EPOLLIN);
}

void
daemon_stop_loop(struct daemon *d)
{
	if (d->signals.fd > 0)
		close(d->signals.fd);
	loop_free(d->loop);
}

/* ---- recordings ---- */

const struct err *
daemon_start_replay(struct daemon *d)
{
	const struct err *e;

	if (d->options.replay_path == NULL)
		return NULL;
	if ((e = replay_open(&d->replay, d->options.replay_path)) != NULL)
		return e;
	if ((e = replay_next(d->replay, &d->replay_first)) != NULL)
		return e;
	if (d->replay_first == NULL)
		return err_new(ERR_FORMAT, 0, "%s holds no batch",
		    d->options.replay_path);
	d->config->slot_ns = (int64_t)d->replay_first->slot_ns;
	return NULL;
}

void
daemon_stop_replay(struct daemon *d)
{
	batch_free(d->replay_first);
	replay_close(d->replay);
}

const struct err *
daemon_start_record(struct daemon *d)
{
	if (d->options.record_path == NULL)
		return NULL;
	return record_open(&d->record, d->options.record_path);
}

void
daemon_stop_record(struct daemon *d)
{
	record_close(d->record);
}

/* ---- socket ---- */

/* Makes the folders above `path`. */
static void
daemon_make_parents(const char *path)
{
	char part[512];

	for (const char *p = strchr(path + 1, '/'); p != NULL;
	    p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		mkdir(part, 0755);
	}
}

static const struct err *
daemon_purge(void *arg, const struct purge_request *r, uint64_t client)
{
	struct daemon *d = arg;

	return purger_begin(d->purger, d->store, r, client);
}

const struct err *
daemon_start_intake(struct daemon *d)
{
	const struct config *c = d->config;
	const struct err *e;

	if (c->socket_path == NULL || c->socket_path[0] == '\0' ||
	    (d->options.replay_path != NULL && !d->options.stay))
		return NULL;
	daemon_make_parents(c->socket_path);
	if ((e = purger_new(&d->purger)) != NULL)
		return e;
	return intake_open(&d->intake, &(struct intake_options){
	    c->socket_path, c->socket_group, d->loop, daemon_take, d,
	    daemon_purge, daemon_check, daemon_push});
}

void
daemon_stop_intake(struct daemon *d)
{
	intake_close(d->intake);
	d->intake = NULL;
	purger_free(d->purger);
	d->purger = NULL;
}

/* ---- privileges ---- */

/* The store's folder, made while its group can still be given to it. */
static void
daemon_make_directory(const struct config *c)
{
	struct group *g = NULL;

	daemon_make_parents(c->directory);
	if (mkdir(c->directory, 0750) != 0)
		return;
	if (c->socket_group != NULL && c->socket_group[0] != '\0')
		g = getgrnam(c->socket_group);
	if (g != NULL && chown(c->directory, (uid_t)-1, g->gr_gid) == 0)
		chmod(c->directory, 02750);
}

const struct err *
daemon_start_privileges(struct daemon *d)
{
	enum priv_use use = d->options.replay_path != NULL ? PRIV_REPLAY :
	    PRIV_LIVE;
	const struct err *e;
	uint64_t missing;

	daemon_make_directory(d->config);
	if ((e = priv_drop(use, &missing)) != NULL)
		return e;
	for (int cap = 0; cap < 64; cap++) {
		if ((missing >> cap & 1) != 0)
			log_warn("without %s: no %s", priv_name(cap),
			    priv_reason(cap));
	}
	return NULL;
}

/* ---- store ---- */

/* A store keeps the slot length that it was made with. */
static const struct err *
daemon_adopt_slot(struct daemon *d)
{
	struct store_extent extent = {0};
	struct store *reader = NULL;
	const struct err *e;

	e = store_open(&reader, d->config->directory, 1 << 20);
	if (e != NULL)
		return e->domain == ERR_ERRNO && e->code == ENOENT ? NULL : e;
	store_extent(reader, &extent);
	store_close(reader);
	if (extent.slot_ns <= 0 || extent.slot_ns == d->config->slot_ns)
		return NULL;
	if (d->replay != NULL)
		return err_new(ERR_CONFIG, 0, "%s has slots of %lld ns, the "
		    "recording of %lld ns", d->config->directory,
		    (long long)extent.slot_ns, (long long)d->config->slot_ns);
	log_warn("%s was made with slots of %lld ns, and keeps them",
	    d->config->directory, (long long)extent.slot_ns);
	d->config->slot_ns = extent.slot_ns;
	return NULL;
}

const struct err *
daemon_retain_unwatched(struct daemon *d)
{
	const struct config *c = d->config;
	const char *names[CONFIG_SERVICES_MAX];

	for (size_t i = 0; i < c->n_services; i++)
		names[i] = c->services[i].name;
	return store_retain_unwatched(d->store, names, c->n_services,
	    c->retain_unwatched_ns);
}

const struct err *
daemon_start_store(struct daemon *d)
{
	const struct config *c = d->config;
	struct store_options options = {
	    .retain_fine_ns = c->retain_fine_ns, .retain_ns = c->retain_ns,
	    .max_bytes = c->max_bytes, .reserve_bytes = c->reserve_bytes,
	    .no_thread = d->replay != NULL};
	const struct err *e;

	if ((e = daemon_adopt_slot(d)) != NULL)
		return err_wrap(e, "store");
	options.slot_ns = c->slot_ns;
	if ((e = store_writer_open(&d->store, c->directory, &options)) != NULL)
		return err_wrap(e, "store");
	if ((e = daemon_retain_unwatched(d)) != NULL)
		return e;
	slots_init(&d->slots, c->slot_ns, clock_wall_ns(), clock_mono_ns());
	d->first = true;
	return NULL;
}

void
daemon_stop_store(struct daemon *d)
{
	const struct err *e = NULL;

	while (d->store != NULL && d->n_pending > 0) {
		if (e == NULL)
			e = store_append(d->store, d->pending[0]);
		d->lost += e != NULL;
		batch_free(d->pending[0]);
		memmove(d->pending, d->pending + 1,
		    --d->n_pending * sizeof(d->pending[0]));
	}
	if (d->lost > 0)
		log_err("%llu batches were lost", (unsigned long long)d->lost);
	if (d->store != NULL && (e = store_writer_close(d->store)) != NULL)
		log_err("store: %s", e->text);
	d->store = NULL;
}

/* ---- services and sources ---- */

const struct err *
daemon_start_services(struct daemon *d)
{
	if (d->replay != NULL)
		return NULL;
	return services_new(&d->services, d->config);
}

void
daemon_stop_services(struct daemon *d)
{
	services_free(d->services);
	d->services = NULL;
}

static void
daemon_view(void *arg, struct self_view *out)
{
	struct daemon *d = arg;

	store_writer_stats(d->store, &out->store);
	intake_stats(d->intake, &out->intake);
	out->slots_skipped = d->slots.skipped;
	out->batches_lost = d->lost;
	out->door = d->intake;
	out->directory = d->config->directory;
}

/* For each object of BPF programs libbpf reads all of the kernel's types anew,
 * 12 MB of memory.  To have the system clear that each time takes 5 ms; kept
 * for the next one it would be cut up by what stays, and come twice. */
static const struct err *
daemon_open_sources(struct daemon *d)
{
	const struct err *e;

	heap_trim();
	e = sources_open(&d->sources, d->config, d->services, d->loop);
	heap_trim();
	return e;
}

const struct err *
daemon_start_sources(struct daemon *d)
{
	const struct err *e;
	int64_t now_ns = clock_wall_ns();

	if (d->replay != NULL)
		return NULL;
	if ((e = services_sweep(d->services, now_ns)) != NULL)
		return e;
	if ((e = daemon_open_sources(d)) != NULL)
		return e;
	self_watch(sources_find(d->sources, &source_self), daemon_view, d);
	sources_poll(d->sources, now_ns); /* the counters' first reading */
	d->first = true;
	return NULL;
}

/* What they have taken until now. */
static void
daemon_close_last(struct daemon *d, enum sources_which which)
{
	int64_t wall_ns = clock_wall_ns();
	uint64_t slot;

	slots_update(&d->slots, wall_ns, clock_mono_ns());
	slots_hurry(&d->slots);
	services_sweep(d->services, wall_ns);
	while (slots_next(&d->slots, &slot))
		daemon_close_slot(d, SOURCES_ALL, slot);
	if (d->stop)
		d->mark = "stop";
	daemon_close_slot(d, which, d->slots.open);
}

void
daemon_stop_sources(struct daemon *d)
{
	if (d->sources == NULL)
		return;
	sources_stop(d->sources);
	daemon_close_last(d, SOURCES_ALL);
	sources_close(d->sources);
	d->sources = NULL;
}

/* What was taken until now is of the services as they were. */
void
daemon_reload_sources(struct daemon *d, const struct config *config,
    char *stopped, size_t size)
{
	stopped[0] = '\0';
	if (d->sources == NULL)
		return;
	sources_poll(d->sources, clock_wall_ns());
	sources_reload(d->sources, config, stopped, size);
	daemon_close_last(d, SOURCES_STOPPED);
	sources_close_stopped(d->sources);
}

/* ---- the service manager ---- */

const struct err *
daemon_start_notify(struct daemon *d)
{
	d->watchdog_ns = notify_watchdog_ns();
	d->mark = "start";
	notify_send("READY=1");
	log_info("ready: store %s, slots of %lld ms", d->config->directory,
	    (long long)(d->slots.slot_ns / NS_PER_MS));
	return NULL;
}

void
daemon_stop_notify(struct daemon *d)
{
	(void)d;
	notify_send("STOPPING=1");
}

void
daemon_dump(struct daemon *d)
{
	struct self_view v = {0};
	char text[700] = "replay";

	daemon_view(d, &v);
	if (d->sources != NULL)
		sources_describe(d->sources, text, sizeof(text));
	log_info("sources: %s", text);
	log_info("store: %llu batches, %llu duplicates, %llu refused, "
	    "%llu bytes in %llu files, %llu damaged records",
	    (unsigned long long)v.store.batches,
	    (unsigned long long)v.store.duplicates,
	    (unsigned long long)v.store.refused,
	    (unsigned long long)v.store.bytes,
	    (unsigned long long)v.store.files,
	    (unsigned long long)v.store.damaged_records);
	log_info("socket: %llu batches taken, %llu refused, %llu connections, "
	    "%llu turned away, %llu timed out",
	    (unsigned long long)v.intake.taken,
	    (unsigned long long)v.intake.refused,
	    (unsigned long long)v.intake.connections,
	    (unsigned long long)v.intake.turned_away,
	    (unsigned long long)v.intake.timeouts);
	log_info("slots: %llu skipped; batches: %llu lost, %zu waiting; "
	    "recording: %llu lost", (unsigned long long)v.slots_skipped,
	    (unsigned long long)v.batches_lost, d->n_pending,
	    (unsigned long long)record_lost(d->record));
}
