/*
 * Lines of a table; what acts on a terminal is escaped.  A spreadsheet
 * takes a cell that begins with = + - @ for a formula, quotes or not: such a
 * name has ' before it, as people write it there, and so has one that begins
 * with ' itself, to stay another one.
 */
#include "fcgi/format/out/csv.h"

#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/text.h"

static void
csv_put_text(struct buf *out, const char *s)
{
	const char *next;

	buf_put_u8(out, '"');
	if (*s != '\0' && strchr("=+-@'", *s) != NULL)
		buf_put_u8(out, '\'');
	for (; (next = strchr(s, '"')) != NULL; s = next + 1) {
		text_put(out, s, (size_t)(next - s));
		buf_put(out, "\"\"", 2);
	}
	text_put(out, s, strlen(s));
	buf_put_u8(out, '"');
}

static void
csv_put_share(struct buf *out, int128 part, int128 whole)
{
	buf_put_u8(out, ',');
	if (whole > 0)
		writer_put_decimal(out, (part * 1000000 + whole / 2) / whole,
		    6);
}

static void
csv_put_samples(struct buf *out, const struct table *t, int128 n)
{
	buf_put_u8(out, ',');
	if (t->sampled)
		writer_put_int(out, n);
}

void
csv_put_table(struct buf *out, const struct table *t)
{
	buf_printf(out, "function,kind,self,total,self_share,total_share,"
	    "self_samples,total_samples%s\r\n",
	    t->unknown ? ",self_unknown,total_unknown" : "");
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct table_row *r = &t->rows[i];

		csv_put_text(out, r->name);
		buf_printf(out, ",%s,", flame_kind_name(r->kind));
		writer_put_int(out, r->has.self[0]);
		buf_put_u8(out, ',');
		writer_put_int(out, r->has.total[0]);
		csv_put_share(out, r->has.self[0], t->sum[0]);
		csv_put_share(out, r->has.total[0], t->sum[0]);
		csv_put_samples(out, t, r->has.self_samples[0]);
		csv_put_samples(out, t, r->has.total_samples[0]);
		if (t->unknown) {
			csv_put_samples(out, t, r->has.self_unknown[0]);
			csv_put_samples(out, t, r->has.total_unknown[0]);
		}
		buf_put(out, "\r\n", 2);
	}
}
