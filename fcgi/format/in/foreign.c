/*
 * The table, and the way of bytes in memory.
 */
#include "fcgi/format/in/foreign.h"

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

/* Its first field is a message that begins with a small number. */
static bool
pprof_looks(const char *p, size_t n)
{
	/* a type of samples, or as Go's heap begins the period's */
	return n > 3 && (p[0] == 0x0a || p[0] == 0x5a) &&
	    p[1] > 0 && p[1] <= 22 &&
	    (p[2] == 0x08 || p[2] == 0x10);
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
