/*
 * A store that a newer program wrote: refused by name, and left as it is; and
 * ones of before, whose sealed files are of versions 1 and 2.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)

static char dir[] = "/tmp/test-version-XXXXXX";

static void
put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f != NULL && fputs(text, f) >= 0);
	if (f != NULL)
		CHECK(fclose(f) == 0);
}

static void
put_manifest(unsigned version)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "memlens %u\ngeneration 5\n"
	    "slot_ns 10000000000\nfine_from 0\n", version);

	snprintf(text + n, sizeof(text) - (size_t)n, "crc %08x\n",
	    crc32c(0, text, (size_t)n));
	put_file("manifest", text);
}

static bool
is_there(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0 && st.st_size > 0;
}

TEST(a_newer_store_is_refused_and_left_alone)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	const struct err *e;
	struct store_writer *w = NULL;
	struct store *s = NULL;

	put_manifest(7);
	put_file("journal-9", "a form that is not known");
	put_file("span-3-0-8.mdb", "neither is this");
	e = store_open(&s, dir, 0);
	CHECK(e != NULL && strstr(e->text, "version 7 is not known") != NULL);
	e = store_writer_open(&w, dir, &o);
	CHECK(e != NULL && strstr(e->text, "version 7 is not known") != NULL);
	CHECK(s == NULL && w == NULL);
	CHECK(is_there("manifest") && is_there("journal-9") &&
	    is_there("span-3-0-8.mdb"));
	/* it was the number alone */
	put_manifest(3);
	CHECK_OK(store_writer_open(&w, dir, &o));
	CHECK_OK(store_writer_close(w));
}

/*
 * tests/data/store-4: of service kv in slots 640 to 643 a gauge "load", three
 * times the slot, and in slot 641 4,200 stacks of one frame, f0 to f4199, with
 * one sample each, one more of each seventh, 1,000 more of each thousandth.
 * tests/data/store-5: in slot 642, too, 300 addresses of module kv, with 1 to
 * 300 samples.
 */

static int64_t
golden_stack(unsigned i)
{
	return 1 + (i % 7 == 0) + (i % 1000 == 0) * 1000;
}

/* Of all times; `own`: stacks of slots that are not the golden store's. */
static void
check_profile(const char *at, unsigned addresses, unsigned own)
{
	struct profile_query q = {NULL, 0, 100000 * SLOT, NULL, false};
	struct selector *selector;
	struct profile *p = NULL;
	struct store *s = NULL;
	unsigned stacks = 0, more = 0, told = 0;

	CHECK_OK(store_open(&s, at, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	for (size_t i = 0; p != NULL && i < p->n_nodes; i++) {
		unsigned n;

		more += strcmp(p->nodes[i].name, "own") == 0;
		if (sscanf(p->nodes[i].name, "kv+0x%x", &n) == 1 &&
		    (int64_t)counts_of(p, i).self == n / 48 + 1)
			told++;
		if (sscanf(p->nodes[i].name, "f%u", &n) != 1)
			continue;
		stacks++;
		if ((int64_t)counts_of(p, i).self != golden_stack(n))
			CHECK_STR(p->nodes[i].name, "as it was");
	}
	CHECK_INT(stacks, 4200);
	CHECK_INT(more, own);
	CHECK_INT(told, addresses);
	profile_free(p);
	selector_free(selector);
	store_close(s);
}

static void
check_metric(const char *at)
{
	struct metric_query q = {.from_ns = 640 * SLOT,
	    .until_ns = 644 * SLOT, .step_ns = SLOT, .max_series = 10};
	struct selector *selector;
	struct metric_series *series = NULL;
	struct store *s = NULL;
	size_t n = 0;

	CHECK_OK(store_open(&s, at, 0));
	CHECK_OK(selector_parse("load", &selector));
	q.selector = selector;
	CHECK_OK(store_query_metric(s, &q, &series, &n));
	CHECK_INT(n, 1);
	for (size_t i = 0; n == 1 && i < 4; i++)
		CHECK_INT(series[0].points[i].last, (640 + i) * 3);
	metric_series_free(series, n);
	selector_free(selector);
	store_close(s);
}

static void
append_own(struct store_writer *w)
{
	struct label l = {"service", "kv"};
	struct frame f = {FRAME_NATIVE, "own", "kv", "", 0};
	struct batch *b = batch_new(SLOT);
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	uint32_t series = batch_series(b, &d);
	uint32_t top = batch_node(b, 0, batch_labels(b, &l, 1));

	batch_add_profile(b, series, 705,
	    batch_node(b, top, batch_frame(b, &f)), 1);
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static void
check_golden(const char *golden, unsigned addresses)
{
	struct store_options o = {.no_thread = true};
	char at[] = "/tmp/test-version-XXXXXX", command[200];
	struct store_writer *w = NULL;

	CHECK(mkdtemp(at) != NULL);
	snprintf(command, sizeof(command), "cp %s/* %s", golden, at);
	CHECK(system(command) == 0);
	check_profile(at, addresses, 0);
	check_metric(at);
	CHECK_OK(store_writer_open(&w, at, &o));
	append_own(w);
	CHECK_OK(store_tick(w, 1100 * SLOT)); /* seals, and merges both */
	CHECK_OK(store_tick(w, 1101 * SLOT));
	CHECK_OK(store_writer_close(w));
	snprintf(command, sizeof(command), "test ! -e %s/span-3-640-3.mdb",
	    at);
	CHECK(system(command) == 0);
	check_profile(at, addresses, 1);
	check_metric(at);
	snprintf(command, sizeof(command), "rm -rf %s", at);
	CHECK(system(command) == 0);
}

TEST(a_store_of_version_4_is_read_and_goes_on)
{
	check_golden("tests/data/store-4", 0);
}

TEST(a_store_of_version_5_is_read_and_goes_on)
{
	check_golden("tests/data/store-5", 300);
}

int
main(void)
{
	char command[128];

	if (mkdtemp(dir) == NULL)
		return 1;
	RUN(a_newer_store_is_refused_and_left_alone);
	RUN(a_store_of_version_4_is_read_and_goes_on);
	RUN(a_store_of_version_5_is_read_and_goes_on);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	return test_done();
}
