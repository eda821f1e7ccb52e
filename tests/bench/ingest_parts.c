/*
 * What a pushed profile costs, part by part, in CPU time of this process:
 *
 *	ingest_parts FOLDER [x]    folded files, one a slot; x: no pprof
 *
 * A line "name value unit" for each: parsing, batches, their bytes, and what
 * the daemon does with those; and the speed at which pprof is read.  The
 * first third of the files, in which most stacks are new, does not count.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "fcgi/push/push_cache.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"

enum { PARSE, CUT, ENCODE, DECODE, APPEND, N_PARTS };

static const char *const names[] = {"parse", "batch", "encode", "decode",
    "append"};
static int64_t spent[N_PARTS];
static const struct stacks_type cpu = {"cpu", "nanoseconds", 10000000,
    SERIES_FLOW};

static void
must(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "ingest_parts: %s\n", e->text);
	exit(1);
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
read_file(const char *dir, const char *name, struct buf *out)
{
	char path[600];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	buf_clear(out);
	if ((f = fopen(path, "r")) == NULL)
		return;
	do {
		buf_reserve(out, 1 << 20);
		n = fread(out->data + out->len, 1, 1 << 20, f);
		out->len += n;
	} while (n > 0);
	fclose(f);
}

struct lap {
	int64_t at;
};

static struct push_cache *kept;
static struct batch_stream *stream;

static void
lap(struct lap *l, int part)
{
	int64_t t = now();

	spent[part] += t - l->at;
	l->at = t;
}

static const struct err *
take(void *arg, struct batch *b)
{
	struct store_writer *w = arg;
	struct lap l = {now()};
	struct buf record = {0};
	struct batch *again;

	must(batch_encode_stream(b, &record));
	batch_sent(b);
	lap(&l, ENCODE);
	must(batch_stream_decode(stream, record.data, record.len, &again));
	lap(&l, DECODE);
	must(store_append(w, again));
	batch_stream_rest(stream);
	lap(&l, APPEND);
	buf_fini(&record);
	return NULL;
}

static void
one(struct store_writer *w, const struct buf *text, int64_t at_ns)
{
	struct push_window window = {"bench", NULL, 0, at_ns,
	    at_ns + 10 * NS_PER_S};
	struct lap l = {now()};
	struct stacks *s = push_cache_stacks(kept);
	struct push *p;

	must(folded_parse(s, text->data, text->len, &cpu));
	lap(&l, PARSE);
	p = push_new_kept(10 * NS_PER_S, NULL, kept);
	must(push_add(p, s, &window));
	lap(&l, CUT);
	must(push_send(p, take, w));
	l.at = now();
	push_free(p);
	lap(&l, CUT);
}

/* pprof of the last profile, many times itself: what agents of large
 * programs send. */
static void
pprof_speed(const struct buf *text)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	struct buf bytes = {0};
	struct profile *p;
	int64_t t0, t1 = 0;
	size_t n = 0;

	must(folded_parse(s, text->data, text->len, &cpu));
	must(stacks_profile(s, 0, &p));
	must(pprof_write(&bytes, p, "cpu", false, NULL, NULL));
	t0 = now();
	for (int i = 0; i < 100; i++) {
		struct stacks *again = stacks_new(&stacks_limits_push);

		must(pprof_parse(again, bytes.data, bytes.len));
		stacks_free(again);
		n += bytes.len;
	}
	t1 = now();
	printf("ingest_pprof_small %.1f MB/s\n", (double)n * 1e3 /
	    (double)(t1 - t0));
	profile_free(p);
	stacks_free(s);
	buf_fini(&bytes);
}

/* A program's profile: 400,000 samples of 24 frames over 3,000 functions. */
static void
pprof_large(void)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	uint32_t type = stacks_type(s, &cpu), frames[3000];
	struct buf bytes = {0};
	struct profile *p;
	char name[64];
	uint64_t r = 88172645463325252u;
	int64_t t0;
	struct stacks *again = stacks_new(&stacks_limits_file);

	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "space::Class%d::method_%d",
		    i % 300, i);
		frames[i] = stacks_frame_named(s, FRAME_NATIVE, name,
		    strlen(name));
	}
	for (int i = 0; i < 400000; i++) {
		uint32_t node = 0;

		for (int k = 0; k < 24; k++) {
			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			node = stacks_child(s, node, frames[k < 18
			    ? (r >> 20) % 3 + (uint32_t)k * 7 : r % 3000]);
		}
		stacks_add(s, node, type, 1);
	}
	must(stacks_error(s));
	must(stacks_profile(s, 0, &p));
	must(pprof_write(&bytes, p, "cpu", false, NULL, NULL));
	profile_free(p);
	stacks_free(s);
	t0 = now();
	must(pprof_parse(again, bytes.data, bytes.len));
	printf("ingest_pprof_large %.1f MB/s of %.1f MB\n",
	    (double)bytes.len * 1e3 / (double)(now() - t0),
	    (double)bytes.len / 1e6);
	stacks_free(again);
	buf_fini(&bytes);
}

int
main(int argc, char **argv)
{
	struct store_options o = {.slot_ns = 10 * NS_PER_S, .no_thread = true};
	struct store_writer *w;
	struct dirent **list;
	struct buf text = {0};
	char dir[] = "/tmp/ingest_parts.XXXXXX", remove[100];
	int64_t at = 1700000000 * NS_PER_S / (640 * NS_PER_S) *
	    (640 * NS_PER_S), t0, tick = 0;
	int n, done = 0, counted = 0;

	n = argc > 1 ? scandir(argv[1], &list, NULL, alphasort) : -1;
	if (n < 0 || mkdtemp(dir) == NULL)
		return 2;
	must(store_writer_open(&w, dir, &o));
	kept = push_cache_new();
	stream = batch_stream_new();
	for (int i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, ".folded") == NULL)
			continue;
		if (done++ == n / 3) {
			memset(spent, 0, sizeof(spent));
			tick = 0;
			counted = 0;
		}
		read_file(argv[1], list[i]->d_name, &text);
		one(w, &text, at + done * 10 * NS_PER_S);
		counted++;
		t0 = now();
		must(store_tick(w, at + done * 10 * NS_PER_S));
		tick += now() - t0;
	}
	must(store_writer_close(w));
	push_cache_free(kept);
	batch_stream_free(stream);
	for (int i = 0; i < N_PARTS && counted > 0; i++)
		printf("ingest_%s %.4f ms/profile\n", names[i],
		    (double)spent[i] / 1e6 / counted);
	printf("ingest_seal %.4f ms/profile\n", (double)tick / 1e6 / counted);
	if (argc == 2) {
		pprof_speed(&text);
		pprof_large();
	}
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	return system(remove) != 0;
}
