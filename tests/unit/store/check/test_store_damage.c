/*
 * Damaged bytes in sealed files of a store: detected, left out and counted,
 * while the rest is served and the writer goes on.  Also windows that cross
 * slots.
 */
#include "store/file/dbfile.h"
#include "store/file/manifest.h"
#include "store/file/sealed.h"
#include "tests/unit/store/store_damage.h"

/* ---- sealed files ---- */

/* A flip anywhere is either without effect or the file is left out. */
TEST(a_flipped_bit_in_a_sealed_file_is_noticed)
{
	char path[400];
	uint64_t damaged;
	unsigned left_out = 0;
	off_t n;

	begin();
	put(FIRST, FIRST + 130);
	n = find("span-3-8192", path, sizeof(path));
	CHECK(n > 0);
	for (off_t at = 40; at < n; at += 397) {
		int64_t got;

		flip(path, at);
		got = ask_all(&damaged);
		CHECK(got == 130 || (got == 130 - 64 && damaged == 1));
		left_out += got != 130;
		flip(path, at);
	}
	CHECK(left_out > 10);
	CHECK_INT(ask_all(&damaged), 130);
	end();
}

TEST(cut_files_are_left_out)
{
	char path[400];
	uint64_t damaged;
	off_t n;

	begin();
	put(FIRST, FIRST + 130);
	n = find("span-3-8192", path, sizeof(path));
	CHECK(truncate(path, n - 8192) == 0);
	CHECK_INT(ask_all(&damaged), 130 - 64);
	CHECK_INT(damaged, 1);
	CHECK(truncate(path, 0) == 0);
	CHECK_INT(ask_all(&damaged), 130 - 64);
	CHECK_INT(damaged, 1);
	end();
}

/* Merging meets it: it is set aside, and all else is merged. */
TEST(merging_goes_on_without_a_damaged_file)
{
	struct store_writer_stats stats;
	char path[400];
	uint64_t damaged;
	off_t n;

	begin();
	put(FIRST, FIRST + 130);
	n = find("span-3-8192", path, sizeof(path));
	for (off_t at = 0; at < n; at += 4096)
		flip(path, at + 100);
	put(FIRST + 130, FIRST + 4200);
	store_writer_stats(writer, &stats);
	CHECK_INT(stats.state, STORE_OK);
	CHECK_INT(stats.damaged_records, 1);
	CHECK_INT(ask_all(&damaged), 4200 - 64);
	CHECK_INT(damaged, 1);
	CHECK(find("span-6-8192", path, sizeof(path)) > 0);
	end();
}

/* Slots of as many stacks of one series that each takes part of a page, and
 * of other series, of which a page holds many. */
#define WIDE 400

/* Such that deflating them is in vain. */
static int64_t
narrow_value(uint64_t slot, unsigned i)
{
	return 1 + (int64_t)(hash64_u64(slot, i) & 0xffffff);
}

static int64_t
narrow_sum(void)
{
	int64_t sum = 0;

	for (uint64_t slot = FIRST; slot < FIRST + 192; slot++)
		for (unsigned i = 0; i < WIDE; i++)
			sum += narrow_value(slot, i);
	return sum;
}

static void
put_wide(uint64_t from, uint64_t until)
{
	for (uint64_t slot = from; slot < until; slot++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		CHECK_OK(store_tick(writer, (int64_t)slot * SLOT));
		for (unsigned i = 0; i < WIDE; i++) {
			char name[16];
			struct label l = {"service", name};
			struct series_desc d = {SERIES_FLOW, "narrow",
			    "nanoseconds", 10101010, 0, &l, 1};

			snprintf(name, sizeof(name), "s%u", i);
			batch_add_profile(b, series_of(b), slot,
			    stack_of(b, i), 1 + (int64_t)(slot * i) % 9000);
			batch_add_profile(b, batch_series(b, &d), slot,
			    stack_of(b, 0), narrow_value(slot, i));
		}
		CHECK_OK(store_append(writer, b));
		batch_free(b);
	}
	CHECK_OK(store_tick(writer, (int64_t)until * SLOT));
}

static int64_t
wide_sum(uint64_t slot)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < WIDE; i++)
		sum += 1 + (int64_t)(slot * i) % 9000;
	return sum;
}

/* How many of 64 slots from FIRST + 64 on are said to lack something; all
 * others are exact. */
static unsigned
check_kept(void)
{
	struct store *s = NULL;
	unsigned lacking_slots = 0;

	CHECK_OK(store_open(&s, dir, 0));
	for (uint64_t slot = FIRST; slot < FIRST + 192 && s != NULL; slot++) {
		int64_t at = (int64_t)slot * SLOT;
		int64_t sum = ask(s, at, at + SLOT);
		size_t n;

		store_missing(s, &n);
		store_missing_forget(s);
		if (n == 0)
			CHECK_INT(sum, wide_sum(slot));
		else
			CHECK(slot >= FIRST + 64 && slot < FIRST + 128);
		lacking_slots += n > 0;
	}
	store_close(s);
	return lacking_slots;
}

static int64_t
ask_narrow(void)
{
	struct selector *selector;
	struct profile_query q = {.from_ns = FIRST * SLOT,
	    .until_ns = (FIRST + 192) * SLOT};
	struct profile *p = NULL;
	struct store *s = NULL;
	int64_t total;

	CHECK_OK(selector_parse("narrow", &selector));
	q.selector = selector;
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_query_profile(s, &q, &p));
	total = p ? (int64_t)counts_of(p, 0).total : -1;
	profile_free(p);
	selector_free(selector);
	store_close(s);
	return total;
}

/* A leaf of a file in which keys begin so, and none as the other one; of many,
 * the one in the middle. */
static off_t
page_of(const char *path, const char *key, const char *other, size_t n)
{
	FILE *f = fopen(path, "r");
	static uint8_t page[8192];
	off_t pages[64];
	size_t found = 0;

	for (off_t at = 0; f != NULL && fread(page, sizeof(page), 1, f) == 1;
	     at += sizeof(page))
		if (found < 64 && page[25] == 5 &&
		    memmem(page, sizeof(page), key, n) != NULL &&
		    memmem(page, sizeof(page), other, n) == NULL)
			pages[found++] = at;
	CHECK(f != NULL && fclose(f) == 0 && found > 0);
	return found > 0 ? pages[found / 2] : 0;
}

/* One page of the many that merging reads: what others hold is kept. */
static unsigned
merge_with_damage(const char *key, size_t n)
{
	char path[400];

	begin();
	put_wide(FIRST, FIRST + 200);
	CHECK(find("span-3-8256", path, sizeof(path)) > 12 * 8192);
	flip(path, page_of(path, key, "\20\1\1\1\1\1", n) + 4500);
	put_wide(FIRST + 200, FIRST + 300);
	CHECK(find("span-4-8192", path, sizeof(path)) > 0);
	return check_kept();
}

/* Strips of the first series, which is "cpu"; of the last ones. */
TEST(merging_keeps_the_slots_that_a_damaged_page_does_not_hold)
{
	unsigned slots = merge_with_damage("\20\0\0\0\0\0", 6);

	CHECK(slots > 0 && slots <= 30);
	CHECK_INT(ask_narrow(), narrow_sum());
	end();
}

TEST(merging_keeps_the_series_that_a_damaged_page_does_not_hold)
{
	unsigned slots = merge_with_damage("\20\0\0\1", 4);
	int64_t kept;

	CHECK_INT(slots, 64);
	kept = ask_narrow();
	/* a page holds half of those of a third of the slots */
	CHECK(kept < narrow_sum() && kept > narrow_sum() / 5 * 4);
	end();
}

/* Slots of so many stacks that their sums have pages of their own. */
static int64_t
put_sums(uint64_t from, uint64_t until)
{
	int64_t sum = 0;

	for (uint64_t slot = from; slot < until; slot++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		CHECK_OK(store_tick(writer, (int64_t)slot * SLOT));
		for (unsigned i = 0; i < 4 * WIDE; i++) {
			int64_t value = 1 + (int64_t)(slot * i) % 9000;

			batch_add_profile(b, series_of(b), slot,
			    stack_of(b, i), value);
			sum += value;
		}
		CHECK_OK(store_append(writer, b));
		batch_free(b);
	}
	return sum;
}

/* Which files of more than 64 slots have. */
TEST(merging_loses_nothing_to_a_damaged_page_of_sums)
{
	struct store *s = NULL;
	char path[400];
	int64_t sum;
	size_t lacking;

	begin();
	sum = put_sums(FIRST, FIRST + 260);
	CHECK_OK(store_tick(writer, (FIRST + 330) * SLOT));
	CHECK(find("span-4-8192", path, sizeof(path)) > 0);
	flip(path, page_of(path, "\20\0\0\0\0\2", "\20\0\0\0\0\0", 6) +
	    4500);
	sum += put_sums(FIRST + 1020, FIRST + 1022);
	CHECK_OK(store_tick(writer, (FIRST + 1100) * SLOT));
	CHECK(find("span-5-8192", path, sizeof(path)) > 0);
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_INT(ask(s, FIRST * SLOT, (FIRST + 1100) * SLOT), sum);
	store_missing(s, &lacking);
	CHECK_INT(lacking, 0);
	store_close(s);
	end();
}

/* Berkeley DB's own check goes round for ever in some of these. */
TEST(verifying_ends_wherever_a_bit_is_flipped)
{
	struct verify_report r;
	char path[400];
	off_t n;

	begin();
	put_wide(FIRST, FIRST + 70);
	n = find("span-3-8192", path, sizeof(path));
	alarm(300);
	for (off_t at = 8192 + 90; at < n; at += 1999) {
		flip(path, at);
		CHECK_OK(store_verify(dir, verified, NULL, &r));
		CHECK_INT(r.problems, 1);
		flip(path, at);
	}
	alarm(0);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 0);
	end();
}

/* Copies a sealed file with a zero alone in the place of a stream. */
static void
forget_stream(const char *path, enum sealed_stream stream)
{
	struct buf key = {0}, zero = {0};
	struct dbfile *from, *to;
	struct cur k, v;
	char was[420];
	bool found, had = false;
	bool done = false; /* all in order: pages are left full */

	snprintf(was, sizeof(was), "%s.was", path);
	CHECK(rename(path, was) == 0);
	CHECK_OK(dbfile_open(&from, was, 1 << 20));
	CHECK_OK(dbfile_create(&to, path, 8192));
	buf_put_u8(&zero, 0);
	CHECK_OK(dbfile_seek(from, &key, &k, &v, &found));
	while (found) {
		if (*k.p > stream && !done)
			CHECK_OK(sealed_put_stream(to, &key, stream, &zero));
		done |= *k.p > stream;
		had |= *k.p == stream;
		buf_clear(&key);
		buf_put(&key, k.p, cur_left(&k));
		if (*k.p != stream)
			CHECK_OK(dbfile_put(to, &key, v.p, cur_left(&v)));
		CHECK_OK(dbfile_next(from, &k, &v, &found));
	}
	CHECK(had);
	CHECK_OK(dbfile_finish(to));
	dbfile_close(from);
	buf_fini(&key);
	buf_fini(&zero);
	unlink(was);
}

#define MARKED 300

/* A sealed file of 64 slots whose dictionary is of some 35 KB: it has marks,
 * and an index of its series.  Its bytes. */
static off_t
put_marked(char *path, size_t size)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	put(FIRST, FIRST + 3);
	for (unsigned i = 0; i < MARKED; i++) {
		char name[100];
		struct frame f = {FRAME_NATIVE, name, "", "", 0};

		snprintf(name, sizeof(name), "%u%090u", i * 7919, i);
		batch_add_profile(b, series_of(b), FIRST + 3,
		    batch_node(b, stack_of(b, 3), batch_frame(b, &f)), 1);
	}
	CHECK_OK(store_append(writer, b));
	batch_free(b);
	put(FIRST + 4, FIRST + 130);
	return find("span-3-8192", path, size);
}

/* Verifying tells that this stream is not what the dictionary says; who reads
 * takes the dictionary itself then. */
static void
check_compared(enum sealed_stream stream)
{
	struct verify_report r;
	uint64_t damaged;
	char path[400];
	off_t n;

	begin();
	n = put_marked(path, sizeof(path));
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 0);
	forget_stream(path, stream);
	CHECK(truncate(path, n) == 0); /* as the manifest has it */
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 1);
	CHECK_INT(ask_all(&damaged), 129 + MARKED);
	CHECK_INT(damaged, 0);
	end();
}

TEST(verifying_compares_marks_with_their_dictionary)
{
	check_compared(SEALED_MARKS);
}

TEST(verifying_compares_the_index_of_series_with_the_dictionary)
{
	check_compared(SEALED_SERIES);
}

/* So did sealing write one when memory was missing, and merging then stopped
 * at it for good. */
TEST(merging_goes_on_without_a_file_that_lacks_its_stacks)
{
	struct store_writer_stats stats;
	char path[400];
	uint64_t damaged;

	begin();
	put(FIRST, FIRST + 130);
	CHECK(find("span-3-8192", path, sizeof(path)) > 0);
	forget_stream(path, SEALED_STACKS);
	put(FIRST + 130, FIRST + 1100);
	store_writer_stats(writer, &stats);
	CHECK_INT(stats.state, STORE_OK);
	CHECK_INT(stats.damaged_records, 1);
	CHECK_INT(ask_all(&damaged), 1100 - 64);
	CHECK(find("span-5-8192", path, sizeof(path)) > 0);
	end();
}

/* A damaged summary is made anew from the spans; meanwhile they answer. */
TEST(a_damaged_summary_is_made_anew)
{
	char path[400];
	uint64_t damaged;
	off_t n;

	begin();
	put(FIRST, FIRST + 8400);
	n = find("summary-", path, sizeof(path));
	CHECK(n > 0);
	for (off_t at = 0; at < n; at += 4096)
		flip(path, at + 100);
	CHECK_INT(ask_all(&damaged), 8400);
	CHECK_INT(damaged, 1);
	put(FIRST + 8400, FIRST + 12500);
	CHECK_INT(ask_all(&damaged), 12500);
	CHECK_INT(damaged, 0);
	end();
}

/* A file that is gone counts as damaged and does not stop the writer. */
TEST(a_missing_file_does_not_stop_the_writer)
{
	struct store_writer_stats stats;
	char path[400];
	uint64_t damaged;

	begin();
	put(FIRST, FIRST + 130);
	find("span-3-8192", path, sizeof(path));
	CHECK(unlink(path) == 0);
	put(FIRST + 130, FIRST + 300);
	store_writer_stats(writer, &stats);
	CHECK_INT(stats.state, STORE_OK);
	CHECK_INT(ask_all(&damaged), 300 - 64);
	restart();
	CHECK_INT(ask_all(&damaged), 300 - 64);
	end();
}

/* ---- what is lost stays said ---- */

TEST(a_damaged_file_that_merging_sets_aside_stays_said)
{
	char path[400], aside[410];

	begin();
	put(FIRST, FIRST + 200);
	CHECK(find("span-3-8256", path, sizeof(path)) > 0);
	spoil(path);
	put(FIRST + 200, FIRST + 300);
	snprintf(aside, sizeof(aside), "%s.bad", path);
	CHECK(unlink(aside) == 0); /* verify says that by itself */
	check_said(FIRST + 64, FIRST + 128);
	put(FIRST + 300, FIRST + 8400); /* all is in the summary, too */
	check_said(FIRST + 64, FIRST + 128);
	end();
}

TEST(a_deleted_file_that_merging_misses_stays_said)
{
	char path[400];

	begin();
	put(FIRST, FIRST + 200);
	CHECK(find("span-3-8256", path, sizeof(path)) > 0);
	CHECK(unlink(path) == 0);
	put(FIRST + 200, FIRST + 300);
	check_said(FIRST + 64, FIRST + 128);
	end();
}

/* What retention takes nobody misses. */
TEST(retention_takes_what_is_lacking_with_it)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true,
	    .retain_fine_ns = 4096 * SLOT, .retain_ns = 8192 * SLOT};
	uint64_t first, last, damaged;
	char path[400];

	begin();
	put(FIRST, FIRST + 200);
	CHECK(find("span-3-8256", path, sizeof(path)) > 0);
	CHECK(unlink(path) == 0);
	put(FIRST + 200, FIRST + 9000);
	CHECK_INT(lacking(FIRST, FIRST + 9000, &first, &last), 1);
	CHECK_OK(store_writer_close(writer));
	CHECK_OK(store_writer_open(&writer, dir, &o));
	put(FIRST + 9000, FIRST + 21000);
	CHECK_INT(lacking(FIRST, FIRST + 9000, &first, &last), 0);
	ask_all(&damaged);
	CHECK_INT(damaged, 0);
	end();
}

/* Whatever happens, the manifest stays small, and no slot is forgotten. */
TEST(many_gaps_become_few)
{
	static struct manifest m;
	char why[40];

	for (uint64_t i = 0; i < 500; i++) {
		snprintf(why, sizeof(why), "file %u", (unsigned)i);
		manifest_add_gap(&m, i * 10, i * 10 + 5, why);
	}
	CHECK_INT(m.n_gaps, MANIFEST_GAPS);
	for (uint64_t i = 0; i < 500; i++) {
		bool held = false;

		for (uint32_t k = 0; k < m.n_gaps; k++)
			held |= m.gaps[k].from <= i * 10 &&
			    i * 10 + 5 <= m.gaps[k].until;
		CHECK(held);
	}
	manifest_forget_gaps(&m, 0, 4991);
	CHECK_INT(m.n_gaps, 1);
	CHECK_INT(m.gaps[0].from, 4991);
	manifest_add_gap(&m, 4995, 5000, m.gaps[0].why);
	CHECK_INT(m.n_gaps, 1);
	CHECK_INT(m.gaps[0].until, 5000);
	manifest_add_gap(&m, 7, 7, "nothing");
	CHECK_INT(m.n_gaps, 1);
}

/* ---- windows that cross slots ---- */

/* Gives a window's value in whole slots and parts, as a push is split. */
static void
put_window(int64_t from, int64_t until, int64_t value)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	int64_t length = until - from, given = 0;

	for (int64_t at = from; at < until;) {
		int64_t next = (at / SLOT + 1) * SLOT, share;

		if (next > until)
			next = until;
		share = value * (next - from) / length - given;
		given += share;
		if (share > 0)
			batch_add_profile(b, series_of(b),
			    (uint64_t)(at / SLOT), stack_of(b, 1), share);
		at = next;
	}
	CHECK_INT(given, value);
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

static int64_t
sum_of_slots(uint64_t from, uint64_t until)
{
	struct store *s = NULL;
	int64_t sum = 0;

	CHECK_OK(store_open(&s, dir, 0));
	for (uint64_t slot = from; slot < until && s != NULL; slot++)
		sum += ask(s, (int64_t)slot * SLOT, (int64_t)(slot + 1) * SLOT);
	store_close(s);
	return sum;
}

TEST(windows_that_cross_slots_add_up)
{
	int64_t want = 0, now = FIRST * SLOT + 3 * (SLOT / 10);
	uint64_t damaged;
	unsigned seed = 5;

	begin();
	for (int i = 0; i < 300; i++) {
		int64_t length = 1 + (int64_t)rand_r(&seed) * 20;
		int64_t value = 1 + rand_r(&seed) % 1000;

		CHECK_OK(store_tick(writer, now + length));
		put_window(now, now + length, value);
		want += value;
		now += length / 2;
	}
	for (int round = 0; round < 2; round++) {
		uint64_t last = (uint64_t)(now / SLOT) + 10;

		CHECK_INT(ask_all(&damaged), want);
		CHECK_INT(sum_of_slots(FIRST, last), want);
		restart();
		CHECK_INT(sum_of_slots(FIRST, last), want);
		now += 400 * SLOT; /* all is sealed */
		CHECK_OK(store_tick(writer, now));
	}
	end();
}

int
main(void)
{
	if (getenv("LOUD") == NULL && freopen("/dev/null", "w", stderr) == NULL)
		return 1; /* the store's warnings, which are many here */
	RUN(a_flipped_bit_in_a_sealed_file_is_noticed);
	RUN(cut_files_are_left_out);
	RUN(merging_goes_on_without_a_damaged_file);
	RUN(merging_keeps_the_slots_that_a_damaged_page_does_not_hold);
	RUN(merging_keeps_the_series_that_a_damaged_page_does_not_hold);
	RUN(merging_loses_nothing_to_a_damaged_page_of_sums);
	RUN(verifying_ends_wherever_a_bit_is_flipped);
	RUN(verifying_compares_marks_with_their_dictionary);
	RUN(verifying_compares_the_index_of_series_with_the_dictionary);
	RUN(merging_goes_on_without_a_file_that_lacks_its_stacks);
	RUN(a_damaged_summary_is_made_anew);
	RUN(a_missing_file_does_not_stop_the_writer);
	RUN(a_damaged_file_that_merging_sets_aside_stays_said);
	RUN(a_deleted_file_that_merging_misses_stays_said);
	RUN(retention_takes_what_is_lacking_with_it);
	RUN(many_gaps_become_few);
	RUN(windows_that_cross_slots_add_up);
	return test_done();
}
