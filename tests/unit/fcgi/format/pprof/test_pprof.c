/*
 * pprof: bytes made by hand as other writers make them, and our own writer
 * read back by pprof's tool where go is there, by protoc where that is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/pprof/pprof.h"
#include "pprof.pb-c.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

/* ---- a small encoder ---- */

static void
put_num(struct buf *b, unsigned field, uint64_t v)
{
	buf_put_varint(b, field << 3);
	buf_put_varint(b, v);
}

static void
put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	buf_put_varint(b, field << 3 | 2);
	buf_put_bytes(b, p, n);
}

static void
put_message(struct buf *b, unsigned field, struct buf *m)
{
	put_bytes(b, field, m->data, m->len);
	buf_fini(m);
}

static void
put_type(struct buf *b, unsigned field, uint64_t type, uint64_t unit)
{
	struct buf m = {0};

	put_num(&m, 1, type);
	put_num(&m, 2, unit);
	put_message(b, field, &m);
}

static void
put_function(struct buf *b, uint64_t id, uint64_t name)
{
	struct buf m = {0};

	put_num(&m, 1, id);
	put_num(&m, 2, name);
	put_message(b, 5, &m);
}

/* A location with lines, innermost first; 0 ends them. */
static void
put_location(struct buf *b, uint64_t id, uint64_t mapping, uint64_t address,
    const uint64_t *functions)
{
	struct buf m = {0}, line = {0};

	put_num(&m, 1, id);
	put_num(&m, 2, mapping);
	put_num(&m, 3, address);
	for (; *functions != 0; functions++) {
		put_num(&line, 1, *functions);
		put_message(&m, 4, &line);
	}
	put_message(b, 4, &m);
}

static void
put_strings(struct buf *b, const char *const *strings)
{
	for (; *strings != NULL; strings++)
		put_bytes(b, 6, *strings, strlen(*strings));
}

#define LIST(...) (const uint64_t[]){__VA_ARGS__, 0}

static const char *const strings[] = {"", "cpu", "nanoseconds", "main",
    "parse", "read", "region", "eu", "/usr/lib/libx.so.1", "abcd", "samples",
    "count", NULL};

static void
put_sample(struct buf *b, const uint64_t *ids, uint64_t value, bool packed,
    bool label)
{
	struct buf m = {0}, list = {0}, l = {0};

	for (; *ids != 0; ids++) {
		if (packed)
			buf_put_varint(&list, *ids);
		else
			put_num(&m, 1, *ids);
	}
	if (packed) {
		put_message(&m, 1, &list);
		buf_put_varint(&list, value);
		put_message(&m, 2, &list);
	} else {
		put_num(&m, 2, value);
	}
	if (label) {
		put_num(&l, 1, 6);
		put_num(&l, 2, 7);
		put_message(&m, 3, &l);
	}
	put_message(b, 2, &m);
}

/* Ids that are no positions, samples before everything else. */
static void
profile(struct buf *b, bool packed)
{
	struct buf m = {0};

	put_sample(b, LIST(7, UINT64_MAX), 20, packed, false);
	put_sample(b, LIST(7, UINT64_MAX), 30, packed, true);
	put_sample(b, LIST(9, UINT64_MAX), 40, packed, false);
	put_location(b, UINT64_MAX, 0, 0, LIST(1000));
	put_location(b, 7, 0, 0, LIST(3, 2)); /* read inlined into parse */
	put_location(b, 9, 55, 0x4100, (const uint64_t[]){0});
	put_num(&m, 1, 55);
	put_num(&m, 2, 0x4000);
	put_num(&m, 4, 0x1000);
	put_num(&m, 5, 8);
	put_num(&m, 6, 9);
	put_message(b, 3, &m);
	put_function(b, 1000, 3);
	put_function(b, 2, 4);
	put_function(b, 3, 5);
	put_strings(b, strings);
	put_type(b, 1, 1, 2);
	put_type(b, 11, 1, 2);
	put_num(b, 12, 10);
	put_num(b, 9, 1000);
	put_num(b, 10, 500);
}

/* "label|frame;frame value" of each node with a value, in order. */
static void
list(const struct stacks *s, uint32_t type, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
		char text[1000] = "", more[1000];

		if (stacks_value(s, i, type) == 0)
			continue;
		for (uint32_t k = i; k != 0;) {
			struct label labels[STACKS_LABELS_MAX];
			struct stacks_node node;
			struct frame f;

			stacks_get_node(s, k, &node);
			if (node.labels) {
				stacks_get_labels(s, node.edge, labels);
				snprintf(more, sizeof(more), "%s=%s|%.900s",
				    labels[0].name, labels[0].value, text);
			} else {
				stacks_get_frame(s, node.edge, &f);
				snprintf(more, sizeof(more), "%s/%d%s%.900s",
				    f.name, (int)f.kind, *text ? ";" : "",
				    text);
			}
			strcpy(text, more);
			k = node.parent;
		}
		n += (size_t)snprintf(out + n, size - n, "%s %lld\n", text,
		    (long long)stacks_value(s, i, type));
	}
}

static void
check_profile(const struct buf *b)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct stacks_type t;
	int64_t from, until;
	char text[4000];
	struct frame f;

	CHECK_OK(pprof_parse(s, b->data, b->len));
	CHECK_INT(stacks_n_types(s), 1);
	stacks_get_type(s, 0, &t);
	CHECK_STR(t.name, "cpu");
	CHECK_STR(t.unit, "nanoseconds");
	CHECK_INT(t.period, 10);
	CHECK_INT(t.kind, SERIES_FLOW);
	list(s, 0, text, sizeof(text));
	CHECK_STR(text, "main/7;parse/7;read/6 2\n"
	    "region=eu|main/7;parse/7;read/6 3\n"
	    "main/7;libx.so.1+0x1100/2 4\n");
	stacks_range(s, &from, &until);
	CHECK_INT(from, 1000);
	CHECK_INT(until, 1500);
	for (uint32_t i = 0; i < stacks_n_frames(s); i++) {
		stacks_get_frame(s, i, &f);
		if (f.kind == FRAME_ADDRESS) {
			CHECK_STR(f.module, "libx.so.1");
			CHECK_STR(f.build_id, "abcd");
			CHECK_INT(f.offset, 0x1100);
		}
	}
	stacks_free(s);
}

TEST(packed)
{
	struct buf b = {0};

	profile(&b, true);
	check_profile(&b);
	buf_fini(&b);
}

TEST(unpacked)
{
	struct buf b = {0};

	profile(&b, false);
	check_profile(&b);
	buf_fini(&b);
}

TEST(gzipped)
{
	struct buf b = {0}, z = {0};

	profile(&b, true);
	CHECK_OK(gzip_deflate(&z, b.data, b.len));
	check_profile(&z);
	buf_fini(&b);
	buf_fini(&z);
}

static void
expect(const struct buf *b, int code, const char *what)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = pprof_parse(s, b->data, b->len);

	CHECK(e != NULL);
	if (e != NULL) {
		CHECK_INT(e->code, code);
		if (strstr(e->text, what) == NULL)
			CHECK_STR(e->text, what);
	}
	stacks_free(s);
}

TEST(wrong_numbers_say_which)
{
	struct buf b = {0};

	profile(&b, true);
	put_sample(&b, LIST(99), 1, true, false);
	expect(&b, 422, "location 99");
	b.len = 0;
	profile(&b, true);
	put_function(&b, 88, 1234);
	put_location(&b, 66, 0, 0, LIST(88));
	expect(&b, 422, "string 1234");
	b.len = 0;
	profile(&b, true);
	put_location(&b, 66, 0, 0, LIST(77));
	expect(&b, 422, "function 77");
	b.len = 0;
	profile(&b, true);
	put_location(&b, 66, 56, 0, LIST(2));
	expect(&b, 422, "mapping");
	b.len = 0;
	profile(&b, true);
	put_location(&b, 7, 0, 0, LIST(2));
	expect(&b, 422, "another's");
	b.len = 0;
	profile(&b, true);
	put_sample(&b, LIST(7), (uint64_t)-1, true, false);
	expect(&b, 422, "negative");
	b.len = 0;
	profile(&b, true);
	put_type(&b, 1, 10, 11);
	expect(&b, 422, "one value for each type");
	b.len = 0;
	put_strings(&b, strings);
	expect(&b, 422, "no sample_type");
	buf_fini(&b);
}

/* What stands before and behind samples is merged, as protobuf says. */
TEST(samples_may_stand_anywhere)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf b = {0};

	buf_put(&b, "\x38\x01", 2); /* drop_frames */
	put_sample(&b, LIST(7), 30, true, false);
	profile(&b, true);
	buf_put(&b, "\xa1\1\1\2\3\4\5\6\7\x08", 10); /* unknown: 8 bytes */
	put_sample(&b, LIST(7), 10, true, false);
	buf_put(&b, "\xa5\1\1\2\3\4", 6); /* and 4 */
	CHECK_OK(pprof_parse(s, b.data, b.len));
	stacks_free(s);
	buf_put(&b, "\xa3\1", 2); /* a group */
	expect(&b, 422, "does not parse");
	b.len = 0;
	profile(&b, true);
	buf_put(&b, "\x12\x01\x0a", 3);
	expect(&b, 422, "damaged");
	buf_fini(&b);
}

/* The first byte of the innermost field that is none. */
TEST(damage_is_said_with_its_byte)
{
	struct buf b = {0};
	char said[60];
	size_t whole;

	profile(&b, true);
	whole = b.len;
	buf_put(&b, "\x12\x04\x08\x01\x10\xff", 6); /* a sample's value */
	snprintf(said, sizeof(said), "parse at byte %zu of %zu", whole + 4,
	    b.len);
	expect(&b, 422, said);
	b.len = whole;
	buf_put(&b, "\x2a\x02\x0d\x01", 4); /* an id of a function: 32 bits */
	snprintf(said, sizeof(said), "parse at byte %zu of %zu", whole + 2,
	    b.len);
	expect(&b, 422, said);
	b.len = whole;
	buf_put(&b, "\x12\x0f\x08", 3); /* longer than there is */
	snprintf(said, sizeof(said), "parse at byte %zu of %zu", whole,
	    b.len);
	expect(&b, 422, said);
	buf_fini(&b);
}

TEST(a_body_of_nul_is_called_no_profile)
{
	static const char nul[64];
	struct buf b = {0};

	buf_put(&b, nul, sizeof(nul));
	expect(&b, 422, "not a profile: byte 0 of 64 is NUL");
	buf_fini(&b);
}

TEST(every_prefix_is_an_error_or_a_profile)
{
	struct buf b = {0};

	profile(&b, true);
	for (size_t n = 0; n < b.len; n++) {
		struct stacks *s = stacks_new(&stacks_limits_push);

		pprof_parse(s, b.data, n);
		stacks_free(s);
	}
	buf_fini(&b);
}

TEST(bombs)
{
	struct buf zeros = {0}, b = {0};

	CHECK(buf_reserve(&zeros, 30u << 20));
	zeros.len = 30u << 20;
	memset(zeros.data, 0, zeros.len);
	CHECK_OK(gzip_deflate(&b, zeros.data, zeros.len));
	expect(&b, 413, "out of one");
	b.len = 0;
	/* messages of two bytes that take eighty */
	for (size_t i = 0; i < 1000000; i++)
		buf_put(&b, "\x22", 2);
	expect(&b, 413, "too many messages");
	b.len = 0;
	/* empty samples are not even unpacked all */
	profile(&b, true);
	for (size_t i = 0; i < 1000000; i++)
		buf_put(&b, "\x12", 2);
	expect(&b, 422, "one value for each type");
	b.len = 0;
	buf_put(&b, "\x12\xff\xff\xff\xff\x0f", 6); /* a length that lies */
	expect(&b, 422, "does not parse");
	buf_fini(&b);
	buf_fini(&zeros);
}

TEST(names_of_types)
{
	static const struct {
		const char *type, *unit, *period, *name;
		enum series_kind kind;
	} cases[] = {
	    {"samples", "count", "cpu", "cpu", SERIES_FLOW},
	    {"inuse_space", "bytes", "space", "inuse_space", SERIES_STOCK},
	    {"alloc_space", "bytes", "space", "alloc_space", SERIES_FLOW},
	    {"goroutine", "count", "goroutine", "goroutines", SERIES_STOCK},
	    {"delay", "nanoseconds", "contentions", "mutex_duration",
	        SERIES_FLOW},
	    {"lock-count", "count", "", "lock_count", SERIES_FLOW},
	    {"9lives", "count", "", "_9lives", SERIES_FLOW},
	};
	char name[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pprof_column c = {cases[i].type, cases[i].unit,
		    cases[i].period, "nanoseconds", true};

		CHECK_INT(pprof_name(NULL, &c, name, sizeof(name)),
		    cases[i].kind);
		CHECK_STR(name, cases[i].name);
	}
}

/* One sample of `count` by a type, and the period's (the same, or cpu). */
static void
check_period(int64_t period, uint64_t type, uint64_t count, int64_t expected,
    int64_t value)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf b = {0};
	struct stacks_type t;

	put_sample(&b, LIST(1), count, true, false);
	put_location(&b, 1, 0, 0, LIST(1));
	put_function(&b, 1, 3);
	put_strings(&b, strings);
	put_type(&b, 1, type, type + 1);
	put_type(&b, 11, 1, 2);
	put_num(&b, 12, (uint64_t)period);
	CHECK_OK(pprof_parse(s, b.data, b.len));
	stacks_get_type(s, 0, &t);
	CHECK_STR(t.name, "cpu");
	CHECK_STR(t.unit, "nanoseconds");
	CHECK_INT(t.period, expected);
	CHECK_INT(stacks_total(s, 0), value);
	stacks_free(s);
	buf_fini(&b);
}

/* V8's agent measures its period anew for each profile. */
TEST(a_measured_period_makes_no_series_of_its_own)
{
	check_period(10000000, 1, 30000000, 10000000, 3); /* 100 Hz */
	check_period(10101010, 1, 30303030, 10101010, 3); /* 99 Hz */
	check_period(10101010, 10, 3, 10101010, 3);
	check_period(9000000, 10, 3, 9000000, 3); /* 9 ms */
	check_period(2000000000, 10, 3, 2000000000, 3);
	check_period(10753123, 1, 32259369, 1, 32259369);
	check_period(10753123, 10, 3, 1, 32259369);
	check_period(2000000001, 10, 3, 1, 6000000003);
}

TEST(more_nanoseconds_than_can_be_counted)
{
	struct buf b = {0};

	put_sample(&b, LIST(1), INT64_MAX / 2, true, false);
	put_location(&b, 1, 0, 0, LIST(1));
	put_function(&b, 1, 3);
	put_strings(&b, strings);
	put_type(&b, 1, 10, 11);
	put_type(&b, 11, 1, 2);
	put_num(&b, 12, 10753123);
	expect(&b, 422, "nanoseconds");
	buf_fini(&b);
}

/* ---- writing ---- */

static struct profile *
sample_profile(void)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf b = {0};
	struct profile *p = NULL;

	profile(&b, true);
	CHECK_OK(pprof_parse(s, b.data, b.len));
	CHECK_OK(stacks_profile(s, 0, &p));
	buf_fini(&b);
	stacks_free(s);
	return p;
}

static bool
place_of_main(void *arg, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line)
{
	*file = arg;
	*n = 6;
	*line = 12;
	return strcmp(name, "main") == 0 && strcmp(module, "prog") == 0;
}

TEST(the_program_is_the_first_mapping_and_known_lines_are_told)
{
	static const struct frame frames[] = {
	    {FRAME_NATIVE, "start", "libc.so.6", "", 0},
	    {FRAME_NATIVE, "main", "prog", "", 0},
	    {FRAME_KERNEL, "read", "[kernel]", "", 0}};
	struct stacks_type type = {"cpu", "nanoseconds", 10, SERIES_FLOW};
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf packed = {0}, b = {0};
	char file[] = "main.cc";
	struct profile *p = NULL;
	Pprof__Profile *m = NULL;
	uint32_t node = 0;

	for (size_t i = 0; i < 3; i++)
		node = stacks_child(s, node, stacks_frame(s, &frames[i]));
	stacks_add(s, node, stacks_type(s, &type), 3);
	CHECK_OK(stacks_profile(s, 0, &p));
	CHECK_OK(pprof_write(&packed, p, "cpu", true, place_of_main,
	    file));
	CHECK_OK(gzip_inflate(&b, packed.data, packed.len, 10000));
	m = pprof__profile__unpack(NULL, b.len, b.data);
	CHECK(m != NULL && m->n_mapping == 3 && m->n_function == 3);
	if (m != NULL && m->n_mapping == 3 && m->n_function == 3) {
		CHECK_STR(m->string_table[m->mapping[0]->filename], "prog");
		CHECK_STR(m->string_table[m->function[1]->filename], "main.c");
		CHECK_INT(m->function[1]->start_line, 12);
		CHECK_INT(m->location[1]->line[0]->line, 12);
		CHECK_INT(m->location[1]->mapping_id, 1);
		CHECK_INT(m->function[0]->filename, 0);
		CHECK_INT(m->location[0]->line[0]->line, 0);
	}
	if (m != NULL)
		pprof__profile__free_unpacked(m, NULL);
	profile_free(p);
	stacks_free(s);
	buf_fini(&packed);
	buf_fini(&b);
}

TEST(written_and_read_again)
{
	struct profile *p = sample_profile(), *q = NULL;
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf b = {0};

	CHECK_OK(pprof_write(&b, p, "cpu", true, NULL, NULL));
	CHECK(gzip_looks(b.data, b.len));
	CHECK_OK(pprof_parse(s, b.data, b.len));
	CHECK_INT(stacks_n_types(s), 2); /* samples beside cpu */
	CHECK_OK(stacks_profile(s, 1, &q));
	CHECK_INT(q->n_nodes, p->n_nodes);
	for (size_t i = 0; i < p->n_nodes; i++) {
		CHECK_STR(q->nodes[i].name, p->nodes[i].name);
		CHECK_STR(q->nodes[i].module, p->nodes[i].module);
		CHECK(q->nodes[i].self == p->nodes[i].self);
		CHECK(q->nodes[i].total == p->nodes[i].total);
	}
	CHECK_INT(q->period, 10);
	CHECK_INT(q->from_ns, 1000);
	CHECK_INT(q->until_ns, 1500);
	profile_free(p);
	profile_free(q);
	stacks_free(s);
	buf_fini(&b);
}

static bool
run(const char *command, char *out, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n = f != NULL ? fread(out, 1, size - 1, f) : 0;

	out[n] = '\0';
	return f != NULL && pclose(f) == 0;
}

static bool
write_file(char *path, const struct buf *b)
{
	int fd = mkstemp(path);
	bool fine = fd >= 0 && write(fd, b->data, b->len) == (ssize_t)b->len;

	if (fd >= 0)
		close(fd);
	return fine;
}

TEST(protoc_reads_it)
{
	char path[] = "/tmp/test_pprof.XXXXXX", command[400], out[8000];
	struct profile *p = sample_profile();
	struct buf b = {0};

	CHECK_OK(pprof_write(&b, p, "cpu", false, NULL, NULL));
	CHECK(write_file(path, &b));
	snprintf(command, sizeof(command), "protoc --decode=pprof.Profile "
	    "-Ifcgi/format pprof.proto <%s", path);
	CHECK(run(command, out, sizeof(out)));
	CHECK(strstr(out, "period: 10") != NULL);
	CHECK(strstr(out, "duration_nanos: 500") != NULL);
	CHECK(strstr(out, "string_table: \"libx.so.1\"") != NULL);
	CHECK(strstr(out, "value: 4\n  value: 40\n") != NULL);
	unlink(path);
	profile_free(p);
	buf_fini(&b);
}

TEST(go_tool_pprof_reads_it)
{
	char path[] = "/tmp/test_pprof.XXXXXX", command[400], out[8000];
	struct profile *p = sample_profile();
	struct buf b = {0};

	CHECK_OK(pprof_write(&b, p, "cpu", true, NULL, NULL));
	CHECK(write_file(path, &b));
	snprintf(command, sizeof(command),
	    "go tool pprof -top -symbolize=none %s 2>/dev/null", path);
	CHECK(run(command, out, sizeof(out)));
	CHECK(strstr(out, "Type: cpu") != NULL);
	CHECK(strstr(out, "Showing nodes accounting for 90ns") != NULL);
	CHECK(strstr(out, "100%  main") != NULL);
	CHECK(strstr(out, "read") != NULL);
	unlink(path);
	profile_free(p);
	buf_fini(&b);
}

int
main(void)
{
	char out[100];

	RUN(packed);
	RUN(unpacked);
	RUN(gzipped);
	RUN(wrong_numbers_say_which);
	RUN(samples_may_stand_anywhere);
	RUN(damage_is_said_with_its_byte);
	RUN(a_body_of_nul_is_called_no_profile);
	RUN(every_prefix_is_an_error_or_a_profile);
	RUN(bombs);
	RUN(names_of_types);
	RUN(a_measured_period_makes_no_series_of_its_own);
	RUN(more_nanoseconds_than_can_be_counted);
	RUN(the_program_is_the_first_mapping_and_known_lines_are_told);
	RUN(written_and_read_again);
	if (run("command -v protoc", out, sizeof(out)))
		RUN(protoc_reads_it);
	else
		printf("skip - protoc_reads_it: no protoc\n");
	if (run("go tool pprof -h 2>&1 | grep -q -- -top", out, sizeof(out)))
		RUN(go_tool_pprof_reads_it);
	else
		printf("skip - go_tool_pprof_reads_it: no go tool pprof\n");
	return test_done();
}
