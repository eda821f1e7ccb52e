/*
 * Two passes over the frames: the stacks, then their weights.
 */
#include "fcgi/format/out/speedscope_out.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/unit.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void
speedscope_put_frames(struct writer *w, const struct flame *f)
{
	writer_key(w, "shared");
	writer_open(w, '{');
	writer_key(w, "frames");
	writer_open(w, '[');
	for (size_t i = 0; i < f->n_names; i++) {
		writer_open(w, '{');
		writer_key(w, "name");
		writer_str(w, f->names[i].text);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

/* The root is no frame of theirs, unless it has samples of its own. */
static void
speedscope_put_stack(struct writer *w, const struct flame *f,
    const uint32_t *path, const struct flame_frame *a)
{
	writer_open(w, '[');
	for (uint32_t l = a->level > 0; l <= a->level; l++)
		writer_int(w, f->frames[path[l]].name);
	writer_close(w, ']');
}

static const struct err *
speedscope_put_samples(struct writer *w, const struct flame *f,
    size_t max_bytes)
{
	uint32_t *path = malloc(((size_t)f->n_levels + 1) * sizeof(*path));
	size_t before = w->out->len;
	const struct err *e = path != NULL ? NULL : err_nomem();

	writer_key(w, "samples");
	writer_open(w, '[');
	for (uint32_t i = 0; e == NULL && i < f->n_frames && !gone(); i++) {
		const struct flame_frame *a = &f->frames[i];

		path[a->level] = i;
		if (a->self == 0)
			continue;
		speedscope_put_stack(w, f, path, a);
		if (w->out->len - before > max_bytes)
			e = err_new(ERR_REQUEST, 413, "the file would be "
			    "larger than %zu bytes: ask for less", max_bytes);
	}
	writer_close(w, ']');
	free(path);
	return e;
}

static const struct err *
speedscope_put_profile(struct writer *w, const struct flame *f,
    const struct speedscope_out *o, size_t max_bytes)
{
	const struct err *e;

	writer_open(w, '{');
	writer_key(w, "type");
	writer_str(w, "sampled");
	writer_key(w, "name");
	writer_str(w, o->name);
	writer_key(w, "unit");
	writer_str(w, unit_is_time(o->unit) || unit_is_bytes(o->unit)
	    ? o->unit : "none");
	writer_key(w, "startValue");
	writer_int(w, 0);
	writer_key(w, "endValue");
	writer_int128(w, f->total);
	e = speedscope_put_samples(w, f, max_bytes);
	writer_key(w, "weights");
	writer_open(w, '[');
	for (size_t i = 0; e == NULL && i < f->n_frames && !gone(); i++)
		if (f->frames[i].self != 0)
			writer_int128(w, f->frames[i].self);
	writer_close(w, ']');
	writer_close(w, '}');
	return e;
}

const struct err *
speedscope_put(struct buf *out, const struct flame *f,
    const struct speedscope_out *o, size_t max_bytes)
{
	struct writer w = writer_of(out);
	const struct err *e;

	writer_open(&w, '{');
	writer_key(&w, "$schema");
	writer_str(&w, SCHEMA);
	speedscope_put_frames(&w, f);
	writer_key(&w, "profiles");
	writer_open(&w, '[');
	e = speedscope_put_profile(&w, f, o, max_bytes);
	writer_close(&w, ']');
	writer_key(&w, "name");
	writer_str(&w, o->name);
	writer_key(&w, "activeProfileIndex");
	writer_int(&w, 0);
	writer_key(&w, "exporter");
	writer_str(&w, "memlens");
	writer_close(&w, '}');
	if (e == NULL && out->failed)
		e = err_nomem();
	return e;
}
