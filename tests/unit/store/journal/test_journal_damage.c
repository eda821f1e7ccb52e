/*
 * Damaged, cut, copied and deleted journals: what can be read is, and what
 * cannot is said, before sealing and after.
 */
#include "tests/unit/store/store_damage.h"

TEST(a_torn_journal_loses_its_last_record)
{
	char path[400];
	uint64_t damaged = 0;

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	CHECK(truncate(path, find("journal-", path, sizeof(path)) - 3) == 0);
	CHECK_INT(ask_all(&damaged), 9);
	CHECK_INT(damaged, 1); /* nobody writes any more */
	start();
	put(FIRST + 10, FIRST + 200);
	CHECK_INT(ask_all(&damaged), 199);
	end();
}

/* Alive, its end may be being written; then it is known to lack something. */
TEST(a_cut_journal_whose_daemon_is_gone_is_marked)
{
	struct verify_report r;
	uint64_t from = 0, until = 0;
	char path[400];

	begin();
	put(FIRST, FIRST + 10);
	CHECK(truncate(path, find("journal-", path, sizeof(path)) - 3) == 0);
	CHECK_INT(lacking(FIRST, FIRST + 100, &from, &until), 0);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 0);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	CHECK_INT(lacking(FIRST, FIRST + 100, &from, &until), 1);
	CHECK_INT(from, FIRST + 8);
	CHECK_INT(until, FIRST + 64);
	CHECK_INT(lacking(FIRST, FIRST + 8, &from, &until), 0);
	CHECK_INT(lacking(FIRST + 30, FIRST + 31, &from, &until), 1);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 1);
	start();
	put(FIRST + 20, FIRST + 21);
	CHECK_INT(lacking(FIRST, FIRST + 100, &from, &until), 1);
	CHECK_INT(until, FIRST + 21); /* the next one has begun */
	end();
}

/* What it has in memory is not in the store any more. */
TEST(a_reader_notices_that_a_journal_was_cut)
{
	struct store *s = NULL;
	char path[400];
	off_t size;
	size_t n;

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_INT(ask(s, FIRST * SLOT, (FIRST + 100) * SLOT), 10);
	size = find("journal-", path, sizeof(path));
	CHECK(truncate(path, size - (size - JOURNAL_HEADER) / 10 * 3) == 0);
	CHECK_OK(store_refresh(s));
	CHECK(ask(s, FIRST * SLOT, (FIRST + 100) * SLOT) < 10);
	store_missing(s, &n);
	CHECK(n > 0);
	store_close(s);
	start();
	end();
}

TEST(a_damaged_record_is_marked_between_its_neighbours)
{
	uint64_t from = 0, until = 0;
	char path[400];
	off_t each;

	begin();
	put(FIRST, FIRST + 10);
	each = (find("journal-", path, sizeof(path)) - JOURNAL_HEADER) / 10;
	flip(path, JOURNAL_HEADER + 3 * each + each / 2);
	CHECK_INT(lacking(FIRST, FIRST + 10, &from, &until), 1);
	CHECK(from > FIRST);
	CHECK_INT(until, from + 3); /* the one between, and its neighbours */
	CHECK_INT(lacking(until, FIRST + 20, &from, &until), 0);
	end();
}

TEST(a_torn_record_is_counted_at_sealing)
{
	struct store_writer_stats stats;
	char path[400];
	uint64_t damaged = 0;

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	CHECK(truncate(path, find("journal-", path, sizeof(path)) - 3) == 0);
	start();
	put(FIRST + 100, FIRST + 101);
	store_writer_stats(writer, &stats);
	CHECK_INT(stats.damaged_records, 1);
	CHECK_INT(ask_all(&damaged), 10);
	CHECK_INT(damaged, 1);
	end();
}

/* Every byte of a record, header or payload: that record alone is lost. */
TEST(a_flipped_bit_in_a_journal_costs_one_record)
{
	char path[400];
	off_t n, each;
	uint64_t damaged = 0;

	begin();
	put(FIRST, FIRST + 10);
	n = find("journal-", path, sizeof(path));
	each = (n - JOURNAL_HEADER) / 10;
	for (off_t at = JOURNAL_HEADER + 3 * each;
	    at < JOURNAL_HEADER + 4 * each; at++) {
		flip(path, at);
		CHECK_INT(ask_all(&damaged), 9);
		CHECK_INT(damaged, 1);
		flip(path, at);
	}
	CHECK_INT(ask_all(&damaged), 10);
	CHECK_INT(damaged, 0);
	end();
}

/* The file's own header: nothing in it can be trusted to be in place. */
/* Records tell what it would have told, before sealing and after. */
TEST(a_damaged_header_of_a_journal_costs_nothing)
{
	for (off_t at = 0; at < JOURNAL_HEADER; at++) {
		struct verify_report r;
		uint64_t from = 0, until = 0, damaged = 0;
		char path[400];

		begin();
		put(FIRST + 3, FIRST + 10);
		CHECK_OK(store_writer_close(writer));
		find("journal-", path, sizeof(path));
		flip(path, at);
		CHECK_OK(store_verify(dir, verified, NULL, &r));
		CHECK_INT(r.problems, 1);
		CHECK_INT(ask_all(&damaged), 7);
		CHECK_INT(damaged, 0);
		start();
		put(FIRST + 100, FIRST + 110);
		CHECK_INT(ask_all(&damaged), 17);
		CHECK_INT(damaged, 0);
		CHECK_INT(lacking(FIRST, FIRST + 200, &from, &until), 0);
		CHECK_OK(store_verify(dir, verified, NULL, &r));
		CHECK_INT(r.problems, 0);
		end();
	}
}

/* What late data a journal held nobody knows. */
static void
check_late(uint64_t from, uint64_t until)
{
	uint64_t first = 0, last = 0;

	CHECK_INT(lacking(from, until, &first, &last), 1);
	CHECK_INT(first, from);
	CHECK_INT(last, until);
	CHECK(strstr(lacking_why, "late data may be lacking") != NULL);
}

/* A journal of slots [from, until) that cannot be read at all. */
static void
check_lost(uint64_t from, uint64_t until)
{
	uint64_t first = 0, last = 0;

	check_late(FIRST, from);
	CHECK_INT(lacking(from, FIRST + 9000, &first, &last), 1);
	CHECK_INT(first, from);
	CHECK_INT(last, until);
	CHECK(strstr(lacking_why, "was missing") != NULL);
}

static void
copy_over(const char *from, const char *to)
{
	char command[900];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	CHECK(system(command) == 0);
}

/* What it holds is in its own place; what it has overwritten is lacking. */
TEST(a_copy_of_another_journal_is_not_believed)
{
	struct verify_report r;
	uint64_t from = 0, until = 0, damaged = 0;
	char first[400], second[400], bad[410];

	begin();
	put(FIRST, FIRST + 10);
	find("journal-", first, sizeof(first));
	restart();
	put(FIRST + 10, FIRST + 30);
	find("journal-", second, sizeof(second));
	CHECK(strcmp(first, second) != 0);
	CHECK_OK(store_writer_close(writer));
	copy_over(first, second);
	CHECK_INT(ask_all(&damaged), 10);
	CHECK_INT(damaged, 1);
	CHECK_INT(lacking(FIRST + 9, FIRST + 100, &from, &until), 1);
	CHECK_INT(from, FIRST + 9);
	CHECK(until > FIRST + 29);
	check_late(FIRST, FIRST + 9);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 1);
	start();
	put(FIRST + 100, FIRST + 110);
	CHECK_INT(ask_all(&damaged), 20);
	CHECK_INT(lacking(FIRST + 10, FIRST + 100, &from, &until), 1);
	CHECK(until > FIRST + 29);
	check_late(FIRST, FIRST + 9);
	snprintf(bad, sizeof(bad), "%s.bad", second);
	CHECK(access(bad, F_OK) == 0);
	end();
}

/* ---- journals of which nothing can be read ---- */

/* Two journals' time, the second one closed; its path. */
static void
begin_two(char *path, size_t size)
{
	begin();
	put(FIRST, FIRST + 70);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	find("journal-", path, size);
}

/* The answers without the second one, and that they say so. */
static void
check_unread(const char *why)
{
	struct verify_report r;
	uint64_t from = 0, until = 0, damaged = 0;

	CHECK_INT(ask_all(&damaged), 64);
	CHECK_INT(damaged, 1);
	CHECK_INT(lacking(FIRST + 64, FIRST + 70, &from, &until), 1);
	CHECK(strstr(lacking_why, why) != NULL);
	CHECK_INT(from, FIRST + 64);
	CHECK_INT(until, FIRST + 70);
	check_late(FIRST, FIRST + 64);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 1);
}

TEST(a_journal_cut_to_its_header_or_less_is_lost)
{
	for (off_t left = 0; left <= JOURNAL_HEADER; left += 8) {
		uint64_t from = 0, until = 0;
		char path[400];

		begin_two(path, sizeof(path));
		CHECK(truncate(path, left) == 0);
		check_unread("is cut off");
		start();
		put(FIRST + 200, FIRST + 210);
		CHECK_INT(lacking(FIRST + 64, FIRST + 70, &from, &until), 1);
		CHECK(strstr(lacking_why, "was cut off") != NULL);
		restart();
		CHECK_INT(lacking(FIRST + 64, FIRST + 70, &from, &until), 1);
		end();
	}
}

/* Whole records go as well. */
TEST(a_journal_cut_between_records_is_marked_once_another_was_made)
{
	struct verify_report r;
	uint64_t from = 0, until = 0;
	char path[400];
	off_t size;

	begin();
	put(FIRST, FIRST + 10);
	size = find("journal-", path, sizeof(path));
	restart();
	CHECK(truncate(path, size - (size - JOURNAL_HEADER) / 10) == 0);
	CHECK_INT(lacking(FIRST, FIRST + 10, &from, &until), 1);
	CHECK_OK(store_verify(dir, verified, NULL, &r));
	CHECK_INT(r.problems, 1);
	end();
}

/* The one that waits for use, also when it is not the newest any more. */
TEST(a_journal_that_was_never_begun_lacks_nothing)
{
	begin();
	put(FIRST, FIRST + 10);
	for (int i = 0; i < 3; i++) {
		struct verify_report r;
		uint64_t from = 0, until = 0, damaged = 0;

		restart();
		CHECK_INT(ask_all(&damaged), 10);
		CHECK_INT(damaged, 0);
		CHECK_INT(lacking(0, FIRST + 900, &from, &until), 0);
		CHECK_OK(store_verify(dir, verified, NULL, &r));
		CHECK_INT(r.problems, 0);
	}
	end();
}

static void
overwrite(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	for (int i = 0; f != NULL && i < 1000; i++)
		fwrite(text, 1, n, f);
	CHECK(f != NULL && fclose(f) == 0);
}

TEST(a_journal_overwritten_by_something_else_is_lost)
{
	static const char zeros[32] = "";
	char path[400];

	begin_two(path, sizeof(path));
	overwrite(path, zeros, sizeof(zeros));
	check_unread("is damaged");
	overwrite(path, "this is no journal\n", 19);
	check_unread("is damaged");
	end();
}

/* Nothing tells of when it was: it may have been of any time. */
TEST(the_only_journal_of_a_store_is_lost_for_all_times)
{
	uint64_t from = 0, until = 0;
	char path[400];

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	find("journal-", path, sizeof(path));
	CHECK(truncate(path, 0) == 0);
	CHECK_INT(lacking(FIRST, FIRST + 10, &from, &until), 1);
	CHECK(unlink(path) == 0);
	CHECK_INT(lacking(FIRST, FIRST + 10, &from, &until), 1);
	end();
}

/* Neither the rest of the store nor the worker's time is taken by it. */
TEST(what_is_no_file_in_place_of_a_journal_loses_that_one_alone)
{
	struct store *s = NULL;
	char path[400], aside[410];
	size_t n;

	begin_two(path, sizeof(path));
	snprintf(aside, sizeof(aside), "%s-aside", dir);
	CHECK(rename(path, aside) == 0 && mkfifo(path, 0600) == 0);
	check_unread("is no regular file");
	CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
	check_unread("is no regular file");
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_INT(ask(s, FIRST * SLOT, (FIRST + 100) * SLOT), 64);
	CHECK(rmdir(path) == 0 && rename(aside, path) == 0);
	CHECK_OK(store_refresh(s));
	store_missing_forget(s);
	CHECK_INT(ask(s, FIRST * SLOT, (FIRST + 100) * SLOT), 70);
	store_missing(s, &n);
	CHECK_INT(n, 0);
	store_close(s);
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	start();
	put(FIRST + 200, FIRST + 210);
	check_late(FIRST, FIRST + 64);
	end();
}

/* ---- what is lost stays said ---- */

static void
spoil_all(const char *path)
{
	struct stat st;

	CHECK(stat(path, &st) == 0);
	for (off_t at = 0; at < st.st_size; at += 7)
		flip(path, at);
}

TEST(damaged_records_stay_said_after_sealing)
{
	uint64_t from = 0, until = 0;
	char path[400];
	off_t each;

	begin();
	put(FIRST, FIRST + 10);
	each = (find("journal-", path, sizeof(path)) - JOURNAL_HEADER) / 10;
	flip(path, JOURNAL_HEADER + 3 * each + each / 2);
	CHECK_INT(lacking(FIRST, FIRST + 10, &from, &until), 1);
	put(FIRST + 10, FIRST + 100);
	check_said(from, until);
	end();
}

/* What is cut off ends where the next journal begins. */
TEST(a_cut_journal_stays_said_after_sealing)
{
	char path[400];

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	CHECK(truncate(path, find("journal-", path, sizeof(path)) - 3) == 0);
	start();
	put(FIRST + 20, FIRST + 100);
	check_said(FIRST + 8, FIRST + 21);
	end();
}

TEST(a_journal_that_is_set_aside_stays_said)
{
	char path[400];

	begin();
	put(FIRST, FIRST + 10);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	find("journal-", path, sizeof(path));
	spoil_all(path);
	start();
	put(FIRST + 100, FIRST + 110);
	strcat(path, ".bad");
	CHECK(unlink(path) == 0);
	check_said(FIRST, FIRST + 101); /* nothing tells of when it was */
	end();
}

TEST(a_deleted_journal_of_another_daemon_stays_said)
{
	char path[400];

	begin();
	put(FIRST, FIRST + 70);
	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	find("journal-", path, sizeof(path));
	CHECK(unlink(path) == 0);
	start();
	put(FIRST + 200, FIRST + 210);
	check_lost(FIRST + 64, FIRST + 128);
	restart();
	check_lost(FIRST + 64, FIRST + 128);
	end();
}

int
main(void)
{
	if (getenv("LOUD") == NULL && freopen("/dev/null", "w", stderr) == NULL)
		return 1; /* the store's warnings, which are many here */
	RUN(a_torn_journal_loses_its_last_record);
	RUN(a_cut_journal_whose_daemon_is_gone_is_marked);
	RUN(a_reader_notices_that_a_journal_was_cut);
	RUN(a_damaged_record_is_marked_between_its_neighbours);
	RUN(a_torn_record_is_counted_at_sealing);
	RUN(a_flipped_bit_in_a_journal_costs_one_record);
	RUN(a_damaged_header_of_a_journal_costs_nothing);
	RUN(a_copy_of_another_journal_is_not_believed);
	RUN(a_journal_cut_to_its_header_or_less_is_lost);
	RUN(a_journal_cut_between_records_is_marked_once_another_was_made);
	RUN(a_journal_that_was_never_begun_lacks_nothing);
	RUN(a_journal_overwritten_by_something_else_is_lost);
	RUN(the_only_journal_of_a_store_is_lost_for_all_times);
	RUN(what_is_no_file_in_place_of_a_journal_loses_that_one_alone);
	RUN(damaged_records_stay_said_after_sealing);
	RUN(a_cut_journal_stays_said_after_sealing);
	RUN(a_journal_that_is_set_aside_stays_said);
	RUN(a_deleted_journal_of_another_daemon_stays_said);
	return test_done();
}
