/*
 * The profiles of all targets: each is asked for once an interval, at its
 * multiples on the clock, so that all of a service are seen in the same slot
 * and add up; what comes goes to one process that parses it (pull_child.h),
 * one after the other, and from there to the queue.
 *
 *	wait -> ask the endpoint -> hand over -> queue of batches
 *	     or look for dumps
 *
 * A profile that gives nothing has a complaint, which health shows.
 */
#ifndef COLLECTOR_SCRAPE_PROFILE_H
#define COLLECTOR_SCRAPE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/pull/pull_child.h"
#include "collector/pull/pull_dumps.h"
#include "collector/scrape/scrape_config.h"
#include "fcgi/http/http.h"

struct meter;
struct scrape_queue;

enum scrape_profile_state {
	SCRAPE_PROFILE_WAITS,
	SCRAPE_PROFILE_ASKS,   /* its request is on its way */
	SCRAPE_PROFILE_LOOKS,  /* through dumps that were found */
	SCRAPE_PROFILE_PARSED  /* by the child */
};

struct scrape_profile {
	const struct scrape_target_config *target;
	const struct scrape_profile_config *config;
	const char *kind; /* of the page: its path, or the dumps' prefix */
	uint32_t number;  /* for pull_ask */
	enum scrape_profile_state state;
	int64_t due_ns;   /* wall */
	int64_t at_ns, began_ns; /* wall, monotonic: of the pull at hand */
	int64_t seen_ns;  /* wall: of the newest dump that was taken */
	struct pull_dumps dumps;
	size_t dump; /* of them, the one at hand */
	bool signalled; /* one has been asked for in this round */
	struct http_answer answer;
	char why[200]; /* of a dump before it in this round, or "" */
	char complaint[200];
};

struct scrape_profiles {
	struct scrape_profile *all;
	size_t n;
	uint32_t next; /* number of a profile */
	int64_t slot_ns;
	struct http *http;
	struct pull_child child;
	struct scrape_profile *parsed; /* by the child, or NULL */
	uint64_t taken, refused;       /* profiles */
};

/* All but `s` is borrowed.  ENOMEM. */
const struct err *scrape_profiles_init(struct scrape_profiles *s,
    const struct scrape_config *c, struct http *http);

/* Before its first step it takes over where those of before were, as far as
 * they are asked for still: what has been pulled is not pulled again. */
void scrape_profiles_follow(struct scrape_profiles *s,
    struct scrape_profiles *before);
void scrape_profiles_fini(struct scrape_profiles *s);

/* Goes on with all of them, without waiting. */
void scrape_profiles_step(struct scrape_profiles *s, struct meter *meter,
    struct scrape_queue *queue, int64_t wall_ns);

/* Appends which of a target's give nothing and why; `told`: something stands
 * there already.  False: there is nothing to say. */
bool scrape_profiles_tell(const struct scrape_profiles *s,
    const struct scrape_target_config *target, bool told, struct buf *out);

#endif
