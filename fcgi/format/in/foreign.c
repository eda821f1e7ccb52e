/*
 * The table, and the way of bytes in memory.
 */
#include "fcgi/format/in/foreign.h"

#include <string.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/gzip.h"
#include "fcgi/format/heap/heap.h"
#include "fcgi/format/in/jfr.h"
#include "fcgi/format/in/lines.h"
#include "fcgi/format/in/perf_script.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/in/speedscope.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "fcgi/format/in/tree.h"
#include "fcgi/format/in/trie.h"

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

static const struct err *
folded_parse_samples(struct stacks *s, const void *data, size_t n)
{
	return folded_parse(s, data, n, NULL);
}

static const struct err *
lines_parse_samples(struct stacks *s, const void *data, size_t n)
{
	return lines_parse(s, data, n, NULL);
}

static void *
perf_script_begin(struct stacks *s)
{
	return perf_script_new(s);
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

/* Its first field is a message that begins with a small number. */
static bool
pprof_looks(const char *p, size_t n)
{
	return n > 3 && p[0] == 0x0a && p[1] > 0 && p[1] <= 22 &&
	    (p[2] == 0x08 || p[2] == 0x10);
}

static const struct err *
trie_parse_samples(struct stacks *s, const void *data, size_t n)
{
	return trie_parse(s, data, n, NULL);
}

static const struct err *
tree_parse_samples(struct stacks *s, const void *data, size_t n)
{
	return tree_parse(s, data, n, NULL);
}

/* The stricter looks come first. */
const struct foreign foreign_formats[] = {
    {"pprof", "protobuf, as go tool pprof reads it", pprof_looks, pprof_parse,
        NULL, false},
    {"heap_v2", "a heap profile of jemalloc", heap_looks, heap_parse, NULL,
        false},
    {"gperftools", "a heap profile of gperftools", heap_looks_gperftools,
        heap_parse, NULL, false},
    {"speedscope", "speedscope's JSON", speedscope_looks, speedscope_parse,
        NULL, false},
    {"perf", "the text of perf script", perf_script_looks, perf_script_parse,
        &perf_script_stream, false},
    {"folded-pair", "stacks with two counts, as difffolded.pl writes them",
        folded_pair_looks, folded_pair_parse, NULL, true},
    {"folded", "stacks with counts, as stackcollapse writes them",
        folded_looks, folded_parse_samples, &folded_stream, false},
    {"lines", "a stack a line, each counts one", lines_looks,
        lines_parse_samples, NULL, false},
    {"trie", "Pyroscope's transport trie", NULL, trie_parse_samples, NULL,
        false},
    {"tree", "Pyroscope's tree", NULL, tree_parse_samples, NULL, false},
};
const size_t foreign_n_formats =
    sizeof(foreign_formats) / sizeof(foreign_formats[0]);

const struct foreign *
foreign_find(const char *name)
{
	for (size_t i = 0; i < foreign_n_formats; i++)
		if (strcmp(foreign_formats[i].name, name) == 0)
			return &foreign_formats[i];
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
	if (name != NULL ? strcmp(name, "jfr") == 0 : jfr_looks(data, n))
		return jfr_refuse();
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
		e = f->parse(s, data, n);
	if (e == NULL)
		e = stacks_error(s);
	buf_fini(&plain);
	return e;
}
