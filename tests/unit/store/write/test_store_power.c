/*
 * What is on the disk when the power goes: a disk that is told of every
 * fdatasync, and that, as Linux does, loses for good what one of them could
 * not write, although the next one says that all is well.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "store/write/work.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 6400
#define SPAN 64

/* ---- the disk ---- */

static struct inode {
	ino_t number;
	off_t durable;
	bool lost; /* what comes after is not written any more */
} inodes[4096];
static size_t n_inodes;
static int syncs_to_fail;

static struct inode *
inode_of(const struct stat *st)
{
	for (size_t i = 0; i < n_inodes; i++) {
		if (inodes[i].number == st->st_ino)
			return &inodes[i];
	}
	if (n_inodes == sizeof(inodes) / sizeof(inodes[0]))
		abort();
	inodes[n_inodes] = (struct inode){.number = st->st_ino};
	return &inodes[n_inodes++];
}

int
fdatasync(int fd)
{
	struct inode *i;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	i = inode_of(&st);
	if (syncs_to_fail > 0) {
		syncs_to_fail--;
		i->lost = true;
		errno = EIO;
		return -1;
	}
	if (!i->lost)
		i->durable = st.st_size;
	return 0;
}

/* A new file may get the number of one that has gone. */
int
unlinkat(int dir, const char *name, int flags)
{
	static int (*real)(int, const char *, int);
	struct stat st;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "unlinkat");
	if (fstatat(dir, name, &st, 0) == 0 && st.st_nlink == 1)
		*inode_of(&st) = (struct inode){.number = st.st_ino};
	return real(dir, name, flags);
}

/* Calls fn for every journal. */
static void
each_journal(const char *dir, void (*fn)(const char *path,
    const struct stat *st, void *arg), void *arg)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	struct stat st;
	char path[512];

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, "journal-", 8) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (stat(path, &st) == 0)
			fn(path, &st, arg);
	}
	closedir(d);
}

static void
journal_cut(const char *path, const struct stat *st, void *arg)
{
	off_t durable = inode_of(st)->durable;

	(void)arg;
	if (durable < st->st_size)
		CHECK(truncate(path, durable) == 0);
}

static void
journal_unsynced(const char *path, const struct stat *st, void *arg)
{
	(void)path;
	*(int *)arg += inode_of(st)->durable < st->st_size;
}

/* ---- a store ---- */

struct place {
	char dir[64];
	struct store_writer *w;
};

static void
place_open(struct place *p)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	CHECK_OK(store_writer_open(&p->w, p->dir, &o));
}

static void
place_init(struct place *p)
{
	n_inodes = 0;
	syncs_to_fail = 0;
	snprintf(p->dir, sizeof(p->dir), "%s/test-power-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(p->dir) == NULL)
		abort();
	place_open(p);
}

static void
place_fini(struct place *p)
{
	char command[128];

	CHECK_OK(store_writer_close(p->w));
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	CHECK(system(command) == 0);
}

/* The process dies with the machine: a fork takes its place. */
static void
place_power_loss(struct place *p)
{
	char copy[80], command[256];

	snprintf(copy, sizeof(copy), "%s-after", p->dir);
	each_journal(p->dir, journal_cut, NULL);
	snprintf(command, sizeof(command), "cp -a %s %s && rm %s/lock",
	    p->dir, copy, copy);
	CHECK(system(command) == 0);
	store_writer_close(p->w);
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	CHECK(system(command) == 0);
	snprintf(p->dir, sizeof(p->dir), "%s", copy);
	place_open(p);
}

static const struct err *
place_put(struct place *p, uint64_t slot)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	char name[32];
	struct frame f = {FRAME_NATIVE, name, "kv", "b1", 16};
	uint32_t node = batch_node(b, 0, 0);
	const struct err *e;

	snprintf(name, sizeof(name), "fn_%d", (int)slot % 7);
	node = batch_node(b, node, batch_frame(b, &f));
	batch_add_profile(b, batch_series(b, &d), slot, node, 1);
	e = store_append(p->w, b);
	batch_free(b);
	return e;
}

static long
place_total(struct place *p)
{
	struct profile_query q = {NULL, FIRST * SLOT,
	    (FIRST + 10 * SPAN) * SLOT, NULL, false};
	struct selector *sel = NULL;
	struct profile *profile = NULL;
	struct store *s = NULL;
	long total = -1;

	CHECK_OK(selector_parse("cpu", &sel));
	CHECK_OK(store_open(&s, p->dir, 0));
	q.selector = sel;
	if (s != NULL) {
		CHECK_OK(store_query_profile(s, &q, &profile));
		if (profile != NULL)
			total = (long)counts_of(profile, 0).total;
	}
	profile_free(profile);
	store_close(s);
	selector_free(sel);
	return total;
}

/* So many appends that the next journals are begun, without any tick. */
TEST(journals_that_retire_together_are_all_synced)
{
	struct place p;
	int unsynced = 0;

	place_init(&p);
	p.w->now_ns = (FIRST + 10 * SPAN) * SLOT;
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_OK(place_put(&p, FIRST + i * SPAN));
		if (p.w->spare.fd < 0)
			CHECK_OK(writer_make_spare(p.w, &p.w->spare));
	}
	CHECK_INT(p.w->n_retired, 2);
	each_journal(p.dir, journal_unsynced, &unsynced);
	CHECK_INT(unsynced, 3);
	CHECK_OK(writer_sync(p.w));
	unsynced = 0;
	each_journal(p.dir, journal_unsynced, &unsynced);
	CHECK_INT(unsynced, 0);
	place_power_loss(&p);
	CHECK_INT(place_total(&p), 3);
	place_fini(&p);
}

/* The present journal, or one that is full, fails `times` times. */
static void
failed_sync(bool retired, int times)
{
	struct place p;
	long all;

	place_init(&p);
	p.w->now_ns = (FIRST + 2) * SLOT;
	CHECK_OK(place_put(&p, FIRST));
	CHECK_OK(writer_sync(p.w));
	CHECK_OK(place_put(&p, FIRST + 1));
	if (retired)
		CHECK(writer_retire(p.w));
	syncs_to_fail = times;
	while (syncs_to_fail > 0) {
		int left = syncs_to_fail;

		(void)writer_sync(p.w);
		CHECK(syncs_to_fail < left);
		if (!retired)
			CHECK_OK(place_put(&p, FIRST + 2)); /* and goes on */
	}
	CHECK_OK(writer_sync(p.w));
	all = place_total(&p);
	CHECK(all >= 2);
	place_power_loss(&p);
	CHECK_INT(place_total(&p), all);
	place_fini(&p);
}

TEST(what_a_failed_sync_lost_is_written_anew)
{
	failed_sync(false, 1);
}

TEST(and_anew_until_it_is_on_the_disk)
{
	failed_sync(false, 7);
	failed_sync(false, 6);
}

TEST(also_of_a_journal_that_is_full)
{
	failed_sync(true, 1);
	failed_sync(true, 4);
}

int
main(void)
{
	RUN(journals_that_retire_together_are_all_synced);
	RUN(what_a_failed_sync_lost_is_written_anew);
	RUN(and_anew_until_it_is_on_the_disk);
	RUN(also_of_a_journal_that_is_full);
	return test_done();
}
