/*
 * Facts: what happened or was found out at a time.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/base/err.h"
#include "store/file/format.h"
#include "store/model/brief.h"
#include "store/read/reader.h"

struct fact_walk {
	enum fact_kind kind;
	int64_t from, until;
	store_fact_fn *fn;
	void *arg;
};

static bool
facts_wanted(const struct fact_walk *w, const struct open_fact *f)
{
	return f->kind == w->kind && f->time_ns >= w->from &&
	    f->time_ns < w->until;
}

static const struct err *
facts_need_subjects(struct openspan *o, const struct fact_walk *w)
{
	const struct err *e;
	bool fine = true;

	for (uint32_t i = 0; i < o->n_facts && fine; i++) {
		if (facts_wanted(w, &o->facts[i]))
			fine = openspan_need_fact(o, &o->facts[i]);
	}
	e = openspan_resolve(o, UINT32_MAX);
	return e != NULL || fine ? e : err_nomem();
}

static const struct err *
facts_of_span(const struct store *s, struct openspan *o,
    const struct fact_walk *w, bool *go_on)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < o->n_facts && *go_on; i++) {
		const struct open_fact *f = &o->facts[i];
		const uint8_t *data;
		uint32_t subject;

		if (!facts_wanted(w, f))
			continue;
		subject = openspan_subject(o, f);
		if (subject == INTERN_NONE)
			return err_nomem();
		if ((e = openspan_fact(o, f, &data)) != NULL)
			return e;
		*go_on = w->fn(w->arg, f->time_ns,
		    intern_str(&s->syms.strings, subject), data, f->n);
	}
	return NULL;
}

/* Files that may have such facts; one that was open once is known. */
static bool
facts_may_be(const struct fact_walk *w, const struct store *s,
    const struct reader_file *f)
{
	return f->entry.kind != MANIFEST_SUMMARY && f->entry.of[0] == '\0' &&
	    f->entry.first <= reader_slot(s, w->until) + FORMAT_FACT_SLACK &&
	    reader_slot(s, w->from) <
	    f->entry.first + f->entry.slots + FORMAT_FACT_SLACK &&
	    (!f->facts_known || (f->fact_kinds >> (w->kind & 31) & 1));
}

static const struct err *
facts_need(struct store *s, const struct fact_walk *w)
{
	const struct err *e = NULL;
	uint64_t from = reader_slot(s, w->from);
	uint64_t until = reader_slot(s, w->until) + 1;

	missing_gaps(s, from, until);
	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		struct reader_file *f = &s->files[i];

		if (!facts_may_be(w, s, f))
			continue;
		e = reader_need(s, f);
		if (e == NULL && f->sealed != NULL &&
		    (f->fact_kinds >> (w->kind & 31) & 1))
			e = reader_need_dict(s, f);
		if (e == NULL && f->sealed != NULL) {
			e = facts_need_subjects(&f->names, w);
			e = e == NULL ? NULL : reader_failed(s, f, e);
		}
		missing_file(s, f, from, until);
	}
	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++)
		e = facts_need_subjects(&s->journals[j]->span, w);
	return e;
}

static const struct err *
facts_of_file(struct store *s, struct reader_file *f,
    const struct fact_walk *w, bool *go_on)
{
	const struct err *e = NULL;

	if (f->sealed != NULL)
		e = facts_of_span(s, &f->names, w, go_on);
	return e == NULL ? NULL : reader_failed(s, f, e);
}

const struct err *
store_each_fact(struct store *s, enum fact_kind kind, int64_t from_ns,
    int64_t until_ns, store_fact_fn *fn, void *arg)
{
	struct fact_walk w = {kind, from_ns, until_ns, fn, arg};
	const struct err *e = NULL;
	bool go_on = true;

	for (int i = 0; i < QUERY_TRIES; i++) {
		if ((e = facts_need(s, &w)) == NULL)
			break;
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
		e = err_new(ERR_LIMIT, 503,
		    "the store changes too fast to read");
	}
	for (uint32_t i = 0; i < s->n_files && e == NULL && go_on; i++)
		e = facts_of_file(s, &s->files[i], &w, &go_on);
	for (uint32_t i = 0; i < s->n_journals && e == NULL && go_on; i++)
		e = facts_of_span(s, &s->journals[i]->span, &w, &go_on);
	return e;
}

/* What the answer lacks is told by its own blocks. */
const struct err *
facts_brief(struct store *s, struct brief *b, const struct selector *selector,
    uint64_t from, uint64_t until)
{
	int64_t slot_ns = s->manifest.slot_ns;
	const struct err *e;

	if (!brief_begin(b, selector, from, until, slot_ns))
		return NULL;
	store_missing_watch(s, false);
	e = store_each_fact(s, FACT_SEEN, (int64_t)from * slot_ns,
	    (int64_t)until * slot_ns, brief_take, b);
	store_missing_watch(s, true);
	return e;
}
