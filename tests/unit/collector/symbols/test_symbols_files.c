/*
 * Many files at once: all of them are asked for, though few may be on their
 * way to the child at a time.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "tests/unit/test.h"

#define FILES 288 /* on their way, and waiting */

/* The map of a JIT with one function, at 0x1000. */
static int
map_open(int i)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	CHECK(dprintf(fd, "1000 100 function_%d\n", i) > 0);
	return fd;
}

static int
next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* As samples come in a row: each address is asked for once. */
static void
ask_all(struct symbols *s, uint32_t refs[FILES])
{
	for (int i = 0; i < FILES; i++) {
		int fd = map_open(i);
		uint32_t file = symbols_map(s, fd);

		refs[i] = symbols_user(s, file, 0x1010);
		CHECK(symbols_wants(s, file));
		symbols_load(s, file, fd);
		CHECK(!symbols_wants(s, file));
		close(fd);
	}
}

TEST(more_files_than_may_be_on_their_way)
{
	int before = next_descriptor();
	uint32_t refs[FILES];
	struct symbols *s;
	char name[32];

	CHECK_OK(symbols_new(&s, NULL, NULL));
	ask_all(s, refs);
	symbols_settle(s, 60 * NS_PER_S);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		CHECK_STR(symbols_get(s, symbols_final(s, refs[i])).name,
		    name);
	}
	symbols_free(s);
	CHECK_INT(next_descriptor(), before);
}

/* Those that still wait when all is forgotten do not stay open. */
TEST(forgotten_while_they_wait)
{
	int before = next_descriptor();
	uint32_t refs[FILES];
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	ask_all(s, refs);
	symbols_free(s);
	CHECK_INT(next_descriptor(), before);
}

int
main(void)
{
	log_init("test_symbols_files", LOG_L_ERR);
	RUN(more_files_than_may_be_on_their_way);
	RUN(forgotten_while_they_wait);
	return test_done();
}
