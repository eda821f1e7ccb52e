/*
 * The life of processes: perf's records, who is looked at and when, what is
 * counted.  Events are made here; one test needs rings and their rights.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/maps/maps.h"
#include "collector/process/process_count.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define MS NS_PER_MS

/* ---- records ---- */

struct record {
	struct perf_event_header h;
	uint32_t id[4];
	uint64_t more[8];
};

TEST(records)
{
	struct record r = {.h = {PERF_RECORD_FORK, 0, 40}, .id = {7, 5, 8, 6},
	    .more = {0, 12345}};
	struct process_event e;
	uint64_t lost = 0;

	CHECK(process_events_parse(&r, 40, &e, &lost));
	CHECK_INT(e.time_ns, 12345);
	CHECK(e.kind == PROCESS_FORK && e.pid == 7 && e.parent == 5 &&
	    e.tid == 8);
	r.h.type = PERF_RECORD_EXIT;
	CHECK(
	    process_events_parse(&r, 40, &e, &lost) && e.kind == PROCESS_EXIT);
	r.h.type = PERF_RECORD_COMM;
	/* A thread that only changes its name is no exec. */
	CHECK(!process_events_parse(&r, 32, &e, &lost));
	r.h.misc = PERF_RECORD_MISC_COMM_EXEC;
	CHECK(process_events_parse(&r, 32, &e, &lost) &&
	    e.kind == PROCESS_EXEC && e.pid == 7);
	r.more[0] = 0;
	memcpy(r.id + 2, "mysqld", 7);
	CHECK(process_events_parse(&r, 40, &e, &lost));
	CHECK_STR(e.comm, "mysqld");
	/* Size, offset, device, inode, generation, protection, path, time. */
	r = (struct record){.h = {PERF_RECORD_MMAP2, 0, 88}, .id = {9, 9},
	    .more = {0x2000, 0x5000, 77, 4711, 1, 5, 0, 678}};
	memcpy(r.id + 2, &(uint64_t){0x1000}, 8);
	CHECK(process_events_parse(&r, 88, &e, &lost) && e.kind == PROCESS_MAP);
	CHECK(e.pid == 9 && e.start == 0x1000 && e.end == 0x3000);
	CHECK(e.offset == 0x5000 && e.ino == 4711);
	CHECK_INT(e.time_ns, 678);
	CHECK_INT(lost, 0);
}

/* Address, size, type and flags, name, time: of programs, not of what probes
 * put beside the kernel. */
TEST(records_of_programs)
{
	struct record r = {.h = {PERF_RECORD_KSYMBOL, 0, 56},
	    .more = {0, 0, 0, 4711}};
	struct process_event e;
	uint64_t lost = 0;

	memcpy(r.id, &(uint64_t){0xffffffffc0201000}, 8);
	r.id[2] = 0x180;
	r.id[3] = PERF_RECORD_KSYMBOL_TYPE_BPF;
	memcpy(r.more, "bpf_prog_1_name", 16);
	r.more[2] = 0;
	CHECK(process_events_parse(&r, 56, &e, &lost) &&
	    e.kind == PROCESS_LOADED);
	CHECK(e.start == 0xffffffffc0201000 && e.end == 0xffffffffc0201180);
	CHECK_STR(e.path, "bpf_prog_1_name");
	CHECK_INT(e.time_ns, 4711);
	CHECK(e.pid == 0 && e.tid == 0 && e.parent == 0);
	r.id[3] |= (uint32_t)PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER << 16;
	CHECK(process_events_parse(&r, 56, &e, &lost) &&
	    e.kind == PROCESS_UNLOADED);
	CHECK_STR(e.path, "bpf_prog_1_name");
	CHECK(!process_events_parse(&r, 39, &e, &lost)); /* no end */
	r.id[3] = PERF_RECORD_KSYMBOL_TYPE_OOL;
	CHECK(!process_events_parse(&r, 56, &e, &lost));
	CHECK_INT(lost, 0);
}

TEST(damaged_records)
{
	struct record r = {.h = {PERF_RECORD_LOST, 0, 24}};
	struct process_event e;
	uint64_t lost = 0;

	memcpy(r.id + 2, &(uint64_t){12}, 8);
	CHECK(!process_events_parse(&r, 24, &e, &lost));
	CHECK_INT(lost, 12);
	for (uint32_t type = 0; type < 30; type++) {
		for (size_t size = 0; size < 24; size++) {
			void *p = malloc(size + 1);

			r.h.type = type;
			memcpy(p, &r, size);
			process_events_parse(p, size, &e, &lost);
			free(p);
		}
	}
	r.h.type = PERF_RECORD_MMAP2;
	CHECK(!process_events_parse(&r, 72, &e, &lost));
}

/* ---- what finds no room ---- */

struct told {
	size_t maps, gaps;
	int64_t before_ns, behind_ns; /* moments: how many gaps hold them? */
	size_t before, behind;
};

static void
note(void *arg, const struct process_event *e)
{
	struct told *t = arg;

	t->maps += e->kind == PROCESS_MAP && e->pid == (int32_t)getpid();
	if (e->kind != PROCESS_LOST)
		return;
	t->gaps++;
	t->before += e->since_ns < t->before_ns && t->before_ns <= e->time_ns;
	t->behind += e->since_ns < t->behind_ns && t->behind_ns <= e->time_ns;
}

static void
map_code(int n)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *code;

	while (n-- > 0) {
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		    fd, 0);
		CHECK(code != MAP_FAILED);
		munmap(code, 4096);
	}
	close(fd);
}

/* A ring that nobody reads is full at some time: since then, up to the next
 * reading, records may be missing, and that is told; not before, nor after. */
TEST(a_full_ring_is_a_gap)
{
	struct told t = {0};
	struct process_events *l;
	cpu_set_t all, one;
	size_t gaps;
	int i;

	if (process_events_open(&l, note, &t) != NULL) {
		printf("skip - a full ring: no perf events\n");
		return;
	}
	/* On one CPU, lest the rings share them. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	process_events_drain(l);
	map_code(3);
	process_events_drain(l);
	CHECK_INT(t.maps, 3);
	t.before_ns = clock_mono_ns();
	map_code(20000); /* of about 100 bytes each */
	t.behind_ns = clock_mono_ns();
	process_events_drain(l);
	CHECK(t.maps > 3 && t.maps < 20003);
	CHECK_INT(t.before, 0);
	CHECK(t.behind > 0);
	/* Others' programs may fill a ring again, but not for ever. */
	for (i = 0, gaps = 0; i < 1000 && gaps != t.gaps; i++) {
		gaps = t.gaps;
		process_events_drain(l);
	}
	CHECK_INT(t.gaps, gaps);
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	process_events_close(l);
}

/* ---- what is told before a sample ---- */

/* Maps code over other code: the rings tell, and whoever asks up to a moment
 * behind that knows. */
TEST(what_is_told_before_a_sample_is_known)
{
	struct mapping map = {.kind = MAPPING_FILE, .ino = 1};
	struct process_watch_parts parts = {0};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct maps_process *p;
	struct process_watch *life;
	struct config config;
	int64_t now_ns;
	void *code;

	CHECK_OK(config_load(&config, NULL));
	config.short_lived_ns = 0;
	CHECK_OK(services_new(&parts.services, &config));
	CHECK_OK(maps_new(&parts.maps, services_table(parts.services),
	    "/proc"));
	if (process_watch_new(&life, &parts, epoll, true) != NULL) {
		printf("skip - what is told: no perf events\n");
		goto done;
	}
	p = maps_process(parts.maps, services_process(parts.services,
	    (int32_t)getpid(), 0), clock_mono_ns());
	process_watch_drain(life, clock_mono_ns());
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(code != MAP_FAILED);
	map.start = (uintptr_t)code;
	map.end = map.start + 4096;
	now_ns = clock_mono_ns();
	CHECK(maps_held(parts.maps, p, &map, map.start, now_ns));
	process_watch_until(life, now_ns, now_ns);
	CHECK(!maps_held(parts.maps, p, &map, map.start, now_ns));
done:
	process_watch_free(life);
	maps_free(parts.maps);
	services_free(parts.services);
	config_free(&config);
	close(epoll);
	close(fd);
}

static bool
is_ready(int epoll)
{
	struct epoll_event ev;

	return epoll_wait(epoll, &ev, 1, 0) > 0;
}

/* What it is told may be old by the time of the records' handling: a pause that
 * ended by that left the timer expired, which woke the daemon 18,000 times a
 * second until the next process began. */
TEST(an_expired_pause_does_not_keep_it_awake)
{
	struct process_watch_parts parts = {0};
	int epoll = epoll_create1(EPOLL_CLOEXEC), i;
	struct process_watch *life;
	struct config config;
	int64_t now_ns;
	pid_t pid;

	CHECK_OK(config_load(&config, NULL));
	CHECK_OK(services_new(&parts.services, &config));
	CHECK_OK(maps_new(&parts.maps, services_table(parts.services),
	    "/proc"));
	if (process_watch_new(&life, &parts, epoll, true) != NULL) {
		printf("skip - an expired pause: no perf events\n");
		goto done;
	}
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	now_ns = clock_mono_ns();
	process_watch_poll(life, now_ns - 100 * MS); /* a pause begins ... */
	process_watch_poll(life, now_ns);
	usleep(120 * 1000); /* ... and is over */
	for (i = 0; i < 1000 && is_ready(epoll); i++)
		process_watch_poll(life, now_ns + 120 * MS);
	CHECK(i < 1000);
done:
	process_watch_free(life);
	maps_free(parts.maps);
	services_free(parts.services);
	config_free(&config);
	close(epoll);
}

/* ---- who is looked at ---- */

struct bench {
	struct config config;
	struct services *services;
	struct maps *maps;
	struct process_watch *life;
};

static void
bench_open(struct bench *t)
{
	struct process_watch_parts parts = {0};

	CHECK_OK(config_load(&t->config, NULL));
	t->config.short_lived_ns = 0;
	CHECK_OK(services_new(&t->services, &t->config));
	CHECK_OK(maps_new(&t->maps, services_table(t->services), "/proc"));
	CHECK_OK(services_sweep(t->services, clock_wall_ns()));
	parts.services = t->services;
	parts.maps = t->maps;
	CHECK_OK(process_watch_new(&t->life, &parts, -1, false));
}

static void
bench_close(struct bench *t)
{
	process_watch_free(t->life);
	maps_free(t->maps);
	services_free(t->services);
	config_free(&t->config);
}

static void
tell(struct bench *t, enum process_event_kind kind, int32_t pid, int64_t now_ns)
{
	process_watch_event(t->life,
	    &(struct process_event){.kind = kind,
		.pid = pid,
		.tid = pid,
		.parent = (int32_t)getpid(),
		.time_ns = now_ns},
	    now_ns);
}

/* Due a moment after the last mapping, and not later than 20 ms after the
 * first; gone when the process is gone. */
TEST(an_exec_is_looked_at_when_its_mappings_are_there)
{
	int64_t now = clock_mono_ns();
	struct bench t;

	bench_open(&t);
	tell(&t, PROCESS_EXEC, 4000001, now);
	tell(&t, PROCESS_MAP, 4000001, now + MS);
	tell(&t, PROCESS_EXEC, 4000002, now);
	CHECK_INT(process_watch_waiting(t.life), 2);
	process_watch_do_due(t.life, now + MS);
	CHECK_INT(process_watch_waiting(t.life), 2);
	tell(&t, PROCESS_EXIT, 4000002, now + MS);
	CHECK_INT(process_watch_waiting(t.life), 1);
	process_watch_do_due(t.life, now + 2 * MS);
	CHECK_INT(process_watch_waiting(t.life), 1);
	process_watch_do_due(t.life, now + 3 * MS);
	CHECK_INT(process_watch_waiting(t.life), 0);
	for (int i = 0; i < 30; i++)
		tell(&t, PROCESS_EXEC, 4000003, now + i * MS);
	process_watch_do_due(t.life, now + 20 * MS);
	CHECK_INT(process_watch_waiting(t.life), 0);
	bench_close(&t);
}

/* A loop of dlopen() is followed after 1, 2, 4 ... seconds. */
TEST(a_program_that_maps_all_the_time_is_read_rarely)
{
	int64_t now = clock_mono_ns();
	int looks = 0;
	struct bench t;

	bench_open(&t);
	for (int64_t ms = 0; ms < 60000; ms += 10) {
		tell(&t, PROCESS_MAP, getpid(), now + ms * MS);
		process_watch_do_due(t.life, now + ms * MS + 2 * MS);
		looks += process_watch_waiting(t.life) == 0;
	}
	CHECK(looks >= 5 && looks <= 8);
	bench_close(&t);
}

static const struct batch_block *
block_of(const struct batch *b, const char *name, const char *service)
{
	struct label labels[4];
	struct series_desc d;

	for (size_t i = 0; i < b->n_blocks; i++) {
		const char *value;

		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		value = label_find(d.labels, d.n_labels, "service");
		if (strcmp(d.name, name) == 0 && (service == NULL ||
		    (value != NULL && strcmp(value, service) == 0)))
			return &b->blocks[i];
	}
	return NULL;
}

static int64_t
increase_of(const struct batch *b, const char *name, const char *service)
{
	const struct batch_block *k = block_of(b, name, service);

	return k != NULL ? k->increase : -1;
}

static struct batch *
close_slot(struct bench *t, uint64_t slot)
{
	struct batch *b = batch_new(NS_PER_S);

	process_watch_close_slot(t->life, slot, b,
	    (int64_t)slot * NS_PER_S + 1);
	CHECK_OK(batch_finish(b));
	return b;
}

/* 10,000 programs at once: few are looked at, none is forgotten silently. */
TEST(a_storm_is_bounded_and_counted)
{
	int64_t now = clock_mono_ns();
	struct bench t;
	struct batch *b;

	bench_open(&t);
	for (int32_t i = 0; i < 10000; i++) {
		tell(&t, PROCESS_FORK, 4000001 + i, now);
		tell(&t, PROCESS_EXEC, 4000001 + i, now);
		CHECK(process_watch_waiting(t.life) <= 256);
	}
	process_watch_do_due(t.life, now + 100 * MS);
	CHECK_INT(process_watch_waiting(t.life), 0);
	b = close_slot(&t, 5);
	CHECK(increase_of(b, "memlens_life_skipped_total", NULL) >= 9744);
	CHECK_INT(increase_of(b, "memlens_processes_started_total",
	    "test_process_ev"), 10000);
	batch_free(b);
	bench_close(&t);
}

/* Five processes a second were all that was looked at, and what the test of
 * short ones waited with was six. */
TEST(looks_at_new_programs_are_bounded_by_the_cpu_they_take)
{
	int64_t now = clock_mono_ns();
	struct bench t;
	struct batch *b;

	bench_open(&t);
	for (int i = 0; i < 60; i++, now += 20 * MS) {
		tell(&t, PROCESS_EXEC, 4000001, now);
		process_watch_do_due(t.life, now + 2 * MS);
	}
	b = close_slot(&t, 1);
	CHECK(increase_of(b, "memlens_life_skipped_total", NULL) <= 0);
	batch_free(b);
	for (int i = 0; i < 20000; i++) { /* no time goes by */
		tell(&t, PROCESS_EXEC, (int32_t)getpid(), now);
		process_watch_do_due(t.life, now + 2 * MS);
	}
	b = close_slot(&t, 2);
	CHECK(increase_of(b, "memlens_life_skipped_total", NULL) > 0);
	batch_free(b);
	now += 60 * NS_PER_S;
	tell(&t, PROCESS_EXEC, (int32_t)getpid(), now);
	process_watch_do_due(t.life, now + 2 * MS);
	b = close_slot(&t, 3);
	CHECK_INT(increase_of(b, "memlens_life_skipped_total", NULL), 0);
	batch_free(b);
	bench_close(&t);
}

/* ---- what is counted ---- */

static void
tell_thread(struct bench *t, enum process_event_kind kind, int32_t tid)
{
	int32_t self = (int32_t)getpid();

	process_watch_event(t->life, &(struct process_event){.kind = kind,
	    .pid = self, .tid = tid, .parent = self}, clock_mono_ns());
}

TEST(threads_and_processes_are_counted_by_service)
{
	int64_t now = clock_mono_ns();
	struct bench t;
	struct batch *b;

	bench_open(&t);
	for (int32_t i = 0; i < 3; i++)
		tell_thread(&t, PROCESS_FORK, 4000001 + i);
	tell_thread(&t, PROCESS_EXIT, 4000001);
	/* A child that nobody could look at counts under its parent's. */
	tell(&t, PROCESS_FORK, 4000009, now);
	tell(&t, PROCESS_EXEC, 4000009, now);
	tell(&t, PROCESS_EXIT, 4000009, now);
	/* Of this one nothing is known. */
	process_watch_event(t.life,
	    &(struct process_event){.kind = PROCESS_EXIT,
		.pid = 4000020,
		.tid = 4000020,
		.parent = 4000021},
	    now);
	b = close_slot(&t, 5);
	CHECK_INT(increase_of(b, "memlens_threads_started_total",
	    "test_process_ev"), 4);
	CHECK_INT(increase_of(b, "memlens_threads_exited_total",
	    "test_process_ev"), 2);
	CHECK_INT(increase_of(b, "memlens_processes_started_total",
	    "test_process_ev"), 1);
	CHECK_INT(increase_of(b, "memlens_processes_exited_total",
	    "test_process_ev"), 1);
	CHECK_INT(increase_of(b, "memlens_processes_execs_total",
	    "test_process_ev"), 1);
	CHECK_INT(increase_of(b, "memlens_processes_exited_total",
	    SERVICES_OTHER), 1);
	batch_free(b);
	/* It goes on, at zero, while the service lives. */
	b = close_slot(&t, 6);
	CHECK_INT(increase_of(b, "memlens_threads_started_total",
	    "test_process_ev"), 0);
	CHECK_INT(block_of(b, "memlens_threads_started_total",
	    "test_process_ev")->last, 4);
	CHECK_INT(increase_of(b, "memlens_processes_exited_total",
	    SERVICES_OTHER), -1);
	batch_free(b);
	bench_close(&t);
}

TEST(a_process_outlives_its_first_thread)
{
	int64_t now = clock_mono_ns();
	struct bench t;

	bench_open(&t);
	tell(&t, PROCESS_EXEC, 4000001, now);
	process_watch_event(t.life,
	    &(struct process_event){.kind = PROCESS_FORK,
		.pid = 4000001,
		.tid = 4000002,
		.parent = 4000001},
	    now);
	tell(&t, PROCESS_EXIT, 4000001, now);
	CHECK_INT(process_watch_waiting(t.life), 1);
	bench_close(&t);
}

/* Our parent lives long enough to be worth a mark; so many and no more. */
TEST(marks_are_few)
{
	struct bench t;
	struct batch *b;
	size_t i;

	bench_open(&t);
	for (i = 0; i < 20; i++) {
		/* what ends is not checked against /proc: once more */
		tell(&t, PROCESS_EXIT, 1, clock_mono_ns());
		tell(&t, PROCESS_EXEC, (int32_t)getpid(), clock_mono_ns() -
		    2 * PROCESS_SEASONED_NS);
	}
	b = close_slot(&t, (uint64_t)(clock_wall_ns() / NS_PER_S));
	CHECK_INT(b->n_facts, 2 * PROCESS_MARKS_MAX);
	for (i = 0; i < b->n_facts; i++)
		CHECK_INT(b->facts[i].kind, FACT_MARK);
	CHECK_INT(increase_of(b, "memlens_life_marks_dropped_total", NULL),
	    40 - 2 * PROCESS_MARKS_MAX);
	batch_free(b);
	bench_close(&t);
}

/* ---- many names ---- */

static void
put_process(const char *proc, int pid, int name)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	f = fopen(path, "w");
	CHECK(f != NULL);
	if (f == NULL)
		return;
	fprintf(f, "%d (name-%d) S 1 1 1 0 -1 0 11 0 3 0 70 30 0 0 20 0 5 0 "
	    "%d 4096000 250 18446744073709551615 %d 2 3 0 0 0 0 0\n", pid,
	    name, name + 1, name);
	fclose(f);
}

static void
remove_process(const char *proc, int pid)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	rmdir(path);
}

/* Services come and go for months: the latest ones have names too. */
TEST(names_of_services_that_are_gone_make_room)
{
	char proc[] = "/tmp/memlens-test-life-XXXXXX", name[32];
	struct services *services = NULL;
	struct process_count *c;
	struct config config;
	struct batch *b;
	int round, i;

	CHECK(mkdtemp(proc) != NULL);
	CHECK_OK(config_load(&config, NULL));
	config.short_lived_ns = 0;
	CHECK_OK(services_new_at(&services, &config, proc));
	c = process_count_new(services);
	for (round = 0; round < 12; round++) {
		for (i = 0; i < 100; i++)
			put_process(proc, 1000 + i, round * 100 + i);
		CHECK_OK(services_sweep(services, (round * 100 + 1) *
		    NS_PER_S));
		for (i = 0; i < 100; i++)
			process_count_event(c, &(struct process_event){
			    .kind = PROCESS_FORK, .pid = 1000 + i, .tid = 7,
			    .parent = 1000 + i});
		b = batch_new(NS_PER_S);
		process_count_close_slot(c, (uint64_t)round, b, 0, 0);
		CHECK_OK(batch_finish(b));
		snprintf(name, sizeof(name), "name-%d", round * 100 + 99);
		CHECK_INT(increase_of(b, "memlens_threads_started_total",
		    name), 1);
		CHECK_INT(increase_of(b, "memlens_threads_started_total",
		    SERVICES_OTHER), -1);
		batch_free(b);
		for (i = 0; i < 100; i++)
			remove_process(proc, 1000 + i);
		CHECK_OK(services_sweep(services, (round * 100 + 50) *
		    NS_PER_S));
		b = batch_new(NS_PER_S);
		process_count_close_slot(c, (uint64_t)round, b, 0, 0);
		batch_free(b);
	}
	process_count_free(c);
	services_free(services);
	config_free(&config);
	rmdir(proc);
}

/* ---- how programs end ---- */

struct ends {
	int watched;
};

static void
ends_watch(void *arg, int32_t pid)
{
	struct ends *ends = arg;

	ends->watched += pid >= 1000 && pid < 1006;
}

/* By exit 0, SIGTERM, exit 143, SIGKILL, exit 1; of the last nobody knows. */
static bool
ends_status(void *arg, int32_t pid, int *status)
{
	static const int known[] = {0, 15, 143 << 8, 9, 1 << 8};

	(void)arg;
	if (pid - 1000 >= 5)
		return false;
	*status = known[pid - 1000];
	return true;
}

TEST(ends_are_told_by_their_status)
{
	static const char *const want[] = {
	    "stopped 1000 name-0 #1 (status 0)\tdb",
	    "stopped 1001 name-1 #2 (signal 15)\tdb",
	    "stopped 1002 name-2 #3 (status 143)\tdb",
	    "ended 1003 name-3 #4 (signal 9)\tdb",
	    "ended 1004 name-4 #5 (status 1)\tdb", "ended 1005 name-5 #6\tdb"};
	char proc[] = "/tmp/memlens-test-life-XXXXXX", text[200];
	char name[] = "db", comm[] = "^name-";
	struct services *services = NULL;
	struct process_count *c;
	struct ends ends = {0};
	struct config config;
	struct batch *b;
	int i;

	CHECK(mkdtemp(proc) != NULL);
	CHECK_OK(config_load(&config, NULL));
	config.short_lived_ns = 0;
	config.services[0] = (struct config_service){.name = name,
	    .comm = comm};
	config.n_services = 1;
	CHECK_OK(services_new_at(&services, &config, proc));
	c = process_count_new(services);
	process_count_serve(c, &(struct process_ends){ends_watch, ends_status,
	    &ends});
	for (i = 0; i < 6; i++)
		put_process(proc, 1000 + i, i);
	CHECK_OK(services_sweep(services, NS_PER_S));
	b = batch_new(NS_PER_S);
	process_count_close_slot(c, 0, b, 0, 0);
	batch_free(b);
	CHECK_INT(ends.watched, 6);
	for (i = 0; i < 6; i++)
		process_count_event(c, &(struct process_event){
		    .kind = PROCESS_EXIT, .pid = 1000 + i, .tid = 1000 + i,
		    .time_ns = clock_mono_ns()});
	b = batch_new(NS_PER_S);
	process_count_close_slot(c, 1, b, 0, 0);
	CHECK_INT(b->n_facts, 6);
	for (i = 0; i < 6 && i < (int)b->n_facts; i++) {
		snprintf(text, sizeof(text), "%s %.*s", batch_str(b,
		    b->facts[i].subject), (int)b->facts[i].n,
		    (const char *)b->fact_bytes.data + b->facts[i].first);
		CHECK_STR(text, want[i]);
	}
	batch_free(b);
	for (i = 0; i < 6; i++)
		remove_process(proc, 1000 + i);
	process_count_free(c);
	services_free(services);
	config.n_services = 0;
	config_free(&config);
	rmdir(proc);
}

int
main(void)
{
	RUN(records);
	RUN(records_of_programs);
	RUN(damaged_records);
	RUN(a_full_ring_is_a_gap);
	RUN(what_is_told_before_a_sample_is_known);
	RUN(an_expired_pause_does_not_keep_it_awake);
	RUN(an_exec_is_looked_at_when_its_mappings_are_there);
	RUN(a_program_that_maps_all_the_time_is_read_rarely);
	RUN(a_storm_is_bounded_and_counted);
	RUN(looks_at_new_programs_are_bounded_by_the_cpu_they_take);
	RUN(threads_and_processes_are_counted_by_service);
	RUN(a_process_outlives_its_first_thread);
	RUN(marks_are_few);
	RUN(names_of_services_that_are_gone_make_room);
	RUN(ends_are_told_by_their_status);
	return test_done();
}
