/*
 * memlens flamegraph: files of any known format as one SVG, or two, and
 * folded text with two counts, as their difference.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/format/amount.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "fcgi/memlens/cmd.h"
#include "fcgi/memlens/cmd_stacks.h"
#include "store/base/err.h"
#include "store/store.h"

struct flamegraph {
	const char *format, *type, *output, *units;
	struct flame_options frames;
	struct flamesvg_options svg;
	bool diff, counts, by_b;
	int n;
	char **paths;
	int fd;
};

enum { OPT_TITLE = 256, OPT_SUBTITLE, OPT_WIDTH, OPT_MIN_WIDTH, OPT_INVERTED,
	OPT_REVERSE, OPT_BY_MODULE, OPT_FOCUS, OPT_IGNORE, OPT_DIFF,
	OPT_COUNTS, OPT_BY_B, OPT_FORMAT, OPT_TYPE, OPT_UNITS, OPT_OUTPUT };

/* Some have the names that other tools gave them, too. */
static const struct option flamegraph_options[] = {
    {"title", required_argument, NULL, OPT_TITLE},
    {"subtitle", required_argument, NULL, OPT_SUBTITLE},
    {"width", required_argument, NULL, OPT_WIDTH},
    {"min-width", required_argument, NULL, OPT_MIN_WIDTH},
    {"minwidth", required_argument, NULL, OPT_MIN_WIDTH},
    {"inverted", no_argument, NULL, OPT_INVERTED},
    {"reverse", no_argument, NULL, OPT_REVERSE},
    {"by-module", no_argument, NULL, OPT_BY_MODULE},
    {"focus", required_argument, NULL, OPT_FOCUS},
    {"ignore", required_argument, NULL, OPT_IGNORE},
    {"diff", no_argument, NULL, OPT_DIFF},
    {"counts", no_argument, NULL, OPT_COUNTS},
    {"by-b", no_argument, NULL, OPT_BY_B},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"type", required_argument, NULL, OPT_TYPE},
    {"units", required_argument, NULL, OPT_UNITS},
    {"countname", required_argument, NULL, OPT_UNITS},
    {"output", required_argument, NULL, OPT_OUTPUT},
    {NULL, 0, NULL, 0},
};

static const struct err *
flamegraph_write(int fd, struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(fd, b->data + at, b->len - at);

		if (n < 0 && errno != EINTR)
			return err_errno("the picture");
		at += n > 0 ? (size_t)n : 0;
	}
	buf_clear(b);
	return NULL;
}

static bool
flamegraph_flush(void *arg, struct buf *b)
{
	struct flamegraph *g = arg;
	const struct err *e = flamegraph_write(g->fd, b);

	if (e != NULL)
		fprintf(stderr, "memlens flamegraph: %s\n", e->text);
	return e == NULL;
}

/* What a type's amounts are, for people. */
static void
flamegraph_units(struct flamegraph *g, const struct stacks *s, uint32_t type)
{
	static char unit[64];
	struct stacks_type t;

	stacks_get_type(s, type, &t);
	snprintf(unit, sizeof(unit), "%s", t.unit);
	g->svg.units = unit;
	g->svg.called = g->units;
}

/* "1,234 samples" of time whose samples are known; else amounts. */
static void
flamegraph_put_amount(const struct flamegraph *g, struct buf *text,
    int128 amount, bool sampled, int128 samples)
{
	const struct amount how = amount_of(g->svg.units, g->units, sampled);

	writer_put_grouped(text, how.counted ? samples : amount);
	buf_printf(text, " %s", how.word);
}

static const char *
flamegraph_path(const struct flamegraph *g, int i)
{
	return strcmp(g->paths[i], "-") == 0 ? "standard input" : g->paths[i];
}

static void
flamegraph_subtitle(struct flamegraph *g, struct buf *text,
    const struct flame *f)
{
	if (g->svg.subtitle != NULL)
		return;
	for (int i = 0; i < g->n; i++)
		buf_printf(text, "%s%s", i > 0 ? ", " : "",
		    flamegraph_path(g, i));
	buf_printf(text, "   ");
	flamegraph_put_amount(g, text, f->total, f->period > 0,
	    f->period > 0 ? samples_of(f->total, f->period) : 0);
	buf_put_u8(text, '\0');
	g->svg.subtitle = text->failed ? "" : (const char *)text->data;
}

/* ---- two profiles ---- */

/* One side, with all that the options ask of its stacks. */
static const struct err *
flamegraph_shape(struct flamegraph *g, const struct stacks *s, uint32_t type,
    struct profile **out)
{
	struct profile *p = NULL;
	const struct err *e = stacks_profile(s, type, &p);

	flamegraph_units(g, s, type);
	if (e == NULL)
		e = flame_shape(out, p, &g->frames);
	profile_free(p);
	return e;
}

static const struct err *
flamegraph_side(struct flamegraph *g, int i, struct profile **out)
{
	struct stacks *s = NULL;
	uint32_t type = 0;
	const struct err *e = cmd_stacks_read(&s, "flamegraph", g->format, 1,
	    &g->paths[i], false);

	if (e == NULL)
		e = stacks_settle_units(s);
	if (e == NULL)
		e = cmd_stacks_type(s, "flamegraph", g->type, &type);
	if (e == NULL)
		e = flamegraph_shape(g, s, type, out);
	stacks_free(s);
	return e;
}

static const struct err *
flamegraph_draw_pair(struct flamegraph *g, const struct diff *d,
    struct buf *out)
{
	struct flame_options frames = {.max_nodes = -1, .other = "(other)",
	    .min_share = g->frames.min_share};
	struct flamesvg_pair pair = {.weight = {1, 1}, .by_b = g->by_b};
	char words[128];
	const struct err *e;
	struct flame *f;

	for (int i = 0; i < 2 && !g->counts; i++) {
		double total = (double)d->sides[0].total[i];

		pair.weight[i] = total > 0 ? 1 / total : 0;
	}
	snprintf(words, sizeof(words), "%s. Widths: %s.", g->counts
	    ? "Counts as they are" : "Shares of each side's total",
	    g->by_b ? "B alone" : "A and B together");
	pair.words = words;
	e = flamesvg_diff_flame(&f, d, &pair, &frames);
	if (e == NULL && !flamesvg_put_diff(out, d, f, &pair, &g->svg))
		e = err_new(ERR_ERRNO, EIO, "the picture is cut off");
	flame_free(f);
	return e;
}

static void
flamegraph_subtitle_pair(struct flamegraph *g, const struct diff *d,
    struct buf *text)
{
	if (g->svg.subtitle != NULL)
		return;
	for (int i = 0; i < 2; i++) {
		buf_printf(text, "%s %s, ", i == 0 ? "A:" : ";   B:",
		    flamegraph_path(g, i % g->n));
		flamegraph_put_amount(g, text, d->sides[0].total[i],
		    d->sampled, d->sides[0].total_samples[i]);
	}
	buf_put_u8(text, '\0');
	g->svg.subtitle = text->failed ? "" : (const char *)text->data;
}

static const struct err *
flamegraph_compare(struct flamegraph *g, struct profile *side[2],
    struct buf *out)
{
	struct diff *d = NULL;
	struct buf subtitle = {0};
	const struct err *e;

	if (strcmp(side[0]->unit, side[1]->unit) != 0)
		return err_new(ERR_REQUEST, 422, "A counts %s, B counts %s",
		    side[0]->unit, side[1]->unit);
	if (g->svg.title == NULL)
		g->svg.title = "B against A";
	e = diff_new(&d, side[0], side[1]);
	if (e == NULL) {
		flamegraph_subtitle_pair(g, d, &subtitle);
		e = flamegraph_draw_pair(g, d, out);
	}
	buf_fini(&subtitle);
	diff_free(d);
	return e;
}

/* Two counts of one file or, where `both` is NULL, two files. */
static const struct err *
flamegraph_pair(struct flamegraph *g, const struct stacks *both,
    struct buf *out)
{
	struct profile *side[2] = {NULL, NULL};
	const struct err *e = NULL;

	for (int i = 0; i < 2 && e == NULL; i++)
		e = both == NULL ? flamegraph_side(g, i, &side[i])
		    : flamegraph_shape(g, both, (uint32_t)i, &side[i]);
	if (e == NULL)
		e = flamegraph_compare(g, side, out);
	profile_free(side[0]);
	profile_free(side[1]);
	return e;
}

/* ---- one profile ---- */

static const struct err *
flamegraph_draw(struct flamegraph *g, struct stacks *s, uint32_t type,
    struct buf *out)
{
	struct flame *f = NULL;
	struct buf subtitle = {0};
	const struct err *e;

	flamegraph_units(g, s, type);
	if (g->svg.title == NULL)
		g->svg.title = "Flame graph";
	e = flame_new_stacks(&f, s, type, &g->frames);
	if (e == NULL) {
		flamegraph_subtitle(g, &subtitle, f);
		if (!flamesvg_put(out, f, &g->svg))
			e = err_new(ERR_ERRNO, EIO, "the picture is cut off");
	}
	buf_fini(&subtitle);
	flame_free(f);
	return e;
}

static const struct err *
flamegraph_single(struct flamegraph *g, struct buf *out)
{
	struct stacks *s = NULL;
	uint32_t type = 0;
	const struct err *e = cmd_stacks_read(&s, "flamegraph", g->format,
	    g->n, g->paths, true);

	if (e == NULL)
		e = stacks_settle_units(s);
	if (e == NULL && g->type == NULL && folded_pair_in(s)) {
		e = flamegraph_pair(g, s, out);
	} else {
		if (e == NULL)
			e = cmd_stacks_type(s, "flamegraph", g->type, &type);
		if (e == NULL)
			e = flamegraph_draw(g, s, type, out);
	}
	stacks_free(s);
	return e;
}

/* ---- the command ---- */

/* "0.1" pixels or "0.01%" of the whole. */
static bool
flamegraph_min_width(struct flamegraph *g, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !(v >= 0 && v < 1e6))
		return false;
	if (strcmp(end, "%") == 0) {
		g->svg.min_width = 0;
		g->svg.min_share = v / 100;
		return true;
	}
	g->svg.min_width = v;
	return *end == '\0';
}

static bool
flamegraph_width(struct flamegraph *g, const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	g->svg.width = v;
	return *end == '\0' && v >= 100 && v <= 100000;
}

static bool
flamegraph_option(struct flamegraph *g, int option)
{
	const struct {
		int option;
		const char **text;
		bool *flag;
	} table[] = {
	    {OPT_TITLE, &g->svg.title, NULL},
	    {OPT_SUBTITLE, &g->svg.subtitle, NULL},
	    {OPT_REVERSE, NULL, &g->frames.reverse},
	    {OPT_BY_MODULE, NULL, &g->frames.by_module},
	    {OPT_FOCUS, &g->frames.focus, NULL},
	    {OPT_IGNORE, &g->frames.ignore, NULL},
	    {OPT_DIFF, NULL, &g->diff}, {OPT_COUNTS, NULL, &g->counts},
	    {OPT_BY_B, NULL, &g->by_b}, {OPT_FORMAT, &g->format, NULL},
	    {OPT_TYPE, &g->type, NULL}, {OPT_UNITS, &g->units, NULL},
	    {OPT_OUTPUT, &g->output, NULL},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].option != option)
			continue;
		if (table[i].text != NULL)
			*table[i].text = optarg;
		else
			*table[i].flag = true;
		return true;
	}
	if (option == OPT_INVERTED)
		return !(g->svg.upwards = false);
	if (option == OPT_WIDTH)
		return flamegraph_width(g, optarg);
	return option == OPT_MIN_WIDTH && flamegraph_min_width(g, optarg);
}

static int
flamegraph_usage(void)
{
	fprintf(stderr,
	    "usage: memlens flamegraph [--title TEXT] [--subtitle TEXT] "
	    "[--width PIXELS]\n"
	    "           [--min-width PIXELS|PERCENT%%] [--inverted] "
	    "[--reverse]\n"
	    "           [--by-module] [--focus RE] [--ignore RE] "
	    "[--units NAME]\n"
	    "           [--format NAME] [--type NAME] [--output FILE] "
	    "[FILE...]\n"
	    "       memlens flamegraph --diff [--counts] [--by-b] "
	    "[OPTION...] A B\n");
	cmd_stacks_formats(stderr);
	return 2;
}

static const struct err *
flamegraph_run(struct flamegraph *g)
{
	struct buf out = {0};
	const struct err *e;

	if (g->output != NULL) {
		g->fd = open(g->output, O_WRONLY | O_CREAT | O_TRUNC |
		    O_CLOEXEC, 0644);
		if (g->fd < 0)
			return err_errno("%s", g->output);
	}
	g->frames.min_share = flamesvg_min_share(&g->svg);
	g->svg.flush = flamegraph_flush;
	g->svg.flush_arg = g;
	e = g->diff ? flamegraph_pair(g, NULL, &out)
		    : flamegraph_single(g, &out);
	if (e == NULL)
		e = flamegraph_write(g->fd, &out);
	if (g->output != NULL && close(g->fd) != 0 && e == NULL)
		e = err_errno("%s", g->output);
	buf_fini(&out);
	return e;
}

int
cmd_flamegraph(int argc, char **argv)
{
	static char dash[] = "-";
	char *in[] = {dash};
	struct flamegraph g = {
	    .frames = {.max_nodes = -1, .other = "(other)",
	        .max_built = 1u << 27},
	    .svg = {.width = 1200, .min_width = 0.1,
	        .upwards = true, .empty = "no samples"},
	    .fd = STDOUT_FILENO};
	const struct err *e;
	int option;

	while ((option = getopt_long(argc, argv, "", flamegraph_options,
	    NULL)) != -1)
		if (!flamegraph_option(&g, option))
			return flamegraph_usage();
	g.n = optind == argc ? 1 : argc - optind;
	g.paths = optind == argc ? in : argv + optind;
	if (g.diff && g.n != 2)
		return flamegraph_usage();
	e = flamegraph_run(&g);
	if (e == NULL)
		return 0;
	fprintf(stderr, "memlens flamegraph: %s\n", e->text);
	return 1;
}
