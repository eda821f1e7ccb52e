/*
 * Handles have small caches and strips are read on demand, so that a reader of
 * a year with hundreds of files stays small.
 */
#include "store/file/sealed.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/file/dbfile.h"
#include "store/file/deflate.h"
#include "store/file/format.h"
#include "store/file/segtree.h"

#define SEALED_CACHE (64u << 10) /* of pages */
#define SEALED_CHUNK_1 1000 /* of a stream in version 1 */
/* Berkeley DB takes a quarter more than it is told, and has tables. */
#define SEALED_HANDLE (SEALED_CACHE + SEALED_CACHE / 4 + (24u << 10))

/* Reads on until `bytes` are `size`, or what is stored ends. */
static const struct err *
sealed_join(struct sealed *f, struct buf *bytes, size_t size)
{
	const struct err *e = NULL;
	struct cur k, v;
	bool found = true;

	while (e == NULL && found && bytes->len < size && !bytes->failed) {
		e = dbfile_next(f->db, &k, &v, &found);
		if (e != NULL || !found)
			break;
		f->joined += cur_left(&k) + cur_left(&v);
		buf_put(bytes, v.p, cur_left(&v));
	}
	return e == NULL && bytes->failed ? err_nomem() : e;
}

/* Appends what a chunk holds. */
static const struct err *
sealed_unpack_chunk(struct sealed *f, struct cur v, struct buf *out)
{
	size_t plain = cur_be32(&v), size = cur_be32(&v);
	struct buf packed = {0};
	const struct err *e = NULL;

	if (v.bad || plain > SEALED_CHUNK)
		return err_new(ERR_FORMAT, 0, "a chunk is malformed");
	buf_put(&packed, v.p, cur_left(&v));
	e = sealed_join(f, &packed, size);
	if (e == NULL)
		e = deflate_take(out, plain, packed.data, packed.len);
	buf_fini(&packed);
	return e;
}

/* Appends a chunk of a stream; *found: there is one. */
static const struct err *
sealed_read_chunk(struct sealed *f, enum sealed_stream stream,
    uint32_t chunk, struct buf *out, bool *found)
{
	struct buf key = {0};
	const struct err *e;
	struct cur k, v;

	sealed_stream_key(&key, stream, chunk);
	e = dbfile_seek(f->db, &key, &k, &v, found);
	if (e == NULL)
		*found = *found && cur_u8(&k) == stream &&
		    cur_be32(&k) == chunk;
	if (e == NULL && *found) {
		if (f->meta.version > 1 && stream != SEALED_META)
			e = sealed_unpack_chunk(f, v, out);
		else
			buf_put(out, v.p, cur_left(&v));
	}
	buf_fini(&key);
	return e == NULL && out->failed ? err_nomem() : e;
}

const struct err *
sealed_read_stream(struct sealed *f, enum sealed_stream stream,
    struct buf *out)
{
	const struct err *e = NULL;
	bool found = true;

	buf_clear(out);
	for (uint32_t chunk = 0; e == NULL && found; chunk++)
		e = sealed_read_chunk(f, stream, chunk, out, &found);
	return e;
}

const struct err *
sealed_read_lives(struct sealed *f, struct buf *out)
{
	const struct err *e = sealed_read_stream(f, SEALED_LIVES, out);

	return e == NULL && out->len == 0
	    ? sealed_read_stream(f, SEALED_LIVES_BEFORE, out) : e;
}

/* Before version 3 all of them; 0: malformed. */
static uint32_t
sealed_read_levels(struct cur *c, const struct sealed_meta *m)
{
	uint64_t all, levels;

	if (m->top > SEG_MAX_LEVEL || m->base > m->top)
		return 0;
	all = (UINT64_C(2) << m->top) - (UINT64_C(1) << m->base);
	levels = m->version > 2 ? cur_varint(c) : all;
	return (levels & ~all) == 0 && levels >> m->base & 1
	    ? (uint32_t)levels : 0;
}

static const struct err *
sealed_read_meta(struct sealed *f, struct buf *bytes)
{
	const struct err *e = sealed_read_stream(f, SEALED_META, bytes);
	struct sealed_meta *m = &f->meta;
	uint64_t version, slot_ns;
	struct cur c;

	if (e != NULL)
		return e;
	c = cur_of(bytes->data, bytes->len);
	version = cur_varint(&c);
	if (!c.bad && (version == 0 || version > FORMAT_VERSION))
		return err_new(ERR_FORMAT, 0,
		    "version %llu of the file is not known here",
		    (unsigned long long)version);
	m->version = version;
	slot_ns = cur_varint(&c);
	m->first = cur_varint(&c);
	m->slots = cur_varint(&c);
	m->base = cur_u8(&c);
	m->top = cur_u8(&c);
	m->levels = sealed_read_levels(&c, m);
	m->until = cur_varint(&c);
	m->number = cur_left(&c) > 0 ? cur_varint(&c) : 0;
	m->names = cur_left(&c) > 0 ? cur_varint(&c) : 0;
	m->slot_ns = (int64_t)slot_ns;
	if (c.bad || m->levels == 0 || slot_ns == 0 ||
	    slot_ns > INT64_MAX / 2 || m->first >> 40 || m->slots >> 40 ||
	    m->until >> 40)
		return err_new(ERR_FORMAT, (int)(c.p - bytes->data),
		    "the file's meta record is malformed");
	return NULL;
}

/* Stack numbers: differences of rising node numbers. */
const struct err *
sealed_read_stacks(struct sealed *f, uint32_t n_nodes)
{
	struct buf bytes = {0};
	const struct err *e = sealed_read_stream(f, SEALED_STACKS, &bytes);
	uint64_t node = 0, n = 0;
	struct cur c = cur_of(bytes.data, bytes.len);

	if (e == NULL) {
		n = cur_varint(&c);
		if (c.bad || n > cur_left(&c))
			e = err_new(ERR_FORMAT, 0,
			    "the list of stacks is cut");
	}
	if (e == NULL && (f->stack_nodes = malloc((n + 1) *
	        sizeof(*f->stack_nodes))) == NULL)
		e = err_nomem();
	for (uint64_t i = 0; i < n && e == NULL; i++) {
		node += cur_varint(&c);
		if (c.bad || node >= n_nodes)
			e = err_new(ERR_FORMAT, (int)(c.p - bytes.data),
			    "the list of stacks is malformed");
		else
			f->stack_nodes[i] = (uint32_t)node;
	}
	if (e == NULL)
		f->n_stacks = (uint32_t)n;
	buf_fini(&bytes);
	return e;
}

const struct err *
sealed_set_series(struct sealed *f, uint32_t n)
{
	f->kinds = calloc(n + 1, 1);
	if (f->kinds == NULL)
		return err_nomem();
	f->n_series = n;
	return NULL;
}

/* Chunk by chunk; the one that was read last is kept. */
const struct err *
sealed_read_part(struct sealed *f, enum sealed_stream stream, uint64_t offset,
    void *to, size_t n, size_t *got)
{
	uint64_t each = f->meta.version > 1 ? SEALED_CHUNK : SEALED_CHUNK_1;
	const struct err *e = NULL;
	bool found = true;

	for (*got = 0; *got < n;) {
		uint64_t chunk = (offset + *got) / each;
		size_t skip = (size_t)((offset + *got) % each), part;

		if (f->chunk.len == 0 || f->chunk_number != chunk ||
		    f->chunk_of != stream) {
			buf_clear(&f->chunk);
			e = sealed_read_chunk(f, stream, (uint32_t)chunk,
			    &f->chunk, &found);
			f->chunk_number = chunk;
			f->chunk_of = stream;
		}
		if (e != NULL || !found || f->chunk.len <= skip)
			break;
		part = f->chunk.len - skip;
		part = part < n - *got ? part : n - *got;
		memcpy((uint8_t *)to + *got, f->chunk.data + skip, part);
		*got += part;
	}
	if (e != NULL)
		buf_clear(&f->chunk);
	return e;
}

const struct err *
sealed_read_dict(void *arg, uint64_t offset, void *to, size_t n, size_t *got)
{
	return sealed_read_part(arg, SEALED_DICT, offset, to, n, got);
}

/* The dictionary as a whole. */
static const struct err *
sealed_take_dict(struct sealed *f, const struct buf *bytes)
{
	const struct err *e = batch_decode_dict(bytes->data, bytes->len,
	    &f->dict);

	if (e != NULL)
		return e;
	f->kinds = malloc(f->dict->n_series + 1);
	if (f->kinds == NULL)
		return err_nomem();
	for (size_t i = 0; i < f->dict->n_series; i++)
		f->kinds[i] = (uint8_t)f->dict->series[i].kind;
	f->n_series = (uint32_t)f->dict->n_series;
	return sealed_read_stacks(f, (uint32_t)f->dict->n_nodes);
}

const struct err *
sealed_open_nameless(struct sealed **out, const char *path)
{
	struct sealed *f = calloc(1, sizeof(*f));
	struct buf bytes = {0};
	const struct err *e;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	e = dbfile_open(&f->db, path, SEALED_CACHE);
	if (e == NULL)
		e = sealed_read_meta(f, &bytes);
	buf_fini(&bytes);
	if (e != NULL) {
		sealed_close(f);
		return e->domain == ERR_DB ? e : err_wrap(e, "%s", path);
	}
	*out = f;
	return NULL;
}

const struct err *
sealed_open(struct sealed **out, const char *path)
{
	struct buf dict = {0};
	const struct err *e = sealed_open_nameless(out, path);

	if (e != NULL)
		return e;
	e = sealed_read_stream(*out, SEALED_DICT, &dict);
	if (e == NULL)
		e = sealed_take_dict(*out, &dict);
	if (e != NULL) {
		sealed_close(*out);
		*out = NULL;
		e = e->domain == ERR_DB ? e : err_wrap(e, "%s", path);
	}
	buf_fini(&dict);
	return e;
}

void
sealed_close(struct sealed *f)
{
	if (f == NULL)
		return;
	dbfile_close(f->db);
	batch_free(f->dict);
	free(f->kinds);
	free(f->stack_nodes);
	buf_fini(&f->chunk);
	buf_fini(&f->bundle);
	for (unsigned l = 0; l <= SEG_MAX_LEVEL; l++) {
		if (f->strips[l] != NULL)
			buf_fini(&f->strips[l]->bytes);
		free(f->strips[l]);
	}
	free(f);
}

const struct err *
sealed_reopen(struct sealed *f)
{
	return dbfile_reopen(&f->db, SEALED_CACHE);
}

void
sealed_drop_names(struct sealed *f)
{
	struct batch *d = f->dict;

	free(d->frames);
	free(d->labels);
	free(d->pairs);
	free(d->nodes);
	free(d->index->depths);
	free(f->stack_nodes);
	intern_fini(&d->strings);
	d->frames = NULL;
	d->labels = NULL;
	d->pairs = NULL;
	d->nodes = NULL;
	d->index->depths = NULL;
	f->stack_nodes = NULL;
	d->n_frames = d->n_labels = d->n_pairs = d->n_nodes = 0;
}

static size_t
sealed_dict_bytes(const struct batch *d)
{
	return sizeof(*d) + d->n_series * sizeof(*d->series) +
	    d->n_facts * sizeof(*d->facts) + d->fact_bytes.cap +
	    d->n_nodes * sizeof(*d->nodes) + d->n_frames * sizeof(*d->frames) +
	    d->strings.bytes.cap + d->strings.cap * sizeof(*d->strings.items);
}

size_t
sealed_bytes(const struct sealed *f)
{
	size_t n = sizeof(*f) + SEALED_HANDLE + f->n_series + f->chunk.cap +
	    f->bundle.cap +
	    (f->dict ? sealed_dict_bytes(f->dict) : 0) +
	    (f->stack_nodes ? f->n_stacks * sizeof(*f->stack_nodes) : 0);

	for (unsigned l = 0; l <= SEG_MAX_LEVEL; l++) {
		if (f->strips[l] != NULL)
			n += sizeof(*f->strips[l]) + f->strips[l]->bytes.cap;
	}
	return n;
}

const struct err *
sealed_unpack_bundle(struct sealed *f, struct cur value, struct buf *out)
{
	buf_clear(out);
	cur_u8(&value);
	return sealed_unpack_chunk(f, value, out);
}

/* Is `key` one that the bundle which was read last answers for? */
static bool
sealed_in_bundle(const struct sealed *f, const struct buf *key)
{
	return f->bundle.len > 0 &&
	    memcmp(key->data, f->bundle_from, SEALED_STRIP_KEY) >= 0 &&
	    memcmp(key->data, f->bundle_last, SEALED_STRIP_KEY) <= 0;
}

/* Where to begin to look for a key in the bundle: who asks for one series
 * after the other goes on from the strip that was found last. */
static struct cur
sealed_bundle_from(const struct sealed *f, const struct buf *key)
{
	struct cur c = cur_of(f->bundle.data + f->bundle_at,
	    f->bundle.len - f->bundle_at), next = c, k, strip;

	return sealed_bundle_next(&next, &k, &strip) &&
	    memcmp(k.p, key->data, SEALED_STRIP_KEY) <= 0
	    ? c : cur_of(f->bundle.data, f->bundle.len);
}

/* The first strip of the bundle whose key is not less than `key`. */
static const struct err *
sealed_search_bundle(struct sealed *f, const struct buf *key, struct cur *k,
    struct buf *bytes)
{
	struct cur c = sealed_bundle_from(f, key), strip;

	while (sealed_bundle_next(&c, k, &strip)) {
		if (memcmp(k->p, key->data, SEALED_STRIP_KEY) < 0)
			continue;
		f->bundle_at = (size_t)(k->p - f->bundle.data);
		buf_put(bytes, strip.p, cur_left(&strip));
		return bytes->failed ? err_nomem() : NULL;
	}
	return err_new(ERR_FORMAT, 0, "a bundle of strips is malformed");
}

/* The bundle in `value`, whose last strip has the key `k`. */
static const struct err *
sealed_load_bundle(struct sealed *f, const struct buf *key, struct cur k,
    struct cur value)
{
	uint8_t last[SEALED_STRIP_KEY];
	const struct err *e = NULL;

	if (cur_left(&k) != SEALED_STRIP_KEY)
		return err_new(ERR_FORMAT, 0, "a bundle's key is malformed");
	memcpy(last, k.p, sizeof(last));
	if (f->bundle.len == 0 ||
	    memcmp(last, f->bundle_last, sizeof(last)) != 0) {
		f->bundle_at = 0;
		e = sealed_unpack_bundle(f, value, &f->bundle);
	}
	if (e != NULL)
		buf_clear(&f->bundle);
	memcpy(f->bundle_from, key->data, SEALED_STRIP_KEY);
	memcpy(f->bundle_last, last, sizeof(last));
	return e;
}

/* The first strip whose key is not less than `key`: its key lives until the
 * next call; *found: there is one. */
static const struct err *
sealed_read_strip(struct sealed *f, const struct buf *key, struct cur *k,
    struct buf *bytes, bool *found)
{
	const struct err *e = NULL;
	struct cur v;

	*found = true;
	buf_clear(bytes);
	if (key->failed)
		return err_nomem();
	if (!sealed_in_bundle(f, key)) {
		e = dbfile_seek(f->db, key, k, &v, found);
		if (e != NULL || !*found)
			return e;
		if (cur_left(k) == 0 || *k->p != SEALED_STRIPS ||
		    cur_left(&v) == 0 || *v.p != SEALED_BUNDLE) {
			buf_put(bytes, v.p, cur_left(&v));
			return bytes->failed ? err_nomem() : NULL;
		}
		e = sealed_load_bundle(f, key, *k, v);
	}
	return e == NULL ? sealed_search_bundle(f, key, k, bytes) : e;
}

/* Reads the strip that holds the first block at or after `slot`. */
static const struct err *
sealed_load_strip(struct sealed *f, struct sealed_strip *t, uint32_t series,
    unsigned level, uint64_t slot)
{
	struct buf key = {0};
	const struct err *e;
	struct cur k;
	bool found;

	t->valid = false;
	t->strip.n = 0;
	t->series = series;
	t->from = slot;
	t->until = UINT64_MAX;
	sealed_strip_key(&key, series, level, slot);
	e = sealed_read_strip(f, &key, &k, &t->bytes, &found);
	if (e == NULL && found && cur_u8(&k) == SEALED_STRIPS &&
	    cur_be32(&k) == series && cur_u8(&k) == level && !k.bad) {
		e = sealed_join(f, &t->bytes,
		    strip_size(t->bytes.data, t->bytes.len));
		if (e == NULL)
			e = strip_read(&t->strip,
			    (enum series_kind)f->kinds[series], level,
			    &t->bytes);
		if (e == NULL)
			t->until = t->strip.blocks[t->strip.n - 1].start + 1;
		if (e == NULL && t->strip.blocks[0].start < slot)
			t->from = t->strip.blocks[0].start;
	}
	buf_fini(&key);
	t->valid = e == NULL;
	return e;
}

/* The strip of a level that answers for `slot`. */
static const struct err *
sealed_find_strip(struct sealed *f, uint32_t series, unsigned level,
    uint64_t slot, struct sealed_strip **out)
{
	struct sealed_strip *t = f->strips[level];

	if (t == NULL && (t = calloc(1, sizeof(*t))) == NULL)
		return err_nomem();
	*out = f->strips[level] = t;
	if (t->valid && t->series == series && slot >= t->from &&
	    slot < t->until)
		return NULL;
	return sealed_load_strip(f, t, series, level, slot);
}

const struct err *
sealed_seek(struct sealed *f, uint32_t series, unsigned level, uint64_t slot,
    const struct block **block)
{
	const struct err *e;
	struct sealed_strip *t = NULL;
	size_t low = 0, high;

	*block = NULL;
	if (level > SEG_MAX_LEVEL || (f->meta.levels >> level & 1) == 0)
		return NULL;
	e = sealed_find_strip(f, series, level, slot, &t);
	if (e != NULL || t == NULL)
		return e;
	high = t->strip.n;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->strip.blocks[mid].start < slot)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < t->strip.n)
		*block = &t->strip.blocks[low];
	return NULL;
}

const struct err *
sealed_block(struct sealed *f, uint32_t series, unsigned level, uint64_t slot,
    const struct block **block)
{
	const struct err *e = sealed_seek(f, series, level, slot, block);

	if (e == NULL && *block != NULL && (*block)->start != slot)
		*block = NULL;
	return e;
}

/* The highest level that the file has, at most `level`. */
static unsigned
sealed_held(const struct sealed *f, unsigned level)
{
	while ((f->meta.levels >> level & 1) == 0)
		level--;
	return level;
}

uint64_t
sealed_part_slots(const struct sealed *f, unsigned level)
{
	return level < f->meta.base || level > f->meta.top
	    ? 0 : seg_slots(sealed_held(f, level));
}

const struct err *
sealed_part(struct sealed *f, uint32_t series, unsigned level,
    uint64_t start, uint64_t *at, const struct block **block)
{
	uint64_t until = start + seg_slots(level);
	uint64_t each = sealed_part_slots(f, level);
	const struct err *e;

	*block = NULL;
	if (each == 0 || *at >= until)
		return NULL;
	e = sealed_seek(f, series, sealed_held(f, level), *at, block);
	if (*block == NULL)
		*at = UINT64_MAX;
	else if ((*block)->start >= until)
		*block = NULL;
	else
		*at = (*block)->start + each;
	return e;
}
