/*
 * Shares of stacks that are not whole.
 */
#include "fcgi/query/whole.h"

#include <stdbool.h>
#include <string.h>

#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "store/base/buf.h"
#include "store/model/broken.h"

struct share {
	const char *service, *reason; /* the reason of most of them */
	int128 samples, broken, most;
};

/* A stack of a thread that ends is what it can be. */
static bool
whole_is_fault(const char *reason)
{
	const struct broken_reason *r = broken_find(reason);

	return r == NULL || !r->natural;
}

static int128
whole_increase(const struct metric_series *m, const char *name,
    const char *source)
{
	const struct metric_point *p = series_point_of(m, name, source);

	return p != NULL ? p->increase / scale_factor(m->desc.scale) : 0;
}

static void
share_add(struct share *s, const char *reason, int128 n)
{
	if (n <= 0 || !whole_is_fault(reason))
		return;
	s->broken += n;
	if (n > s->most) {
		s->most = n;
		s->reason = reason;
	}
}

/* What the series with the samples of a service makes with the others. */
static struct share
share_of_service(const struct whole *w, const struct metric_series *samples)
{
	struct share s = {.service = measure_label(samples, "service"),
	    .samples = whole_increase(samples, MEASURE_SERVICE_SAMPLES,
	    w->source)};

	for (size_t i = 0; s.samples >= WHOLE_SAMPLES && i < w->n_broken;
	    i++) {
		const struct metric_series *m = &w->broken[i];

		if (strcmp(measure_label(m, "service"), s.service) == 0)
			share_add(&s, measure_label(m, "reason"),
			    whole_increase(m, MEASURE_SERVICE_BROKEN,
			    w->source));
	}
	return s;
}

static struct share
share_of_host(const struct whole *w)
{
	struct share s = {.service = "", .samples = w->samples};

	for (size_t i = 0; i < w->n_host; i++)
		share_add(&s, measure_label(&w->host[i], "reason"),
		    whole_increase(&w->host[i], MEASURE_BROKEN, w->source));
	return s;
}

static bool
share_is_bad(const struct share *s)
{
	return s->samples >= WHOLE_SAMPLES &&
	    s->broken * 100 > s->samples * WHOLE_PERCENT;
}

static bool
share_is_worse(const struct share *a, const struct share *b)
{
	return b->samples == 0 ||
	    a->broken * b->samples > b->broken * a->samples;
}

/* Puts a share among the worst, in order. */
static void
worst_put(struct share worst[WHOLE_WORST], struct share new)
{
	struct share swap;

	for (size_t i = 0; i < WHOLE_WORST; i++) {
		if (!share_is_worse(&new, &worst[i]))
			continue;
		swap = worst[i];
		worst[i] = new;
		new = swap;
		if (new.samples == 0)
			return;
	}
}

static void
share_put(struct buf *out, const struct share *s)
{
	const struct broken_reason *r = broken_find(s->reason);

	buf_printf(out, "%.1f %% (%s%s%s)",
	    (double)s->broken * 100 / (double)s->samples, s->reason,
	    r != NULL ? ": " : "", r != NULL ? r->why : "");
}

void
whole_judge(const struct whole *w, struct buf *out)
{
	struct share worst[WHOLE_WORST] = {{0}}, host = share_of_host(w), s;
	const char *lead = "stacks that are not whole: ";

	for (size_t i = 0; i < w->n_services; i++) {
		s = share_of_service(w, &w->services[i]);
		if (share_is_bad(&s))
			worst_put(worst, s);
	}
	if (share_is_bad(&host)) {
		buf_printf(out, "%sof the host ", lead);
		share_put(out, &host);
		lead = ", ";
	}
	for (size_t i = 0; i < WHOLE_WORST && worst[i].samples > 0; i++) {
		buf_printf(out, "%sof service %s ", lead, worst[i].service);
		share_put(out, &worst[i]);
		lead = ", ";
	}
	if (out->len > 0)
		buf_put_u8(out, '\0');
}
