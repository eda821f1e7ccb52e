/*
 * What memlens-draw reads: an SVG or a DOT text, in one of four ways that the
 * first byte chooses.  Any bytes make a picture or an error that says why;
 * what we write of strangers' names always makes a picture, unless that
 * takes too long.
 *
 * libgvc is run as in memlens-draw, once in a process, since it leaks.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/draw/layout.h"
#include "fcgi/draw/png.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "fcgi/graph/model/graph.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
const char *__lsan_default_suppressions(void);

enum { INPUT_MAX = 4096, NAMES_MAX = 512, SECONDS = 2 };

static const struct stacks_limits limits = {
    .nodes = 200, .bytes = 1u << 14, .depth = 30, .labels = 16
};

/* What libraries keep of fonts, a process long. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\nleak:libpango\nleak:libglib\n";
}

static void
must(bool fine)
{
	if (!fine)
		abort();
}

static bool
png(const struct buf *svg)
{
	struct buf out = {0};
	const struct err *e = png_put(&out, svg, 1);
	bool drawn = e == NULL;

	if (drawn)
		must(out.len > 8 && memcmp(out.data, "\x89PNG", 4) == 0);
	else
		must(e->text[0] != '\0');
	buf_fini(&out);
	return drawn;
}

/* Never returns; the status is 0 where there is an SVG, 1 where an error.
 * `ours`: librsvg is to take the SVG. */
static void
layout_in_child(const char *dot, bool ours)
{
	struct buf out = {0};
	const struct err *e;

	signal(SIGALRM, SIG_DFL);
	alarm(SECONDS);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	e = layout_put(&out, dot);
	if (e != NULL)
		_exit(e->text[0] != '\0' ? 1 : 2);
	_exit(!ours || (writer_utf8_valid((const char *)out.data, out.len) &&
	    png(&out)) ? 0 : 3);
}

/* The status of wait(). */
static int
layout(const char *dot, bool ours)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		layout_in_child(dot, ours);
	must(pid > 0);
	while (waitpid(pid, &status, 0) != pid)
		must(errno == EINTR); /* the fuzzer has a timer */
	return status;
}

/* Folded stacks as our SVG, which librsvg takes. */
static void
stacks_as_png(const char *text, size_t n)
{
	struct flame_options o = {.max_nodes = 200, .other = "(other)"};
	struct flamesvg_options svg = {.title = "t", .subtitle = "s",
	    .units = "samples", .empty = "", .width = 400};
	struct stacks *s = stacks_new(&limits);
	struct flame *f = NULL;
	struct buf out = {0};

	must(s != NULL);
	if (foreign_take(foreign_find("folded"), s, text, n, NULL) == NULL &&
	    flame_new_stacks(&f, s, 0, &o) == NULL)
		must(flamesvg_put(&out, f, &svg) && png(&out));
	buf_fini(&out);
	flame_free(f);
	stacks_free(s);
}

/* Names, a NUL after each, as a chain of nodes in our DOT. */
static void
names_as_svg(const char *text, size_t n)
{
	struct graph *g = graph_new();
	struct buf dot = {0};
	const char *end = text + n;
	uint32_t last = UINT32_MAX;
	int status;

	must(g != NULL);
	for (; text < end; text += strlen(text) + 1) {
		uint32_t node = graph_node(g, text);

		if (last != UINT32_MAX && node != UINT32_MAX)
			graph_edge(g, last, node, text);
		last = node;
	}
	graph_put_dot(&dot, g);
	buf_put_u8(&dot, '\0');
	must(!dot.failed);
	status = layout((const char *)dot.data, true);
	must(status == 0 ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM));
	buf_fini(&dot);
	graph_free(g);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf in = {0};

	if (n < 1 || n > INPUT_MAX)
		return 0;
	buf_put(&in, data + 1, n - 1);
	buf_put_u8(&in, '\0');
	must(!in.failed);
	in.len--;
	switch (data[0] % 4) {
	case 0:
		png(&in);
		break;
	case 1:
		must(WEXITSTATUS(layout((const char *)in.data, false)) != 2);
		break;
	case 2:
		stacks_as_png((const char *)in.data, in.len);
		break;
	default:
		names_as_svg((const char *)in.data,
		    in.len < NAMES_MAX ? in.len : NAMES_MAX);
	}
	buf_fini(&in);
	return 0;
}
