/*
 * The picture: valid XML whatever the names, exact numbers in the titles,
 * deterministic colours.
 */
#include "fcgi/format/flamesvg.h"

#include <stdlib.h>

#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "test.h"

static struct profile_node nodes[8];
static struct profile profile = {.nodes = nodes, .period = 1};
static struct buf out;

static void
node(const char *name, uint32_t depth, uint32_t parent, int64_t self)
{
	size_t i = profile.n_nodes++;

	nodes[i] = (struct profile_node){name, "", FRAME_NATIVE, depth, parent,
	    self, self};
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
	o.units = "samples";
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
	node("main", 1, 0, 250);
	node("read", 2, 1, 1234);
	node("idle", 1, 0, 516);
	svg = draw((struct flamesvg_options){.min_width = 0.1,
	    .period_ns = 10000000});
	CHECK(well_formed(svg));
	CHECK(strstr(svg, "<title>total (2,000 samples, 100.00%, 20 s)") !=
	    NULL);
	CHECK(strstr(svg, "<title>read (1,234 samples, 61.70%, 12.34 s)") !=
	    NULL);
	CHECK(strstr(svg, "<g data-x=\"250\" data-w=\"1234\" data-l=\"2\">") !=
	    NULL);
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

TEST(narrow_frames_are_left_out_and_counted)
{
	begin();
	node("wide", 1, 0, 1000000);
	node("narrow", 1, 0, 1);
	draw((struct flamesvg_options){.min_width = 0.1});
	CHECK(strstr((const char *)out.data, "narrow (1 ") == NULL);
	CHECK(strstr((const char *)out.data, ">1 frames narrower than 0.1 px")
	    != NULL);
	draw((struct flamesvg_options){.min_width = 0});
	CHECK(strstr((const char *)out.data, "narrow (1 ") != NULL);
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

int
main(void)
{
	RUN(a_picture);
	RUN(names_may_be_anything);
	RUN(no_data_is_said);
	RUN(narrow_frames_are_left_out_and_counted);
	RUN(colours_are_stable);
	buf_fini(&out);
	return test_done();
}
