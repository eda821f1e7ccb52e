/* speedscope's files, and the JSON under them. */
#include <stdlib.h>

#include "fcgi/format/in/speedscope.h"
#include "fcgi/format/json_in.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define FRAMES                                                                 \
	"\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"/a/b.js\","     \
	"\"line\":3},{\"name\":\"r\\u00e9ad\\n\"},{\"name\":\"w\"}]}"

/* "label/root;...;leaf type value" of every node with a value. */
static char *
dump(const struct stacks *s)
{
	struct buf out = {0};

	for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
		for (uint32_t t = 0; t < stacks_n_types(s); t++) {
			struct stacks_type type;
			uint32_t path[64], n = 0;

			if (stacks_value(s, i, t) == 0)
				continue;
			for (uint32_t k = i; k != 0 && n < 64; n++) {
				struct stacks_node node;

				path[n] = k;
				stacks_get_node(s, k, &node);
				k = node.parent;
			}
			while (n-- > 0) {
				struct label labels[STACKS_LABELS_MAX];
				struct stacks_node node;
				struct frame f;

				stacks_get_node(s, path[n], &node);
				if (node.labels) {
					stacks_get_labels(s, node.edge, labels);
					buf_printf(&out, "%s/",
					    labels[0].value);
					continue;
				}
				stacks_get_frame(s, node.edge, &f);
				buf_printf(&out, "%s%s", f.name,
				    n > 0 ? ";" : "");
			}
			stacks_get_type(s, t, &type);
			buf_printf(&out, " %s %lld|", type.unit,
			    (long long)stacks_value(s, i, t));
		}
	}
	buf_put_u8(&out, '\0');
	return (char *)out.data;
}

static void
check(const char *text, const char *want)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = speedscope_parse(s, text, strlen(text));
	char *got;

	CHECK(speedscope_looks(text, strlen(text)));
	if (e != NULL) {
		CHECK_STR(e->text, want);
	} else {
		got = dump(s);
		CHECK_STR(got, want);
		free(got);
	}
	stacks_free(s);
}

TEST(samples_have_weights)
{
	check("{\"profiles\":[{\"type\":\"sampled\",\"unit\":\"bytes\","
	      "\"weights\":[5,7,1],\"samples\":[[0],[0,1],[]],"
	      "\"name\":\"x\"}]," FRAMES "}",
	    " bytes 1|main bytes 5|main;r\303\251ad\n bytes 7|");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[2],[2]]}],"
	      "\"exporter\":null}", "w samples 2|");
}

/* Parts of units add up to the sum rounded down. */
TEST(fractions_are_not_lost)
{
	check("{" FRAMES ",\"profiles\":[{\"unit\":\"none\",\"samples\":"
	      "[[0],[1],[0],[1]],\"weights\":[0.5,0.75,0.5,0.5]}]}",
	    "r\303\251ad\n samples 2|");
	check("{" FRAMES ",\"profiles\":[{\"unit\":\"milliseconds\","
	      "\"samples\":[[0]],\"weights\":[1.5e0]}]}",
	    "main nanoseconds 1500000|");
}

#define EVENT(t, f, at)                                                        \
	"{\"type\":\"" t "\",\"frame\":" #f ",\"at\":" #at "}"

TEST(events_open_and_close)
{
	check("{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":"
	      "\"seconds\",\"startValue\":1,\"endValue\":9,\"events\":["
	      EVENT("O", 0, 2) "," EVENT("O", 1, 3) "," EVENT("C", 1, 5) ","
	      EVENT("C", 0, 9) "," EVENT("O", 2, 10) "," EVENT("C", 2, 11)
	      "]}]}",
	    "main nanoseconds 5000000000|main;r\303\251ad\n nanoseconds "
	    "2000000000|w nanoseconds 1000000000|");
}

TEST(several_profiles_have_labels)
{
	check("{" FRAMES ",\"profiles\":[{\"name\":\"t1\",\"samples\":[[0]]},"
	      "{\"name\":\"t2\",\"unit\":\"bytes\",\"samples\":[[0]],"
	      "\"weights\":[3]}]}",
	    "t1/main samples 1|t2/main bytes 3|");
}

TEST(what_is_wrong_says_where)
{
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[3]]}]}",
	    "byte 127: frame 3 of 3");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[-1]]}]}",
	    "no such JSON as was expected at byte 128");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[0]],\"weights\":[]}]}",
	    "fewer weights than samples");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[0]],\"weights\":"
	      "[NaN]}]}", "no such JSON as was expected at byte 141");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[0]],\"weights\":"
	      "[1e30]}]}", "byte 128: more than 2^62");
	check("{" FRAMES ",\"profiles\":[{\"samples\":[[0]],\"weights\":"
	      "[-1]}]}", "byte 143: a negative weight");
	check("{" FRAMES ",\"profiles\":[{\"unit\":\"hours\",\"samples\":"
	      "[[0]]}]}", "byte 128: unknown unit \"hours\"");
	check("{" FRAMES ",\"profiles\":[{\"events\":[" EVENT("O", 0, 2) ","
	      EVENT("C", 1, 3) "]}]}",
	    "byte 183: an event that closes no open frame");
	check("{" FRAMES ",\"profiles\":[{\"events\":[" EVENT("O", 0, 2) ","
	      EVENT("C", 0, 1) "]}]}", "byte 183: time runs backwards");
	check("{" FRAMES ",\"profiles\":[{}]}",
	    "a profile without samples and events");
	check("{" FRAMES "}", "speedscope's \"shared\" and \"profiles\" "
	                      "expected");
	check("{" FRAMES ",\"profiles\":[", "no such JSON as was expected at "
	                                    "byte 113");
}

TEST(json_is_read_as_it_is)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
	    {"[]", true}, {"{}", true}, {"[1,2]", true}, {"[1,]", false},
	    {"[,1]", false}, {"{\"a\":1}", true}, {"{\"a\"}", false},
	    {"{\"a\":1,}", false}, {"{1:2}", false}, {"\"\\u00\"", true},
	    {"nul", false}, {"-", false}, {"+1", false}, {"1e999", false},
	    {"\"", false}, {"[1 2]", false}, {"[[[[]]]", false},
	    {"true", true}, {"  null", true}, {"", false}};
	struct buf s = {0};
	struct json_in j;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		j = json_in_of(cases[i].text, strlen(cases[i].text));
		json_in_skip(&j);
		if (j.bad == cases[i].good)
			printf("# %s\n", cases[i].text);
		CHECK(j.bad != cases[i].good);
	}
	j = json_in_of("\"\\ud83d\\ude00 \\ud83d \\\"\\t\"", 26);
	json_in_string(&j, &s);
	buf_put_u8(&s, '\0');
	CHECK(!j.bad);
	CHECK_STR((char *)s.data, "\360\237\230\200 \357\277\275 \"\t");
	buf_fini(&s);
}

TEST(deep_nesting_is_refused)
{
	size_t n = 1000000;
	char *text = malloc(n);
	struct json_in j = json_in_of(text, n);

	memset(text, '[', n);
	json_in_skip(&j);
	CHECK(j.bad);
	free(text);
}

int
main(void)
{
	RUN(samples_have_weights);
	RUN(fractions_are_not_lost);
	RUN(events_open_and_close);
	RUN(several_profiles_have_labels);
	RUN(what_is_wrong_says_where);
	RUN(json_is_read_as_it_is);
	RUN(deep_nesting_is_refused);
	return test_done();
}
