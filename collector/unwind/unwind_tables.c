/*
 * Files, their tables, and the queue of those that wait for rows.
 */
#include "collector/unwind/unwind_tables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/extents.h"
#include "collector/unwind/unwind_rows.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define BUCKETS 1024
#define NONE UINT32_MAX
#define QUEUE_MAX 256                  /* open files that wait */
#define ASKED_MAX 4 /* so that a busy machine's delays do not add up */
#define RETRY_MIN_NS (10 * NS_PER_S)   /* doubles up to the next line */
#define RETRY_MAX_NS (3600 * NS_PER_S)
/* The child may work so long at once, and this part of the time then.  Its
 * work is counted in rows, since its time is also others' time. */
#define BUDGET_NS (300 * NS_PER_MS)
#define BUDGET_PART 40
#define COST_FILE_NS 300000
#define COST_ROW_NS 150
#define IDLE_S 5 /* rows that were used since are not evicted */
#define OFTEN 3 /* readings of a file that nobody was sampled in */
#define ROOM_NS (2500 * NS_PER_MS) /* until evicted cells have rested */
/* A few compilers, browsers and virtual machines in use can fill all cells,
 * and a database that starts then would have no tables for as long as they
 * run: what is larger than the first part leaves the second one free. */
#define LARGE_PART 32
#define RESERVE_PART 8

enum state {
	TABLE_UNUSED,
	TABLE_WANTED,  /* nobody was asked: no open file at hand */
	TABLE_QUEUED,
	TABLE_ASKED,
	TABLE_READY,
	TABLE_WITHOUT, /* the file has no rows, ever */
	TABLE_LARGE,   /* it has more than fit, ever */
	TABLE_FAILED   /* until retry_ns */
};

/* Rows in the kernel, shared by the files of one build id. */
struct region {
	struct unwind_table place;
	uint32_t n; /* cells */
	uint32_t refs;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
};

struct table {
	uint64_t dev, ino, size;
	int64_t mtime_ns, retry_ns;
	struct region *region; /* READY */
	uint32_t refs, next;   /* next: in its bucket */
	uint32_t waits;        /* how often it failed */
	uint32_t met;          /* WANTED: how often */
	uint32_t evictions;    /* how often it had to make room */
	int fd;                /* QUEUED */
	enum state state;
};

struct unwind_tables {
	const struct unwind_kernel *kernel;
	unwind_ask_fn *ask;
	void *arg;
	struct extents *cells;
	struct table tables[UNWIND_TABLES];
	uint32_t buckets[BUCKETS];
	uint32_t queue[QUEUE_MAX], n_queue;
	uint32_t n;    /* tables that were ever used */
	uint32_t asked; /* questions on their way: names are asked for too */
	int64_t budget_ns, refilled_ns;
	uint64_t made, evicted, failures, refused;
};

const struct err *
unwind_tables_new(struct unwind_tables **out,
    const struct unwind_kernel *kernel, unwind_ask_fn *ask, void *arg)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	*out = t;
	if (t == NULL)
		return err_nomem();
	t->kernel = kernel;
	t->ask = ask;
	t->arg = arg;
	t->budget_ns = BUDGET_NS;
	memset(t->buckets, 0xff, sizeof(t->buckets));
	t->cells = extents_new(kernel->cells);
	return t->cells == NULL ? err_nomem() : NULL;
}

void
unwind_tables_free(struct unwind_tables *t)
{
	uint32_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n_queue; i++)
		close(t->tables[t->queue[i]].fd);
	for (i = 0; i < t->n; i++) {
		struct region *r = t->tables[i].region;

		if (r != NULL && --r->refs == 0)
			free(r);
	}
	extents_free(t->cells);
	free(t);
}

/* Tells the kernel what BPF programs shall make of the table: the state last
 * when it begins to count, first when it ends. */
static void
table_publish(struct unwind_tables *t, uint32_t i)
{
	const struct table *f = &t->tables[i];
	struct unwind_table place = {.state =
	    f->state == TABLE_WITHOUT ? UNWIND_TABLE_NONE :
	    f->state == TABLE_LARGE ? UNWIND_TABLE_TOO_LARGE :
	    UNWIND_TABLE_PENDING};

	t->kernel->write(t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1);
	if (f->state != TABLE_READY)
		return;
	place = f->region->place;
	place.used_s = (uint32_t)(clock_mono_ns() / NS_PER_S);
	place.state = UNWIND_TABLE_PENDING;
	t->kernel->write(t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1);
	place.state = UNWIND_TABLE_READY;
	t->kernel->write(t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1);
}

static void
table_release_rows(struct unwind_tables *t, struct table *f, int64_t now_ns)
{
	struct region *r = f->region;

	f->region = NULL;
	if (r == NULL || --r->refs > 0)
		return;
	extents_give(t->cells, r->place.first, r->n, now_ns);
	free(r);
}

static uint32_t *
table_bucket(struct unwind_tables *t, uint64_t dev, uint64_t ino)
{
	return &t->buckets[hash64_u64(dev, ino) % BUCKETS];
}

static void
table_unlink(struct unwind_tables *t, uint32_t i)
{
	uint32_t *at = table_bucket(t, t->tables[i].dev, t->tables[i].ino);

	while (*at != i)
		at = &t->tables[*at].next;
	*at = t->tables[i].next;
}

static int64_t
file_time(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
}

static uint32_t
table_find(struct unwind_tables *t, const struct stat *st)
{
	uint32_t i = *table_bucket(t, st->st_dev, st->st_ino);

	for (; i != NONE; i = t->tables[i].next) {
		const struct table *f = &t->tables[i];

		if (f->dev == st->st_dev && f->ino == st->st_ino &&
		    f->size == (uint64_t)st->st_size &&
		    f->mtime_ns == file_time(st))
			return i;
	}
	return NONE;
}

/* A number that no process refers to, or a new one. */
static uint32_t
table_recycle(struct unwind_tables *t, int64_t now_ns)
{
	uint32_t i;

	if (t->n < UNWIND_TABLES)
		return t->n++;
	for (i = 0; i < t->n; i++) {
		struct table *f = &t->tables[i];

		if (f->refs > 0 || f->state == TABLE_ASKED ||
		    f->state == TABLE_QUEUED)
			continue;
		table_unlink(t, i);
		table_release_rows(t, f, now_ns);
		return i;
	}
	return NONE;
}

static uint32_t
table_add(struct unwind_tables *t, const struct stat *st, int64_t now_ns)
{
	uint32_t i = table_recycle(t, now_ns), *bucket;

	if (i == NONE)
		return NONE;
	bucket = table_bucket(t, st->st_dev, st->st_ino);
	t->tables[i] = (struct table){.dev = st->st_dev, .ino = st->st_ino,
	    .size = (uint64_t)st->st_size, .mtime_ns = file_time(st),
	    .next = *bucket, .fd = -1, .state = TABLE_WANTED};
	*bucket = i;
	table_publish(t, i);
	return i;
}

/* Keeps the file open until it is its turn. */
static void
table_queue(struct unwind_tables *t, uint32_t i, int fd)
{
	struct table *f = &t->tables[i];

	if (t->n_queue == QUEUE_MAX)
		return; /* stays wanted */
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (f->fd < 0)
		return;
	f->state = TABLE_QUEUED;
	t->queue[t->n_queue++] = i;
}

uint32_t
unwind_tables_get(struct unwind_tables *t, int fd, bool ask,
    int64_t now_ns)
{
	struct table *f;
	struct stat st;
	uint32_t i;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return UNWIND_NO_TABLE;
	i = table_find(t, &st);
	if (i == NONE)
		i = table_add(t, &st, now_ns);
	if (i == NONE)
		return UNWIND_NO_TABLE;
	f = &t->tables[i];
	f->refs++;
	if (f->state == TABLE_FAILED && now_ns >= f->retry_ns)
		f->state = TABLE_WANTED;
	/* programs that end before they are asked for come again */
	if (f->state == TABLE_WANTED && (ask || ++f->met >= OFTEN))
		table_queue(t, i, fd);
	return i;
}

void
unwind_tables_drop(struct unwind_tables *t, uint32_t table)
{
	if (table != UNWIND_NO_TABLE)
		t->tables[table].refs--;
}

static void
table_fail(struct unwind_tables *t, uint32_t i, int64_t now_ns)
{
	struct table *f = &t->tables[i];

	f->state = TABLE_FAILED;
	f->retry_ns = now_ns + (f->waits < 9 ? RETRY_MIN_NS << f->waits :
	    RETRY_MAX_NS);
	f->waits++;
	t->failures++;
}

/* May the table's rows make room?  *used_s: when they were last used, 0 when
 * no process has the file. */
static bool
table_is_idle(struct unwind_tables *t, uint32_t i, int64_t now_ns,
    uint32_t *used_s)
{
	struct unwind_table place;

	if (t->tables[i].state != TABLE_READY || !t->kernel->read(
	    t->kernel->arg, UNWIND_ARRAY_TABLES, i, &place, 1))
		return false;
	*used_s = t->tables[i].refs == 0 ? 0 : place.used_s;
	return *used_s < (uint32_t)(now_ns / NS_PER_S) - IDLE_S;
}

/* The file whose rows were not used for longest; NONE when all are in
 * use. */
static uint32_t
table_oldest(struct unwind_tables *t, int64_t now_ns)
{
	uint32_t i, oldest = NONE, best = UINT32_MAX, used;

	for (i = 0; i < t->n; i++) {
		if (!table_is_idle(t, i, now_ns, &used) || used >= best)
			continue;
		oldest = i;
		best = used;
	}
	return oldest;
}

/* The cells that would be free if all idle rows made room: an upper bound,
 * since files may share them. */
static uint32_t
tables_room(struct unwind_tables *t, int64_t now_ns)
{
	uint32_t i, used, room = t->kernel->cells - extents_used(t->cells);

	for (i = 0; i < t->n; i++)
		if (table_is_idle(t, i, now_ns, &used) &&
		    t->tables[i].region->refs == 1)
			room += t->tables[i].region->n;
	return room;
}

/* Takes a file's rows away.  One that had to go before waits until it comes
 * again, each time for longer: what does not fit together shall not take
 * turns. */
static void
table_evict(struct unwind_tables *t, uint32_t i, int64_t now_ns)
{
	struct table *f = &t->tables[i];

	f->state = TABLE_WANTED;
	if (f->evictions > 0) {
		f->state = TABLE_FAILED;
		f->retry_ns = now_ns + (f->evictions < 9 ?
		    RETRY_MIN_NS << (f->evictions - 1) : RETRY_MAX_NS);
	}
	f->evictions++;
	table_publish(t, i);
	table_release_rows(t, f, now_ns);
	t->evicted++;
}

/* How many cells must be free for one who takes `cells` of them. */
static uint32_t
tables_need(const struct unwind_tables *t, uint32_t cells)
{
	uint32_t all = t->kernel->cells;

	return cells + (cells > all / LARGE_PART ? all / RESERVE_PART : 0);
}

static uint32_t
tables_take(struct unwind_tables *t, uint32_t cells, int64_t now_ns)
{
	extents_wake(t->cells, now_ns);
	if (extents_used(t->cells) + tables_need(t, cells) > t->kernel->cells)
		return EXTENTS_NONE;
	return extents_take(t->cells, cells, now_ns);
}

/* Makes room of `cells`, free after a rest; takes nothing away when that
 * would not be enough. */
static bool
tables_evict(struct unwind_tables *t, uint32_t cells, int64_t now_ns)
{
	uint32_t need = tables_need(t, cells), i, freed = 0;
	uint32_t unused = t->kernel->cells - extents_used(t->cells);

	if (tables_room(t, now_ns) < need)
		return false;
	/* what is unused may be in pieces */
	need = need > unused && need - unused > cells ? need - unused : cells;
	while (freed < need && (i = table_oldest(t, now_ns)) != NONE) {
		struct region *r = t->tables[i].region;

		freed += r->refs == 1 ? r->n : 0;
		table_evict(t, i, now_ns);
	}
	return true;
}

static struct region *
region_find(struct unwind_tables *t, const struct symbols_rows *rows)
{
	uint32_t i;

	for (i = 0; i < t->n && rows->build_id_len > 0; i++) {
		struct region *r = t->tables[i].region;

		if (r != NULL && r->place.rows == rows->n &&
		    r->build_id_len == rows->build_id_len &&
		    memcmp(r->build_id, rows->build_id,
		    r->build_id_len) == 0)
			return r;
	}
	return NULL;
}

/* Puts rows into the kernel; NULL when there is no room or they are not in
 * order.  *soon: there will be room when the evicted cells have rested. */
static struct region *
region_new(struct unwind_tables *t, const struct symbols_rows *rows,
    bool *soon, int64_t now_ns)
{
	struct region *r = calloc(1, sizeof(*r));
	struct unwind_rows u;

	if (r == NULL)
		return NULL;
	if (unwind_rows_open(&u, rows->fd, rows->n)) {
		r->n = u.place.buckets + u.place.rows;
		u.place.first = tables_take(t, r->n, now_ns);
		if (u.place.first != EXTENTS_NONE &&
		    unwind_rows_write(&u, t->kernel)) {
			r->place = u.place;
			memcpy(r->build_id, rows->build_id,
			    rows->build_id_len);
			r->build_id_len = rows->build_id_len;
			unwind_rows_close(&u);
			return r;
		}
		if (u.place.first != EXTENTS_NONE)
			extents_give(t->cells, u.place.first, r->n, now_ns);
		else
			*soon = tables_evict(t, r->n, now_ns);
		unwind_rows_close(&u);
	}
	free(r);
	return NULL;
}

static void
table_take(struct unwind_tables *t, uint32_t i,
    const struct symbols_rows *rows, int64_t now_ns)
{
	struct table *f = &t->tables[i];
	bool soon = false;

	/* The child died of another file: this one is asked for once more,
	 * at no cost.  What it died of itself waits, longer each time. */
	if (rows->lost || rows->status == ELF_NO_MEMORY) {
		if (rows->lost && !rows->guilty)
			f->state = TABLE_WANTED;
		else
			table_fail(t, i, now_ns);
		return;
	}
	if (rows->status == ELF_TOO_BIG) {
		t->refused++;
		f->state = TABLE_LARGE;
		return;
	}
	if (rows->status != ELF_OK || rows->n == 0) {
		f->state = TABLE_WITHOUT;
		return;
	}
	f->region = region_find(t, rows);
	if (f->region == NULL)
		f->region = region_new(t, rows, &soon, now_ns);
	/* Where others had to make room, their cells rest before they are
	 * free: programs may still read them.  That is no fault of the file. */
	if (f->region == NULL && !soon) {
		table_fail(t, i, now_ns);
		return;
	}
	if (f->region == NULL) {
		f->state = TABLE_FAILED;
		f->retry_ns = now_ns + ROOM_NS;
		t->failures++;
		return;
	}
	f->region->refs++;
	f->state = TABLE_READY;
	f->waits = 0;
	t->made++;
}

void
unwind_tables_answer(struct unwind_tables *t, uint32_t table,
    const struct symbols_rows *rows, int64_t now_ns)
{
	if (table >= t->n || t->tables[table].state != TABLE_ASKED)
		return;
	table_take(t, table, rows, now_ns);
	table_publish(t, table);
	t->asked--;
	t->budget_ns -= COST_FILE_NS + COST_ROW_NS * (int64_t)rows->n;
}

static void
tables_refill(struct unwind_tables *t, int64_t now_ns)
{
	int64_t more = (now_ns - t->refilled_ns) / BUDGET_PART;

	if (t->refilled_ns != 0 && more > 0)
		t->budget_ns = t->budget_ns + more < BUDGET_NS ?
		    t->budget_ns + more : BUDGET_NS;
	t->refilled_ns = now_ns;
}

/* The smallest file's place in the queue: many small ones are ready before
 * one large one would be. */
static uint32_t
tables_next(const struct unwind_tables *t)
{
	uint32_t i, best = 0;

	for (i = 1; i < t->n_queue; i++)
		if (t->tables[t->queue[i]].size <
		    t->tables[t->queue[best]].size)
			best = i;
	return best;
}

/* Asks for the rows of the next file; false when it cannot be asked now. */
static bool
tables_ask(struct unwind_tables *t)
{
	uint32_t at = tables_next(t), i = t->queue[at];
	struct table *f = &t->tables[i];

	if (!t->ask(t->arg, i, f->fd, f->size, t->kernel->cells / 2))
		return false;
	f->state = TABLE_ASKED;
	t->asked++;
	close(f->fd);
	f->fd = -1;
	t->n_queue--;
	memmove(t->queue + at, t->queue + at + 1,
	    (t->n_queue - at) * sizeof(t->queue[0]));
	return true;
}

void
unwind_tables_pump(struct unwind_tables *t, int64_t now_ns)
{
	tables_refill(t, now_ns);
	while (t->n_queue > 0 && t->asked < ASKED_MAX && t->budget_ns > 0 &&
	    tables_ask(t))
		continue;
}

void
unwind_tables_stats(const struct unwind_tables *t,
    struct unwind_tables_stats *out)
{
	uint32_t i;

	*out = (struct unwind_tables_stats){.made = t->made,
	    .evicted = t->evicted, .failures = t->failures,
	    .refused = t->refused,
	    .cells = extents_used(t->cells), .cells_max = t->kernel->cells};
	for (i = 0; i < t->n; i++) {
		const struct table *f = &t->tables[i];

		out->ready += f->state == TABLE_READY;
		out->without += f->state == TABLE_WITHOUT ||
		    f->state == TABLE_LARGE;
		out->failed += f->state == TABLE_FAILED;
		out->waiting += f->state == TABLE_WANTED ||
		    f->state == TABLE_QUEUED || f->state == TABLE_ASKED;
		if (f->state == TABLE_READY)
			out->rows += f->region->place.rows;
	}
}
