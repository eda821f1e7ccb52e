/*
 * Two passes, since profiles may stand before the frames that they number:
 * the first finds where things are, the second reads them.
 */
#include "fcgi/format/in/speedscope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/json_in.h"
#include "fcgi/format/stacks.h"
#include "store/base/array.h"
#include "store/base/err.h"
#include "store/model/unit.h"

#define FRAMES_MAX (1u << 24)

/* What a profile counts that says "none", time and bytes; of which type that
 * is, its file does not say. */
static const struct stacks_type scope_none = {"samples", "samples", 1,
    SERIES_FLOW}, scope_time = {"time", "nanoseconds", 1, SERIES_FLOW},
    scope_bytes = {"space", "bytes", 1, SERIES_FLOW};

/* The units that the format knows. */
static bool
scope_knows(const char *unit)
{
	static const char *const known[] = {"none", "nanoseconds",
	    "microseconds", "milliseconds", "seconds", "bytes"};
	size_t i = 0;

	while (i < sizeof(known) / sizeof(known[0]) &&
	    strcmp(known[i], unit) != 0)
		i++;
	return i < sizeof(known) / sizeof(known[0]);
}

struct scope {
	struct stacks *s;
	uint32_t *frames; /* numbers in the stacks */
	size_t n_frames, cap_frames;
	size_t n_profiles;
	struct buf text, name, module; /* for a moment */
};

/* Where the parts of a profile are; `bad` where one is missing. */
struct scope_profile {
	struct json_in samples, weights, events;
	bool evented;
	const struct stacks_type *counts;
	int64_t scale; /* units of that in one of the profile's */
	double start;
	struct buf name;
	uint32_t root, type; /* in the stacks */
	double rest;         /* of rounding, below 1 */
};

bool
speedscope_looks(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && strchr(" \t\r\n", p[i]) != NULL && p[i] != '\0')
		i++;
	return i < n && p[i] == '{' &&
	    (memmem(p, n, "speedscope.app/file-format-schema", 33) != NULL ||
	    memmem(p, n, "\"shared\"", 8) != NULL);
}

/* ---- frames ---- */

static const struct err *
scope_add_frame(struct scope *x)
{
	const char *slash, *file;
	struct frame f = {.kind = FRAME_MANAGED, .build_id = ""};

	if (x->n_frames == FRAMES_MAX)
		return err_new(ERR_REQUEST, 413, "more than %u frames",
		    FRAMES_MAX);
	if (!array_room(&x->frames, x->n_frames + 1, &x->cap_frames))
		return err_nomem();
	buf_put_u8(&x->name, '\0');
	buf_put_u8(&x->module, '\0');
	if (x->name.failed || x->module.failed)
		return err_nomem();
	file = (const char *)x->module.data;
	slash = strrchr(file, '/');
	f.module = slash == NULL ? file : slash + 1;
	f.name = (const char *)x->name.data;
	x->frames[x->n_frames++] = stacks_frame(x->s, &f);
	return stacks_error(x->s);
}

static const struct err *
scope_read_frames(struct scope *x, struct json_in *j)
{
	const struct err *e = NULL;

	json_in_open(j, '[');
	while (e == NULL && json_in_item(j)) {
		buf_clear(&x->name);
		buf_clear(&x->module);
		json_in_open(j, '{');
		while (json_in_member(j, &x->text)) {
			if (json_in_is(&x->text, "name"))
				json_in_string(j, &x->name);
			else if (json_in_is(&x->text, "file") &&
			    json_in_peek(j) == '"')
				json_in_string(j, &x->module);
			else
				json_in_skip(j);
		}
		if (!j->bad)
			e = scope_add_frame(x);
	}
	return e != NULL ? e : json_in_error(j);
}

static const struct err *
scope_read_shared(struct scope *x, struct json_in *j)
{
	const struct err *e = NULL;

	json_in_open(j, '{');
	while (e == NULL && json_in_member(j, &x->text)) {
		if (json_in_is(&x->text, "frames") && x->n_frames == 0)
			e = scope_read_frames(x, j);
		else
			json_in_skip(j);
	}
	return e != NULL ? e : json_in_error(j);
}

/* ---- values ---- */

static const struct err *
scope_frame(const struct scope *x, struct json_in *j, size_t *frame)
{
	json_in_index(j, frame);
	if (!j->bad && *frame >= x->n_frames)
		return err_new(ERR_REQUEST, 422,
		    "byte %zu: frame %zu of %zu", (size_t)(j->p - j->start),
		    *frame, x->n_frames);
	return json_in_error(j);
}

static const struct err *
scope_add(struct scope *x, struct scope_profile *p, uint32_t node, double v,
    const struct json_in *at)
{
	v = v * (double)p->scale + p->rest;
	if (!(v >= -1 && v < 0x1p62))
		return err_new(ERR_REQUEST, 422, "byte %zu: %s",
		    (size_t)(at->p - at->start),
		    v < 0 ? "time runs backwards" : "more than 2^62");
	p->rest = v - floor(v);
	if (v >= 1)
		stacks_add(x->s, node, p->type, (int64_t)v);
	return stacks_error(x->s);
}

/* ---- sampled ---- */

static const struct err *
scope_sample(struct scope *x, const struct scope_profile *p,
    struct json_in *j, uint32_t *node)
{
	const struct err *e = NULL;
	size_t frame;

	*node = p->root;
	json_in_open(j, '[');
	while (e == NULL && json_in_item(j)) {
		e = scope_frame(x, j, &frame);
		if (e == NULL)
			*node = stacks_child(x->s, *node, x->frames[frame]);
	}
	return e != NULL ? e : json_in_error(j);
}

/* Samples and weights side by side; without weights each counts 1. */
static const struct err *
scope_sampled(struct scope *x, struct scope_profile *p)
{
	struct json_in *j = &p->samples, *w = &p->weights;
	bool weighed = w->start != NULL;
	const struct err *e = NULL;
	double weight = 1;
	uint32_t node;

	json_in_open(j, '[');
	if (weighed)
		json_in_open(w, '[');
	while (e == NULL && json_in_item(j)) {
		e = scope_sample(x, p, j, &node);
		if (weighed && e == NULL) {
			if (!json_in_item(w))
				return err_new(ERR_REQUEST, 422,
				    "fewer weights than samples");
			json_in_number(w, &weight);
			e = json_in_error(w);
		}
		if (e == NULL && weight < 0)
			e = err_new(ERR_REQUEST, 422,
			    "byte %zu: a negative weight",
			    (size_t)(w->p - w->start));
		if (e == NULL)
			e = scope_add(x, p, node, weight, j);
	}
	return e != NULL ? e : json_in_error(j);
}

/* ---- evented ---- */

struct scope_event {
	char type;
	size_t frame;
	double at;
};

static const struct err *
scope_event(struct scope *x, struct json_in *j, struct scope_event *event)
{
	const struct err *e = NULL;

	*event = (struct scope_event){0};
	json_in_open(j, '{');
	while (e == NULL && json_in_member(j, &x->text)) {
		if (json_in_is(&x->text, "type")) {
			json_in_string(j, &x->name);
			event->type = x->name.len == 1
			    ? (char)x->name.data[0] : '?';
		} else if (json_in_is(&x->text, "frame")) {
			e = scope_frame(x, j, &event->frame);
		} else if (json_in_is(&x->text, "at")) {
			json_in_number(j, &event->at);
		} else {
			json_in_skip(j);
		}
	}
	return e != NULL ? e : json_in_error(j);
}

static const struct err *
scope_evented(struct scope *x, struct scope_profile *p)
{
	struct json_in *j = &p->events;
	const struct err *e = NULL;
	struct scope_event event;
	struct stacks_node top;
	uint32_t node = p->root;
	double last = p->start;

	json_in_open(j, '[');
	while (e == NULL && json_in_item(j)) {
		e = scope_event(x, j, &event);
		/* what is outside of all frames is not counted */
		if (e == NULL && event.at < last)
			e = err_new(ERR_REQUEST, 422,
			    "byte %zu: time runs backwards",
			    (size_t)(j->p - j->start));
		if (e == NULL && node != p->root)
			e = scope_add(x, p, node, event.at - last, j);
		if (e != NULL)
			break;
		last = event.at;
		if (event.type == 'O' && event.frame < x->n_frames) {
			node = stacks_child(x->s, node,
			    x->frames[event.frame]);
			e = stacks_error(x->s);
			continue;
		}
		stacks_get_node(x->s, node, &top);
		if (event.type != 'C' || node == p->root ||
		    event.frame >= x->n_frames ||
		    top.edge != x->frames[event.frame])
			return err_new(ERR_REQUEST, 422,
			    "byte %zu: an event that closes no open frame",
			    (size_t)(j->p - j->start));
		node = top.parent;
	}
	return e != NULL ? e : json_in_error(j);
}

/* ---- profiles ---- */

static const struct err *
scope_unit(struct scope *x, struct json_in *j, struct scope_profile *p)
{
	const char *unit;

	json_in_string(j, &x->name);
	buf_put_u8(&x->name, '\0');
	if (x->name.failed)
		return err_nomem();
	unit = (const char *)x->name.data;
	if (!j->bad && !scope_knows(unit))
		return err_new(ERR_REQUEST, 422,
		    "byte %zu: unknown unit \"%.50s\"",
		    (size_t)(j->p - j->start), unit);
	unit = unit_canonical(unit, &p->scale);
	p->counts = unit_is_time(unit) ? &scope_time
	    : unit_is_bytes(unit) ? &scope_bytes : &scope_none;
	return NULL;
}

/* Where the parts of the profile are. */
static const struct err *
scope_find_parts(struct scope *x, struct json_in *j, struct scope_profile *p)
{
	const struct err *e = NULL;

	p->counts = &scope_none;
	p->scale = 1;
	json_in_open(j, '{');
	while (e == NULL && json_in_member(j, &x->text)) {
		json_in_peek(j);
		if (json_in_is(&x->text, "samples"))
			p->samples = *j;
		else if (json_in_is(&x->text, "weights"))
			p->weights = *j;
		else if (json_in_is(&x->text, "events"))
			p->events = *j;
		if (json_in_is(&x->text, "unit"))
			e = scope_unit(x, j, p);
		else if (json_in_is(&x->text, "startValue"))
			json_in_number(j, &p->start);
		else if (json_in_is(&x->text, "name"))
			json_in_string(j, &p->name);
		else
			json_in_skip(j);
	}
	return e != NULL ? e : json_in_error(j);
}

static const struct err *
scope_profile(struct scope *x, struct json_in *j)
{
	struct scope_profile p = {0};
	const struct err *e = scope_find_parts(x, j, &p);
	struct label label = {"profile", NULL};

	if (e == NULL && p.samples.start == NULL && p.events.start == NULL)
		e = err_new(ERR_REQUEST, 422,
		    "a profile without samples and events");
	buf_put_u8(&p.name, '\0');
	if (e == NULL && p.name.failed)
		e = err_nomem();
	if (e == NULL) {
		label.value = (const char *)p.name.data;
		p.type = stacks_type(x->s, p.counts);
		p.root = x->n_profiles > 1 && p.name.len > 1
		    ? stacks_labels(x->s, &label, 1) : 0;
		e = stacks_error(x->s);
	}
	if (e == NULL && p.samples.start != NULL)
		e = scope_sampled(x, &p);
	else if (e == NULL)
		e = scope_evented(x, &p);
	buf_fini(&p.name);
	return e;
}

static const struct err *
scope_read_profiles(struct scope *x, struct json_in *j)
{
	struct json_in count = *j;
	const struct err *e = NULL;

	json_in_open(&count, '[');
	for (x->n_profiles = 0; json_in_item(&count); x->n_profiles++)
		json_in_skip(&count);
	json_in_open(j, '[');
	while (e == NULL && json_in_item(j))
		e = scope_profile(x, j);
	return e != NULL ? e : json_in_error(j);
}

const struct err *
speedscope_parse(struct stacks *s, const void *data, size_t n)
{
	struct json_in j = json_in_of(data, n), shared = {0}, profiles = {0};
	struct scope x = {.s = s};
	const struct err *e;

	json_in_open(&j, '{');
	while (json_in_member(&j, &x.text)) {
		json_in_peek(&j);
		if (json_in_is(&x.text, "shared"))
			shared = j;
		else if (json_in_is(&x.text, "profiles"))
			profiles = j;
		json_in_skip(&j);
	}
	e = json_in_error(&j);
	if (e == NULL && (shared.start == NULL || profiles.start == NULL))
		e = err_new(ERR_REQUEST, 422,
		    "speedscope's \"shared\" and \"profiles\" expected");
	if (e == NULL)
		e = scope_read_shared(&x, &shared);
	if (e == NULL)
		e = scope_read_profiles(&x, &profiles);
	free(x.frames);
	buf_fini(&x.text);
	buf_fini(&x.name);
	buf_fini(&x.module);
	return e;
}
