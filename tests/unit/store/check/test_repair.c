/*
 * A store whose manifest is damaged or gone, and what memlens repair makes
 * of it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/check/repair.h"
#include "store/check/verify.h"
#include "store/store.h"
#include "tests/unit/damage_leaks.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define FIRST INT64_C(8192)

static char dir[64];
static struct store_writer *writer;

static const struct err *
start(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	return store_writer_open(&writer, dir, &o);
}

static void
stop(void)
{
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
}

/* A command in which each % is the directory. */
static void
run(const char *command)
{
	char text[300];
	size_t n = 0;

	for (; *command != '\0' && n + sizeof(dir) < sizeof(text); command++) {
		if (*command == '%')
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
			    dir);
		else
			text[n++] = *command;
	}
	text[n] = '\0';
	CHECK(system(text) == 0);
}

static void
begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test-repair-XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	CHECK_OK(start());
}

static void
put(int64_t slot)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_COUNTER, "work_total", "", 0, 0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);

	batch_add_counter(b, batch_series(b, &d), (uint64_t)slot,
	    slot * SLOT, 10, slot * 10);
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

/* Ten batches of each slot are a sum of ten. */
static void
fill(int64_t from, int64_t until)
{
	for (int64_t slot = from; slot < until; slot++) {
		put(slot);
		CHECK_OK(store_tick(writer, (slot + 1) * SLOT));
	}
}

static int64_t
sum(void)
{
	struct metric_query q = {.until_ns = (FIRST + 20000) * SLOT,
	    .max_series = 10, .step_ns = (FIRST + 20000) * SLOT};
	struct metric_series *m = NULL;
	struct selector *sel;
	struct store *s = NULL;
	int64_t all = 0;
	size_t n = 0;

	CHECK_OK(store_open(&s, dir, 0));
	if (s == NULL)
		return -1;
	CHECK_OK(selector_parse("work_total", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	if (n == 1)
		all = (int64_t)m[0].points[0].increase;
	metric_series_free(m, n);
	selector_free(sel);
	store_close(s);
	return all;
}

/* Slots that answers say they lack. */
static int64_t
lacking(void)
{
	const struct store_missing *m;
	struct store *s = NULL;
	struct selector *sel;
	struct metric_query q = {.until_ns = (FIRST + 20000) * SLOT,
	    .max_series = 10, .step_ns = (FIRST + 20000) * SLOT};
	struct metric_series *series = NULL;
	int64_t slots = 0;
	size_t n = 0;

	CHECK_OK(store_open(&s, dir, 0));
	if (s == NULL)
		return -1;
	CHECK_OK(selector_parse("work_total", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &series, &n));
	metric_series_free(series, n);
	selector_free(sel);
	m = store_missing(s, &n);
	for (size_t i = 0; i < n; i++)
		slots += (m[i].until_ns - m[i].from_ns) / SLOT;
	store_close(s);
	return slots;
}

static void
said(void *arg, const char *what)
{
	(void)arg;
	printf("# %s\n", what);
}

static void
verified(void *arg, const char *what, double progress)
{
	(void)arg;
	(void)progress;
	if (what != NULL)
		printf("# %s\n", what);
}

/* Files in the directory that begin so and end so. */
static unsigned
count(const char *prefix, const char *suffix, char *path, size_t size)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned n = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		size_t len = strlen(entry->d_name), end = strlen(suffix);

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    len < end || strcmp(entry->d_name + len - end, suffix))
			continue;
		snprintf(path, size, "%s/%.60s", dir, entry->d_name);
		n++;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static void
flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte = 0;

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 0x04;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
}

static void
damage_manifest(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/manifest", dir);
	flip(path, 60);
}

static struct repair_report
repair(void)
{
	struct repair_report r;

	CHECK_OK(store_repair(dir, said, NULL, &r));
	return r;
}

/* The store takes batches again, and all of it is whole. */
static void
check_whole(int64_t want)
{
	struct verify_report v;

	CHECK_INT(sum(), want);
	CHECK_OK(start());
	fill(FIRST + 1000, FIRST + 1100);
	stop();
	CHECK_INT(sum(), want + 1000);
	CHECK_OK(store_verify(dir, verified, NULL, &v));
	CHECK_INT(v.problems, 0);
	run("rm -rf %");
}

TEST(one_flipped_bit_of_the_manifest_is_mended)
{
	char hint[120];
	struct repair_report r;
	const struct err *e;

	begin();
	fill(FIRST, FIRST + 600);
	stop();
	damage_manifest();
	e = start();
	snprintf(hint, sizeof(hint), "\"memlens repair %s\"", dir);
	CHECK(e != NULL && strstr(e->text, hint) != NULL);
	r = repair();
	CHECK(r.needed && r.kept > 2);
	CHECK_INT(r.damaged + r.superseded, 0);
	check_whole(6000);
}

TEST(a_whole_manifest_is_left_alone)
{
	begin();
	fill(FIRST, FIRST + 100);
	stop();
	CHECK(!repair().needed);
	check_whole(1000);
}

TEST(damaged_files_are_set_aside)
{
	struct repair_report r;
	char path[200];
	struct stat st;

	begin();
	fill(FIRST, FIRST + 140);
	stop();
	damage_manifest();
	CHECK(count("span-", ".mdb", path, sizeof(path)) == 2);
	CHECK(stat(path, &st) == 0);
	flip(path, st.st_size / 2 + 100);
	r = repair();
	CHECK_INT(r.damaged, 1);
	CHECK_INT(sum(), 760);
	CHECK_INT(count("span-", ".mdb.bad", path, sizeof(path)), 1);
	CHECK_INT(count("manifest", ".bad", path, sizeof(path)), 1);
	CHECK_INT(lacking(), 64);
	damage_manifest(); /* and the next repair keeps that */
	run("rm %/manifest.bad");
	CHECK(repair().needed);
	CHECK_INT(lacking(), 64);
	run("rm -rf %");
}

TEST(a_running_writer_keeps_repair_away)
{
	struct repair_report r;
	const struct err *e;

	begin();
	fill(FIRST, FIRST + 10);
	e = store_repair(dir, said, NULL, &r);
	CHECK(e != NULL && e->domain == ERR_LIMIT);
	stop();
	check_whole(100);
}

/* A crash between a new manifest and the end of the old files. */
TEST(what_was_merged_counts_once)
{
	struct repair_report r;
	char path[200];

	begin();
	fill(FIRST, FIRST + 250);
	run("mkdir %/kept && cp %/span-* %/journal-* %/kept/");
	fill(FIRST + 250, FIRST + 300); /* four spans become one */
	stop();
	CHECK_INT(count("span-4", ".mdb", path, sizeof(path)), 1);
	run("cp -n %/kept/* % && rm -r %/kept");
	damage_manifest();
	r = repair();
	CHECK(r.superseded >= 4);
	CHECK_INT(r.damaged, 0);
	CHECK_INT(sum(), 3000);
	CHECK(count("span-3", ".mdb.old", path, sizeof(path)) >= 3);
	run("rm -rf %");
}

/* Spans of 16 slots become one of 64; counted twice were late files that a
 * crash left of that, since one of 64 is mostly made from a journal. */
TEST(what_was_merged_of_short_spans_counts_once)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true,
	    .short_bytes = 1};
	char path[200];

	begin();
	stop();
	CHECK_OK(store_writer_open(&writer, dir, &o));
	fill(FIRST, FIRST + 40);
	put(FIRST + 3);
	fill(FIRST + 40, FIRST + 63);
	CHECK(count("late-", ".mdb", path, sizeof(path)) > 0);
	CHECK_INT(count("span-2", ".mdb", path, sizeof(path)), 3);
	run("mkdir %/kept && cp %/span-* %/late-* %/kept/");
	fill(FIRST + 63, FIRST + 66); /* four spans become one */
	stop();
	CHECK_INT(count("span-3", ".mdb", path, sizeof(path)), 1);
	CHECK_INT(count("late-", ".mdb", path, sizeof(path)), 0);
	CHECK_INT(sum(), 670);
	run("cp -n %/kept/* % && rm -r %/kept");
	damage_manifest();
	CHECK(repair().superseded >= 4);
	CHECK_INT(sum(), 670);
	run("rm -rf %");
}

/* The other way: a span of 64 slots from a journal has not what was late. */
TEST(what_was_late_before_a_span_stays)
{
	char path[200];

	begin();
	fill(FIRST, FIRST + 128);
	put(FIRST + 3);
	CHECK_OK(store_tick(writer, (FIRST + 192) * SLOT));
	stop();
	CHECK(count("late-", ".mdb", path, sizeof(path)) > 0);
	damage_manifest();
	CHECK_INT(repair().superseded, 0);
	CHECK_INT(sum(), 1290);
	run("rm -rf %");
}

TEST(no_new_store_among_the_files_of_another)
{
	const struct err *e;
	char path[200];

	begin();
	fill(FIRST, FIRST + 600);
	stop();
	run("rm %/manifest");
	e = start();
	CHECK(e != NULL && strstr(e->text, "span-") != NULL);
	CHECK(e != NULL && strstr(e->text, "memlens repair") != NULL);
	CHECK_INT(count("manifest", "", path, sizeof(path)), 0);
	CHECK(repair().needed);
	check_whole(6000);
}

/* What a crash at the very beginning leaves is no other store. */
TEST(an_empty_journal_is_no_other_store)
{
	begin();
	stop();
	run("rm -r %/* && : >%/journal-1");
	CHECK_OK(start());
	fill(FIRST, FIRST + 10);
	stop();
	check_whole(100);
}

static uint64_t
problems(void)
{
	struct verify_report v;

	CHECK_OK(store_verify(dir, verified, NULL, &v));
	return v.problems;
}

/* Refused by its own words, and nothing but the lock file is touched. */
static void
check_refused(void)
{
	const struct err *e;

	run("ls -1 % >%.before");
	CHECK(problems() > 0);
	e = start();
	CHECK(e != NULL && strstr(e->text, "older") != NULL);
	CHECK(e != NULL && strstr(e->text, "memlens repair") != NULL);
	run("ls -1 % | cmp - %.before && rm %.before");
	CHECK(repair().needed);
	CHECK(!repair().needed);
}

TEST(an_older_manifest_takes_no_newer_files)
{
	begin();
	fill(FIRST, FIRST + 100);
	run("cp %/manifest %.kept");
	fill(FIRST + 100, FIRST + 400);
	stop();
	run("mv %.kept %/manifest");
	check_refused();
	check_whole(4000);
}

/* Nothing was merged yet: all that it names is there. */
TEST(an_older_manifest_takes_no_newer_journal)
{
	begin();
	fill(FIRST, FIRST + 10);
	stop();
	run("cp %/manifest %.kept");
	CHECK_OK(start());
	fill(FIRST + 10, FIRST + 20);
	stop();
	run("mv %.kept %/manifest");
	check_refused();
	check_whole(200);
}

TEST(a_backup_laid_over_takes_no_newer_files)
{
	begin();
	fill(FIRST, FIRST + 100);
	run("cp -a % %.kept");
	fill(FIRST + 100, FIRST + 400);
	stop();
	run("cp -a %.kept/. % && rm -r %.kept");
	check_refused();
	check_whole(4000);
}

/* A crash before the new manifest: what it would have named is in files that
 * the old one names. */
TEST(what_a_crash_left_does_not_stop_the_next_start)
{
	struct aside_report aside;
	char path[200];

	begin();
	fill(FIRST, FIRST + 256);
	run("cp -a % %.kept");
	fill(FIRST + 256, FIRST + 260); /* four spans become one */
	stop();
	CHECK_INT(count("span-4", ".mdb", path, sizeof(path)), 1);
	run("cp %/span-4-* %.kept && rm -r % && mv %.kept %");
	CHECK_OK(start());
	stop();
	CHECK_INT(count("span-4", ".mdb.old", path, sizeof(path)), 1);
	CHECK_INT(problems(), 0);
	CHECK_OK(store_aside(dir, false, &aside));
	CHECK_INT(aside.files, 1);
	CHECK(aside.bytes > 4096);
	CHECK_OK(store_aside(dir, true, &aside));
	CHECK_INT(count("span-4", ".mdb.old", path, sizeof(path)), 0);
	CHECK_OK(store_aside(dir, false, &aside));
	CHECK_INT(aside.files, 0);
	check_whole(2560);
}

TEST(verify_takes_only_files_of_a_store_for_set_aside)
{
	begin();
	fill(FIRST, FIRST + 4);
	stop();
	run("echo > %/manifest.tmp && echo > %/span-3-00000001.mdb.old");
	CHECK_INT(problems(), 0);
	run("echo > %/notes.old");
	CHECK_INT(problems(), 1);
}

/* It starts, says what it may do, and repair mends it before. */
static void
check_lost_ids(void)
{
	struct store_extent extent;
	struct store *s = NULL;

	run("cp -a % %.kept");
	CHECK_INT(problems(), 1);
	CHECK(repair().needed);
	CHECK_INT(problems(), 0);
	CHECK(!repair().needed);
	run("rm -r % && mv %.kept %");
	CHECK_OK(start());
	CHECK_OK(store_open(&s, dir, 0));
	if (s != NULL) {
		store_extent(s, &extent);
		CHECK(strstr(extent.why, "count twice") != NULL);
	}
	store_close(s);
	stop();
	/* a new list has been begun, and does not make it whole */
	CHECK_OK(start());
	fill(FIRST + 100, FIRST + 300);
	stop();
	CHECK_OK(start());
	CHECK_OK(store_open(&s, dir, 0));
	if (s != NULL) {
		store_extent(s, &extent);
		CHECK(strstr(extent.why, "count twice") != NULL);
	}
	store_close(s);
	stop();
	CHECK_INT(problems(), 0);
	check_whole(3000);
}

TEST(without_the_list_of_ids_the_store_goes_on)
{
	begin();
	fill(FIRST, FIRST + 100);
	stop();
	run("rm %/ids-*");
	check_lost_ids();
}

/* verify alone said it until the writer was started again */
TEST(a_list_of_ids_that_is_lost_meanwhile_is_said)
{
	struct store_extent before, after;
	struct store *s = NULL;

	begin();
	fill(FIRST, FIRST + 100);
	CHECK_OK(store_open(&s, dir, 0));
	if (s != NULL) {
		store_extent(s, &before);
		CHECK_STR(before.why, "");
		run("rm %/ids-*");
		CHECK_OK(store_refresh(s));
		store_extent(s, &after);
		CHECK(strstr(after.why, "ids-") == after.why);
		CHECK(strstr(after.why, " is missing: ") != NULL);
		CHECK_INT(after.damaged, before.damaged + 1);
	}
	store_close(s);
	stop();
}

TEST(a_flipped_bit_in_the_list_of_ids_is_said)
{
	char path[200];

	begin();
	fill(FIRST, FIRST + 100);
	stop();
	CHECK_INT(count("ids-", "", path, sizeof(path)), 1);
	flip(path, 100);
	check_lost_ids();
}

/* The same slots and the same size, under the name of another file. */
TEST(a_copy_of_another_file_is_damage)
{
	char path[200], last[200];

	begin();
	fill(FIRST, FIRST + 140);
	stop();
	CHECK_INT(count("span-3-8192", ".mdb", path, sizeof(path)), 1);
	CHECK_INT(count("span-3-8256", ".mdb", last, sizeof(last)), 1);
	run("cp %/span-3-8256-* %/other && cp %/other %/span-3-8192-*");
	run("rm %/other");
	CHECK_INT(sum(), 760);
	CHECK_INT(lacking(), 64);
	CHECK_INT(problems(), 1);
	CHECK_OK(start()); /* and when it is merged */
	fill(FIRST + 140, FIRST + 300);
	stop();
	CHECK_INT(sum(), 3000 - 640);
	CHECK_INT(lacking(), 64);
	run("rm -rf %");
}

TEST(repair_takes_no_copy_of_another_file)
{
	char path[200];

	begin();
	fill(FIRST, FIRST + 140);
	stop();
	run("cp %/span-3-8256-* %/other && mv %/other %/span-3-8192-*");
	damage_manifest();
	CHECK_INT(repair().damaged, 1);
	CHECK_INT(count("span-3", ".mdb.bad", path, sizeof(path)), 1);
	CHECK_INT(sum(), 760);
	CHECK_INT(lacking(), 64);
	run("rm -rf %");
}

int
main(void)
{
	RUN(one_flipped_bit_of_the_manifest_is_mended);
	RUN(a_whole_manifest_is_left_alone);
	RUN(damaged_files_are_set_aside);
	RUN(a_running_writer_keeps_repair_away);
	RUN(what_was_merged_counts_once);
	RUN(what_was_merged_of_short_spans_counts_once);
	RUN(what_was_late_before_a_span_stays);
	RUN(no_new_store_among_the_files_of_another);
	RUN(an_empty_journal_is_no_other_store);
	RUN(an_older_manifest_takes_no_newer_files);
	RUN(an_older_manifest_takes_no_newer_journal);
	RUN(a_backup_laid_over_takes_no_newer_files);
	RUN(what_a_crash_left_does_not_stop_the_next_start);
	RUN(verify_takes_only_files_of_a_store_for_set_aside);
	RUN(without_the_list_of_ids_the_store_goes_on);
	RUN(a_list_of_ids_that_is_lost_meanwhile_is_said);
	RUN(a_flipped_bit_in_the_list_of_ids_is_said);
	RUN(a_copy_of_another_file_is_damage);
	RUN(repair_takes_no_copy_of_another_file);
	return test_done();
}
