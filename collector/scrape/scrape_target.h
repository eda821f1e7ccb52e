/*
 * One target: its pages are pulled one after the other, at most one request
 * is in flight, and the next round begins an interval after the last began.
 * After failures the interval doubles up to SCRAPE_BACKOFF_MAX_NS, so that a
 * sick service is not also besieged; leveldb_up and memlens_scrape_up say 0
 * meanwhile.
 */
#ifndef COLLECTOR_SCRAPE_TARGET_H
#define COLLECTOR_SCRAPE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/scrape/scrape_config.h"
#include "collector/scrape/scrape_take.h"
#include "fcgi/http/http.h"

struct buf;
struct err;
struct meter;
struct scrape_config;
struct scrape_target_config;

#define SCRAPE_BACKOFF_MAX_NS INT64_C(8000000000)
#define SCRAPE_BODY_MAX (1u << 20) /* of a page */

struct scrape_page {
	const char *kind; /* "leveldb", "prometheus" */
	const struct http_place *place;
	int64_t last_ns;  /* wall: the last good answer */
	char complaint[200]; /* the last failure that was logged */
	uint64_t again; /* values of a series that was there already */
};

struct scrape_target {
	const struct scrape_config *config;
	const char *name, *service, *instance;
	struct scrape_page pages[SCRAPE_PAGES];
	size_t n_pages, at;  /* the page that is being pulled */
	bool busy;           /* a request is in flight */
	bool failed;         /* a page of this round */
	unsigned failures;   /* rounds in a row */
	bool down;           /* as marked: it did not answer in a slot */
	int64_t due_ns;      /* monotonic: the next round */
	int64_t began_ns;    /* monotonic: this request */
	struct http *http;
	struct http_answer answer;
};

/* All but `t` is borrowed; *t stays where it is. */
void scrape_target_init(struct scrape_target *t,
    const struct scrape_config *config,
    const struct scrape_target_config *target, struct http *http,
    int64_t mono_ns);
void scrape_target_fini(struct scrape_target *t);

/* Begins a round when it is due, goes on with a request; readings go to the
 * meter, what was refused into *counts. */
void scrape_target_step(struct scrape_target *t, struct meter *meter,
    struct scrape_counts *counts, int64_t wall_ns, int64_t mono_ns);

/* Appends which of its pages do not answer and why: those whose last answer
 * was none, and which had no good one since since_ns (wall).  False: all do,
 * and nothing is appended. */
bool scrape_target_tell(const struct scrape_target *t, int64_t since_ns,
    struct buf *out);

/* Monotonic time at which scrape_target_step() has something to do even if
 * nothing arrives. */
int64_t scrape_target_due_ns(const struct scrape_target *t);

#endif
