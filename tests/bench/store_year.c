/*
 * What the answer over a whole year takes of memory, by its nodes:
 *
 *	store_year write DIR PUSHES NEW
 *	store_year ask DIR json|folded|pprof|cut
 *
 * `write` makes PUSHES pushes of one service, spread over a year, each with
 * 500 stacks of the pool and NEW that no other has, 24 frames deep and five
 * of those their own; names are of a pool of 4,000.  `ask` answers uncut (or
 * cut to 8,192 nodes, for the same store) in the format, as a worker does
 * that has just begun.  Prints lines "name value unit"; memory is that of
 * the process at its highest so far.
 */
#include <malloc.h>

#include "fcgi/format/flame/flamebearer.h"
#include "fcgi/format/out/folded_out.h"
#include "fcgi/query/pprof_page.h"
#include "store/store.h"
#include "workload.h"

#define YEAR 3153600u
#define POOL 4000u
#define COMMON 500u
#define SHARED 19
#define OWN 5

/* ---- writing ---- */

static uint32_t
child(struct batch *b, uint32_t parent, uint64_t name)
{
	char text[96];
	struct frame f = {FRAME_NATIVE, text, "kv", "b1", 64 * (name % POOL)};

	snprintf(text, sizeof(text), "storage::engine::Table::operation_%llu",
	    (unsigned long long)(name % POOL));
	return batch_node(b, parent, batch_frame(b, &f));
}

/* Frames below `top` from the bits of which stack it is. */
static uint32_t
path(struct batch *b, uint32_t top, uint64_t which, uint64_t own)
{
	uint64_t at = 1;

	for (unsigned d = 0; d < SHARED; d++) {
		at = at * 31 + (which >> (d / 3) % 9 & 1) + d;
		top = child(b, top, at);
	}
	for (unsigned d = 0; own != 0 && d < OWN; d++) {
		at = (at + own) * 0x9e3779b97f4a7c15u >> 7;
		top = child(b, top, at);
	}
	return top;
}

static void
put(struct store_writer *w, uint64_t push, uint64_t slot, unsigned new)
{
	struct label service = {"service", "kv"}, pool = {"process", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct batch *b = batch_new(SLOT_NS);
	uint32_t series = batch_series(b, &d);
	uint32_t top = batch_node(b, 0, batch_labels(b, &pool, 1));

	for (uint64_t i = 0; i < COMMON + new; i++) {
		uint64_t own = i < COMMON ? i + 1 : push * new + i + 1;

		batch_add_profile(b, series, slot,
		    path(b, top, own * 2654435761u >> 8, own),
		    1 + (int64_t)((i + push) % 9));
	}
	must(store_append(w, b));
	must(store_tick(w, (int64_t)(slot + 1) * SLOT_NS + SLOT_NS / 2));
	batch_free(b);
}

static void
make(const char *dir, unsigned pushes, unsigned new)
{
	struct store_options options = {.slot_ns = SLOT_NS, .no_thread = true};
	struct store_writer *w;

	must(store_writer_open(&w, dir, &options));
	for (unsigned i = 0; i < pushes; i++)
		put(w, i, FIRST + (uint64_t)i * YEAR / pushes, new);
	must(store_writer_close(w));
	printf("store_year_write_rss %.1f MB\n",
	    (double)peak_rss_kb() / 1024);
}

/* ---- asking ---- */

static void
say(const char *format, const char *what)
{
	printf("store_year_%s_%s_rss %.1f MB\n", format, what,
	    (double)peak_rss_kb() / 1024);
}

static void
put_flame(struct buf *out, struct flame *f, bool folded)
{
	struct writer w = writer_of(out);

	if (folded) {
		must(folded_put(out, f, false, SIZE_MAX));
		return;
	}
	writer_open(&w, '{');
	flamebearer_put(&w, f);
	writer_close(&w, '}');
}

static void
ask(struct store *s, const char *format, const struct profile_query *q,
    struct buf *out)
{
	bool cut = strcmp(format, "cut") == 0;
	struct profile_limit limit = {cut ? 8192 : 0, 0};
	struct flame_options o = {.max_nodes = cut ? 8192 : -1,
	    .other = "(other)"};
	struct profile *p;
	struct flame *f;

	if (strcmp(format, "pprof") == 0) {
		must(pprof_page_ask(out, s, q, "cpu"));
		return;
	}
	must(store_query_profile_largest(s, q, &limit, &p));
	printf("store_year_%s_nodes %zu nodes\n", format, p->n_nodes);
	say(format, "tree");
	must(flame_new(&f, p, &o));
	say(format, "flame");
	put_flame(out, f, strcmp(format, "folded") == 0);
	flame_free(f);
	profile_free(p);
}

static uint64_t
hash_of(const struct buf *b)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < b->len; i++)
		h = (h ^ b->data[i]) * 1099511628211u;
	return h;
}

static void
answer(const char *dir, const char *format)
{
	struct profile_query q = {.until_ns = INT64_MAX / 2};
	struct selector *selector;
	struct buf out = {0};
	struct store *s;
	double began;

	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as memlens-fcgi does */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	must(store_open(&s, dir, 64 << 20));
	must(selector_parse("cpu{service=\"kv\"}", &selector));
	q.selector = selector;
	say(format, "begin");
	began = seconds(CLOCK_PROCESS_CPUTIME_ID);
	ask(s, format, &q, &out);
	printf("store_year_%s_cpu %.3f s\n", format,
	    seconds(CLOCK_PROCESS_CPUTIME_ID) - began);
	printf("store_year_%s_text %.1f MB, hash %016llx\n", format,
	    (double)out.len / (1 << 20), (unsigned long long)hash_of(&out));
	say(format, "text");
	buf_fini(&out);
	store_refresh(s);
	printf("store_year_%s_kept %.1f MB\n", format,
	    (double)store_bytes(s) / (1 << 20));
	selector_free(selector);
	store_close(s);
}

int
main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "write") == 0) {
		make(argv[2], (unsigned)atoi(argv[3]),
		    (unsigned)atoi(argv[4]));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "ask") == 0) {
		answer(argv[2], argv[3]);
		return 0;
	}
	fprintf(stderr, "usage: store_year write DIR PUSHES NEW\n"
	    "       store_year ask DIR json|folded|pprof|cut\n");
	return 2;
}
