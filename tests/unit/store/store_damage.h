/*
 * A store for tests of damage: one batch a slot, files that are found by name
 * and spoilt, and what a new reader, a new writer and who verifies say of it.
 */
#ifndef TESTS_UNIT_STORE_DAMAGE_H
#define TESTS_UNIT_STORE_DAMAGE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/check/verify.h"
#include "store/journal/journal.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/damage_leaks.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define FIRST 8192u

static char dir[64];
static char lacking_why[112]; /* of the first stretch that lacking() met */
static struct store_writer *writer;

static inline void
start(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	CHECK_OK(store_writer_open(&writer, dir, &o));
	if (writer == NULL)
		exit(1);
}

static inline void
begin(void)
{
	snprintf(dir, sizeof(dir), "%s/test-damage-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		abort();
	start();
}

static inline void
end(void)
{
	char command[128];

	if (writer != NULL)
		CHECK_OK(store_writer_close(writer));
	writer = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

static inline void
restart(void)
{
	CHECK_OK(store_writer_close(writer));
	start();
}

static inline void
verified(void *arg, const char *what, double progress)
{
	(void)arg;
	(void)progress;
	if (what != NULL)
		printf("# %s\n", what);
}

static inline uint32_t
stack_of(struct batch *b, unsigned i)
{
	char name[32];
	struct frame f = {FRAME_NATIVE, name, "kv", "", 0};

	snprintf(name, sizeof(name), "some_function_%u", i);
	return batch_node(b, batch_node(b, 0, batch_labels(b, NULL, 0)),
	    batch_frame(b, &f));
}

static inline uint32_t
series_of(struct batch *b)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};

	return batch_series(b, &d);
}

/* One batch a slot, value 1 each, in a thousand different stacks. */
static inline void
put(uint64_t from, uint64_t until)
{
	for (uint64_t slot = from; slot < until; slot++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		CHECK_OK(store_tick(writer, (int64_t)slot * SLOT));
		batch_add_profile(b, series_of(b), slot,
		    stack_of(b, (unsigned)(slot % 1000)), 1);
		CHECK_OK(store_append(writer, b));
		batch_free(b);
	}
	CHECK_OK(store_tick(writer, (int64_t)until * SLOT));
}

static inline int64_t
ask(struct store *s, int64_t from, int64_t until)
{
	struct profile_query q = {NULL, from, until, NULL, false};
	struct profile *p = NULL;
	struct selector *selector;
	int64_t total;

	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	total = p ? (int64_t)counts_of(p, 0).total : -1;
	profile_free(p);
	selector_free(selector);
	return total;
}

/* What answers over slots [from, until) lack, as slots; how many stretches. */
static inline size_t
lacking(uint64_t from, uint64_t until, uint64_t *first, uint64_t *end)
{
	const struct store_missing *m;
	struct store *s = NULL;
	size_t n = 0;

	CHECK_OK(store_open(&s, dir, 0));
	if (s == NULL)
		return 0;
	CHECK(ask(s, (int64_t)from * SLOT, (int64_t)until * SLOT) >= 0);
	m = store_missing(s, &n);
	snprintf(lacking_why, sizeof(lacking_why), "%s", n ? m[0].why : "");
	*first = n ? (uint64_t)(m[0].from_ns / SLOT) : 0;
	*end = n ? (uint64_t)(m[n - 1].until_ns / SLOT) : 0;
	store_close(s);
	return n;
}

/* All that a new reader finds, and how much it had to leave out. */
static inline int64_t
ask_all(uint64_t *damaged)
{
	struct store_extent x = {0};
	struct store *s = NULL;
	int64_t total;

	CHECK_OK(store_open(&s, dir, 0));
	if (s == NULL)
		return -1;
	total = ask(s, 0, (FIRST + 20000) * SLOT);
	store_extent(s, &x);
	*damaged = x.damaged;
	store_close(s);
	return total;
}

/* The path of a file whose name begins so, and which is largest. */
static inline off_t
find(const char *prefix, char *path, size_t size)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	off_t largest = -1;
	struct stat st;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    strstr(entry->d_name, ".bad") != NULL ||
		    fstatat(dirfd(d), entry->d_name, &st, 0) != 0 ||
		    st.st_size <= largest)
			continue;
		largest = st.st_size;
		snprintf(path, size, "%s/%s", dir, entry->d_name);
	}
	closedir(d);
	return largest;
}

static inline void
flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte = 0;

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 0x10;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
}

/* Once and exactly in slots [from, until), for a new reader and a new writer,
 * and to who verifies. */
static inline void
check_said(uint64_t from, uint64_t until)
{
	struct verify_report r;
	uint64_t first, last, damaged;

	for (int round = 0; round < 2; round++) {
		CHECK_INT(lacking(FIRST, FIRST + 9000, &first, &last), 1);
		CHECK_INT(first, from);
		CHECK_INT(last, until);
		CHECK_INT(lacking(FIRST, from, &first, &last), 0);
		CHECK_INT(lacking(until, FIRST + 9000, &first, &last), 0);
		CHECK_INT(lacking(until - 1, until, &first, &last), 1);
		ask_all(&damaged);
		CHECK_INT(damaged, 1);
		CHECK_OK(store_verify(dir, verified, NULL, &r));
		CHECK_INT(r.problems, 1);
		restart();
	}
}

static inline void
spoil(const char *path)
{
	struct stat st;

	CHECK(stat(path, &st) == 0);
	for (off_t at = 0; at < st.st_size; at += 4096)
		flip(path, at + 100);
}

#endif
