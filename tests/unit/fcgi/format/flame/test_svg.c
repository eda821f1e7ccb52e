/*
 * The picture: valid XML whatever the names, exact numbers in the titles,
 * deterministic colours.
 */
#include <stdlib.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/flame/flamesvg_private.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct profile_node nodes[8];
static struct profile profile = {.nodes = nodes, .period = 1};
static struct buf out;

static void
node(const char *name, uint32_t depth, uint32_t parent, int64_t self)
{
	size_t i = profile.n_nodes++;

	nodes[i] = (struct profile_node){name, "", FRAME_NATIVE, depth, parent,
	    0, self, self};
	for (size_t k = i; k > 0; k = nodes[k].parent)
		nodes[nodes[k].parent].total += self;
}

static const char *
draw(struct flamesvg_options o)
{
	static const struct flame_options all = {.max_nodes = -1,
	    .other = "(other)"};
	struct flame *f;

	if (o.title == NULL)
		o.title = "<title & \"more\">";
	o.subtitle = "sub";
	o.units = o.units ? o.units : "samples";
	o.empty = "no data: <why>";
	o.width = o.width ? o.width : 1200;
	buf_clear(&out);
	CHECK_OK(flame_new(&f, &profile, &all));
	CHECK(flamesvg_put(&out, f, &o));
	flame_free(f);
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

static const char *
skip_to(const char *p, const char *end)
{
	p = strstr(p, end);
	return p != NULL ? p + strlen(end) : NULL;
}

static const char *
close_tag(const char *p, char (*open)[32], int *depth)
{
	size_t n = strcspn(p, ">");

	if (*depth == 0 || strlen(open[*depth - 1]) != n ||
	    strncmp(open[*depth - 1], p, n) != 0)
		return NULL;
	--*depth;
	return p + n + 1;
}

static const char *
open_tag(const char *p, char (*open)[32], int *depth)
{
	size_t n = strcspn(p, " />");
	char quote = 0;

	snprintf(open[*depth], 32, "%.*s", (int)n, p);
	for (; *p != '\0' && (quote || *p != '>'); p++) {
		if (*p == '<')
			return NULL;
		if (*p == '"')
			quote ^= 1;
	}
	if (*p == '\0')
		return NULL;
	*depth += p[-1] != '/';
	return p + 1;
}

/* Tags balance, attributes are quoted, no character is forbidden. */
static bool
well_formed(const char *p)
{
	char open[16][32];
	int depth = 0;

	if (!writer_utf8_valid(p, strlen(p)))
		return false;
	while (p != NULL && *p != '\0') {
		if ((unsigned char)*p < 0x20 && *p != '\n')
			return false;
		if (*p == '&') {
			p = strchr(p, ';');
		} else if (strncmp(p, "<?", 2) == 0) {
			p = skip_to(p, "?>");
		} else if (strncmp(p, "<![CDATA[", 9) == 0) {
			p = skip_to(p, "]]>");
		} else if (strncmp(p, "</", 2) == 0) {
			p = close_tag(p + 2, open, &depth);
		} else if (*p == '<') {
			p = open_tag(p + 1, open, &depth);
		} else {
			p++;
		}
	}
	return p != NULL && depth == 0;
}

static void
begin(void)
{
	profile.n_nodes = 0;
	memset(nodes, 0, sizeof(nodes));
	node("", 0, 0, 0);
}

TEST(a_picture)
{
	const char *svg;

	begin();
	node("main", 1, 0, 2500000000);
	node("read", 2, 1, 12340000000);
	node("idle", 1, 0, 5160000000);
	profile.period = 10000000;
	svg = draw((struct flamesvg_options){.min_width = 0.1,
	    .units = "nanoseconds"});
	profile.period = 1;
	CHECK(well_formed(svg));
	CHECK(strstr(svg, "<title>total (2,000 samples, 100.00%, 20 s)") !=
	    NULL);
	CHECK(strstr(svg, "<title>read (1,234 samples, 61.70%, 12.34 s)") !=
	    NULL);
	CHECK(strstr(svg, "<g data-w=\"12340000000\"><title>read ") != NULL);
	CHECK(strstr(svg, "<rect x=\"12.5%\" y=\"32\" width=\"61.7%\"") !=
	    NULL);
	CHECK(strstr(svg, "&lt;title &amp; &quot;more&quot;&gt;") != NULL);
	svg = draw((struct flamesvg_options){.upwards = true});
	CHECK(strstr(svg, "<rect x=\"12.5%\" y=\"0\" width=\"61.7%\"") !=
	    NULL);
}

TEST(names_may_be_anything)
{
	begin();
	node("<script>alert(\"1\")</script>", 1, 0, 10);
	node("]]>&amp;\x01\x02\xff\xfe\xed\xa0\x80", 1, 0, 10);
	node("operator<< <std::char_traits<char> >(a&, b&&)", 1, 0, 10);
	node("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	    1, 0, 1);
	CHECK(well_formed(draw((struct flamesvg_options){0})));
	CHECK(well_formed(draw((struct flamesvg_options){.width = 300})));
	CHECK(strstr((const char *)out.data, "<script>alert") == NULL);
}

TEST(no_data_is_said)
{
	begin();
	CHECK(well_formed(draw((struct flamesvg_options){0})));
	CHECK(strstr((const char *)out.data, "no data: &lt;why&gt;") != NULL);
	CHECK(strstr((const char *)out.data, "<g ") == NULL);
}

TEST(narrow_frames_are_gathered_with_their_mass)
{
	begin();
	node("wide", 1, 0, 1000000);
	node("narrow", 1, 0, 1);
	node("below", 2, 2, 2);
	node("wide too", 1, 0, 999997);
	draw((struct flamesvg_options){.min_width = 0.1});
	CHECK(strstr((const char *)out.data, "narrow (") == NULL);
	CHECK(strstr((const char *)out.data, "<g data-w=\"3\"><title>"
	    "(other, 2 frames) (3 samples, 0.00%)</title>") != NULL);
	CHECK(strstr((const char *)out.data, ">2 narrow frames are gathered")
	    != NULL);
	/* what is gathered comes last, and nothing lies over it */
	CHECK(strstr((const char *)out.data, "wide too (999,997 samples, "
	    "50.00%)</title><rect x=\"50%\"") != NULL);
	draw((struct flamesvg_options){.min_width = 0});
	CHECK(strstr((const char *)out.data, "narrow (3 ") != NULL);
	CHECK(strstr((const char *)out.data, "below (2 ") != NULL);
	CHECK(strstr((const char *)out.data, "(other") == NULL);
}

TEST(bytes_are_shown_as_people_read_them)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} cases[] = {
	    {1, "(1 B, "}, {999, "(999 B, "}, {1234, "(1.23 kB, "},
	    {9999, "(10 kB, "}, {56789000, "(56.8 MB, "},
	    {999999999, "(1 GB, "}, {1234567890123, "(1.23 TB, "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		node("f", 1, 0, cases[i].bytes);
		CHECK(strstr(draw((struct flamesvg_options){.units = "bytes"}),
		    cases[i].text) != NULL);
	}
}

static bool
count_flushed(void *arg, struct buf *b)
{
	*(size_t *)arg += b->len;
	buf_clear(b);
	return true;
}

static bool
refuse(void *arg, struct buf *b)
{
	(void)arg;
	(void)b;
	return false;
}

/* A deep tree with long names, larger than a piece. */
static struct flame *
large(struct profile *p)
{
	static const struct flame_options all = {.max_nodes = -1,
	    .other = "(other)"};
	static char name[4001];
	struct flame *f = NULL;

	memset(name, '<', 4000);
	p->n_nodes = 1001;
	p->nodes = calloc(p->n_nodes, sizeof(*p->nodes));
	for (uint32_t i = 0; i < p->n_nodes; i++)
		p->nodes[i] = (struct profile_node){i ? name : "", "",
		    FRAME_NATIVE, i, i ? i - 1 : 0, 0, i == 1000, 1};
	CHECK_OK(flame_new(&f, p, &all));
	return f;
}

TEST(what_is_ready_can_be_taken_away)
{
	struct flamesvg_options o = {.title = "t", .subtitle = "s",
	    .units = "samples", .empty = "", .width = 1200};
	struct profile p = {.period = 1};
	struct flame *f = large(&p);
	size_t taken = 0, whole;

	buf_clear(&out);
	CHECK(flamesvg_put(&out, f, &o));
	whole = out.len;
	CHECK(whole > 1000 * 4 * 4000);
	buf_put_u8(&out, 0);
	CHECK(well_formed((const char *)out.data));
	buf_clear(&out);
	o.flush = count_flushed;
	o.flush_arg = &taken;
	CHECK(flamesvg_put(&out, f, &o));
	CHECK(taken > 0 && out.len < 2u << 20);
	CHECK_INT(taken + out.len, whole);
	buf_clear(&out);
	o.flush = refuse;
	CHECK(!flamesvg_put(&out, f, &o));
	flame_free(f);
	free(p.nodes);
}

TEST(the_picture_says_in_words_what_is_large)
{
	begin();
	node("main", 1, 0, 1);
	node("read & write", 2, 1, 6);
	node("idle", 1, 0, 3);
	CHECK(strstr(draw((struct flamesvg_options){0}),
	    "read &amp; write 60.00%, idle 30.00%, main 10.00%.") != NULL);
}

/* ---- two profiles ---- */

static int64_t period = 1; /* ns a sample; 1: they are no times; 0: not known */

static struct profile
side(const char *const *names, const int64_t *values, size_t n)
{
	struct profile p = {.n_nodes = n + 1, .period = period};
	int64_t units = period > 0 ? period : 1;

	p.nodes = calloc(n + 1, sizeof(*p.nodes));
	p.nodes[0] = (struct profile_node){.name = "", .module = ""};
	for (size_t i = 0; i < n; i++) {
		p.nodes[i + 1] = (struct profile_node){names[i], "",
		    FRAME_NATIVE, 1, 0, 0, values[i] * units,
		    values[i] * units};
		p.nodes[0].total += values[i] * units;
	}
	return p;
}

static const char *
draw_pair(const struct flamesvg_pair *pair, double min_width)
{
	static const char *const names_a[] = {"gone", "more", "same"};
	static const char *const names_b[] = {"more", "new", "same"};
	static const int64_t values_a[] = {100, 300, 600};
	static const int64_t values_b[] = {600, 20, 580};
	static const struct flame_options all = {.max_nodes = -1,
	    .other = "(other)"};
	struct flamesvg_options o = {.title = "A & B", .subtitle = "s",
	    .units = period == 1 ? "samples" : "nanoseconds",
	    .empty = "nothing", .width = 1200,
	    .min_width = min_width};
	struct profile a = side(names_a, values_a, 3);
	struct profile b = side(names_b, values_b, 3);
	struct diff *d = NULL;
	struct flame *f = NULL;

	buf_clear(&out);
	CHECK_OK(diff_new(&d, &a, &b));
	CHECK_OK(flamesvg_diff_flame(&f, d, pair, &all));
	CHECK(flamesvg_put_diff(&out, d, f, pair, &o));
	buf_put_u8(&out, 0);
	flame_free(f);
	diff_free(d);
	free(a.nodes);
	free(b.nodes);
	CHECK(well_formed((const char *)out.data));
	return (const char *)out.data;
}

TEST(a_difference_has_both_sides_signs_and_marks)
{
	struct flamesvg_pair pair = {.weight = {1 / 1000.0, 1 / 1200.0},
	    .words = "by total"};
	const char *svg = draw_pair(&pair, 0);

	CHECK(strstr(svg, "data-s=\"+\"><title>more (samples: A 300 30.00%, "
	    "B 600 50.00%; +20 points; normalised +66.67%)</title>") != NULL);
	CHECK(strstr(svg, "data-s=\"\xe2\x88\x92\"><title>gone (samples: "
	    "A 100 10.00%, B 0 0.00%; \xe2\x88\x92" "10 points; normalised "
	    "\xe2\x88\x92" "100%)") != NULL);
	CHECK(strstr(svg, "class=\"few\"><title>new (samples: A 0 0.00%, "
	    "B 20 1.67%; +1.67 points; normalised only in B; few samples)")
	    != NULL);
	/* widths of A and B together: 0.1, 0.3 + 0.5, 0.0167, 0.6 + 0.483 */
	CHECK(strstr(svg, "<rect x=\"5%\" y=\"16\" width=\"40%\"") != NULL);
	pair.by_b = true;
	svg = draw_pair(&pair, 0);
	CHECK(strstr(svg, "<title>gone (") == NULL);
	CHECK(strstr(svg, "<rect x=\"0%\" y=\"16\" width=\"50%\"") != NULL);
}

/* Samples are told and judged, not the nanoseconds that they stand for. */
TEST(a_difference_of_times_counts_samples)
{
	struct flamesvg_pair pair = {.weight = {1 / 1000.0, 1 / 1200.0},
	    .words = "by total"};
	const char *svg;

	period = 10101010;
	svg = draw_pair(&pair, 0);
	CHECK(strstr(svg, "<title>more (samples: A 300 30.00%, B 600 50.00%;")
	    != NULL);
	CHECK(strstr(svg, "class=\"few\"><title>new (samples: A 0 0.00%, "
	    "B 20 1.67%;") != NULL);
	CHECK(strstr(draw_pair(&pair, 70), "<title>(other, 2 frames) ("
	    "samples: A 100 10.00%, B 20 1.67%;") != NULL);
	period = 0; /* of nobody knows how many samples */
	svg = draw_pair(&pair, 0);
	CHECK(strstr(svg, "<title>more (ns: A 300 30.00%,") != NULL);
	CHECK(strstr(svg, "few samples") == NULL);
	period = 1;
}

TEST(a_difference_gathers_both_sides)
{
	struct flamesvg_pair pair = {.weight = {1 / 1000.0, 1 / 1200.0},
	    .words = "by total"};

	CHECK(strstr(draw_pair(&pair, 70), "<title>(other, 2 frames) ("
	    "samples: A 100 10.00%, B 20 1.67%;") != NULL);
}

TEST(a_difference_of_nothing_is_said)
{
	struct flamesvg_pair pair = {.weight = {0, 0}, .words = "by total"};

	CHECK(strstr(draw_pair(&pair, 0), ">nothing</text>") != NULL);
}

TEST(colours_are_stable)
{
	/* what the pages' colour.js makes of the same names */
	static const struct {
		const char *name;
		enum flame_kind kind;
		const char *colour;
	} cases[] = {
	    {"main", FLAME_USER, "#ffbc7d"},
	    {"main", FLAME_KERNEL, "#9fd8ff"},
	    {"malloc", FLAME_LIBRARY, "#95e4cd"},
	    {"leveldb::DBImpl::Get(a, b)", FLAME_JIT, "#ffb6e5"},
	    {"total", FLAME_UNKNOWN, "#c4c1bc"},
	};
	char text[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		flamesvg_colour(cases[i].name, cases[i].kind, text);
		CHECK_STR(text, cases[i].colour);
	}
}

static void
check_number(char *end, char *text, const char *want)
{
	*end = '\0';
	if (strcmp(text, want) != 0)
		fprintf(stderr, "# %s is not %s\n", text, want);
	CHECK(strcmp(text, want) == 0);
}

/* Digits, groups and fractions of all lengths, beside printf's. */
TEST(numbers_are_as_printf_writes_them)
{
	char text[80], want[80];

	for (uint64_t v = 1, k = 0; k < 64 * 3; k++) {
		uint64_t n = v - 1 + k % 3;

		snprintf(want, sizeof(want), "%llu", (unsigned long long)n);
		check_number(digits_put(text, n), text, want);
		check_number(digits_put_decimal(text, n * 10, 1), text, want);
		for (size_t i = strlen(want); i > 3 && (i -= 3) > 0;) {
			memmove(want + i + 1, want + i, strlen(want + i) + 1);
			want[i] = ',';
		}
		check_number(digits_put_grouped(text, (int128)n), text, want);
		v = k % 3 == 2 && v < UINT64_MAX / 40 ? v * 2 : v;
	}
	for (unsigned v = 0; v < 10000; v += 7) {
		size_t n = (size_t)snprintf(want, sizeof(want), "3.%04u", v);

		while (want[n - 1] == '0')
			n--;
		want[want[n - 1] == '.' ? n - 1 : n] = '\0';
		check_number(
		    digits_put_decimal(text, 30000 + v, 4), text, want);
	}
	check_number(digits_put_grouped(text, -((int128)1 << 90)), text,
	    "-1,237,940,039,285,380,274,899,124,224");
	check_number(digits_put_decimal(text, 1030, 3), text, "1.03");
	check_number(digits_put_decimal(text, 107, 2), text, "1.07");
}

/* Each byte at each place of a name. */
TEST(every_byte_of_a_name_is_escaped_where_it_must_be)
{
	for (unsigned c = 1; c < 256; c++) {
		for (size_t at = 0; at < 20; at++) {
			struct buf whole = {0}, one = {0};
			char name[] = "abcdefghijklmnopqrst", byte = (char)c;

			name[at] = byte;
			writer_put_xml(&whole, name, sizeof(name) - 1);
			writer_put_xml(&one, &byte, 1);
			CHECK_INT(whole.len, one.len + 19);
			CHECK(memcmp(whole.data + at, one.data, one.len) == 0);
			buf_fini(&whole);
			buf_fini(&one);
		}
	}
}

int
main(void)
{
	RUN(a_picture);
	RUN(names_may_be_anything);
	RUN(no_data_is_said);
	RUN(narrow_frames_are_gathered_with_their_mass);
	RUN(bytes_are_shown_as_people_read_them);
	RUN(what_is_ready_can_be_taken_away);
	RUN(the_picture_says_in_words_what_is_large);
	RUN(a_difference_has_both_sides_signs_and_marks);
	RUN(a_difference_of_times_counts_samples);
	RUN(a_difference_gathers_both_sides);
	RUN(a_difference_of_nothing_is_said);
	RUN(colours_are_stable);
	RUN(numbers_are_as_printf_writes_them);
	RUN(every_byte_of_a_name_is_escaped_where_it_must_be);
	buf_fini(&out);
	return test_done();
}
