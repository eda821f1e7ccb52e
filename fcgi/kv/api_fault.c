/*
 * POST /api/v1/actions/fault: a fault run.  The operator's own command is
 * carried out (fault.h); its moment is a mark, and a named run keeps the time
 * before and after it to be compared.  Where the mark cannot be kept nothing
 * is done.
 *
 *	before           the command runs       after
 *	[span ........)[ neither: whole slots )[ span ........)
 *
 * Nobody knows when, while it ran, it has made something faulty.  Where the
 * range before overlaps with that after another fault the notes say so.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/action.h"
#include "fcgi/kv/fault.h"
#include "fcgi/kv/kv.h"
#include "fcgi/kv/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/fact_post.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "fcgi/server/watch.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/text.h"

#define FAULT_NAME_MAX 64

struct fault_page {
	char command[FAULT_NAME_MAX]; /* the program's name alone */
	int64_t at_ns;
	int64_t before_ns[2], after_ns[2]; /* [from, until) */
	int64_t other_ns; /* until when the time after another fault is */
	bool overlaps;    /* it, with the time before this */
	char other[ACTION_NAME_MAX]; /* which overlaps; "": none does */
	bool unread; /* or nobody knows */
	struct fault_done done;
};

/* Arguments may be secrets: the file's name is all that is kept. */
static void
fault_name(const char *command, char out[FAULT_NAME_MAX])
{
	size_t n = strcspn(command, " \t"), at = n;

	while (at > 0 && command[at - 1] != '/')
		at--;
	snprintf(out, FAULT_NAME_MAX, "%.*s", (int)(n - at), command + at);
	if (!writer_utf8_valid(out, strlen(out)))
		snprintf(out, FAULT_NAME_MAX, "the command");
}

/* The ranges by whole slots. */
static void
fault_ranges(struct fault_page *p, int64_t slot_ns, int64_t span_ns)
{
	int64_t down = p->at_ns - p->at_ns % slot_ns;
	int64_t end = p->at_ns + p->done.took_ns;

	span_ns = (span_ns + slot_ns - 1) / slot_ns * slot_ns;
	p->before_ns[0] = down - span_ns;
	p->before_ns[1] = down;
	p->after_ns[0] = end - end % slot_ns + slot_ns;
	p->after_ns[1] = p->after_ns[0] + span_ns;
}

/* A time of a range, in ns; 0: it has none. */
static int64_t
fault_ns(struct json_object *range, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(range, key, &v) &&
	    json_object_get_double(v) < 9e9
	    ? (int64_t)(json_object_get_double(v) * 1e9) : 0;
}

/* A kept run: of a fault, and the range after it was not over when the range
 * before this began? */
static bool
fault_take_other(void *arg, int64_t time_ns, const char *name,
    const void *data, size_t n)
{
	struct fault_page *p = arg;
	const struct buf text = {.data = (uint8_t *)(uintptr_t)data, .len = n};
	struct json_object *run = kv_parse(&text), *v;
	int64_t from_ns = 0, until_ns = 0;

	(void)time_ns;
	if (json_object_is_type(run, json_type_object) &&
	    json_object_object_get_ex(run, "fault", &v) &&
	    json_object_object_get_ex(v, "after", &v)) {
		from_ns = fault_ns(v, "from");
		until_ns = fault_ns(v, "until");
	}
	if ((from_ns < p->before_ns[1] || until_ns > p->at_ns) &&
	    until_ns > p->before_ns[0] && until_ns > p->other_ns) {
		p->other_ns = until_ns;
		p->overlaps = from_ns < p->before_ns[1];
		snprintf(p->other, sizeof(p->other), "%s", name);
	}
	json_object_put(run);
	return true;
}

/* Of several the one that is over last. */
static const struct err *
fault_find_other(struct context *c, struct fault_page *p)
{
	struct store *s;
	const struct err *e = context_store(c, &s);

	return e != NULL ? e : store_each_fact(s, FACT_RUN, 0, INT64_MAX,
	    fault_take_other, p);
}

/* What else is to be known of the ranges. */
static void
fault_words_ranges(const struct fault_page *p, char *out, size_t room)
{
	size_t n = (size_t)snprintf(out, room, "; the %.3g s from its "
	    "beginning to its end, by whole slots, are in neither range",
	    (double)(p->after_ns[0] - p->before_ns[1]) / 1e9);

	if (p->unread && n < room)
		snprintf(out + n, room - n, "; whether another fault's does "
		    "overlap could not be read");
	else if (p->other[0] != '\0' && n < room)
		snprintf(out + n, room - n, "; the range after \"%s\" %s%s%s",
		    p->other, p->overlaps ? "overlaps with the range before"
		    : "", p->overlaps && p->other_ns > p->at_ns ? " and " : "",
		    p->other_ns > p->at_ns ? "has what this fault did in it"
		    : "");
}

static void
fault_put_range(struct writer *w, const char *key, const int64_t range[2])
{
	writer_key_open(w, key, '{');
	writer_key_seconds(w, "from", range[0]);
	writer_key_seconds(w, "until", range[1]);
	writer_close(w, '}');
}

/* How it ended, for people. */
static void
fault_words(const struct fault_page *p, char *out, size_t room)
{
	double s = (double)p->done.took_ns / 1e9;

	if (p->done.late)
		snprintf(out, room, "%s was killed after %.3g s: its time was "
		    "over", p->command, s);
	else if (WIFSIGNALED(p->done.status))
		snprintf(out, room, "%s was ended by signal %d after %.3g s",
		    p->command, WTERMSIG(p->done.status), s);
	else
		snprintf(out, room, "%s ended with status %d after %.3g s",
		    p->command, WEXITSTATUS(p->done.status), s);
}

/* Bytes that are no text are shown as "\xff"; where it was cut inside of a
 * letter that is left out. */
static void
fault_put_said(struct writer *w, const struct fault_done *done)
{
	char out[4 * FAULT_SAID_MAX + 1];
	size_t n = 0, k;

	for (size_t i = 0; i < done->n_said; i += k > 0 ? k : 1) {
		const char *at = done->said + i;
		bool cut = done->n_said == FAULT_SAID_MAX &&
		    done->n_said - i < 4 && (*at & 0xc0) == 0xc0;

		k = *at == '\0' ? 0 : text_utf8(at, done->n_said - i);
		if (k == 0 && cut)
			break;
		if (k == 0)
			n += (size_t)sprintf(out + n, "\\x%02x",
			    (unsigned char)*at);
		memcpy(out + n, at, k);
		n += k;
	}
	writer_strn(w, out, n);
}

static void
fault_put(struct writer *w, const struct fault_page *p)
{
	bool ended = WIFEXITED(p->done.status) && !p->done.late;

	writer_key_open(w, "fault", '{');
	writer_key_str(w, "command", p->command);
	writer_key_seconds(w, "at", p->at_ns);
	writer_key_seconds(w, "took", p->done.took_ns);
	writer_key(w, "status");
	ended ? writer_int(w, WEXITSTATUS(p->done.status)) : writer_null(w);
	writer_key(w, "late");
	writer_bool(w, p->done.late);
	writer_key(w, "said");
	fault_put_said(w, &p->done);
	fault_put_range(w, "before", p->before_ns);
	fault_put_range(w, "after", p->after_ns);
	writer_close(w, '}');
}

static void
fault_put_run(struct writer *w, const struct fault_page *p, const char *name)
{
	char notes[600];

	fault_words(p, notes, sizeof(notes));
	fault_words_ranges(p, notes + strlen(notes),
	    sizeof(notes) - strlen(notes));
	writer_open(w, '{');
	writer_key_str(w, "name", name);
	writer_key_seconds(w, "from", p->before_ns[0]);
	writer_key_seconds(w, "until", p->after_ns[1]);
	writer_key_str(w, "label", "fault run");
	writer_key_str(w, "client", "MemLens");
	writer_key_str(w, "notes", notes);
	fault_put(w, p);
	writer_key_seconds(w, "recorded", clock_wall_ns());
	writer_close(w, '}');
}

/* Its moment comes first: nothing is broken that nobody would find. */
static const struct err *
fault_page_run(struct context *c, const struct request *rq,
    struct fault_page *p, struct response *rs)
{
	struct buf mark = {0}, run = {0};
	struct writer w = writer_of(&run);
	char name[ACTION_NAME_MAX];
	struct store_extent extent;
	const struct err *e;
	struct store *s;

	fault_name(c->settings->fault_command, p->command);
	action_name("fault", rq->now_ns, name);
	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	p->at_ns = clock_wall_ns();
	buf_printf(&mark, "%s\t", p->command);
	e = mark.failed ? err_nomem() : fact_post(c, p->at_ns, FACT_MARK,
	    "fault", mark.data, mark.len);
	buf_fini(&mark);
	if (e != NULL)
		return e;
	/* from here on it ends as it does, and is kept, whoever has gone */
	(void)watch_end();
	if ((e = fault_run(c->fault, c->settings, &p->done)) != NULL)
		return e;
	fault_ranges(p, extent.slot_ns, c->settings->fault_span_ns);
	p->unread = fault_find_other(c, p) != NULL;
	fault_put_run(&w, p, name);
	e = action_keep(c, name, &run, rs);
	buf_fini(&run);
	return e;
}

const struct err *
api_fault_post(struct context *c, struct request *rq, struct response *rs)
{
	struct fault_page p = {.at_ns = 0};
	struct json_object *in;
	const struct err *e;

	if (c->settings->fault_command == NULL)
		return err_new(ERR_REQUEST, 403, "no fault is configured: see "
		    "command in [fault] of memlens-fcgi.conf");
	e = action_body(rq, "makes something faulty", &in);
	json_object_put(in);
	if (e != NULL || (e = action_begin(c)) != NULL)
		return e;
	e = fault_page_run(c, rq, &p, rs);
	action_end(c);
	return e;
}
