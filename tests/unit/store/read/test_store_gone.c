/*
 * Files and directories that somebody deletes under a store.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define FIRST INT64_C(8192)

static char dir[64];
static struct store_writer *writer;

static void
begin(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	snprintf(dir, sizeof(dir), "/tmp/test-gone-XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&writer, dir, &o));
	if (writer == NULL)
		exit(1);
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

static const struct err *
put(int64_t slot)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_GAUGE, "load", "", 0, 0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	const struct err *e;

	batch_add_gauge(b, batch_series(b, &d), (uint64_t)slot, slot * SLOT,
	    1);
	e = store_append(writer, b);
	batch_free(b);
	return e;
}

static void
fill(int64_t from, int64_t until)
{
	for (int64_t slot = from; slot < until; slot++) {
		CHECK_OK(put(slot));
		CHECK_OK(store_tick(writer, (slot + 1) * SLOT));
	}
}

/* Values of slots [from, until), and what is lacking. */
static uint64_t
count(struct store *s, int64_t from, int64_t until, size_t *lacking,
    int64_t *first)
{
	struct metric_query q = {.from_ns = from * SLOT,
	    .until_ns = until * SLOT, .max_series = 10, .step_ns = SLOT};
	const struct store_missing *m;
	struct metric_series *series = NULL;
	struct selector *sel;
	uint64_t sum = 0;
	size_t n = 0;

	store_missing_forget(s);
	CHECK_OK(selector_parse("load", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &series, &n));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < series[i].n_points; k++)
			sum += series[i].points[k].count;
	metric_series_free(series, n);
	selector_free(sel);
	m = store_missing(s, lacking);
	*first = *lacking > 0 ? m[0].from_ns / SLOT : -1;
	return sum;
}

static uint64_t
count_anew(int64_t from, int64_t until, size_t *lacking, int64_t *first)
{
	struct store *s = NULL;
	uint64_t sum = 0;

	CHECK_OK(store_open(&s, dir, 0));
	if (s != NULL)
		sum = count(s, from, until, lacking, first);
	store_close(s);
	return sum;
}

static void
end(void)
{
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	run("rm -rf %");
}

TEST(a_deleted_directory_takes_nothing_any_more)
{
	const struct err *e;

	begin();
	CHECK_OK(put(FIRST));
	run("rm -rf %");
	e = put(FIRST + 1);
	CHECK(e != NULL && e->domain == ERR_LIMIT && e->code == 503);
	CHECK(e != NULL && strstr(e->text, "moved or deleted") != NULL);
	store_writer_close(writer); /* which cannot go well */
	writer = NULL;
}

TEST(a_directory_that_was_exchanged_takes_nothing_any_more)
{
	const struct err *e;

	begin();
	CHECK_OK(put(FIRST));
	run("mv % %.old");
	e = put(FIRST + 1);
	CHECK(e != NULL && e->code == 503);
	run("mkdir %");
	e = put(FIRST + 1);
	CHECK(e != NULL && e->code == 503);
	run("rmdir %");
	run("mv %.old %");
	CHECK_OK(put(FIRST + 1));
	end();
}

TEST(a_deleted_journal_is_written_anew)
{
	struct store *s = NULL;
	size_t lacking;
	int64_t first;

	begin();
	fill(FIRST, FIRST + 10);
	CHECK_OK(store_open(&s, dir, 0));
	run("rm %/journal-*");
	fill(FIRST + 10, FIRST + 20);
	CHECK_OK(store_refresh(s));
	CHECK_INT(count(s, FIRST, FIRST + 20, &lacking, &first), 20);
	CHECK_INT(lacking, 0);
	store_close(s);
	CHECK_INT(count_anew(FIRST, FIRST + 20, &lacking, &first), 20);
	fill(FIRST + 20, FIRST + 100);
	CHECK_INT(count_anew(FIRST, FIRST + 100, &lacking, &first), 100);
	end();
}

/* The rest is answered, and says what it lacks. */
TEST(deleted_files_are_said)
{
	size_t lacking;
	int64_t first;

	begin();
	fill(FIRST, FIRST + 100);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	run("rm %/journal-*");
	CHECK_INT(count_anew(FIRST, FIRST + 128, &lacking, &first), 64);
	CHECK(lacking > 0);
	CHECK_INT(first, FIRST); /* late data */
	CHECK_INT(count_anew(FIRST + 64, FIRST + 128, &lacking, &first), 0);
	CHECK(lacking > 0);
	CHECK_INT(first, FIRST + 64);
	run("rm %/span-*");
	CHECK_INT(count_anew(FIRST, FIRST + 64, &lacking, &first), 0);
	CHECK(lacking > 0);
	CHECK_INT(first, FIRST);
	run("rm -rf %");
}

int
main(void)
{
	RUN(a_deleted_directory_takes_nothing_any_more);
	RUN(a_directory_that_was_exchanged_takes_nothing_any_more);
	RUN(a_deleted_journal_is_written_anew);
	RUN(deleted_files_are_said);
	return test_done();
}
