/*
 * Formats guessed by their first bytes, unpacked, and read from a file.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

TEST(formats_are_guessed)
{
	static const struct {
		const char *text, *format;
	} cases[] = {
	    {"a;b 1\n", "folded"}, {"# one\n\na 1.5", "folded"},
	    {"a;b 1 2\na 0 3\n", "folded-pair"}, {"a;b 1 2\n", "folded"},
	    {"a;b 1 2\na 3\n", "folded"}, {"a 1 2\nb 0 3\n", "folded"},
	    {"a;b\na;c\n", "lines"}, {"\x01\x02;", NULL}, {"", NULL},
	    {"heap_v2/524288\n", "heap_v2"},
	    {"\x0a\x04\x08\x01\x10\x02", "pprof"},
	    /* Go's heap and CPU */
	    {"\x5a\x04\x08\x01\x10\x02\x0a\x04\x08\x01\x10\x02", "pprof"},
	    {"H\xde\x01P\x9e\x01\x0a\x04\x08\x01\x10\x02", "pprof"},
	    {"Hello;you 1\n", "folded"}, {"P Z 7\n", "folded"},
	    {"--- symbol\n0x1 a\n---\n--- heap\nheap_v2/1\n", "heap_v2"},
	    {"heap profile: 1: 2 [3: 4] @ heap\n", "gperftools"},
	    {"{\"shared\": {\"frames\": []}", "speedscope"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct foreign *f = foreign_guess(cases[i].text,
		    strlen(cases[i].text));

		CHECK((f == NULL) == (cases[i].format == NULL));
		if (f != NULL && cases[i].format != NULL)
			CHECK_STR(f->name, cases[i].format);
	}
	CHECK(foreign_find("folded") != NULL && foreign_find("x") == NULL);
}

/* One list for /ingest and for import: a row is read in one way. */
TEST(each_format_is_one_row)
{
	static const char *const names[][2] = {{"jemalloc", "heap_v2"},
	    {"perf_script", "perf"}, {"collapsed", "folded"},
	    {"groups", "folded"}, {"jfr", "jfr"}};

	for (size_t i = 0; i < foreign_n_formats; i++) {
		const struct foreign *f = &foreign_formats[i];

		CHECK(foreign_find(f->name) == f);
		CHECK_INT((f->parse != NULL) + (f->typed != NULL), 1);
		CHECK(!f->sure || f->looks != NULL);
		if (f->content_type != NULL)
			CHECK(foreign_of_content(f->content_type) == f);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(foreign_find(names[i][0])->name, names[i][1]);
	CHECK_STR(foreign_of_content("binary/octet-stream+tree")->name,
	    "tree");
	CHECK(foreign_of_content("text/plain") == NULL);
}

/* What difffolded.pl writes: for a picture of both, for nothing else. */
TEST(two_counts_a_line_are_two_types)
{
	static const char text[] = "# x\na;b c_[k] 1 2\r\nno counts\n"
	    "a 0 3.6\n\nb;7 5\nb;7 5 0\n";
	static const int64_t want[2][4] = {{0, 0, 1, 5}, {0, 4, 2, 0}};
	struct stacks *s = stacks_new(&stacks_limits_push);

	CHECK(foreign_parse(s, "folded-pair", text, strlen(text), 1000) !=
	    NULL);
	CHECK_INT(stacks_n_types(s), 0);
	CHECK(!folded_pair_in(s));
	CHECK_OK(folded_pair_parse(s, text, strlen(text)));
	CHECK(folded_pair_in(s));
	CHECK_INT(stacks_n_types(s), 2);
	CHECK_INT(stacks_n_nodes(s), 5); /* a, b c, b, 7 */
	for (uint32_t t = 0; t < 2; t++) {
		CHECK_INT(stacks_value(s, 1, t), want[t][1]);
		CHECK_INT(stacks_value(s, 2, t), want[t][2]);
		CHECK_INT(stacks_value(s, 4, t), want[t][3]);
	}
	CHECK(stacks_n_skipped(s) > 0);
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	CHECK(folded_pair_parse(s, "a\nb 1\n", 6) != NULL);
	stacks_free(s);
}

TEST(packed_input_is_unpacked)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf packed = {0};

	CHECK_OK(gzip_deflate(&packed, "a;b 2\n", 6));
	CHECK_OK(foreign_parse(s, NULL, packed.data, packed.len, 1000));
	CHECK_INT(stacks_n_nodes(s), 3);
	CHECK_INT(stacks_value(s, 2, 0), 2);
	CHECK(foreign_parse(s, NULL, packed.data, packed.len, 3) != NULL);
	CHECK(foreign_parse(s, "nonsense", "a 1", 3, 100) != NULL);
	buf_fini(&packed);
	stacks_free(s);
}

/* Through a descriptor, larger than one piece, packed and not. */
TEST(a_descriptor_is_read_to_its_end)
{
	struct buf text = {0}, packed = {0};

	for (int i = 0; i < 200000; i++)
		buf_printf(&text, "main;some_function_%d 1\n", i % 7);
	CHECK(text.len > 4u << 20);
	CHECK_OK(gzip_deflate(&packed, text.data, text.len));
	for (int k = 0; k < 2; k++) {
		struct stacks *s = stacks_new(&stacks_limits_file);
		const struct buf *b = k ? &packed : &text;
		FILE *file = tmpfile();
		int64_t sum = 0;

		CHECK(fwrite(b->data, 1, b->len, file) == b->len);
		fflush(file);
		lseek(fileno(file), 0, SEEK_SET);
		CHECK_OK(foreign_read(s, NULL, fileno(file), 4u << 20));
		CHECK_INT(stacks_n_nodes(s), 9);
		for (uint32_t i = 0; i < stacks_n_nodes(s); i++)
			sum += stacks_value(s, i, 0);
		CHECK_INT(sum, 200000);
		stacks_free(s);
		fclose(file);
	}
	buf_fini(&text);
	buf_fini(&packed);
}

int
main(void)
{
	RUN(formats_are_guessed);
	RUN(each_format_is_one_row);
	RUN(two_counts_a_line_are_two_types);
	RUN(packed_input_is_unpacked);
	RUN(a_descriptor_is_read_to_its_end);
	return test_done();
}
