/*
 * The table, and the way of bytes in memory.
 */
#include "fcgi/format/in/foreign.h"

#include <stdint.h>
#include <string.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/heap/heap.h"
#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/in/perf_script.h"
#include "fcgi/format/in/speedscope.h"
#include "fcgi/format/in/tree.h"
#include "fcgi/format/in/trie.h"
#include "fcgi/format/jfr/jfr.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

static void *
folded_begin(struct stacks *s)
{
	return folded_new(s, NULL);
}

static size_t
folded_feed_any(void *f, const char *p, size_t n, bool last)
{
	return folded_feed(f, p, n, last);
}

static const struct err *
folded_finish_any(void *f)
{
	return folded_finish(f);
}

static const struct foreign_stream folded_stream = {folded_begin,
    folded_feed_any, folded_finish_any};

static void *
perf_script_begin(struct stacks *s)
{
	return perf_script_new(s, false);
}

static void *
perf_script_begin_brief(struct stacks *s)
{
	return perf_script_new(s, true);
}

static size_t
perf_script_feed_any(void *p, const char *text, size_t n, bool last)
{
	return perf_script_feed(p, text, n, last);
}

static const struct err *
perf_script_finish_any(void *p)
{
	return perf_script_finish(p);
}

static const struct foreign_stream perf_script_stream = {perf_script_begin,
    perf_script_feed_any, perf_script_finish_any};
static const struct foreign_stream perf_script_brief_stream = {
    perf_script_begin_brief, perf_script_feed_any, perf_script_finish_any};

#define PPROF_FIELDS 16 /* at most before the first type of samples */

/* A number of protobuf's; false where the bytes end before it does. */
static bool
pprof_take_number(const uint8_t *p, size_t n, size_t *at, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *at < n && shift < 64; shift += 7) {
		uint8_t byte = p[(*at)++];

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Its first fields are those of a profile, up to a type of samples: a message
 * that begins with a small number.  Go's profiles of the CPU begin with their
 * time, those of the heap with the period's type. */
static bool
pprof_looks(const char *data, size_t n)
{
	const uint8_t *p = (const uint8_t *)data;
	size_t at = 0;
	uint64_t v;

	for (int i = 0; i < PPROF_FIELDS && at < n; i++) {
		unsigned field = p[at] >> 3, wire = p[at] & 7;

		at++;
		if (field == 0 || field > 14 || (wire != 0 && wire != 2) ||
		    !pprof_take_number(p, n, &at, &v))
			return false;
		if (wire == 0)
			continue;
		if (field == 1 || field == 11) /* of samples, the period's */
			if (v == 0 || v > 22 || at == n || (p[at] != 0x08 &&
			    p[at] != 0x10))
				return false;
		if (field == 1)
			return true;
		if (v > n - at)
			return false;
		at += (size_t)v;
	}
	return false;
}

/* The stricter looks come first. */
const struct foreign foreign_formats[] = {
    {"pprof", "protobuf, as go tool pprof reads it", pprof_looks,
        .parse = pprof_parse},
    {"heap_v2", "a heap profile of jemalloc", heap_looks,
        .parse = heap_parse, .also = {"jemalloc"}, .sure = true},
    {"gperftools", "a heap profile of gperftools", heap_looks_gperftools,
        .parse = heap_parse, .sure = true},
    {"speedscope", "speedscope's JSON", speedscope_looks,
        .parse = speedscope_parse, .sure = true},
    {"perf", "the text of perf script", perf_script_looks,
        .parse = perf_script_parse, .stream = &perf_script_stream,
        .also = {"perf_script"}, .sure = true},
    {"perf-brief", "the same, functions without their arguments",
        .parse = perf_script_parse_brief,
        .stream = &perf_script_brief_stream},
    {"folded-pair", "stacks with two counts, as difffolded.pl writes them",
        folded_pair_looks, .parse = folded_pair_parse, .pair = true},
    {"folded", "stacks with counts, as stackcollapse writes them",
        folded_looks, .typed = folded_parse, .stream = &folded_stream,
        .also = {"collapsed", "groups"}},
    {"lines", "a stack a line, each counts one", folded_looks_lines,
        .typed = folded_parse_lines},
    {"trie", "Pyroscope's transport trie", .typed = trie_parse,
        .content_type = "binary/octet-stream+trie"},
    {"tree", "Pyroscope's tree", .typed = tree_parse,
        .content_type = "binary/octet-stream+tree"},
    {"jfr", "Java's flight recordings, async-profiler's too", jfr_looks,
        .parse = jfr_parse, .sure = true},
};
const size_t foreign_n_formats =
    sizeof(foreign_formats) / sizeof(foreign_formats[0]);

static bool
foreign_is(const struct foreign *f, const char *name)
{
	bool is = strcmp(f->name, name) == 0;

	for (size_t i = 0; !is && i < 2 && f->also[i] != NULL; i++)
		is = strcmp(f->also[i], name) == 0;
	return is;
}

const struct foreign *
foreign_find(const char *name)
{
	for (size_t i = 0; i < foreign_n_formats; i++)
		if (foreign_is(&foreign_formats[i], name))
			return &foreign_formats[i];
	return NULL;
}

const struct foreign *
foreign_of_content(const char *content_type)
{
	for (size_t i = 0; i < foreign_n_formats; i++) {
		const char *type = foreign_formats[i].content_type;

		if (type != NULL && strcmp(type, content_type) == 0)
			return &foreign_formats[i];
	}
	return NULL;
}

const struct foreign *
foreign_guess(const void *data, size_t n)
{
	for (size_t i = 0; i < foreign_n_formats; i++)
		if (foreign_formats[i].looks != NULL &&
		    foreign_formats[i].looks(data, n))
			return &foreign_formats[i];
	return NULL;
}

const struct err *
foreign_choose(const struct foreign **out, const char *name,
    const void *data, size_t n)
{
	*out = name != NULL ? foreign_find(name) : foreign_guess(data, n);
	if (n == 0 && name == NULL)
		return err_field(ERR_REQUEST, 422, "format",
		    "there is nothing in it");
	if (*out == NULL && name != NULL)
		return err_field(ERR_REQUEST, 422, "format",
		    "no format is called \"%.100s\"", name);
	if (*out == NULL)
		return err_field(ERR_REQUEST, 422, "format",
		    "the first bytes are those of no format that is known");
	return NULL;
}

const struct err *
foreign_single(const struct foreign *f)
{
	if (!f->pair)
		return NULL;
	return err_field(ERR_REQUEST, 422, "format", "two counts a line are "
	    "two profiles: memlens flamegraph draws their difference, nothing "
	    "else takes them (\"folded\" takes the first as part of a name)");
}

const struct err *
foreign_take(const struct foreign *f, struct stacks *s, const void *data,
    size_t n, const struct stacks_type *type)
{
	return f->typed != NULL ? f->typed(s, data, n, type)
				: f->parse(s, data, n);
}

const struct err *
foreign_parse(struct stacks *s, const char *name, const void *data, size_t n,
    size_t limit)
{
	struct buf plain = {0};
	const struct foreign *f;
	const struct err *e = NULL;

	if (gzip_looks(data, n)) {
		e = gzip_inflate(&plain, data, n, limit);
		data = plain.data;
		n = plain.len;
	}
	if (e == NULL)
		e = foreign_choose(&f, name, data, n);
	if (e == NULL)
		e = foreign_single(f);
	if (e == NULL)
		e = foreign_take(f, s, data, n, NULL);
	if (e == NULL)
		e = stacks_error(s);
	buf_fini(&plain);
	return e;
}
