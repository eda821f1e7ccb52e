/*
 * What pages say of a profile beside its tree: of what it is, how much was
 * measured, and what was lost.
 */
#include <string.h>

#include "fcgi/format/amount.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/query/series_point.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/model/unit.h"

bool
profile_page_samples(const struct profile_page *page,
    struct profile_samples *out)
{
	/* what has no flame has no focus either */
	return page->flame != NULL ? flame_samples(page->flame, 0, out)
				   : profile_samples(page->profile, 0, out);
}

void
profile_page_put_samples(struct writer *w, const char *key, bool known,
    int128 n)
{
	writer_key(w, key);
	if (known)
		writer_int128(w, n);
	else
		writer_null(w);
}

/* No data is null, and 0 that nothing was sampled of what ran. */
static void
profile_page_put_coverage(struct writer *w, const struct profile_page *page)
{
	bool known = page->coverage.known && page->profile->slots > 0;

	writer_key(w, "coverage");
	if (known)
		writer_quotient(w, page->measured,
		    (uint128)page->coverage.cpu_ns, 0);
	else
		writer_null(w);
	writer_key(w, "cpu_seconds");
	if (known)
		writer_quotient(w, page->coverage.cpu_ns, 1, 9);
	else
		writer_null(w);
	writer_key(w, "calibrated");
	writer_bool(w, page->calibrate && known);
}

/* Of a sum, what its parts are, before focus and ignore. */
static void
profile_page_put_parts(struct writer *w, const struct profile_page *page)
{
	const struct profile *p = page->profile;
	struct profile_samples all;

	if (p->parts == NULL)
		return;
	profile_samples(p, 0, &all);
	writer_key_open(w, "parts", '{');
	writer_key_int128(w, p->parts[0], all.total_unknown);
	writer_key_int128(w, p->parts[1],
	    p->nodes[0].total - all.total_unknown);
	writer_close(w, '}');
	writer_key_int(w, "whole_slots", (int64_t)p->whole_slots);
}

/* Who was not there has not seen that nothing was. */
static void
profile_page_put_watched(struct writer *w, const struct profile_page *page)
{
	if (!profile_page_is_watched(page))
		return;
	writer_key(w, "watched_seconds");
	if (page->watched.known)
		writer_decimal(w, page->watched.ns, 9);
	else
		writer_null(w);
}

/* Shorter waits have no stack. */
static void
profile_page_put_threshold(struct writer *w, const struct profile_page *page)
{
	const struct metric_point *p = page->threshold.n != 1 ? NULL
	    : series_point_only(page->threshold.series);
	int scale;

	if (!profile_page_has_threshold(page))
		return;
	writer_key(w, "threshold_seconds");
	if (p == NULL) {
		writer_null(w);
		return;
	}
	scale = page->threshold.series->desc.scale;
	writer_open(w, '{');
	writer_key(w, "min");
	writer_decimal(w, p->min, (uint8_t)scale);
	writer_key(w, "max");
	writer_decimal(w, p->max, (uint8_t)scale);
	writer_close(w, '}');
}

void
profile_page_put(struct writer *w, const struct profile_page *page)
{
	const struct profile *p = page->profile;
	struct profile_samples shown, all;
	bool known = profile_page_samples(page, &shown);

	profile_samples(p, 0, &all);
	writer_key_str(w, "query", page->query);
	writer_key_seconds(w, "from", p->from_ns);
	writer_key_seconds(w, "until", p->until_ns);
	writer_key_str(w, "state", page->state);
	writer_key_str(w, "why", page->why);
	partial_put(w, page->store, page->from_ns, page->until_ns);
	writer_key_int(w, "slots", (int64_t)p->slots);
	if (p->slots_about) {
		writer_key(w, "slots_exact");
		writer_bool(w, false);
	}
	profile_page_put_samples(w, "samples", known, shown.total);
	profile_page_put_samples(w, "samples_unknown", known,
	    shown.total_unknown);
	writer_key_int128(w, "total", p->nodes[0].total);
	profile_page_put_samples(w, "total_samples", known, all.total);
	profile_page_put_samples(w, "total_unknown", known,
	    all.total_unknown);
	profile_page_put_coverage(w, page);
	measure_put_faults(w, &page->faults, profile_page_source(page),
	    profile_page_records(page));
	if (page->incomplete) {
		writer_key(w, "incomplete");
		writer_bool(w, true);
	}
	if (measure_is_memory(profile_page_source(page)))
		coverage_put_library(w, &page->library);
	profile_page_put_parts(w, page);
	profile_page_put_watched(w, page);
	profile_page_put_threshold(w, page);
	writer_key_str(w, "unit", p->unit);
	writer_key(w, "period");
	if (p->period > 0)
		writer_int(w, p->period);
	else
		writer_null(w);
	writer_key_str(w, "kind", p->kind ? series_kind_name(p->kind) : "flow");
}

void
profile_page_put_title(struct buf *out, const struct profile_page *page)
{
	const struct profile *p = page->profile;
	struct profile_samples samples;
	bool known;

	buf_printf(out, "%s   ", page->query);
	timespec_put(out, p->from_ns);
	buf_printf(out, " to ");
	timespec_put(out, p->until_ns);
	buf_printf(out, " UTC   ");
	known = flame_samples(page->flame, 0, &samples);
	amount_put(out, profile_page_units(p), page->flame->total,
	    known ? &samples : NULL);
	if (page->flame->total != page->flame->before) {
		buf_printf(out, " of ");
		known = profile_samples(p, 0, &samples);
		amount_put(out, profile_page_units(p), page->flame->before,
		    known ? &samples : NULL);
	}
	if (p->kind == SERIES_STOCK && p->slots > 0)
		buf_printf(out, " on average");
	if (page->calibrate && page->measured > 0)
		buf_printf(out, "   CALIBRATED: scaled by %.3f to the CPU time "
		    "that the kernel counted",
		    (double)page->profile->nodes[0].total /
		    (double)page->measured);
	if (page->options.focus != NULL)
		buf_printf(out, "   focus: %s", page->options.focus);
	if (page->options.ignore != NULL)
		buf_printf(out, "   ignore: %s", page->options.ignore);
	if (page->idle != NULL)
		buf_printf(out, "   without idle waits");
	if (partial_is(page->store, page->from_ns, page->until_ns)) {
		buf_printf(out, "   PARTIAL: ");
		partial_put_words(out, page->store, page->from_ns,
		    page->until_ns);
	}
	buf_put_u8(out, '\0');
}

double
profile_page_seconds(const struct profile_page *page)
{
	return (double)page->profile->seen_ns / NS_PER_S;
}

int64_t
profile_page_rate(const struct profile *p)
{
	return unit_is_time(p->unit) ? NS_PER_S : 1;
}

const char *
profile_page_units(const struct profile *p)
{
	return p->unit[0] != '\0' ? p->unit : "samples";
}

const char *
profile_page_ticks(const struct profile *p)
{
	return unit_is_time(p->unit) ? "samples" : profile_page_units(p);
}
