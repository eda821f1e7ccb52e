/*
 * What an answer lacks, in each form that an answer can say it.
 */
#include "fcgi/server/partial.h"

#include "fcgi/format/writer.h"
#include "fcgi/server/timespec.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/store.h"

#define HEADER_MAX 12 /* stretches in a header: proxies bound these */
#define WORDS_MAX 3   /* stretches in a subtitle */

static bool
partial_touches(const struct store_missing *m, int64_t from_ns,
    int64_t until_ns)
{
	return m->from_ns < until_ns && from_ns < m->until_ns;
}

bool
partial_is(struct store *s, int64_t from_ns, int64_t until_ns)
{
	size_t n;
	const struct store_missing *m = store_missing(s, &n);

	for (size_t i = 0; i < n; i++)
		if (partial_touches(&m[i], from_ns, until_ns))
			return true;
	return false;
}

void
partial_put(struct writer *w, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	size_t n;
	const struct store_missing *m = store_missing(s, &n);

	writer_key_open(w, "partial", '[');
	for (size_t i = 0; i < n; i++) {
		if (!partial_touches(&m[i], from_ns, until_ns))
			continue;
		writer_open(w, '{');
		writer_key_seconds(w, "from", m[i].from_ns);
		writer_key_seconds(w, "until", m[i].until_ns);
		writer_key_str(w, "why", m[i].why);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

void
partial_put_state(struct writer *w, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	if (partial_is(s, from_ns, until_ns)) {
		writer_key_str(w, "state", "partial");
	}
	partial_put(w, s, from_ns, until_ns);
}

static void
partial_put_why(struct buf *out, const char *why)
{
	for (; *why != '\0'; why++)
		buf_put_u8(out, *why >= ' ' && *why < 127 ? (uint8_t)*why
							  : '?');
}

void
partial_put_header(struct buf *out, struct store *s)
{
	size_t n;
	const struct store_missing *m = store_missing(s, &n);

	for (size_t i = 0; i < n && i < HEADER_MAX; i++) {
		struct writer w = writer_of(out);

		if (i > 0)
			buf_printf(out, "; ");
		writer_seconds(&w, m[i].from_ns);
		buf_put_u8(out, '-');
		w = writer_of(out);
		writer_seconds(&w, m[i].until_ns);
		buf_put_u8(out, ' ');
		partial_put_why(out, m[i].why);
	}
	if (n > HEADER_MAX)
		buf_printf(out, "; and %zu more", n - HEADER_MAX);
}

void
partial_put_words(struct buf *out, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	size_t n, told = 0;
	const struct store_missing *m = store_missing(s, &n);

	for (size_t i = 0; i < n; i++) {
		if (!partial_touches(&m[i], from_ns, until_ns) ||
		    told++ >= WORDS_MAX)
			continue;
		buf_printf(out, told == 1 ? "lacks " : "; ");
		timespec_put(out, m[i].from_ns);
		buf_printf(out, " to ");
		timespec_put(out, m[i].until_ns);
		buf_printf(out, " UTC: ");
		partial_put_why(out, m[i].why);
	}
	if (told > WORDS_MAX)
		buf_printf(out, "; and %zu more", told - WORDS_MAX);
}
