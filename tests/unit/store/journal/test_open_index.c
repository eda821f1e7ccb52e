/*
 * The index of an open journal in a file beside it: who takes it up knows what
 * the journal holds, and a wrong one is none.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/journal/open_index.h"
#include "tests/unit/store/journal/open_journal.h"
#include "tests/unit/test.h"

struct beside {
	char path[32];
	int dir;
	struct gaps gaps;
};

static void
beside_init(struct beside *d)
{
	*d = (struct beside){.path = "/tmp/test-index-XXXXXX"};
	CHECK(mkdtemp(d->path) != NULL);
	d->dir = open(d->path, O_RDONLY | O_DIRECTORY);
	CHECK(d->dir >= 0);
}

static void
beside_fini(struct beside *d)
{
	open_index_drop(d->dir);
	close(d->dir);
	CHECK(rmdir(d->path) == 0);
}

static struct open_index
beside_index(struct beside *d, struct found *x)
{
	return (struct open_index){"journal-1", &x->reader, &d->gaps,
	    &x->span};
}

static bool
beside_load(struct beside *d, struct found *x, int fd)
{
	struct open_index index = beside_index(d, x);

	found_init(x, fd);
	d->gaps = (struct gaps){0};
	return open_index_load(d->dir, &index);
}

static bool
beside_save(struct beside *d, struct found *x)
{
	struct open_index index = beside_index(d, x);

	return open_index_save(d->dir, &index);
}

/* Follows it from the file on, and says what it has. */
static void
check_from(struct found *x, int fd)
{
	struct lines sealed = {0}, open = {0};
	uint64_t damaged;

	found_follow(x);
	say_sealed(fd, &sealed, &damaged);
	say_open(x, 0, UINT64_MAX, &open);
	check_same(&sealed, &open);
	lines_fini(&sealed);
	lines_fini(&open);
}

/* A new reader each few records, which begins with what the one before it has
 * left; and what a service has is found by its name. */
TEST(an_index_is_as_good_as_the_journal)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct journal j;
		struct beside d;
		struct found x;
		unsigned loaded = 0;

		srand(seed);
		beside_init(&d);
		journal_init(&j);
		for (unsigned i = 0; i < RECORDS; i++) {
			if (rand() % 12 == 0)
				journal_dict_begin(&j.dict);
			journal_put(&j, random_batch(i));
			if (rand() % 3 > 0)
				continue;
			loaded += beside_load(&d, &x, j.fd);
			check_from(&x, j.fd);
			CHECK_INT(x.reader.offset, j.starts[j.n]);
			for (uint32_t k = 1; k < x.span.lists.n_services; k++)
				CHECK_INT(open_series_find(&x.span.lists,
				    intern_at(&x.span.lists.names, k - 1),
				    x.span.lists.names.items[k - 1].len), k);
			CHECK(beside_save(&d, &x));
			found_fini(&x);
		}
		CHECK(loaded > 4);
		journal_fini(&j);
		beside_fini(&d);
	}
}

static void
flip_file(int fd, off_t at)
{
	uint8_t byte = 0;

	CHECK(pread(fd, &byte, 1, at) == 1);
	byte ^= 0x40;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
}

/* Whatever byte is wrong, wherever it ends, and of another journal: there is
 * no index, and nothing of it is left. */
TEST(a_wrong_index_is_none)
{
	struct journal j, other;
	struct beside d;
	struct found x;
	struct stat st;
	int fd;

	srand(3);
	beside_init(&d);
	journal_init(&j);
	journal_init(&other);
	for (unsigned i = 0; i < 8; i++) {
		journal_put(&j, random_batch(i));
		journal_put(&other, random_batch(i));
	}
	CHECK(!beside_load(&d, &x, j.fd));
	check_from(&x, j.fd);
	CHECK(beside_save(&d, &x));
	found_fini(&x);
	fd = openat(d.dir, OPEN_INDEX_NAME, O_RDWR);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	for (off_t at = 0; at < st.st_size; at += 1 + rand() % 23) {
		flip_file(fd, at);
		CHECK(!beside_load(&d, &x, j.fd));
		CHECK_INT(x.reader.offset, JOURNAL_HEADER);
		CHECK_INT(x.span.n_strips + x.span.n_dicts, 0);
		found_fini(&x);
		flip_file(fd, at);
	}
	CHECK(!beside_load(&d, &x, other.fd));
	check_from(&x, other.fd);
	found_fini(&x);
	CHECK(beside_load(&d, &x, j.fd));
	check_from(&x, j.fd);
	found_fini(&x);
	CHECK(ftruncate(j.fd, j.starts[7]) == 0); /* one record is gone */
	CHECK(!beside_load(&d, &x, j.fd));
	check_from(&x, j.fd);
	found_fini(&x);
	for (off_t left = st.st_size; left > 0; left -= 1 + rand() % 99) {
		CHECK(ftruncate(fd, left - 1) == 0);
		CHECK(!beside_load(&d, &x, j.fd));
		found_fini(&x);
	}
	close(fd);
	journal_fini(&j);
	journal_fini(&other);
	beside_fini(&d);
}

/* Who reads it would tell of no damage. */
TEST(there_is_no_index_of_damage)
{
	struct journal j;
	struct beside d;
	struct found x;

	srand(5);
	beside_init(&d);
	journal_init(&j);
	for (unsigned i = 0; i < 8; i++)
		journal_put(&j, random_batch(i));
	journal_flip(&j, 3, BATCH_RECORD_HEADER + 20);
	CHECK(!beside_load(&d, &x, j.fd));
	check_from(&x, j.fd);
	CHECK(!beside_save(&d, &x));
	found_fini(&x);
	journal_fini(&j);
	beside_fini(&d);
}

int
main(void)
{
	RUN(an_index_is_as_good_as_the_journal);
	RUN(a_wrong_index_is_none);
	RUN(there_is_no_index_of_damage);
	return test_done();
}
