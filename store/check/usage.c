/*
 * Reads keys and first bytes of strips, not their blocks; numbers of series are
 * joined by their text, since each file has its own.
 */
#include "store/check/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/file/block.h"
#include "store/file/dbfile.h"
#include "store/file/manifest.h"
#include "store/file/sealed.h"
#include "store/model/unit.h"

void
usage_fini(struct usage *c)
{
	intern_fini(&c->names);
	free(c->series);
	*c = (struct usage){0};
}

/* A series as people write it: name{label="value",...}. */
static void
usage_text(const struct series_desc *d, struct buf *out)
{
	buf_printf(out, "%s", d->name);
	for (size_t i = 0; i < d->n_labels; i++)
		buf_printf(out, "%s%s=\"%s\"", i ? "," : "{",
		    d->labels[i].name, d->labels[i].value);
	if (d->n_labels > 0)
		buf_printf(out, "}");
}

/* The place of a series of a file; all files share the numbers. */
static const struct err *
usage_series(struct usage *c, const struct sealed *f, uint32_t series,
    uint32_t *place)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	struct buf text = {0};
	struct usage_part *grown;
	uint32_t before = c->names.n;

	batch_series_desc(f->dict, series, &d, labels, BATCH_MAX_LABELS);
	buf_printf(&text, "%-9s ", series_kind_name(d.kind));
	usage_text(&d, &text);
	if (d.unit[0] != '\0')
		buf_printf(&text, " in %s", series_is_profile(d.kind)
		    ? unit_of_type(d.name, d.unit, NULL) : d.unit);
	*place = text.failed ? INTERN_NONE
	                     : intern_put(&c->names, text.data, text.len);
	buf_fini(&text);
	if (*place == INTERN_NONE)
		return err_nomem();
	if (c->names.n == before)
		return NULL;
	grown = realloc(c->series, c->names.n * sizeof(*grown));
	if (grown == NULL)
		return err_nomem();
	c->series = grown;
	c->series[*place] = (struct usage_part){0};
	return NULL;
}

/* A strip, or of a large one a chunk: its key names series and level. */
static const struct err *
usage_strip(struct usage *c, const struct sealed *f,
    const uint32_t *places, struct cur key, struct cur value, uint64_t size)
{
	uint32_t series = cur_be32(&key);
	unsigned level = cur_u8(&key);
	const uint8_t *last = cur_raw(&key, 8);
	uint64_t blocks = last != NULL && cur_left(&key) == 0
	    ? strip_blocks(value.p, cur_left(&value))
	    : 0;

	if (key.bad || series >= f->dict->n_series || level > SEG_MAX_LEVEL)
		return err_new(ERR_FORMAT, 0, "a strip's key is malformed");
	c->levels[level].blocks += blocks;
	c->levels[level].bytes += size;
	c->series[places[series]].blocks += blocks;
	c->series[places[series]].bytes += size;
	return NULL;
}

/* A bundle: its strips, each with its part of what all of them take, from the
 * first record, of `first` bytes, on. */
static const struct err *
usage_bundle(struct usage *c, struct sealed *f, const uint32_t *places,
    struct cur value, uint64_t first, uint64_t *counted)
{
	struct buf plain = {0};
	const struct err *e;
	struct cur all, key, strip;
	uint64_t done = 0, size;

	f->joined = 0;
	e = sealed_unpack_bundle(f, value, &plain);
	size = first + f->joined;
	*counted += size;
	all = cur_of(plain.data, plain.len);
	while (e == NULL && cur_left(&all) > 0) {
		uint64_t before = done;

		if (!sealed_bundle_next(&all, &key, &strip)) {
			e = err_new(ERR_FORMAT, 0, "a bundle is malformed");
			break;
		}
		done = (uint64_t)(all.p - plain.data) * size / plain.len;
		cur_u8(&key);
		e = usage_strip(c, f, places, key, strip, done - before);
	}
	buf_fini(&plain);
	return e;
}

static const struct err *
usage_records(struct usage *c, struct sealed *f, const uint32_t *places,
    uint64_t *counted)
{
	struct buf first = {0};
	struct cur key, value;
	const struct err *e;
	bool found;

	sealed_stream_key(&first, SEALED_META, 0);
	e = dbfile_seek(f->db, &first, &key, &value, &found);
	while (e == NULL && found) {
		uint64_t size = cur_left(&key) + cur_left(&value);
		unsigned kind = cur_u8(&key);
		bool bundle = kind == SEALED_STRIPS &&
		    cur_left(&key) + 1 == SEALED_STRIP_KEY &&
		    cur_left(&value) > 0 && *value.p == SEALED_BUNDLE;

		*counted += bundle ? 0 : size;
		if (bundle)
			e = usage_bundle(c, f, places, value, size, counted);
		else if (kind == SEALED_STRIPS)
			e = usage_strip(c, f, places, key, value, size);
		else
			c->dictionary += size;
		if (e == NULL)
			e = dbfile_next(f->db, &key, &value, &found);
	}
	buf_fini(&first);
	return e;
}

static const struct err *
usage_file(struct usage *c, const char *path, uint64_t bytes)
{
	struct sealed *f;
	const struct err *e = sealed_open(&f, path);
	uint32_t *places;
	uint64_t counted = 0;

	if (e != NULL)
		return e;
	places = calloc(f->dict->n_series + 1, sizeof(*places));
	if (places == NULL)
		e = err_nomem();
	for (uint32_t i = 0; i < f->dict->n_series && e == NULL; i++)
		e = usage_series(c, f, i, &places[i]);
	if (e == NULL)
		e = usage_records(c, f, places, &counted);
	c->sealed += bytes;
	c->pages += bytes > counted ? bytes - counted : 0;
	free(places);
	sealed_close(f);
	return e;
}

static uint64_t
usage_size(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) == 0 ? (uint64_t)st.st_size : 0;
}

/* One file of the manifest; only want of memory ends it. */
static const struct err *
usage_entry(struct usage *c, const char *path, int dir,
    const struct manifest_file *m)
{
	char name[4200];
	const struct err *e;

	if (m->kind == MANIFEST_JOURNAL) {
		c->journals += usage_size(dir, m->name);
		return NULL;
	}
	if (m->kind == MANIFEST_IDS) {
		c->ids += usage_size(dir, m->name);
		return NULL;
	}
	snprintf(name, sizeof(name), "%s/%s", path, m->name);
	e = usage_file(c, name, usage_size(dir, m->name));
	if (e == NULL || e->code == ENOMEM)
		return e;
	c->damaged += e->code != ENOENT;
	return NULL;
}

const struct err *
store_usage(const char *path, usage_fn *fn, void *arg, struct usage *c)
{
	struct manifest m = {0};
	const struct err *e;
	int dir;

	*c = (struct usage){0};
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno("%s", path);
	e = manifest_load(&m, dir);
	for (uint32_t i = 0; i < m.n && e == NULL; i++) {
		fn(arg, (double)i / m.n);
		e = usage_entry(c, path, dir, &m.files[i]);
	}
	manifest_fini(&m);
	close(dir);
	return e;
}
