/*
 * Names of functions, by hand and of this very program; tests/replay/
 * 020-heap.sh compares with addr2line.
 */
#include <stdlib.h>

#include "collector/elf/demangle.h"
#include "fcgi/symbolize/symbolize.h"
#include "fcgi/symbolize/symbolize_private.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

TEST(names_are_demangled)
{
	static const struct {
		const char *raw, *plain;
	} cases[] = {
	    {"_ZN3foo3barEi", "foo::bar(int)"}, {"_Z!", NULL},
	    {"_ZN4core3fmt9Formatter17h0123456789abcdefE",
	        "core::fmt::Formatter"},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	    {"read@@GLIBC_2.2.5", "read"}, {"_ZN3foo3barEv@V1", "foo::bar()"},
	    {"main", NULL}, {"", NULL}, {"@", NULL}, {"_R", NULL},
	    {"_Z!@x", "_Z!"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *plain = demangle(cases[i].raw);

		CHECK((plain == NULL) == (cases[i].plain == NULL));
		if (plain != NULL && cases[i].plain != NULL)
			CHECK_STR(plain, cases[i].plain);
		free(plain);
	}
}

TEST(what_is_no_program_is_refused)
{
	struct symbolizer *s;
	const struct err *e = symbolizer_open(&s, "/nonexistent/program");

	CHECK(e != NULL && e->domain == ERR_ERRNO);
	e = symbolizer_open(&s, "/etc/passwd");
	CHECK(e != NULL && e->domain == ERR_FORMAT);
	e = symbolizer_open(&s, "/");
	CHECK(e != NULL);
}

/* A program may know its own functions. */
TEST(this_program_is_known)
{
	struct symbolized frames[SYMBOLIZED_MAX];
	struct symbolizer *s = NULL;
	uint64_t address;

	CHECK_OK(symbolizer_open(&s, "/proc/self/exe"));
	if (s == NULL)
		return;
	CHECK(symbolizer_address(s, 64, &address));
	CHECK(!symbolizer_address(s, UINT64_MAX - 5, &address));
	CHECK_INT(symbolizer_find(s, 0, frames), 0);
	CHECK_INT(symbolizer_find(s, UINT64_MAX, frames), 0);
	symbolizer_close(s);
}

int
main(void)
{
	RUN(names_are_demangled);
	RUN(what_is_no_program_is_refused);
	RUN(this_program_is_known);
	return test_done();
}
