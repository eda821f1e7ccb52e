/*
 * Fixed text around a picture in base64 and the rows of a table.
 */
#include "fcgi/format/out/html.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/amount.h"
#include "fcgi/format/writer.h"

static const char html_style[] =
#include "html.css.h"
    ;

static void
html_put_text(struct buf *out, const char *s)
{
	writer_put_xml(out, s, strlen(s));
}

static void
html_put_base64(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";

	if (!buf_reserve(out, n / 3 * 4 + 4))
		return;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;
		char four[4];

		if (i + 1 < n)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		four[2] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		four[3] = i + 2 < n ? digits[v & 63] : '=';
		buf_put(out, four, 4);
	}
}

/* An amount and its share. */
static void
html_put_value(struct buf *out, const int128 v[2], const int128 whole[2],
    const struct html_options *o)
{
	int64_t divisor;

	amount_column(o->unit, &divisor);
	buf_printf(out, "<td>");
	writer_put_grouped(out, v[0] / divisor);
	buf_printf(out, "</td><td>");
	if (whole[0] > 0)
		writer_put_decimal(out, (v[0] * 10000 + whole[0] / 2) /
		    whole[0], 2);
	buf_printf(out, " %%</td>");
}

/* Those of A and B, and what B's share has more. */
static void
html_put_pair(struct buf *out, const int128 v[2], const int128 whole[2],
    const struct html_options *o)
{
	int64_t divisor;

	amount_column(o->unit, &divisor);
	for (int i = 0; i < 2; i++) {
		buf_printf(out, "<td>");
		writer_put_grouped(out, v[i] / divisor);
		buf_printf(out, "</td>");
	}
	buf_printf(out, "<td>");
	if (whole[0] > 0 && whole[1] > 0)
		buf_printf(out, "%+.2f", 100 * ((double)v[1] /
		    (double)whole[1] - (double)v[0] / (double)whole[0]));
	buf_printf(out, "</td>");
}

static void
html_put_rows(struct buf *out, const struct table *t,
    const struct html_options *o)
{
	for (size_t i = 0; i < t->n_rows && i < o->max_rows; i++) {
		const struct table_row *r = &t->rows[i];

		buf_printf(out, "<tr><th scope=\"row\">");
		html_put_text(out, r->name);
		buf_printf(out, "</th><td>%s</td>", flame_kind_name(r->kind));
		(o->pair ? html_put_pair : html_put_value)(out, r->has.self,
		    t->sum, o);
		(o->pair ? html_put_pair : html_put_value)(out, r->has.total,
		    t->sum, o);
		if (t->sampled) {
			bool least = r->has.total_unknown[0] +
			    r->has.total_unknown[1] != 0;

			buf_printf(out, "<td>%s", least ? "\342\211\245 " : "");
			writer_put_grouped(out, r->has.total_samples[0] +
			    r->has.total_samples[1]);
			buf_printf(out, "</td>");
		}
		buf_printf(out, "</tr>\n");
	}
}

/* One of "Self" and "Total". */
static void
html_put_heads(struct buf *out, const char *what,
    const struct html_options *o)
{
	static const char *const sides[2][2] = {{"", ""}, {" of A", " of B"}};
	int64_t divisor;

	for (int i = 0; i <= o->pair; i++) {
		buf_printf(out, "<th scope=\"col\">%s%s, ", what,
		    sides[o->pair][i]);
		html_put_text(out, amount_column(o->unit, &divisor));
		buf_printf(out, "</th>");
	}
	buf_printf(out, "<th scope=\"col\">%s%s</th>", what,
	    o->pair ? ", points" : "");
}

static void
html_put_table(struct buf *out, const struct table *t,
    const struct html_options *o)
{
	buf_printf(out, "<table>\n<caption>%zu functions",
	    t->n_rows);
	if (t->n_rows > o->max_rows)
		buf_printf(out, ", the first %zu", o->max_rows);
	buf_printf(out, "</caption>\n<thead><tr>"
	    "<th scope=\"col\">Function</th><th scope=\"col\">Kind</th>");
	html_put_heads(out, "Self", o);
	html_put_heads(out, "Total", o);
	if (t->sampled)
		buf_printf(out, "<th scope=\"col\">Samples</th>");
	buf_printf(out, "</tr></thead>\n<tbody>\n");
	html_put_rows(out, t, o);
	buf_printf(out, "</tbody></table>\n");
}

int64_t
html_svg_height(const struct buf *svg)
{
	static const char attribute[] = " height=\"";
	const uint8_t *at = svg->len > 0 ? memmem(svg->data, svg->len,
	    attribute, sizeof(attribute) - 1) : NULL;

	return at != NULL ? atoll((const char *)at + sizeof(attribute) - 1)
			  : 400;
}

void
html_put(struct buf *out, const struct table *t, const struct html_options *o)
{
	buf_printf(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
	    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
	    "content=\"width=device-width, initial-scale=1\">\n<title>");
	html_put_text(out, o->title);
	buf_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
	    "<h1>", html_style);
	html_put_text(out, o->title);
	buf_printf(out, "</h1>\n<p>");
	html_put_text(out, o->subtitle);
	buf_printf(out, "</p>\n<iframe title=\"Flame graph\" height=\"%lld\" "
	    "src=\"data:image/svg+xml;base64,", (long long)o->height);
	html_put_base64(out, o->svg, o->n_svg);
	buf_printf(out, "\"></iframe>\n");
	html_put_table(out, t, o);
	buf_printf(out, "</body>\n</html>\n");
}
