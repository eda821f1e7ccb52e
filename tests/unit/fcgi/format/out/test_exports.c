/*
 * Writers of other tools' formats: folded text comes back through its
 * reader, and every byte that a name can have is harmless in each of them.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/out/csv.h"
#include "fcgi/format/out/folded_out.h"
#include "fcgi/format/out/html.h"
#include "fcgi/format/out/speedscope_out.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/text.h"
#include "tests/unit/test.h"

static struct buf out;

static struct flame *
whole(const struct profile *p)
{
	struct flame_options o = {.max_nodes = -1, .other = "(other)"};
	struct flame *f = NULL;

	CHECK_OK(flame_new(&f, p, &o));
	return f;
}

/* Folded text, read, drawn and written again. */
static const char *
again(const char *text, bool bare)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	struct profile *p = NULL;
	struct flame *f;

	CHECK_OK(folded_parse(s, text, strlen(text), NULL));
	CHECK_OK(stacks_profile(s, 0, &p));
	f = whole(p);
	buf_clear(&out);
	CHECK_OK(folded_put(&out, f, bare, 1 << 20));
	buf_put_u8(&out, 0);
	flame_free(f);
	profile_free(p);
	stacks_free(s);
	return (const char *)out.data;
}

TEST(folded_comes_back)
{
	static const char text[] = "a 3\na;b 1\na;b;a 7\na;c d;e 2\n"
	    "kernel_[k];f_[k] 9\nx;jit_[j] 4\n";

	CHECK_STR(again(text, false), text);
	CHECK_STR(again("x;jit_[j] 4\ny_[k] 1\n", true), "x;jit 4\ny 1\n");
	CHECK_STR(again("a;b 1\na;b 2\n", false), "a;b 3\n");
}

/* Pre-order, by hand. */
static struct profile_node nodes[] = {{"", "", FRAME_MARK, 0, 0, 0, 1, 10},
    {"#a;b\nc", "", FRAME_KERNEL, 1, 0, 0, 2, 5},
    {"\"<&'\x01\xff", "", FRAME_NATIVE, 2, 1, 0, 3, 3},
    {"=1+2,\"x\"", "l.so", FRAME_NATIVE, 1, 0, 0, 4, 4}};
static const struct profile odd = {.nodes = nodes, .n_nodes = 4, .period = 1};

TEST(odd_names_in_folded)
{
	struct flame *f = whole(&odd);

	buf_clear(&out);
	CHECK_OK(folded_put(&out, f, false, 1 << 20));
	buf_put_u8(&out, 0);
	CHECK_STR((char *)out.data, "[no stack] 1\n:a:b:c_[k] 2\n"
	    ":a:b:c_[k];\"<&'\\u0001\xff 3\n=1+2,\"x\" 4\n");
	buf_clear(&out);
	CHECK_INT(folded_put(&out, f, false, 20)->code, 413);
	flame_free(f);
}

/* The rules of the format that its schema states. */
static void
check_speedscope(const char *text, const struct flame *f)
{
	struct json_object *root = json_tokener_parse(text), *v, *shared,
	    *frames, *profile, *samples, *weights;
	int64_t sum = 0;

	CHECK(root != NULL);
	json_object_object_get_ex(root, "$schema", &v);
	CHECK_STR(json_object_get_string(v),
	    "https://www.speedscope.app/file-format-schema.json");
	json_object_object_get_ex(root, "shared", &shared);
	json_object_object_get_ex(shared, "frames", &frames);
	json_object_object_get_ex(root, "profiles", &v);
	CHECK_INT(json_object_array_length(v), 1);
	profile = json_object_array_get_idx(v, 0);
	json_object_object_get_ex(profile, "samples", &samples);
	json_object_object_get_ex(profile, "weights", &weights);
	CHECK_INT(json_object_array_length(samples),
	    json_object_array_length(weights));
	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct json_object *s = json_object_array_get_idx(samples, i);

		sum += json_object_get_int64(
		    json_object_array_get_idx(weights, i));
		CHECK(json_object_array_length(s) > 0);
		for (size_t k = 0; k < json_object_array_length(s); k++)
			CHECK(json_object_get_int64(
			    json_object_array_get_idx(s, k)) <
			    (int64_t)json_object_array_length(frames));
	}
	json_object_object_get_ex(profile, "endValue", &v);
	CHECK_INT(json_object_get_int64(v), sum);
	CHECK(sum == f->total);
	json_object_object_get_ex(profile, "unit", &v);
	CHECK_STR(json_object_get_string(v), "bytes");
	json_object_put(root);
}

TEST(speedscope)
{
	struct speedscope_out o = {"x", "bytes"};
	struct flame *f = whole(&odd);

	buf_clear(&out);
	CHECK_OK(speedscope_put(&out, f, &o, 1 << 20));
	buf_put_u8(&out, 0);
	check_speedscope((char *)out.data, f);
	buf_clear(&out);
	CHECK_INT(speedscope_put(&out, f, &o, 5)->code, 413);
	o.unit = "objects";
	buf_clear(&out);
	CHECK_OK(speedscope_put(&out, f, &o, 1 << 20));
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data, "\"unit\":\"none\"") != NULL);
	flame_free(f);
}

/* Neither a formula, nor one name for two functions. */
TEST(names_in_csv_stay_apart_and_compute_nothing)
{
	static const char *const names[] = {"=1", "'=1", "\xef\xbb\xbf=1"};
	static const char *const cells[] = {"\"'=1\",", "\"''=1\",",
	    "\"\\ufeff=1\","};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct table_row row = {.name = names[i]};
		struct table t = {.rows = &row, .n_rows = 1};

		buf_clear(&out);
		csv_put_table(&out, &t);
		buf_put_u8(&out, 0);
		CHECK(strstr((char *)out.data, cells[i]) != NULL);
	}
}

TEST(csv)
{
	struct flame *f = whole(&odd);
	struct table *t;

	CHECK_OK(table_of_flame(&t, f));
	table_sort(t, TABLE_SELF, NULL);
	buf_clear(&out);
	csv_put_table(&out, t);
	buf_put_u8(&out, 0);
	CHECK_STR((char *)out.data,
	    "function,kind,self,total,self_share,total_share,"
	    "self_samples,total_samples\r\n"
	    "\"'=1+2,\"\"x\"\"\",library,4,4,0.4,0.4,4,4\r\n"
	    "\"\"\"<&'\\u0001\xef\xbf\xbd\",user,3,3,0.3,0.3,3,3\r\n"
	    "\"#a;b\\u000ac\",kernel,2,5,0.2,0.5,2,5\r\n");
	t->sampled = false;
	buf_clear(&out);
	csv_put_table(&out, t);
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data, "user,3,3,0.3,0.3,,\r\n") != NULL);
	table_free(t);
	flame_free(f);
}

TEST(html)
{
	struct html_options o = {"<t>", "&s", "samples",
	    (const uint8_t *)"abcd", 4, 99, 2, false};
	struct flame *f = whole(&odd);
	struct table *t;
	const char *text;

	CHECK_OK(table_of_flame(&t, f));
	table_sort(t, TABLE_SELF, NULL);
	buf_clear(&out);
	html_put(&out, t, &o);
	buf_put_u8(&out, 0);
	text = (const char *)out.data;
	CHECK(strstr(text, "<title>&lt;t&gt;</title>") != NULL);
	CHECK(strstr(text, "base64,YWJjZA==\"") != NULL);
	CHECK(strstr(text, "3 functions, the first 2") != NULL);
	CHECK(strstr(text, "&quot;&lt;&amp;") != NULL);
	CHECK(strchr(text, '\x01') == NULL && strchr(text, '\xff') == NULL);
	table_free(t);
	flame_free(f);
}

/* A terminal obeys ESC and CSI, a page turns around what follows U+202E. */
static struct profile_node acting[] = {{"", "", FRAME_MARK, 0, 0, 0, 0, 1},
    {"e\x1b[2Jx\xc2\x9b" "31m\xe2\x80\xae" "cod.exe", "", FRAME_NATIVE, 1,
        0, 0, 1, 1}};
static const struct profile act = {.nodes = acting, .n_nodes = 2,
    .period = 1};

static void
check_tame(const char *what)
{
	const char *bad = "nothing";

	buf_put_u8(&out, 0);
	for (const char *p = (const char *)out.data; *p != '\0'; p++) {
		size_t n = text_utf8(p, strlen(p));

		if (n != 0 && strchr("\r\n\t", *p) == NULL &&
		    text_acts(p, n) != 0)
			bad = what;
	}
	CHECK_STR(bad, "nothing");
	CHECK(strstr((char *)out.data, "\\u202ecod.exe") != NULL ||
	    strstr((char *)out.data, "\\u202Ecod.exe") != NULL);
	buf_clear(&out);
}

TEST(no_name_acts_on_who_shows_it)
{
	struct speedscope_out so = {"x", "bytes"};
	struct html_options ho = {"<t>", "&s", "samples",
	    (const uint8_t *)"abcd", 4, 99, 2, false};
	struct flame *f = whole(&act);
	struct table *t;

	CHECK_OK(table_of_flame(&t, f));
	buf_clear(&out);
	CHECK_OK(folded_put(&out, f, false, 1 << 20));
	check_tame("folded text");
	CHECK_OK(speedscope_put(&out, f, &so, 1 << 20));
	check_tame("speedscope");
	csv_put_table(&out, t);
	check_tame("a table");
	html_put(&out, t, &ho);
	check_tame("a page");
	writer_put_xml(&out, acting[1].name + 7, strlen(acting[1].name) - 7);
	check_tame("a picture");
	table_free(t);
	flame_free(f);
}

/* What tools print and log of a file's names. */
TEST(no_error_acts_on_a_terminal)
{
	CHECK_STR(err_new(ERR_REQUEST, 400, "\"%s\"", "a\x1b[2J\n\xe2\x80\xae")
	    ->text, "\"a\\x1b[2J\\x0a\\u202e\"");
	/* nor does it hide which bytes they were, or end inside of one */
	CHECK_STR(err_new(ERR_REQUEST, 400, "%s", "\xef\xbb\xbf\xff?\xc3")
	    ->text, "\\ufeff\\xff?\\xc3");
	for (int n = 390; n < 400; n++) {
		const struct err *e = err_new(ERR_REQUEST, 400, "%0*d\t\t", n,
		    0);
		size_t len = strlen(e->text);

		CHECK(len < sizeof(e->text));
		CHECK_INT((len - (size_t)n) % 4, 0);
	}
}

int
main(void)
{
	RUN(folded_comes_back);
	RUN(odd_names_in_folded);
	RUN(speedscope);
	RUN(csv);
	RUN(names_in_csv_stay_apart_and_compute_nothing);
	RUN(html);
	RUN(no_name_acts_on_who_shows_it);
	RUN(no_error_acts_on_a_terminal);
	buf_fini(&out);
	return test_done();
}
