/*
 * Flight recordings: small ones made here, and two real ones cut and bent.
 * What the real ones hold is compared with jfr print's account of them in
 * tests/replay/045-jfr.sh.
 */
#include <stdlib.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/jfr/jfr.h"
#include "fcgi/format/out/stacks_folded.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

/* ---- a recording of our own ---- */

/* Numbers as the format packs them. */
static void
put(struct buf *b, uint64_t v)
{
	for (int i = 0; i < 8 && v >= 0x80; i++, v >>= 7)
		buf_put_u8(b, (uint8_t)(v | 0x80));
	buf_put_u8(b, (uint8_t)v);
}

static void
put_text(struct buf *b, const char *text)
{
	buf_put_u8(b, 3);
	put(b, strlen(text));
	buf_put(b, text, strlen(text));
}

/* An event with its size before it, in four bytes as the JVM writes it. */
static void
put_event(struct buf *b, const struct buf *body)
{
	size_t n = body->len + 4;

	for (int i = 0; i < 3; i++, n >>= 7)
		buf_put_u8(b, (uint8_t)(n | 0x80));
	buf_put_u8(b, (uint8_t)n);
	buf_put(b, body->data, body->len);
}

/* Classes: name, id, then fields: name, class' id, 'p'ool or 'a'rray. */
static const char *const classes[][15] = {
    {"long", "1"},
    {"java.lang.String", "2"},
    {"boolean", "3"},
    {"jdk.types.Symbol", "4", "string", "2", ""},
    {"java.lang.Class", "5", "name", "4", "p"},
    {"jdk.types.Method", "6", "type", "5", "p", "name", "4", "p"},
    {"jdk.types.FrameType", "7", "description", "2", ""},
    {"jdk.types.StackFrame", "8", "method", "6", "p", "line", "1", "",
        "type", "7", "p"},
    {"jdk.types.StackTrace", "9", "truncated", "3", "", "frames", "8", "a"},
    {"jdk.types.ThreadState", "10", "name", "2", ""},
    {"jdk.ExecutionSample", "20", "startTime", "1", "", "stackTrace", "9",
        "p", "state", "10", "p", "contextId", "1", ""},
    {"jdk.ThreadPark", "21", "duration", "1", "", "stackTrace", "9", "p"},
    {"jdk.ActiveSetting", "22", "id", "1", "", "name", "2", "", "value",
        "2", ""},
    {"profiler.LiveObject", "23", "stackTrace", "9", "p", "nothing", "24",
        ""},
    {"nothing", "24"},
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

struct strings {
	const char *all[256];
	size_t n;
};

static uint64_t
string(struct strings *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->all[i], text) == 0)
			return i;
	s->all[s->n] = text;
	return s->n++;
}

static void
put_pair(struct buf *b, struct strings *s, const char *key, const char *v)
{
	put(b, string(s, key));
	put(b, string(s, v));
}

static void
put_class(struct buf *b, struct strings *s, const char *const *c)
{
	size_t n = 0;

	while (c[2 + 3 * n] != NULL)
		n++;
	put(b, string(s, "class"));
	put(b, 2);
	put_pair(b, s, "name", c[0]);
	put_pair(b, s, "id", c[1]);
	put(b, n);
	for (size_t i = 0; i < n; i++) {
		const char *const *f = c + 2 + 3 * i;

		put(b, string(s, "field"));
		put(b, 3);
		put_pair(b, s, "name", f[0]);
		put_pair(b, s, "class", f[1]);
		put_pair(b, s, *f[2] == 'p' ? "constantPool" : "dimension",
		    *f[2] == 'p' ? "true" : *f[2] == 'a' ? "1" : "0");
		put(b, 0);
	}
}

static void
put_metadata(struct buf *out)
{
	struct strings s = {.n = 0};
	struct buf tree = {0}, body = {0};

	put(&tree, string(&s, "root"));
	put(&tree, 0);
	put(&tree, 1);
	put(&tree, string(&s, "metadata"));
	put(&tree, 0);
	put(&tree, CLASSES);
	for (size_t i = 0; i < CLASSES; i++)
		put_class(&tree, &s, classes[i]);
	for (int i = 0; i < 4; i++)
		put(&body, 0);
	put(&body, s.n);
	for (size_t i = 0; i < s.n; i++)
		put_text(&body, s.all[i]);
	buf_put(&body, tree.data, tree.len);
	put_event(out, &body);
	buf_fini(&tree);
	buf_fini(&body);
}

static void
put_method(struct buf *b, uint64_t id, uint64_t class, uint64_t name)
{
	put(b, id);
	put(b, class);
	put(b, name);
}

/* The constants, in two checkpoints: names in the one before. */
static void
put_names(struct buf *out)
{
	static const char *const names[] = {"a/Main", "run", "libc.so.6",
	    "memcpy", "a/Main$$Lambda$14/0x00007f"};
	struct buf b = {0};

	put(&b, 1);
	for (int i = 0; i < 3; i++)
		put(&b, 0);
	buf_put_u8(&b, 1);
	put(&b, 1);
	put(&b, 4);
	put(&b, 6);
	for (size_t i = 0; i < 5; i++) {
		put(&b, (uint64_t)1 << 62 | i);
		put_text(&b, names[i]);
	}
	put(&b, 99); /* "é" in Latin-1 */
	buf_put_u8(&b, 5);
	put(&b, 1);
	buf_put_u8(&b, 0xe9);
	put_event(out, &b);
	buf_fini(&b);
}

#define NAME(i) ((uint64_t)1 << 62 | (i))

static void
put_constants(struct buf *out, size_t back)
{
	struct buf b = {0};

	put(&b, 1);
	put(&b, 0);
	put(&b, 0);
	put(&b, 0 - (uint64_t)back);
	buf_put_u8(&b, 1);
	put(&b, 5);
	put(&b, 5); /* classes */
	put(&b, 3);
	put(&b, 1), put(&b, NAME(0));
	put(&b, 2), put(&b, NAME(2));
	put(&b, 3), put(&b, NAME(4));
	put(&b, 6);
	put(&b, 4);
	put_method(&b, 1, 1, NAME(1));
	put_method(&b, 2, 2, NAME(3));
	put_method(&b, 3, 3, NAME(1));
	put_method(&b, 4, 1, 99);
	put(&b, 7); /* types of frames */
	put(&b, 2);
	put(&b, 1), put_text(&b, "JIT compiled");
	put(&b, 2), put_text(&b, "Native");
	put(&b, 9); /* stacks, leaf first */
	put(&b, 3);
	put(&b, 1), put(&b, 0), put(&b, 2);
	put_method(&b, 2, 7, 2);
	put_method(&b, 1, 8, 1);
	put(&b, 2), put(&b, 1), put(&b, 2);
	put_method(&b, 4, 0, 1);
	put_method(&b, 3, 0, 1);
	put(&b, 3), put(&b, 0), put(&b, 0);
	put(&b, 10);
	put(&b, 2);
	put(&b, 1), put_text(&b, "STATE_RUNNABLE");
	put(&b, 2), put_text(&b, "STATE_SLEEPING");
	put_event(out, &b);
	buf_fini(&b);
}

static void
put_numbers(struct buf *out, const uint64_t *v, size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++)
		put(&b, v[i]);
	put_event(out, &b);
	buf_fini(&b);
}
#define EVENT(out, ...)                                                        \
	put_numbers(out, (const uint64_t[]){__VA_ARGS__},                      \
	    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void
put_setting(struct buf *out, const char *name, const char *value)
{
	struct buf b = {0};

	put(&b, 22);
	put(&b, 20);
	put_text(&b, name);
	put_text(&b, value);
	put_event(out, &b);
	buf_fini(&b);
}

static void
set_be64(struct buf *b, size_t at, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		b->data[at + (size_t)i] = (uint8_t)(v >> (56 - 8 * i));
}

/* Appends a chunk; `event` is the clock that it says it sampled by. */
static void
put_chunk(struct buf *out, const char *event)
{
	size_t first = out->len, names, constants, metadata;

	buf_put(out, "FLR\0\0\2\0\1", 8);
	for (int i = 0; i < 7; i++)
		buf_put_be64(out, 0);
	buf_put_be32(out, 1);
	set_be64(out, first + 32, 1700000000000000000u);
	set_be64(out, first + 40, 5000000000u);
	set_be64(out, first + 56, 2000000000u); /* ticks of half a ns */
	EVENT(out, 20, 0, 1, 1, 7);
	EVENT(out, 20, 0, 1, 1, 7);
	EVENT(out, 20, 0, 1, 1, 0);
	EVENT(out, 20, 0, 2, 2, 8);
	EVENT(out, 20, 0, 3, 1, 9);
	EVENT(out, 21, 4000, 2);
	EVENT(out, 21, 1u << 30, 77); /* a stack that is not there */
	EVENT(out, 23, 1);
	EVENT(out, 500, 1, 2, 3);
	names = out->len;
	put_names(out);
	constants = out->len;
	put_constants(out, constants - names);
	metadata = out->len;
	put_metadata(out);
	put_setting(out, "interval", "20000000");
	put_setting(out, "event", event);
	set_be64(out, first + 8, out->len - first);
	set_be64(out, first + 16, constants - first);
	set_be64(out, first + 24, metadata - first);
}

/* ---- what is made of it ---- */

static const struct err *
keep(void *arg, struct buf *out)
{
	buf_put(arg, out->data, out->len);
	buf_clear(out);
	return NULL;
}

static const char *
folded(const struct stacks *s, const char *type)
{
	static struct buf out;
	struct stacks_type t = {.name = ""};
	uint32_t i = 0;

	buf_clear(&out);
	for (; i < stacks_n_types(s); i++) {
		stacks_get_type(s, i, &t);
		if (strcmp(t.name, type) == 0)
			break;
	}
	if (i < stacks_n_types(s))
		CHECK_OK(stacks_put_folded(s, i, false, keep, &out));
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

/* Of the first type, which is that of samples. */
static int64_t
period(const struct stacks *s)
{
	struct stacks_type t;

	stacks_get_type(s, 0, &t);
	return t.period;
}

#define NATIVE "a/Main.run;memcpy"
#define LAMBDA "[truncated];a/Main$$Lambda_.run;a/Main.\xc3\xa9"

static struct stacks *
parse(const struct buf *b, const struct jfr_options *o)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	CHECK_OK(jfr_parse_as(s, b->data, b->len, o));
	return s;
}

TEST(events_are_profiles_of_their_types)
{
	struct buf b = {0};
	struct stacks *s;
	struct stacks_skipped k;
	int64_t from, until;

	put_chunk(&b, "cpu");
	s = parse(&b, &(struct jfr_options){0});
	CHECK_STR(folded(s, "cpu"), NATIVE " 3\n"
	    "[no stack] 1\n");
	CHECK_INT(period(s), 20000000);
	CHECK_STR(folded(s, "wall"), "");
	CHECK_STR(folded(s, "block_count"), LAMBDA " 1\n[no stack] 1\n");
	CHECK_STR(folded(s, "block_duration"), LAMBDA " 2000\n"
	    "[no stack] 536870912\n");
	CHECK_STR(folded(s, "live"), NATIVE " 1\n");
	stacks_range(s, &from, &until);
	CHECK_INT(from, 1700000000000000000);
	CHECK_INT(until - from, 5000000000);
	CHECK_INT(stacks_n_skipped(s), 1);
	stacks_get_skipped(s, 0, &k);
	CHECK_STR(k.why, "samples of threads that slept");
	CHECK_INT(k.n, 1);
	stacks_free(s);
	s = parse(&b, &(struct jfr_options){.rate = 100});
	CHECK_STR(folded(s, "cpu"), NATIVE " 3\n"
	    "[no stack] 1\n");
	CHECK_INT(period(s), 10000000);
	stacks_free(s);
	buf_fini(&b);
}

TEST(the_wall_clock_counts_who_sleeps)
{
	struct buf b = {0};
	struct stacks *s;

	put_chunk(&b, "wall");
	s = parse(&b, &(struct jfr_options){0});
	CHECK_STR(folded(s, "cpu"), NATIVE " 3\n"
	    "[no stack] 1\n");
	CHECK_STR(folded(s, "wall"), NATIVE " 3\n" LAMBDA
	    " 1\n[no stack] 1\n");
	CHECK_INT(stacks_n_skipped(s), 0);
	stacks_free(s);
	buf_fini(&b);
}

TEST(chunks_add_up)
{
	struct buf b = {0};
	struct stacks *s;

	put_chunk(&b, "cpu");
	put_chunk(&b, "cpu");
	s = parse(&b, &(struct jfr_options){0});
	CHECK_STR(folded(s, "live"), NATIVE " 2\n");
	CHECK_STR(folded(s, "cpu"), NATIVE " 6\n"
	    "[no stack] 2\n");
	stacks_free(s);
	buf_fini(&b);
}

/* Context 7 is {region=eu}, 8 has a string that is not there. */
TEST(labels_are_those_of_the_context)
{
	static const uint8_t snapshot[] = {
	    0x0a, 10, 0x08, 7, 0x12, 6, 0x0a, 4, 0x08, 1, 0x10, 2,
	    0x0a, 10, 0x08, 8, 0x12, 6, 0x0a, 4, 0x08, 5, 0x10, 2,
	    0x12, 10, 0x08, 1, 0x12, 6, 'r', 'e', 'g', 'i', 'o', 'n',
	    0x12, 6, 0x08, 2, 0x12, 2, 'e', 'u'};
	struct jfr_options o = {.labels = snapshot,
	    .n_labels = sizeof(snapshot)};
	struct label labels[STACKS_LABELS_MAX];
	struct stacks_node node;
	struct buf b = {0};
	struct stacks *s, *t = stacks_new(&stacks_limits_push);
	int64_t below = 0;

	put_chunk(&b, "cpu");
	s = parse(&b, &o);
	for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
		uint32_t up = i;

		stacks_get_node(s, i, &node);
		while (node.parent != 0) {
			up = node.parent;
			stacks_get_node(s, up, &node);
		}
		if (!node.labels)
			continue;
		below += stacks_value(s, i, 0);
		CHECK_INT(stacks_get_labels(s, node.edge, labels), 1);
		CHECK_STR(labels[0].name, "region");
		CHECK_STR(labels[0].value, "eu");
	}
	CHECK_INT(below, 2);
	CHECK_INT(stacks_total(s, 0), 4);
	o.n_labels--;
	CHECK(jfr_parse_as(t, b.data, b.len, &o) != NULL);
	stacks_free(s);
	stacks_free(t);
	buf_fini(&b);
}

/* ---- damage ---- */

static void
refused(const struct buf *b, size_t n, const char *why)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = jfr_parse(s, b->data, n);

	CHECK(e != NULL && e->code == 422);
	CHECK(e != NULL && strstr(e->text, why) != NULL);
	if (e != NULL && strstr(e->text, why) == NULL)
		printf("# %s\n", e->text);
	stacks_free(s);
}

TEST(damage_is_refused_with_its_byte)
{
	struct buf b = {0};

	put_chunk(&b, "cpu");
	for (size_t n = 0; n < b.len; n++)
		refused(&b, n, "jfr: byte ");
	refused(&b, 0, "byte 0: no chunk");
	refused(&b, b.len - 1, "byte 8: a chunk not all there");
	b.data[67] = 0;
	refused(&b, b.len, "byte 64: integers");
	b.data[67] = 1;
	b.data[5] = 3;
	refused(&b, b.len, "byte 4: neither version");
	b.data[5] = 2;
	b.data[68] = 0xff; /* the first event is longer than its chunk */
	b.data[70] = 0xff;
	refused(&b, b.len, "byte 68: an event");
	buf_fini(&b);
}

/* Each byte of the recording bent in three ways: an answer or an error. */
TEST(no_bent_byte_matters)
{
	struct buf b = {0};
	size_t taken = 0;

	put_chunk(&b, "cpu");
	for (size_t i = 0; i < b.len * 3; i++) {
		static const uint8_t bend[] = {0x01, 0x80, 0xff};
		struct stacks *s = stacks_new(&stacks_limits_push);

		b.data[i / 3] ^= bend[i % 3];
		taken += jfr_parse(s, b.data, b.len) == NULL;
		b.data[i / 3] ^= bend[i % 3];
		stacks_free(s);
	}
	CHECK(taken > 0 && taken < b.len * 3);
	buf_fini(&b);
}

TEST(it_is_guessed)
{
	struct buf b = {0};

	put_chunk(&b, "cpu");
	CHECK_STR(foreign_guess(b.data, b.len)->name, "jfr");
	CHECK(!jfr_looks("FL", 2));
	buf_fini(&b);
}

int
main(void)
{
	RUN(events_are_profiles_of_their_types);
	RUN(the_wall_clock_counts_who_sleeps);
	RUN(chunks_add_up);
	RUN(labels_are_those_of_the_context);
	RUN(damage_is_refused_with_its_byte);
	RUN(no_bent_byte_matters);
	RUN(it_is_guessed);
	return test_done();
}
