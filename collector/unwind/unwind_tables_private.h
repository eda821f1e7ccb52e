/*
 * What unwind_tables.c (files and their tables) and unwind_tables_queue.c (the
 * code that waits for rows) share.
 */
#ifndef COLLECTOR_UNWIND_TABLES_PRIVATE_H
#define COLLECTOR_UNWIND_TABLES_PRIVATE_H

#include "collector/base/file_id.h"
#include "collector/unwind/unwind_tables.h"

#define BUCKETS 1024
#define NONE UINT32_MAX
#define QUEUE_MAX 1024
/* On a busy machine the way there and back takes long: many at once, but the
 * link has room for names beside them. */
#define ASKED_MAX 24

enum state {
	TABLE_UNKNOWN, /* what code it has */
	TABLE_READY,   /* rows come when they are wanted */
	TABLE_WITHOUT, /* the file has no rows, ever */
	TABLE_FOREIGN, /* nor is it a program: a JIT's code lies in it */
	TABLE_LARGE    /* it is over a bound, ever */
};

struct table {
	struct file_id id;
	int64_t retry_ns;
	int64_t met_ns;        /* first, without rows; 0: never */
	struct code *code;     /* READY */
	uint32_t refs, next;   /* next: in its bucket */
	uint32_t waits;        /* how often it failed */
	uint32_t wants, asked; /* in the queue, on their way */
	uint32_t met;          /* samples that wait for those in the queue */
	int fd;                /* for the queue; -1: none at hand */
	enum state state;
};

/* What is met for the first time does not stand behind what comes and goes on a
 * host that runs more code than there is room for: each has a budget. */
enum lane { LANE_NEW, LANE_AGAIN, LANES };

/* Code that waits for rows. */
struct want {
	uint32_t table, offset;
	uint32_t times; /* it was met */
	enum lane lane; /* when it was asked for */
};

struct unwind_tables {
	const struct unwind_kernel *kernel;
	struct unwind_regions *regions;
	unwind_ask_fn *ask;
	void *arg;
	struct table tables[UNWIND_TABLES];
	uint32_t buckets[BUCKETS];
	struct want queue[QUEUE_MAX], asked[ASKED_MAX];
	uint32_t n_queue, n_asked, n_open;
	uint32_t n;    /* tables that were ever used */
	int64_t rate_ns; /* of CPU time, a second */
	int64_t budget_ns[LANES], refilled_ns;
	uint64_t made, failures, refused;
};

/* Takes an entry out of the queue; the file is closed with its last one. */
void queue_remove(struct unwind_tables *t, uint32_t at);

/* The entry of that code, or NULL. */
struct want *queue_find(struct unwind_tables *t, uint32_t table,
    uint32_t offset);

/* Is the code's question on its way? */
bool queue_is_asked(const struct unwind_tables *t, uint32_t table,
    uint32_t offset);

/* Makes room for one more. */
void queue_room(struct unwind_tables *t);

/* Is it worth asking for the rows of that code? */
bool queue_may_ask(const struct unwind_tables *t, const struct want *w,
    int64_t now_ns);

/* Have its rows never been there? */
enum lane queue_lane(const struct unwind_tables *t, const struct want *w);

/* The entry of a lane to be asked next; NONE when there is none. */
uint32_t queue_next(struct unwind_tables *t, enum lane lane, int64_t now_ns);

#endif
