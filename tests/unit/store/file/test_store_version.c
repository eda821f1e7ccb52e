/*
 * A store that a newer program wrote: refused by name, and left as it is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)

static char dir[] = "/tmp/test-version-XXXXXX";

static void
put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f != NULL && fputs(text, f) >= 0);
	if (f != NULL)
		CHECK(fclose(f) == 0);
}

static void
put_manifest(unsigned version)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "memlens %u\ngeneration 5\n"
	    "slot_ns 10000000000\nfine_from 0\n", version);

	snprintf(text + n, sizeof(text) - (size_t)n, "crc %08x\n",
	    crc32c(0, text, (size_t)n));
	put_file("manifest", text);
}

static bool
is_there(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0 && st.st_size > 0;
}

TEST(a_newer_store_is_refused_and_left_alone)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	const struct err *e;
	struct store_writer *w = NULL;
	struct store *s = NULL;

	put_manifest(5);
	put_file("journal-9", "a form that is not known");
	put_file("span-3-0-8.mdb", "neither is this");
	e = store_open(&s, dir, 0);
	CHECK(e != NULL && strstr(e->text, "version 5 is not known") != NULL);
	e = store_writer_open(&w, dir, &o);
	CHECK(e != NULL && strstr(e->text, "version 5 is not known") != NULL);
	CHECK(s == NULL && w == NULL);
	CHECK(is_there("manifest") && is_there("journal-9") &&
	    is_there("span-3-0-8.mdb"));
	/* it was the number alone */
	put_manifest(3);
	CHECK_OK(store_writer_open(&w, dir, &o));
	CHECK_OK(store_writer_close(w));
}

int
main(void)
{
	char command[128];

	if (mkdtemp(dir) == NULL)
		return 1;
	RUN(a_newer_store_is_refused_and_left_alone);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	return test_done();
}
