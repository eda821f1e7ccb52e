/*
 * Rings of perf, one a CPU, read without system calls.
 *
 *	page 0     data_head (the kernel's), data_tail (ours)
 *	page 1...  2^n pages of records; one that reaches the end goes on at
 *	           the beginning
 */
#include "collector/process/process_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define PAGES_ALL 512 /* of all rings together, about */
#define PAGES_MIN 8u  /* of one; a record may take more than a page */
#define PAGES_MAX 32u
#define RECORD_MAX 65536u
#define RECORD_ROOM 4608 /* bytes: no record of these events is larger */

struct ring {
	int fd; /* -1: not watched */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	int64_t sure_ns; /* until then nothing is missing */
};

struct process_events {
	struct ring *rings;
	size_t n;
	size_t data_bytes; /* of one ring */
	int epoll;
	process_event_fn *fn;
	void *arg;
	struct process_events_stats stats;
	uint64_t record[RECORD_MAX / 8]; /* one that goes round the end */
};

static int
ring_event(int cpu)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .mmap = 1,
	    .mmap2 = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .task = 1,
	    .ksymbol = 1,
	    .watermark = 1,
	    .wakeup_watermark = 1,
	    .sample_type = PERF_SAMPLE_TIME,
	    .sample_id_all = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
	    PERF_FLAG_FD_CLOEXEC);
}

/* Zero, or the errno. */
static int
ring_open(struct process_events *l, struct ring *r, int cpu)
{
	struct epoll_event ev = {.events = EPOLLIN};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;
	int code;

	r->fd = ring_event(cpu);
	if (r->fd < 0)
		return errno;
	p = mmap(NULL, page + l->data_bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, r->fd, &ev) != 0) {
		code = errno;
		close(r->fd);
		r->fd = -1;
		return code;
	}
	r->page = p;
	r->data = (const uint8_t *)p + page;
	l->stats.bytes += page + l->data_bytes;
	return 0;
}

static size_t
life_data_bytes(size_t n)
{
	size_t pages = PAGES_MAX;

	while (pages > PAGES_MIN && pages * n > PAGES_ALL)
		pages /= 2;
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

const struct err *
process_events_open(
    struct process_events **out, process_event_fn *fn, void *arg)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct process_events *l = calloc(1, sizeof(*l));
	int code = 0, bad;
	size_t i, open = 0;

	*out = NULL;
	if (l == NULL)
		return err_nomem();
	l->fn = fn;
	l->arg = arg;
	l->n = n > 0 ? (size_t)n : 1;
	l->data_bytes = life_data_bytes(l->n);
	l->rings = calloc(l->n, sizeof(*l->rings));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	/* A CPU that is configured may be off (ENODEV): that is no failure, and
	 * one that fails leaves the others' processes watched. */
	for (i = 0; l->rings != NULL && l->epoll >= 0 && i < l->n; i++) {
		bad = ring_open(l, &l->rings[i], (int)i);
		open += bad == 0;
		if (bad != 0 && bad != ENODEV)
			code = bad;
	}
	if (open == 0) {
		process_events_close(l);
		return err_new(ERR_BPF, code, "watching processes begin and "
		    "end: %s", strerror(code != 0 ? code : ENOMEM));
	}
	if (code != 0)
		log_warn("processes of some CPUs are not watched: %s",
		    strerror(code));
	*out = l;
	return NULL;
}

void
process_events_close(struct process_events *l)
{
	size_t i, page = (size_t)sysconf(_SC_PAGESIZE);

	if (l == NULL)
		return;
	for (i = 0; l->rings != NULL && i < l->n; i++) {
		if (l->rings[i].page == NULL)
			continue;
		munmap(l->rings[i].page, page + l->data_bytes);
		close(l->rings[i].fd);
	}
	if (l->epoll >= 0)
		close(l->epoll);
	free(l->rings);
	free(l);
}

int
process_events_fd(const struct process_events *l)
{
	return l->epoll;
}

/* PERF_RECORD_MMAP2 behind its header; a path follows, and the time. */
struct record_map {
	uint32_t pid, tid;
	uint64_t start, size, offset;
	uint32_t major, minor;
	uint64_t ino, generation;
	uint32_t protection, flags;
};

/* PERF_RECORD_KSYMBOL likewise, with a name. */
struct record_symbol {
	uint64_t start;
	uint32_t size;
	uint16_t type, flags;
};

/* The text of a record behind its header and so many bytes, NULL when it has
 * no end. */
static const char *
record_text(const void *record, size_t size, size_t skip)
{
	const char *text = (const char *)record +
	    sizeof(struct perf_event_header) + skip;

	skip += sizeof(struct perf_event_header);
	return memchr(text, '\0', size - 8 - skip) != NULL ? text : NULL;
}

/* Of all records the last 8 bytes are the time. */
static int64_t
record_time(const void *record, size_t size)
{
	int64_t time_ns;

	memcpy(&time_ns, (const uint8_t *)record + size - 8, sizeof(time_ns));
	return time_ns;
}

static void
record_fill_map(const void *record, size_t size, struct process_event *out)
{
	struct record_map map;

	memcpy(&map, (const uint8_t *)record + sizeof(struct perf_event_header),
	    sizeof(map));
	out->start = map.start;
	out->end = map.start + map.size;
	out->offset = map.offset;
	out->ino = map.ino;
	out->dev = makedev(map.major, map.minor);
	out->path = record_text(record, size, sizeof(map));
}

/* False for code that is no program's. */
static _Bool
record_fill_symbol(const void *record, size_t size, struct process_event *out)
{
	struct record_symbol symbol;

	memcpy(&symbol, (const uint8_t *)record +
	    sizeof(struct perf_event_header), sizeof(symbol));
	if ((symbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0)
		out->kind = PROCESS_UNLOADED;
	out->start = symbol.start;
	out->end = symbol.start + symbol.size;
	out->path = record_text(record, size, sizeof(symbol));
	return symbol.type == PERF_RECORD_KSYMBOL_TYPE_BPF &&
	    out->path != NULL;
}

/* Behind the header: PERF_RECORD_FORK and _EXIT are four numbers and a time,
 * _COMM is two and a name, _LOST two of 64 bits. */
_Bool
process_events_parse(const void *record, size_t size, struct process_event *out,
    uint64_t *lost)
{
	static const struct {
		enum process_event_kind kind;
		size_t size; /* at least */
	} kinds[] = {
	    [PERF_RECORD_MMAP2] = {PROCESS_MAP,
	        sizeof(struct perf_event_header) + sizeof(struct record_map)},
	    [PERF_RECORD_COMM] = {PROCESS_EXEC, 16},
	    [PERF_RECORD_EXIT] = {PROCESS_EXIT, 32},
	    [PERF_RECORD_FORK] = {PROCESS_FORK, 32},
	    [PERF_RECORD_KSYMBOL] = {PROCESS_LOADED,
	        sizeof(struct perf_event_header) +
	        sizeof(struct record_symbol)}};
	const uint8_t *p = record;
	struct perf_event_header h;
	uint32_t id[4] = {0};
	uint64_t more[2] = {0};

	if (size < sizeof(h) + 16)
		return false;
	memcpy(&h, p, sizeof(h));
	memcpy(id, p + sizeof(h), sizeof(id));
	if (h.type == PERF_RECORD_LOST) {
		memcpy(more, p + sizeof(h), sizeof(more));
		*lost += more[1];
	}
	if (h.type >= sizeof(kinds) / sizeof(kinds[0]) ||
	    kinds[h.type].size == 0 || size < kinds[h.type].size + 8 ||
	    (h.type == PERF_RECORD_COMM &&
	    (h.misc & PERF_RECORD_MISC_COMM_EXEC) == 0))
		return false;
	*out = (struct process_event){.kind = kinds[h.type].kind,
	    .time_ns = record_time(p, size)};
	if (h.type == PERF_RECORD_KSYMBOL)
		return record_fill_symbol(record, size, out);
	out->pid = (int32_t)id[0];
	out->tid = (int32_t)id[1];
	if (h.type == PERF_RECORD_MMAP2) {
		record_fill_map(record, size, out);
	} else if (h.type == PERF_RECORD_COMM) {
		snprintf(out->comm, sizeof(out->comm), "%.*s",
		    (int)(size - sizeof(h) - 16), (const char *)p + 16);
	} else {
		out->parent = (int32_t)id[1];
		out->tid = (int32_t)id[2];
	}
	return true;
}

/* The record at `at`, in one piece; NULL when the ring makes no sense. */
static const void *
ring_record(struct process_events *l, const struct ring *r, uint64_t at,
    uint64_t head, size_t *size)
{
	size_t offset = at & (l->data_bytes - 1), first;
	struct perf_event_header h;

	/* Records are multiples of 8 bytes: a header is never split. */
	memcpy(&h, r->data + offset, sizeof(h));
	*size = h.size;
	if (h.size < sizeof(h) || h.size % 8 != 0 || h.size > head - at)
		return NULL;
	first = l->data_bytes - offset;
	if (h.size <= first)
		return r->data + offset;
	memcpy(l->record, r->data + offset, first);
	memcpy((uint8_t *)l->record + first, r->data, h.size - first);
	return l->record;
}

/* A record that found no room is missing, which the kernel says only beside
 * the next one that comes: so wherever there was none for the largest, from
 * the last record before that on. */
static void
ring_tell_lost(struct process_events *l, struct ring *r, uint64_t tail)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	struct process_event e = {.kind = PROCESS_LOST,
	    .since_ns = r->sure_ns, .time_ns = clock_mono_ns()};

	if (head - tail <= l->data_bytes - RECORD_ROOM)
		return;
	r->sure_ns = e.time_ns;
	l->fn(l->arg, &e);
}

static size_t
ring_drain(struct process_events *l, struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail, at = tail;
	struct process_event e;
	size_t n = 0, size;

	for (; at < head; at += size) {
		const void *p = ring_record(l, r, at, head, &size);

		if (p == NULL) {
			at = head;
			break;
		}
		n++;
		if (at + size - tail <= l->data_bytes - RECORD_ROOM)
			r->sure_ns = record_time(p, size);
		if (!process_events_parse(p, size, &e, &l->stats.lost))
			continue;
		l->stats.events[e.kind]++;
		l->fn(l->arg, &e);
	}
	if (n > 0)
		__atomic_store_n(&r->page->data_tail, at, __ATOMIC_RELEASE);
	ring_tell_lost(l, r, tail);
	return n;
}

size_t
process_events_drain(struct process_events *l)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		if (l->rings[i].page != NULL)
			n += ring_drain(l, &l->rings[i]);
	return n;
}

void
process_events_stats(
    const struct process_events *l, struct process_events_stats *out)
{
	*out = l->stats;
}
