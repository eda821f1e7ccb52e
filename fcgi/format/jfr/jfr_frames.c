/*
 * From a stack's number to a node: each stack, method and name of a chunk is
 * read once.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/jfr/jfr_private.h"
#include "fcgi/format/stacks.h"
#include "store/base/array.h"
#include "store/base/err.h"

enum jfr_code { CODE_JAVA, CODE_NATIVE, CODE_KERNEL };

struct jfr_trace {
	uint32_t first, n; /* in trace_frames */
	bool truncated;
};

/* ---- names ---- */

/* Where the number begins that the JVM gave to a class it made itself, for
 * each start of a program has others: "Main$$Lambda$14/0x7f00", "jdk/internal/
 * reflect/GeneratedMethodAccessor31"; the end where there is none. */
static size_t
generated_number(const char *name, size_t n)
{
	static const char *const made[] = {"$$Lambda",
	    "GeneratedMethodAccessor", "GeneratedConstructorAccessor"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const char *at = memmem(name, n, made[i], strlen(made[i]));
		size_t end = n;

		if (at == NULL)
			continue;
		while (end > 0 && strchr("0123456789abcdefx$/.+",
		    name[end - 1]) != NULL)
			end--;
		if (end <= (size_t)(at - name) + strlen(made[i]))
			return (size_t)(at - name) + strlen(made[i]);
	}
	return n;
}

/* Of those the JVM writes dots where it has slashes else. */
static void
name_put_class(struct buf *name, const struct buf *class)
{
	size_t n = generated_number((const char *)class->data, class->len);

	if (n == class->len) {
		buf_put(name, class->data, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		buf_put_u8(name, class->data[i] == '.' ? '/' : class->data[i]);
	buf_put_u8(name, '_');
}

/* ---- frames ---- */

/* What a frame's type says: "Interpreted", "JIT compiled", "Native", ... */
static const struct err *
frame_code(struct jfr *j, uint64_t type, enum jfr_code *code)
{
	static const struct {
		const char *name;
		enum jfr_code code;
	} codes[] = {{"Native", CODE_NATIVE}, {"C++", CODE_NATIVE},
	    {"Kernel", CODE_KERNEL}};
	const struct err *e = NULL;
	struct jfr_record r;

	*code = CODE_JAVA;
	if (!jfr_constant(j, JFR_FRAME_TYPE, type, &r, &e))
		return e;
	if ((e = jfr_text(j, &r, 0, &j->part)) != NULL)
		return e;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (j->part.len == strlen(codes[i].name) &&
		    memcmp(j->part.data, codes[i].name, j->part.len) == 0)
			*code = codes[i].code;
	return NULL;
}

/* The name of a method's class, or of the library, in j->part. */
static const struct err *
method_class(struct jfr *j, const struct jfr_record *method)
{
	const struct err *e = NULL;
	struct jfr_record class, symbol;

	buf_clear(&j->part);
	if (jfr_constant(j, JFR_CLASS, method->number[0], &class, &e) &&
	    jfr_constant(j, JFR_SYMBOL, class.number[0], &symbol, &e))
		e = jfr_text(j, &symbol, 0, &j->part);
	return e;
}

/* A native method's class is its library, as far as one is known; async-
 * profiler says by "_[k]" what the type says, too. */
static uint32_t
frame_native(struct jfr *j, enum jfr_code code)
{
	struct frame f = {.kind = code == CODE_KERNEL ? FRAME_KERNEL
	    : FRAME_NATIVE, .module = "", .build_id = ""};

	buf_put_u8(&j->part, 0);
	buf_put_u8(&j->name, 0);
	if (j->part.failed || j->name.failed)
		return UINT32_MAX;
	f.name = (const char *)j->name.data;
	if (code == CODE_KERNEL)
		f.module = "[kernel]";
	else if (j->part.len > 1)
		f.module = (const char *)j->part.data;
	return stacks_frame(j->s, &f);
}

static const struct err *
frame_make(struct jfr *j, uint64_t number, enum jfr_code code,
    uint32_t *frame)
{
	const struct err *e = NULL;
	struct jfr_record method, symbol;
	bool known = jfr_constant(j, JFR_METHOD, number, &method, &e);
	struct buf whole = {0};

	buf_clear(&j->name);
	if (known && jfr_constant(j, JFR_SYMBOL, method.number[1], &symbol,
	    &e))
		e = jfr_text(j, &symbol, 0, &j->name);
	if (e == NULL && known)
		e = method_class(j, &method);
	if (e != NULL)
		return e;
	if (!known || (code == CODE_JAVA && j->name.len + j->part.len == 0)) {
		*frame = stacks_frame_named(j->s, FRAME_MANAGED, "", 0);
	} else if (code != CODE_JAVA) {
		*frame = frame_native(j, code);
	} else {
		name_put_class(&whole, &j->part);
		if (whole.len > 0)
			buf_put(&whole, ".", 1);
		buf_put(&whole, j->name.data, j->name.len);
		*frame = whole.failed ? UINT32_MAX : stacks_frame_named(j->s,
		    FRAME_MANAGED, (const char *)whole.data, whole.len);
		buf_fini(&whole);
	}
	return *frame == UINT32_MAX ? err_nomem() : NULL;
}

static const struct err *
frame_of(struct jfr *j, const struct jfr_record *r, uint32_t *frame)
{
	enum jfr_code code;
	const struct err *e = frame_code(j, r->number[1], &code);

	if (e != NULL)
		return e;
	*frame = map64_get(&j->frames[code], r->number[0]);
	if (*frame != INTERN_NONE)
		return NULL;
	e = frame_make(j, r->number[0], code, frame);
	if (e == NULL && !map64_add(&j->frames[code], r->number[0], *frame))
		e = err_nomem();
	return e;
}

/* ---- stacks ---- */

static const struct err *
trace_frames(struct jfr *j, const uint8_t *at, struct jfr_trace *t)
{
	struct cur c = cur_of(at, (size_t)(j->chunk_end - at));
	uint64_t n = jfr_varint(&c);
	const struct err *e = NULL;
	uint32_t class = JFR_NONE;

	for (uint32_t i = 0; i < j->meta.n_classes; i++)
		if (j->meta.classes[i].shape == JFR_FRAME)
			class = i;
	if (class == JFR_NONE || j->meta.classes[class].empty)
		return jfr_bad(j, at, "stacks without a class of frames");
	t->first = j->n_trace_frames;
	while (n-- > 0 && e == NULL) {
		struct jfr_record r;
		uint32_t frame;

		if (!jfr_record(&j->meta, &c, class, &r))
			return jfr_bad(j, c.p, "a stack that ends early");
		e = frame_of(j, &r, &frame);
		if (e == NULL && !array_room(&j->trace_frames,
		    j->n_trace_frames + 1, &j->cap_trace_frames))
			e = err_nomem();
		if (e == NULL)
			j->trace_frames[j->n_trace_frames++] = frame;
	}
	t->n = j->n_trace_frames - t->first;
	return e;
}

/* A stack by its number; one that is not there has no frame. */
static const struct err *
trace_find(struct jfr *j, uint64_t number, uint32_t *trace)
{
	struct jfr_trace t = {0};
	const struct err *e = NULL;
	struct jfr_record r;

	if ((*trace = map64_get(&j->traces, number)) != INTERN_NONE)
		return NULL;
	if (jfr_constant(j, JFR_TRACE, number, &r, &e) && r.at[1] != NULL) {
		t.truncated = r.number[0] != 0;
		e = trace_frames(j, r.at[1], &t);
	}
	if (e != NULL)
		return e;
	*trace = j->n_traces;
	if (!array_room(&j->trace, j->n_traces + 1, &j->cap_traces) ||
	    !map64_add(&j->traces, number, *trace))
		return err_nomem();
	j->trace[j->n_traces++] = t;
	return NULL;
}

static uint32_t
mark(struct jfr *j, uint32_t node, const char *name)
{
	return stacks_child(j->s, node, stacks_frame_named(j->s, FRAME_MARK,
	    name, strlen(name)));
}

const struct err *
jfr_node(struct jfr *j, uint64_t number, uint32_t labels, uint32_t *node)
{
	uint32_t trace;
	const struct err *e = trace_find(j, number, &trace);
	const struct jfr_trace *t;
	uint64_t key;

	if (e != NULL)
		return e;
	key = (uint64_t)trace << 32 | labels;
	if ((*node = map64_get(&j->nodes, key)) != INTERN_NONE)
		return NULL;
	t = &j->trace[trace];
	*node = labels;
	if (t->truncated)
		*node = mark(j, *node, "[truncated]");
	for (uint32_t i = t->n; i-- > 0;)
		*node = stacks_child(j->s, *node,
		    j->trace_frames[t->first + i]);
	if (t->n == 0)
		*node = mark(j, *node, "[no stack]");
	return map64_add(&j->nodes, key, *node) ? NULL : err_nomem();
}
