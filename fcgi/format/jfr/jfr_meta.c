/*
 * Classes and their fields, and values as they describe them.
 *
 * Values without a constant's number hold their fields in place.  Those that
 * would hold themselves are refused, and fields that take no bytes are taken
 * out: the work for a value is its bytes, times the depth of classes at most.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/jfr/jfr_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define META_MAX (16u << 20)   /* bytes; a JVM's are 100 KB */
#define CLASSES_MAX 16384u     /* 500 */
#define CLASS_FIELDS_MAX 262144u
#define ELEMENTS_DEPTH 8
#define CLASSES_DEPTH 32

static const struct jfr_shape_of shapes[JFR_EVENTS] = {
    [JFR_TEXT] = {"java.lang.String", {0}},
    [JFR_SYMBOL] = {"jdk.types.Symbol", {"string"}},
    [JFR_CLASS] = {"java.lang.Class", {"name"}},
    [JFR_METHOD] = {"jdk.types.Method", {"type", "name"}},
    [JFR_TRACE] = {"jdk.types.StackTrace", {"truncated", "frames"}},
    [JFR_FRAME_TYPE] = {"jdk.types.FrameType", {"description"}},
    [JFR_STATE] = {"jdk.types.ThreadState", {"name"}},
    [JFR_FRAME] = {"jdk.types.StackFrame", {"method", "type"}},
    [JFR_SETTING] = {"jdk.ActiveSetting", {"id", "name", "value"}},
};

static const struct jfr_shape_of *
shape_at(uint32_t i)
{
	return i < JFR_EVENTS ? &shapes[i] : &jfr_event_shapes[i - JFR_EVENTS];
}

static uint32_t
shape_find(const char *name)
{
	for (uint32_t i = 0; i < JFR_EVENTS + JFR_N_EVENTS; i++)
		if (strcmp(shape_at(i)->name, name) == 0)
			return i;
	return JFR_NONE;
}

static enum jfr_kind
kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum jfr_kind kind;
	} kinds[] = {{"boolean", JFR_BYTE}, {"byte", JFR_BYTE},
	    {"char", JFR_VARINT}, {"short", JFR_VARINT}, {"int", JFR_VARINT},
	    {"long", JFR_VARINT}, {"float", JFR_FLOAT},
	    {"double", JFR_DOUBLE}, {"java.lang.String", JFR_STRING}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	return JFR_STRUCT;
}

/* ---- elements ---- */

struct reader {
	struct jfr_meta *m;
	struct cur c;
	const struct err *e; /* other than damage at the cursor */
};

static bool
read_strings(struct reader *r)
{
	struct jfr_meta *m = r->m;
	uint64_t n = jfr_varint(&r->c);

	for (uint64_t i = 0; i < n && !r->c.bad; i++) {
		uint64_t pool = 0;

		if (!array_room(&m->string, m->n_strings + 1,
		    &m->cap_strings))
			return false;
		m->string[m->n_strings++] = (uint32_t)m->strings.len;
		jfr_string(&r->c, &m->strings, &pool);
		buf_put_u8(&m->strings, 0);
	}
	return !m->strings.failed;
}

/* The number of a string; the cursor is bad where there is none. */
static uint32_t
read_string(struct reader *r)
{
	uint64_t i = jfr_varint(&r->c);

	if (i >= r->m->n_strings)
		r->c.bad = true;
	return r->c.bad ? 0 : (uint32_t)i;
}

static const char *
meta_string(const struct jfr_meta *m, uint32_t i)
{
	return (const char *)m->strings.data + m->string[i];
}

struct attributes {
	const char *name, *id, *class;
	uint32_t name_at;
	bool pool, array;
};

static struct attributes
read_attributes(struct reader *r)
{
	struct attributes a = {"", "", "", 0, false, false};
	uint64_t n = jfr_varint(&r->c);

	while (n-- > 0 && !r->c.bad) {
		uint32_t key = read_string(r), value = read_string(r);
		const char *is, *v;

		if (r->c.bad)
			break;
		is = meta_string(r->m, key);
		v = meta_string(r->m, value);
		if (strcmp(is, "name") == 0) {
			a.name = v;
			a.name_at = value;
		} else if (strcmp(is, "id") == 0) {
			a.id = v;
		} else if (strcmp(is, "class") == 0) {
			a.class = v;
		} else if (strcmp(is, "constantPool") == 0) {
			a.pool = strcmp(v, "true") == 0;
		} else if (strcmp(is, "dimension") == 0) {
			a.array = strcmp(v, "0") != 0;
		}
	}
	return a;
}

static const struct err *
add_class(struct jfr_meta *m, const struct attributes *a)
{
	uint64_t id = strtoull(a->id, NULL, 10);

	if (m->n_classes == CLASSES_MAX)
		return err_new(ERR_REQUEST, 413, "jfr: more than %u classes",
		    CLASSES_MAX);
	if (!array_room(&m->classes, m->n_classes + 1, &m->cap_classes))
		return err_nomem();
	m->classes[m->n_classes] = (struct jfr_class){.id = id,
	    .first = m->n_fields, .shape = shape_find(a->name),
	    .kind = kind_of(a->name)};
	if (map64_get(&m->by_id, id) == INTERN_NONE &&
	    !map64_add(&m->by_id, id, m->n_classes))
		return err_nomem();
	m->n_classes++;
	return NULL;
}

static const struct err *
add_field(struct jfr_meta *m, const struct attributes *a)
{
	if (m->n_fields == CLASS_FIELDS_MAX)
		return err_new(ERR_REQUEST, 413, "jfr: more than %u fields",
		    CLASS_FIELDS_MAX);
	if (!array_room(&m->fields, m->n_fields + 1, &m->cap_fields))
		return err_nomem();
	m->fields[m->n_fields++] = (struct jfr_field){
	    .class_id = strtoull(a->class, NULL, 10), .name = a->name_at,
	    .pool = a->pool, .array = a->array, .slot = JFR_FIELDS};
	m->classes[m->n_classes - 1].n++;
	return NULL;
}

/* root > metadata > class > field; others have nothing for us. */
static void
read_element(struct reader *r, unsigned depth)
{
	uint32_t name = read_string(r);
	struct attributes a = read_attributes(r);
	uint64_t children = jfr_varint(&r->c);

	if (r->c.bad || r->e != NULL)
		return;
	if (depth == 2 && strcmp(meta_string(r->m, name), "class") == 0)
		r->e = add_class(r->m, &a);
	else if (depth == 3 && r->m->n_classes > 0 &&
	    strcmp(meta_string(r->m, name), "field") == 0)
		r->e = add_field(r->m, &a);
	if (depth == ELEMENTS_DEPTH && children > 0)
		r->c.bad = true;
	while (children-- > 0 && !r->c.bad && r->e == NULL)
		read_element(r, depth + 1);
}

/* ---- classes ---- */

static void
class_slots(struct jfr_meta *m, const struct jfr_class *k)
{
	const struct jfr_shape_of *shape;

	if (k->shape == JFR_NONE)
		return;
	shape = shape_at(k->shape);
	for (uint32_t f = k->first; f < k->first + k->n; f++) {
		const char *name = meta_string(m, m->fields[f].name);

		for (uint8_t i = 0; i < JFR_FIELDS; i++)
			if (shape->fields[i] != NULL &&
			    strcmp(shape->fields[i], name) == 0)
				m->fields[f].slot = i;
	}
}

/* Does a class take no bytes?  False for one that would hold itself. */
static bool
class_check(struct jfr_meta *m, uint32_t class, unsigned depth)
{
	struct jfr_class *k = &m->classes[class];

	if (k->seen == 2)
		return true;
	if (k->seen == 1 || depth == CLASSES_DEPTH)
		return false;
	k->seen = 1;
	k->empty = k->kind == JFR_STRUCT;
	for (uint32_t i = k->first; i < k->first + k->n &&
	    k->kind == JFR_STRUCT; i++) {
		struct jfr_field *f = &m->fields[i];

		if (!f->pool && f->class != JFR_NONE &&
		    !class_check(m, f->class, depth + 1))
			return false;
		k->empty &= !f->pool && !f->array && f->class != JFR_NONE &&
		    m->classes[f->class].empty;
	}
	k->seen = 2;
	return true;
}

/* Takes fields out that take no bytes, so that no value costs more than it
 * has. */
static void
class_pack(struct jfr_meta *m, struct jfr_class *k)
{
	uint32_t n = 0;

	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const struct jfr_field *f = &m->fields[i];

		if (f->pool || f->array || f->class == JFR_NONE ||
		    !m->classes[f->class].empty)
			m->fields[k->first + n++] = *f;
	}
	k->n = n;
}

static bool
meta_resolve(struct jfr_meta *m)
{
	for (uint32_t i = 0; i < m->n_fields; i++) {
		uint32_t class = map64_get(&m->by_id, m->fields[i].class_id);

		m->fields[i].class = class == INTERN_NONE ? JFR_NONE : class;
	}
	for (uint32_t i = 0; i < m->n_classes; i++) {
		if (!class_check(m, i, 0))
			return false;
	}
	for (uint32_t i = 0; i < m->n_classes; i++) {
		class_pack(m, &m->classes[i]);
		class_slots(m, &m->classes[i]);
	}
	return true;
}

void
jfr_meta_fini(struct jfr_meta *m)
{
	buf_fini(&m->strings);
	free(m->string);
	free(m->classes);
	free(m->fields);
	map64_fini(&m->by_id);
	*m = (struct jfr_meta){0};
}

const struct err *
jfr_meta_read(struct jfr *j, const uint8_t *at)
{
	struct reader r = {.m = &j->meta,
	    .c = cur_of(at, (size_t)(j->chunk_end - at))};
	uint64_t size = jfr_varint(&r.c);

	if (r.c.bad || size > (size_t)(j->chunk_end - at))
		return jfr_bad(j, at, "the metadata are not all there");
	if (size > META_MAX)
		return err_new(ERR_REQUEST, 413, "jfr: over 16 MB of metadata");
	r.c.end = at + size;
	if (jfr_varint(&r.c) != 0)
		return jfr_bad(j, at, "no metadata where they should be");
	for (int i = 0; i < 3; i++) /* start, duration, number */
		jfr_varint(&r.c);
	if (!read_strings(&r))
		return err_nomem();
	read_element(&r, 0);
	if (r.c.bad)
		return jfr_bad(j, r.c.p, "metadata that end early or refer to "
		    "no string");
	if (r.e != NULL)
		return r.e;
	return meta_resolve(&j->meta) ? NULL : jfr_bad(j, at,
	    "a class of the metadata holds itself");
}

/* ---- values ---- */

static void
skip_field(const struct jfr_meta *m, struct cur *c, const struct jfr_field *f)
{
	uint64_t n = f->array ? jfr_varint(c) : 1;

	if (f->class == JFR_NONE && !f->pool)
		c->bad = true;
	else if (!f->pool && m->classes[f->class].empty)
		return; /* however many */
	while (n-- > 0 && !c->bad) {
		if (f->pool)
			jfr_varint(c);
		else
			jfr_skip(m, c, f->class);
	}
}

bool
jfr_skip(const struct jfr_meta *m, struct cur *c, uint32_t class)
{
	const struct jfr_class *k = &m->classes[class];
	uint64_t pool;

	switch (k->kind) {
	case JFR_BYTE:
		cur_raw(c, 1);
		break;
	case JFR_VARINT:
		jfr_varint(c);
		break;
	case JFR_FLOAT:
		cur_raw(c, 4);
		break;
	case JFR_DOUBLE:
		cur_raw(c, 8);
		break;
	case JFR_STRING:
		jfr_string(c, NULL, &pool);
		break;
	case JFR_STRUCT:
		for (uint32_t i = k->first; i < k->first + k->n && !c->bad;
		    i++)
			skip_field(m, c, &m->fields[i]);
	}
	return !c->bad;
}

/* A field that is wanted: where it is, and what it is if it is a number. */
static void
record_field(const struct jfr_meta *m, struct cur *c,
    const struct jfr_field *f, struct jfr_record *r)
{
	enum jfr_kind kind = f->class == JFR_NONE ? JFR_STRUCT
	    : m->classes[f->class].kind;

	r->at[f->slot] = c->p;
	r->pool[f->slot] = f->pool;
	if (!f->array && (f->pool || kind == JFR_VARINT))
		r->number[f->slot] = jfr_varint(c);
	else if (!f->array && kind == JFR_BYTE)
		r->number[f->slot] = cur_u8(c);
	else
		skip_field(m, c, f);
}

bool
jfr_record(const struct jfr_meta *m, struct cur *c, uint32_t class,
    struct jfr_record *r)
{
	const struct jfr_class *k = &m->classes[class];

	*r = (struct jfr_record){0};
	for (uint32_t i = k->first; i < k->first + k->n && !c->bad; i++) {
		const struct jfr_field *f = &m->fields[i];

		if (f->slot < JFR_FIELDS)
			record_field(m, c, f, r);
		else
			skip_field(m, c, f);
	}
	return !c->bad;
}
