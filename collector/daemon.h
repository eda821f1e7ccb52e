/*
 * The daemon's parts, joined: what main.c starts and stops, and the loop in
 * between.  Everything here runs in one thread.
 */
#ifndef COLLECTOR_DAEMON_H
#define COLLECTOR_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/loop.h"
#include "collector/base/slots.h"
#include "collector/quota.h"
#include "collector/sources.h"

struct batch;
struct config;
struct err;
struct intake;
struct purger;
struct record;
struct replay;
struct services;
struct sources;
struct store_writer;

#define DAEMON_PENDING_MAX 64 /* batches that the store would not take yet */

struct daemon_options {
	const char *config_path; /* NULL: none */
	const char *store_path;  /* over [store] directory */
	const char *record_path;
	const char *replay_path;
	bool stay; /* after a replay */
};

struct daemon {
	struct daemon_options options;
	struct config *config;
	struct loop *loop;
	struct loop_watch signals;
	struct replay *replay;
	struct batch *replay_first; /* read early, for its slot length */
	struct record *record;
	struct intake *intake;
	struct purger *purger;
	struct store_writer *store;
	struct services *services;
	struct sources *sources;
	struct slots slots;
	struct quota quota;  /* of pushes */

	struct batch *pending[DAEMON_PENDING_MAX]; /* oldest first */
	size_t n_pending;
	uint64_t lost;       /* batches dropped from pending */
	bool store_refuses;  /* said so already */
	uint64_t removed;    /* files that retention has taken, as marked */
	bool held;           /* it waits, as marked */
	uint64_t thinned;    /* as removed: by retain-unwatched */
	uint64_t starved;    /* pushes that found no descriptor */
	int64_t starved_ns;  /* when the last did; 0: none lately */
	bool open_full;      /* pushes wait for a seal: said so already */
	bool record_failed;  /* said so already */
	bool first;          /* the next slot says all facts again */
	const char *mark;    /* FACT_MARK for the next slot, or NULL */
	char mark_text[320]; /* room for one */
	int64_t data_ns;     /* replay: the recording's clock */
	int64_t swept, polled, ticked; /* numbers of the last periods done */
	int64_t watchdog_ns, watchdog_next_ns;
	bool stop, reload, dump;
};

/* The stages, in their order; each has a stop unless it needs none. */
const struct err *daemon_start_loop(struct daemon *d);
void daemon_stop_loop(struct daemon *d);
const struct err *daemon_start_replay(struct daemon *d);
void daemon_stop_replay(struct daemon *d);
const struct err *daemon_start_record(struct daemon *d);
void daemon_stop_record(struct daemon *d);
const struct err *daemon_start_intake(struct daemon *d);
void daemon_stop_intake(struct daemon *d);
const struct err *daemon_start_privileges(struct daemon *d);
const struct err *daemon_start_store(struct daemon *d);
void daemon_stop_store(struct daemon *d);
const struct err *daemon_start_services(struct daemon *d);
void daemon_stop_services(struct daemon *d);
const struct err *daemon_start_sources(struct daemon *d);
void daemon_stop_sources(struct daemon *d); /* stores the open slot */
/* The same before a reload, but for those that can go on with what is new:
 * names the others, in `stopped`. */
void daemon_reload_sources(struct daemon *d, const struct config *config,
    char *stopped, size_t size);
const struct err *daemon_start_notify(struct daemon *d);
void daemon_stop_notify(struct daemon *d);

/* Tells the store which services have a rule, and how long others stay. */
const struct err *daemon_retain_unwatched(struct daemon *d);

/* Until a signal says stop. */
const struct err *daemon_run(struct daemon *d);

/* All of the recording; then, with -k, until a signal says stop. */
const struct err *daemon_run_replay(struct daemon *d);

/* ---- between daemon.c, daemon_start.c and daemon_replay.c ---- */

/* Takes a batch from the socket: its error is the client's answer. */
const struct err *daemon_take(void *arg, struct batch *b);
/* Would it be taken?  Finishes it. */
const struct err *daemon_check(void *arg, struct batch *b);
/* ERR_LIMIT 429 while more waits to be sealed than max-open: a text that ends
 * with "again in N s" (batch_client_again_s()). */
const struct err *daemon_check_open(struct daemon *d);
/* Takes all batches of a push or none. */
struct intake_parts;
const struct err *daemon_push(void *arg, const struct intake_parts *parts);
/* Into the store; into the recording, if there is one. */
const struct err *daemon_append(struct daemon *d, struct batch *b);
void daemon_record(struct daemon *d, struct batch *b);
/* Closes the slot with what the sources have. */
void daemon_close_slot(struct daemon *d, enum sources_which which,
    uint64_t slot);
/* Counters to the log. */
void daemon_dump(struct daemon *d);

#endif
