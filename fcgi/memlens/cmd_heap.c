/*
 * memlens heap: heap dumps of jemalloc and gperftools as a table, folded
 * stacks, a flame graph or JSON; the difference of two.
 */
#include "fcgi/memlens/cmd_heap.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/memlens/cmd.h"
#include "fcgi/symbolize/heap_names.h"
#include "store/base/err.h"

#define DUMP_MAX ((size_t)UINT32_MAX)

enum heap_output { HEAP_TEXT, HEAP_FOLDED, HEAP_SVG, HEAP_JSON };

struct heap_command {
	enum heap_output output;
	enum heap_type type;
	const char *base;
	const char *binary;
	bool lines, bytes, cumulative, keep_allocator, raw;
};

static void
complain_of_file(void *arg, const char *why, size_t addresses)
{
	(void)arg;
	fprintf(stderr, "memlens heap: %s: %zu addresses stay without "
	    "names\n", why, addresses);
}

const struct err *
cmd_heap_name(struct heap *h, const char *binary, bool lines)
{
	return heap_names_find(h, &(struct heap_names){.binary = binary,
	    .lines = lines, .complain = complain_of_file});
}

const struct err *
cmd_heap_read_file(const char *path, struct buf *out)
{
	bool in = strcmp(path, "-") == 0;
	int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	gzFile file = fd < 0 ? NULL : gzdopen(fd, "rb");
	const struct err *e = NULL;
	int n = 1;

	if (file == NULL) {
		e = err_errno("%s", path);
		if (fd >= 0)
			close(fd);
		return e;
	}
	gzbuffer(file, 1 << 17);
	while (e == NULL && n > 0) {
		if (out->len > DUMP_MAX)
			e = err_new(ERR_LIMIT, 0, "%s: over 4 GB", path);
		else if (!buf_reserve(out, 1u << 20))
			e = err_nomem();
		else if ((n = gzread(file, out->data + out->len,
		    1u << 20)) < 0)
			e = err_new(ERR_FORMAT, 0, "%s: %s", path,
			    gzerror(file, &n));
		else
			out->len += (size_t)n;
	}
	gzclose(file);
	return e;
}

static const struct err *
heap_add_file(struct heap *h, const char *path, double sign)
{
	struct buf data = {0};
	const struct err *e = cmd_heap_read_file(path, &data);

	if (e == NULL) {
		e = heap_read(h, data.data, data.len, sign);
		if (e != NULL)
			e = err_wrap(e, "%s", path);
	}
	buf_fini(&data);
	return e;
}

/* ---- the command ---- */

/* Names and hides; what all outputs begin with. */
static const struct err *
heap_prepare(const struct heap_command *c, struct heap *h)
{
	const struct err *e = c->raw ? NULL : cmd_heap_name(h, c->binary,
	    c->lines);

	if (e == NULL && (!heap_name_rest(h) ||
	    (!c->keep_allocator && !heap_hide_allocator(h))))
		e = err_nomem();
	return e;
}

/* A picture of two dumps shows both; numbers are their difference. */
static const struct err *
heap_draw(const struct heap_command *c, struct heap *h, const char *title,
    struct buf *out)
{
	struct heap base = {0};
	const struct err *e;

	if (c->output == HEAP_JSON)
		return cmd_heap_json(h, c->type, out);
	if (c->base == NULL)
		return cmd_heap_svg(h, NULL, c->type, title, out);
	e = heap_add_file(&base, c->base, 1);
	if (e == NULL)
		e = heap_prepare(c, &base);
	if (e == NULL)
		e = cmd_heap_svg(h, &base, c->type, title, out);
	heap_fini(&base);
	return e;
}

static const struct err *
heap_output(const struct heap_command *c, struct heap *h, const char *title,
    struct buf *out)
{
	const struct err *e = heap_prepare(c, h);

	if (e != NULL)
		return e;
	switch (c->output) {
	case HEAP_TEXT:
		return heap_text(h, c->type, c->bytes, c->cumulative, out);
	case HEAP_FOLDED:
		return heap_folded(h, c->type, out);
	default:
		return heap_draw(c, h, title, out);
	}
}

static const struct err *
heap_run(const struct heap_command *c, int n, char **paths)
{
	struct heap h = {0};
	struct buf out = {0};
	const struct err *e = NULL;

	for (int i = 0; e == NULL && i < n; i++)
		e = heap_add_file(&h, paths[i], 1);
	if (e == NULL && c->base != NULL && c->output != HEAP_SVG)
		e = heap_add_file(&h, c->base, -1);
	if (e == NULL)
		e = heap_output(c, &h, n == 1 ? paths[0] : "", &out);
	if (e == NULL && (fwrite(out.data, 1, out.len, stdout) != out.len ||
	    fflush(stdout) != 0))
		e = err_errno("standard output");
	buf_fini(&out);
	heap_fini(&h);
	return e;
}

enum { OPT_BASE = 256, OPT_BINARY, OPT_TYPE, OPT_BYTES, OPT_CUM, OPT_KEEP,
	OPT_RAW, OPT_LINES, OPT_TEXT, OPT_FOLDED, OPT_SVG, OPT_JSON };

static const struct option heap_options[] = {
    {"base", required_argument, NULL, OPT_BASE},
    {"binary", required_argument, NULL, OPT_BINARY},
    {"type", required_argument, NULL, OPT_TYPE},
    {"bytes", no_argument, NULL, OPT_BYTES},
    {"cum", no_argument, NULL, OPT_CUM},
    {"keep-allocator", no_argument, NULL, OPT_KEEP},
    {"raw", no_argument, NULL, OPT_RAW},
    {"lines", no_argument, NULL, OPT_LINES},
    {"text", no_argument, NULL, OPT_TEXT},
    {"folded", no_argument, NULL, OPT_FOLDED},
    {"svg", no_argument, NULL, OPT_SVG},
    {"json", no_argument, NULL, OPT_JSON},
    {NULL, 0, NULL, 0}
};

static bool
heap_option(struct heap_command *c, int option)
{
	switch (option) {
	case OPT_BASE:
		c->base = optarg;
		return true;
	case OPT_BINARY:
		c->binary = optarg;
		return true;
	case OPT_TYPE:
		c->type = heap_type_find(optarg);
		return c->type != HEAP_TYPES;
	case OPT_BYTES:
		return c->bytes = true;
	case OPT_CUM:
		return c->cumulative = true;
	case OPT_KEEP:
		return c->keep_allocator = true;
	case OPT_RAW:
		return c->raw = true;
	case OPT_LINES:
		return c->lines = true;
	case OPT_TEXT:
	case OPT_FOLDED:
	case OPT_SVG:
	case OPT_JSON:
		c->output = (enum heap_output)(option - OPT_TEXT);
		return true;
	default:
		return false;
	}
}

int
cmd_heap(int argc, char **argv)
{
	struct heap_command c = {.type = HEAP_INUSE_SPACE};
	const struct err *e;
	bool good = true;
	int option;

	optind = 1;
	while (good &&
	    (option = getopt_long(argc, argv, "", heap_options, NULL)) != -1)
		good = heap_option(&c, option);
	if (!good || optind == argc) {
		fprintf(stderr,
		    "usage: memlens heap [--base FILE] [--binary PATH]\n"
		    "           [--type inuse_space|inuse_objects|alloc_space|"
		    "alloc_objects]\n"
		    "           [--text [--bytes] [--cum] | --folded | --svg |"
		    " --json]\n"
		    "           [--keep-allocator] [--lines] [--raw] "
		    "DUMP...\n");
		return 2;
	}
	e = heap_run(&c, argc - optind, argv + optind);
	if (e == NULL)
		return 0;
	fprintf(stderr, "memlens heap: %s\n", e->text);
	return 1;
}
