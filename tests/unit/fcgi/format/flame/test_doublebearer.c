/*
 * Two trees as flamebearer of format "double": the published example, and
 * that whatever is cut, both sides keep their mass.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/doublebearer.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

struct row {
	uint32_t depth;
	const char *name;
	int64_t self[2];
};

static struct diff
diff_of(const struct row *rows, size_t n)
{
	struct diff d = {.tree = {.n_nodes = n}};
	uint32_t path[64] = {0};

	d.tree.nodes = calloc(n, sizeof(*d.tree.nodes));
	d.sides = calloc(n, sizeof(*d.sides));
	for (size_t i = 0; i < n; i++) {
		struct profile_node *to = &d.tree.nodes[i];

		to->name = rows[i].name;
		to->module = "";
		to->kind = FRAME_NATIVE;
		to->depth = rows[i].depth;
		to->parent = i ? path[rows[i].depth - 1] : 0;
		path[rows[i].depth] = (uint32_t)i;
		for (int s = 0; s < 2; s++) {
			to->self += rows[i].self[s];
			d.sides[i].self[s] = d.sides[i].total[s] =
			    rows[i].self[s];
		}
	}
	for (size_t i = n - 1; i > 0; i--)
		for (int s = 0; s < 2; s++)
			d.sides[d.tree.nodes[i].parent].total[s] +=
			    d.sides[i].total[s];
	return d;
}

static void
diff_done(struct diff *d)
{
	free(d->tree.nodes);
	free(d->sides);
}

static struct buf out;

static const char *
json(const struct diff *d, int64_t max_nodes, bool kinds)
{
	struct doublebearer_options o = {max_nodes, "(other)", kinds, true};
	struct writer w;

	buf_clear(&out);
	w = writer_of(&out);
	writer_open(&w, '{');
	CHECK_OK(doublebearer_put(&w, d, &o));
	writer_close(&w, '}');
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

/* A counts one for three, B for five; what is cut keeps both. */
TEST(samples_stand_beside_amounts)
{
	static const struct row rows[] = {{0, "", {0, 0}}, {1, "a", {3, 5}},
	    {2, "b", {6, 20}}, {2, "c", {9, 40}}};
	static const int64_t each[2] = {3, 5};
	struct diff d = diff_of(rows, 4);

	CHECK(strstr(json(&d, -1, false), "sample_levels") == NULL);
	d.sampled = true;
	for (size_t i = 0; i < d.tree.n_nodes; i++)
		for (int s = 0; s < 2; s++) {
			struct diff_sides *n = &d.sides[i];

			n->self_samples[s] = n->self[s] / each[s];
			n->total_samples[s] = n->total[s] / each[s];
		}
	CHECK(strstr(json(&d, -1, false), "\"sample_levels\":"
	    "[[6,0,13,0],[6,1,13,1],[2,2,4,4,3,3,8,8]]") != NULL);
	CHECK(strstr(json(&d, 2, false), "\"sample_levels\":"
	    "[[6,0,13,0],[6,1,13,1],[5,5,12,12]]") != NULL);
	diff_done(&d);
}

TEST(the_published_example)
{
	static const struct row rows[] = {{0, "", {0, 0}}, {1, "a", {0, 0}},
	    {2, "b", {1, 4}}, {2, "c", {2, 8}}};
	struct diff d = diff_of(rows, 4);

	CHECK_STR(json(&d, -1, false), "{\"flamebearer\":{\"names\":"
	    "[\"total\",\"a\",\"b\",\"c\"],\"levels\":[[0,3,0,0,12,0,0],"
	    "[0,3,0,0,12,0,1],[0,1,1,0,4,4,2,0,2,2,0,8,8,3]],"
	    "\"numTicks\":15,\"maxSelf\":8}}");
	diff_done(&d);
}

TEST(what_is_cut_is_other_on_both_sides)
{
	static const struct row rows[] = {{0, "", {0, 0}}, {1, "a", {1, 1}},
	    {2, "b", {1, 0}}, {2, "c", {0, 2}}, {1, "d", {50, 60}}};
	struct diff d = diff_of(rows, 5);

	CHECK_STR(json(&d, 3, true), "{\"flamebearer\":{\"names\":"
	    "[\"total\",\"a\",\"(other)\",\"d\"],\"levels\":"
	    "[[0,52,0,0,63,0,0],[0,2,1,0,3,1,1,0,50,50,0,60,60,3],"
	    "[1,1,1,1,2,2,2]],\"numTicks\":115,\"maxSelf\":60},"
	    "\"kinds\":[\"unknown\",\"user\",\"unknown\",\"user\"]}");
	diff_done(&d);
}

/* One name for a function, inlined or not; names as they come. */
TEST(names_are_those_of_functions)
{
	static const struct row rows[] = {{0, "", {0, 0}}, {1, "a", {2, 0}},
	    {2, "z", {1, 3}}, {1, "b", {0, 0}}, {2, "a", {7, 7}}};
	struct diff d = diff_of(rows, 5);

	d.tree.nodes[4].kind = FRAME_INLINED;
	CHECK(strstr(json(&d, -1, false), "{\"names\":[\"total\",\"a\","
	    "\"z\",\"b\"]") != NULL);
	diff_done(&d);
}

static int64_t
number(struct json_object *level, size_t i)
{
	return json_object_get_int64(json_object_array_get_idx(level, i));
}

/* Does every frame lie in one of the level above, and do selfs add up? */
static void
check_levels(const struct diff *d, const char *text)
{
	struct json_object *root = json_tokener_parse(text), *fb, *levels;
	int64_t self[2] = {0, 0};

	json_object_object_get_ex(root, "flamebearer", &fb);
	json_object_object_get_ex(fb, "levels", &levels);
	for (size_t l = 0; l < json_object_array_length(levels); l++) {
		struct json_object *level = json_object_array_get_idx(levels,
		    l);
		int64_t end[2] = {0, 0};

		for (size_t k = 0; k < json_object_array_length(level); k += 7)
			for (size_t s = 0; s < 2; s++) {
				int64_t gap = number(level, k + 3 * s);

				CHECK(gap >= 0);
				end[s] += gap + number(level, k + 3 * s + 1);
				self[s] += number(level, k + 3 * s + 2);
			}
		for (int s = 0; s < 2; s++)
			CHECK(end[s] <= (int64_t)d->sides[0].total[s]);
	}
	for (int s = 0; s < 2; s++)
		CHECK_INT(self[s], d->sides[0].total[s]);
	json_object_put(root);
}

TEST(mass_stays_at_every_size)
{
	static char names[400][8];
	static struct row rows[400];
	unsigned seed = 7;
	struct diff d;

	rows[0] = (struct row){0, "", {0, 0}};
	for (size_t i = 1; i < 400; i++) {
		seed = seed * 1103515245u + 12345u;
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		rows[i].name = names[i];
		rows[i].depth = 1 + (seed >> 16) % (rows[i - 1].depth + 1);
		if (rows[i].depth > 40)
			rows[i].depth = 40;
		rows[i].self[0] = (seed >> 20) % 50;
		rows[i].self[1] = (seed >> 9) % 70;
	}
	d = diff_of(rows, 400);
	for (int64_t n = -1; n < 405; n += 7)
		check_levels(&d, json(&d, n, false));
	diff_done(&d);
}

TEST(empty_sides)
{
	static const struct row rows[] = {{0, "", {0, 0}}, {1, "a", {0, 3}}};
	struct diff d = diff_of(rows, 1);

	CHECK_STR(json(&d, 8192, false), "{\"flamebearer\":{\"names\":"
	    "[\"total\"],\"levels\":[[0,0,0,0,0,0,0]],\"numTicks\":0,"
	    "\"maxSelf\":0}}");
	diff_done(&d);
	d = diff_of(rows, 2);
	CHECK_STR(json(&d, 8192, false), "{\"flamebearer\":{\"names\":"
	    "[\"total\",\"a\"],\"levels\":[[0,0,0,0,3,0,0],"
	    "[0,0,0,0,3,3,1]],\"numTicks\":3,\"maxSelf\":3}}");
	diff_done(&d);
}

int
main(void)
{
	RUN(samples_stand_beside_amounts);
	RUN(the_published_example);
	RUN(what_is_cut_is_other_on_both_sides);
	RUN(names_are_those_of_functions);
	RUN(mass_stays_at_every_size);
	RUN(empty_sides);
	buf_fini(&out);
	return test_done();
}
