/*
 * Files, their tables, and the queue of the code that waits for rows.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/unwind_tables_private.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define OPEN_MAX 256 /* files that wait */
#define RETRY_MIN_NS (10 * NS_PER_S)   /* doubles up to the next line */
#define RETRY_MAX_NS (3600 * NS_PER_S)
/* What may be used at once, used when nothing is known yet, and owed at most:
 * so many seconds' of it. */
static const int64_t budget_full[LANES] = {20, 10};
static const int64_t budget_begin[LANES] = {110, 10};
#define BUDGET_OWED 60

const struct err *
unwind_tables_new(struct unwind_tables **out,
    const struct unwind_kernel *kernel, int64_t rate_ns, unwind_ask_fn *ask,
    void *arg)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	*out = t;
	if (t == NULL)
		return err_nomem();
	t->kernel = kernel;
	t->ask = ask;
	t->arg = arg;
	t->rate_ns = rate_ns;
	for (int lane = 0; lane < LANES; lane++)
		t->budget_ns[lane] = rate_ns * budget_begin[lane];
	memset(t->buckets, 0xff, sizeof(t->buckets));
	t->regions = unwind_regions_new(kernel);
	return t->regions == NULL ? err_nomem() : NULL;
}

void
unwind_tables_free(struct unwind_tables *t)
{
	uint32_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n; i++)
		if (t->tables[i].fd >= 0)
			close(t->tables[i].fd);
	unwind_regions_free(t->regions);
	free(t);
}

/* Tells the kernel what BPF programs shall make of the table: the state last
 * when it begins to count. */
static void
table_publish(struct unwind_tables *t, uint32_t i)
{
	const struct table *f = &t->tables[i];
	struct unwind_table place = {.state =
	    f->state == TABLE_WITHOUT ? UNWIND_TABLE_NONE :
	    f->state == TABLE_FOREIGN ? UNWIND_TABLE_NO_FILE :
	    f->state == TABLE_LARGE ? UNWIND_TABLE_TOO_LARGE :
	    UNWIND_TABLE_PENDING};

	if (f->state == TABLE_READY) {
		place = regions_table(f->code);
		place.state = UNWIND_TABLE_PENDING;
	}
	t->kernel->write(t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1);
	if (f->state != TABLE_READY)
		return;
	place.state = UNWIND_TABLE_READY;
	t->kernel->write(t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1);
}

static uint32_t *
table_bucket(struct unwind_tables *t, uint64_t dev, uint64_t ino)
{
	return &t->buckets[hash64_u64(dev, ino) % BUCKETS];
}

static void
table_unlink(struct unwind_tables *t, uint32_t i)
{
	uint32_t *at = table_bucket(t, t->tables[i].id.dev,
	    t->tables[i].id.ino);

	while (*at != i)
		at = &t->tables[*at].next;
	*at = t->tables[i].next;
}

static uint32_t
table_find(struct unwind_tables *t, int fd, const struct stat *st)
{
	uint32_t i = *table_bucket(t, st->st_dev, st->st_ino);

	for (; i != NONE; i = t->tables[i].next)
		if (file_id_is(&t->tables[i].id, fd, st))
			return i;
	return UNWIND_NO_TABLE;
}

/* Of several the youngest, which stands first. */
uint32_t
unwind_tables_find(struct unwind_tables *t, const struct stat *st)
{
	uint32_t i = *table_bucket(t, st->st_dev, st->st_ino);

	for (; i != NONE; i = t->tables[i].next)
		if (file_id_may_be(&t->tables[i].id, st))
			return i;
	return UNWIND_NO_TABLE;
}

/* Forgets what a table had, so that its number serves another file. */
static void
table_release(struct unwind_tables *t, uint32_t i, int64_t now_ns)
{
	struct table *f = &t->tables[i];
	struct code *code = f->code;

	table_unlink(t, i);
	f->code = NULL;
	f->state = TABLE_UNKNOWN;
	table_publish(t, i);
	if (code != NULL)
		regions_drop(t->regions, code, now_ns);
}

/* A number that no process refers to, or a new one. */
static uint32_t
table_recycle(struct unwind_tables *t, int64_t now_ns)
{
	uint32_t i;

	if (t->n < UNWIND_TABLES)
		return t->n++;
	for (i = 0; i < t->n; i++) {
		const struct table *f = &t->tables[i];

		if (f->refs > 0 || f->wants > 0 || f->asked > 0)
			continue;
		table_release(t, i, now_ns);
		return i;
	}
	return NONE;
}

static uint32_t
table_add(struct unwind_tables *t, int fd, const struct stat *st,
    int64_t now_ns)
{
	uint32_t i = table_recycle(t, now_ns), *bucket;

	if (i == NONE)
		return NONE;
	bucket = table_bucket(t, st->st_dev, st->st_ino);
	t->tables[i] = (struct table){.next = *bucket, .fd = -1,
	    .state = TABLE_UNKNOWN};
	file_id_set(&t->tables[i].id, fd, st);
	*bucket = i;
	table_publish(t, i);
	return i;
}

uint32_t
unwind_tables_get(struct unwind_tables *t, int fd, int64_t now_ns)
{
	struct table *f;
	struct stat st;
	uint32_t i;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return UNWIND_NO_TABLE;
	i = table_find(t, fd, &st);
	if (i == UNWIND_NO_TABLE)
		i = table_add(t, fd, &st, now_ns);
	if (i == NONE)
		return UNWIND_NO_ROOM;
	f = &t->tables[i];
	f->refs++;
	if (f->wants == 0 || f->fd >= 0 || t->n_open == OPEN_MAX)
		return i;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	t->n_open += f->fd >= 0;
	return i;
}

void
unwind_tables_drop(struct unwind_tables *t, uint32_t table)
{
	if (table < t->n)
		t->tables[table].refs--;
}

void
unwind_tables_tick(struct unwind_tables *t)
{
	unwind_regions_tick(t->regions);
}

uint32_t
unwind_tables_clock(const struct unwind_tables *t)
{
	return unwind_regions_clock(t->regions);
}

bool
unwind_tables_lack(const struct unwind_tables *t, uint32_t table,
    uint32_t offset)
{
	const struct table *f = table < t->n ? &t->tables[table] : NULL;

	return f != NULL && (f->state == TABLE_UNKNOWN ||
	    (f->state == TABLE_READY && regions_lack(f->code, offset)));
}

bool
unwind_tables_want(struct unwind_tables *t, uint32_t table, uint32_t offset,
    int64_t now_ns)
{
	const struct want new = {.table = table, .offset = offset};
	struct want *w;
	struct table *f;

	if (table >= t->n)
		return false;
	f = &t->tables[table];
	if (f->met_ns == 0)
		f->met_ns = now_ns;
	if (!queue_may_ask(t, &new, now_ns) || queue_is_asked(t, table, offset))
		return false;
	w = queue_find(t, table, offset);
	if (w == NULL) {
		queue_room(t);
		w = &t->queue[t->n_queue++];
		*w = new;
		f->wants++;
	}
	w->times++;
	f->met++;
	return f->wants > 0 && f->fd < 0;
}

bool
unwind_tables_are_busy(const struct unwind_tables *t)
{
	return t->n_queue >= QUEUE_MAX / 4;
}

int64_t
unwind_tables_met(const struct unwind_tables *t, uint32_t table)
{
	return table < t->n ? t->tables[table].met_ns : 0;
}

static void
table_fail(struct unwind_tables *t, uint32_t i, int64_t now_ns)
{
	struct table *f = &t->tables[i];

	f->retry_ns = now_ns + (f->waits < 9 ? RETRY_MIN_NS << f->waits :
	    RETRY_MAX_NS);
	f->waits++;
	t->failures++;
}

/* Forgets the code of files that no process has: when their numbers have
 * rested, others are their regions'. */
static void
tables_forget_code(struct unwind_tables *t, int64_t now_ns)
{
	struct code *code;
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		struct table *f = &t->tables[i];

		if (f->refs > 0 || f->state != TABLE_READY || f->asked > 0)
			continue;
		code = f->code;
		f->code = NULL;
		f->state = TABLE_UNKNOWN;
		table_publish(t, i);
		regions_drop(t->regions, code, now_ns);
	}
}

/* What code the file has, by the first answer; false when it has none. */
static bool
table_learn(struct unwind_tables *t, uint32_t i,
    const struct symbols_rows *rows, int64_t now_ns)
{
	struct table *f = &t->tables[i];

	if (f->state == TABLE_READY)
		return true;
	if (rows->status == ELF_TOO_BIG && rows->regions == 0) {
		t->refused++;
		f->state = TABLE_LARGE;
	} else if (rows->status == ELF_NOT_ELF) {
		f->state = TABLE_FOREIGN;
	} else if ((rows->status != ELF_OK && rows->status != ELF_TOO_BIG) ||
	    rows->regions == 0) {
		f->state = TABLE_WITHOUT;
	} else if ((f->code = regions_get(t->regions, rows, now_ns)) != NULL) {
		f->state = TABLE_READY;
		f->waits = 0;
		t->made++;
	} else {
		tables_forget_code(t, now_ns);
		table_fail(t, i, now_ns);
	}
	table_publish(t, i);
	return f->state == TABLE_READY;
}

static void
table_take(struct unwind_tables *t, const struct want *w,
    const struct symbols_rows *rows, int64_t now_ns)
{
	struct table *f = &t->tables[w->table];

	/* The child died of another file: this one is asked for once more,
	 * at no cost.  What it died of itself waits, longer each time. */
	if (rows->lost || rows->status == ELF_NO_MEMORY) {
		if (!rows->lost || rows->guilty)
			table_fail(t, w->table, now_ns);
		return;
	}
	if (!table_learn(t, w->table, rows, now_ns))
		return;
	if (rows->status == ELF_TOO_BIG)
		regions_refuse(t->regions, f->code, w->offset);
	else if (rows->status != ELF_OK || !regions_load(t->regions, f->code,
	    w->offset, rows, now_ns))
		table_fail(t, w->table, now_ns);
}

/* What was really used, by the child and by us: a file's size says little of
 * it.  What is owed does not keep all others waiting for long. */
static void
tables_pay(struct unwind_tables *t, enum lane lane, int64_t cpu_ns)
{
	int64_t least_ns = -t->rate_ns * BUDGET_OWED;

	t->budget_ns[lane] -= cpu_ns;
	if (t->budget_ns[lane] < least_ns)
		t->budget_ns[lane] = least_ns;
}

/* Answers to one table come in the order of its questions. */
void
unwind_tables_answer(struct unwind_tables *t, uint32_t table,
    const struct symbols_rows *rows, int64_t now_ns)
{
	int64_t began_ns = clock_thread_cpu_ns();
	struct want w;
	uint32_t i = 0;

	while (i < t->n_asked && t->asked[i].table != table)
		i++;
	if (i == t->n_asked)
		return;
	w = t->asked[i];
	t->n_asked--;
	memmove(t->asked + i, t->asked + i + 1,
	    (t->n_asked - i) * sizeof(t->asked[0]));
	t->tables[table].asked--;
	table_take(t, &w, rows, now_ns);
	tables_pay(t, w.lane, rows->cpu_ns + clock_thread_cpu_ns() - began_ns);
}

/* Adds what the lane takes, which is nothing while it has more than may be
 * saved; what it does not take. */
static int64_t
tables_add(struct unwind_tables *t, int lane, int64_t more_ns)
{
	int64_t room_ns = t->rate_ns * budget_full[lane] - t->budget_ns[lane];

	room_ns = room_ns > 0 ? room_ns : 0;
	t->budget_ns[lane] += more_ns < room_ns ? more_ns : room_ns;
	return more_ns < room_ns ? 0 : more_ns - room_ns;
}

/* A quarter for what is new; what the one does not need is the other's. */
static void
tables_refill(struct unwind_tables *t, int64_t now_ns)
{
	int64_t us = (now_ns - t->refilled_ns) / 1000, more, left;

	if (t->refilled_ns == 0)
		t->refilled_ns = now_ns;
	else if (us > 0) {
		more = us * t->rate_ns / 1000000;
		left = tables_add(t, LANE_NEW, more / 4);
		left = tables_add(t, LANE_AGAIN, more - more / 4 + left);
		tables_add(t, LANE_NEW, left);
		t->refilled_ns += us * 1000;
	}
}

/* False when the child cannot be asked now. */
static bool
tables_ask(struct unwind_tables *t, uint32_t at)
{
	struct want w = t->queue[at];
	struct table *f = &t->tables[w.table];

	if (!t->ask(t->arg, w.table, f->fd, f->id.size, w.offset))
		return false;
	w.lane = queue_lane(t, &w);
	f->asked++;
	t->asked[t->n_asked++] = w;
	queue_remove(t, at);
	return true;
}

void
unwind_tables_pump(struct unwind_tables *t, int64_t now_ns)
{
	uint32_t at;

	tables_refill(t, now_ns);
	for (int lane = 0; lane < LANES; lane++)
		while (t->n_asked < ASKED_MAX && t->budget_ns[lane] > 0 &&
		    (at = queue_next(t, (enum lane)lane, now_ns)) != NONE &&
		    tables_ask(t, at))
			continue;
}

void
unwind_tables_stats(const struct unwind_tables *t,
    struct unwind_tables_stats *out)
{
	uint32_t i;

	*out = (struct unwind_tables_stats){.made = t->made,
	    .failures = t->failures, .waiting = t->n_queue + t->n_asked};
	unwind_regions_stats(t->regions, &out->regions);
	out->refused = t->refused + out->regions.refused;
	for (i = 0; i < t->n; i++) {
		const struct table *f = &t->tables[i];

		out->ready += f->state == TABLE_READY;
		out->without += f->state == TABLE_WITHOUT ||
		    f->state == TABLE_FOREIGN ||
		    f->state == TABLE_LARGE;
		out->failed += f->state == TABLE_UNKNOWN && f->waits > 0;
		out->unknown += f->state == TABLE_UNKNOWN && f->waits == 0;
	}
}
