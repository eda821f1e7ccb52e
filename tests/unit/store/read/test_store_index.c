/*
 * A reader that is opened beside a writer takes up the index of the open
 * journal, and answers as one that has read the journal; whatever becomes of
 * the index, and of the writer.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/read/reader.h"
#include "store/write/writer.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

#define PUTS 400 /* a slot: 10 KB and more */

static void
put_stacks(struct model *m, unsigned stacks)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	char name[32];

	for (unsigned i = 0; i < stacks; i++) {
		struct frame f = {FRAME_NATIVE, name, "own", "", i};

		snprintf(name, sizeof(name), "own_%u_%u", (unsigned)m->now, i);
		batch_add_profile(b, service_series(b, (int)i % SERVICES),
		    m->now, batch_node(b, stack_node(b, (int)i % STACKS),
		        batch_frame(b, &f)), 1 + i % 7);
	}
	for (int i = 0; i < 6; i++)
		batch_add_gauge(b, metric_series_of(b, i & ~1), m->now,
		    (int64_t)m->now * SLOT + 5, (int64_t)roll(m, 1000));
	CHECK_OK(store_append(m->w, b));
	batch_free(b);
	CHECK_OK(store_tick(m->w, (int64_t)++m->now * SLOT + SLOT / 2));
}

static void
put_slot(struct model *m)
{
	put_stacks(m, PUTS);
}

static void
say_metrics(struct store *s, const struct model *m, struct buf *out)
{
	struct metric_query q = {.from_ns = (int64_t)(m->now - 9) * SLOT,
	    .until_ns = (int64_t)m->now * SLOT, .step_ns = SLOT,
	    .max_series = 100};
	struct metric_series *series = NULL;
	struct selector *sel;
	size_t n = 0;

	CHECK_OK(selector_parse("load", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &series, &n));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < series[i].n_points; k++)
			buf_printf(out, "%s %lld %llu\n",
			    series[i].desc.labels[0].value,
			    (long long)series[i].points[k].last,
			    (unsigned long long)series[i].points[k].count);
	metric_series_free(series, n);
	selector_free(sel);
}

/* What a reader says; *used: it has taken up an index. */
static struct buf
answers_of(struct store *s, const struct model *m, bool *used)
{
	struct buf out = {0};

	*used = false;
	for (uint32_t i = 0; i < s->n_journals; i++)
		*used |= s->journals[i]->span.row_bytes > 0;
	for (int i = 0; i < 3; i++) {
		struct profile *p = ask(s, i == 0 ? "cpu" :
		    i == 1 ? "cpu{service=\"s0\"}" : "cpu{service=\"s1\"}",
		    0, (int64_t)(m->now + 9) * SLOT, NULL);

		for (size_t k = 0; k < p->n_nodes; k++)
			buf_printf(&out, "%s %lld\n", p->nodes[k].name,
			    (long long)p->nodes[k].total);
		profile_free(p);
	}
	say_metrics(s, m, &out);
	return out;
}

static struct buf
answers(const struct model *m, bool *used)
{
	struct store *s;
	struct buf out;

	CHECK_OK(store_open(&s, m->dir, 0));
	out = answers_of(s, m, used);
	store_close(s);
	return out;
}

/* The answers are those that the journal gives; used or not, as expected. */
static void
check_answers(const struct model *m, const struct buf *right, bool use)
{
	bool used;
	struct buf b = answers(m, &used);

	CHECK_INT(used, use);
	CHECK(b.len == right->len && memcmp(b.data, right->data, b.len) == 0);
	buf_fini(&b);
}

static int
index_open(const struct model *m, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/" OPEN_INDEX_NAME, m->dir);
	return open(path, flags | O_CLOEXEC);
}

/* What readers say that find none. */
static struct buf
truth(const struct model *m)
{
	char path[96], aside[96];
	struct buf b;
	bool used;

	snprintf(path, sizeof(path), "%s/" OPEN_INDEX_NAME, m->dir);
	snprintf(aside, sizeof(aside), "%s/aside.tmp", m->dir);
	CHECK(rename(path, aside) == 0);
	b = answers(m, &used);
	CHECK(!used && b.len > 1000);
	CHECK(rename(aside, path) == 0);
	return b;
}

TEST(a_new_reader_takes_up_the_index)
{
	struct model m;

	model_init(&m, 1);
	for (unsigned i = 0; i < 90; i++) {
		put_slot(&m);
		if (i % 9 == 8 && m.now % 64 > 20) {
			struct buf right = truth(&m);

			check_answers(&m, &right, true);
			buf_fini(&right);
		}
	}
	model_fini(&m);
}

/* Few records it reads itself; what a neighbour has pushed in many it does
 * not. */
TEST(a_reader_that_is_far_behind_takes_it_up)
{
	struct buf right, said;
	struct store *s;
	struct model m;
	bool used;

	model_init(&m, 5);
	put_slot(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 6; i++) {
		uint64_t written = store_written(s);

		CHECK_OK(store_refresh(s));
		CHECK_INT(store_written(s), written);
		put_stacks(&m, i % 2 == 0 ? PUTS : 60000);
		right = answers(&m, &used);
		CHECK_OK(store_refresh(s));
		CHECK(store_written(s) != written);
		said = answers_of(s, &m, &used);
		CHECK_INT(used, i > 0);
		CHECK(said.len == right.len &&
		    memcmp(said.data, right.data, said.len) == 0);
		buf_fini(&said);
		buf_fini(&right);
	}
	CHECK_INT(s->damaged, 0);
	store_close(s);
	model_fini(&m);
}

TEST(a_torn_one_changes_no_answer)
{
	struct stat st;
	struct buf right;
	struct model m;
	uint8_t byte;
	int fd;

	model_init(&m, 2);
	for (unsigned i = 0; i < 30; i++)
		put_slot(&m);
	right = truth(&m);
	fd = index_open(&m, O_RDWR);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 1000);
	for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 50) {
		CHECK(pread(fd, &byte, 1, at) == 1);
		byte ^= 1;
		CHECK(pwrite(fd, &byte, 1, at) == 1);
		check_answers(&m, &right, false);
		byte ^= 1;
		CHECK(pwrite(fd, &byte, 1, at) == 1);
	}
	check_answers(&m, &right, true);
	for (off_t left = st.st_size - 1; left > 0; left /= 2) {
		CHECK(ftruncate(fd, left) == 0);
		check_answers(&m, &right, false);
	}
	close(fd);
	for (unsigned i = 0; i < 20; i++) /* the writer makes it anew */
		put_slot(&m);
	buf_fini(&right);
	right = truth(&m);
	check_answers(&m, &right, true);
	buf_fini(&right);
	model_fini(&m);
}

/* Stacks of the journal that are not those that were scanned: the index that
 * tells where they were is not believed any more. */
TEST(a_journal_that_was_changed_is_read)
{
	char path[160];
	struct buf before, after;
	struct model m;
	bool used;
	int fd;

	model_init(&m, 3);
	for (unsigned i = 0; i < 30; i++)
		put_slot(&m);
	before = answers(&m, &used);
	CHECK(used);
	snprintf(path, sizeof(path), "%s/%s", m.dir, m.w->current.name);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && pwrite(fd, "\377\0\377\0\377", 5, 20000) == 5);
	close(fd);
	after = truth(&m);
	CHECK(after.len != before.len);
	check_answers(&m, &after, true);
	buf_fini(&before);
	buf_fini(&after);
	model_fini(&m);
}

/* Who is killed leaves it; without a writer nobody looks at it, and the next
 * writer begins without it. */
TEST(a_dead_writers_index_is_none)
{
	struct buf right;
	struct model m;
	pid_t pid;

	model_init(&m, 4);
	put_slot(&m);
	CHECK_OK(store_writer_close(m.w));
	if ((pid = fork()) == 0) {
		model_open(&m);
		for (unsigned i = 0; i < 30; i++)
			put_slot(&m);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	m.now += 30;
	right = truth(&m);
	check_answers(&m, &right, false);
	model_open(&m);
	CHECK(index_open(&m, O_RDONLY) < 0);
	check_answers(&m, &right, false);
	for (unsigned i = 0; i < 30; i++)
		put_slot(&m);
	buf_fini(&right);
	right = truth(&m);
	check_answers(&m, &right, true);
	buf_fini(&right);
	model_fini(&m);
}

int
main(void)
{
	RUN(a_new_reader_takes_up_the_index);
	RUN(a_reader_that_is_far_behind_takes_it_up);
	RUN(a_torn_one_changes_no_answer);
	RUN(a_journal_that_was_changed_is_read);
	RUN(a_dead_writers_index_is_none);
	return test_done();
}
