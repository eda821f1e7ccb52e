/*
 * Rows that a child hands over are taken only as they must be.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/unwind/unwind_rows.h"
#include "tests/unit/collector/unwind/walker_maps.h"
#include "tests/unit/test.h"

TEST(rows_of_the_child_are_checked)
{
	static const struct unwind_row same[] = {{16, 1, 1, 0}, {16, 2, 1, 0}},
	    kind[] = {{16, 1, 1, 0}, {17, 2, UNWIND_KINDS, 0}},
	    good[] = {{16, 1, 1, 0}, {17, 2, 1, 0}};
	const struct unwind_code code = {16, 1, 31}, behind = {17, 1, 31},
	    two = {0, 2, 16};
	struct unwind_rows u;
	int fd;

	fd = sealed(same, 2, ALL_SEALS);
	CHECK(!unwind_rows_open(&u, fd, 2, &code, 0));
	close(fd);
	fd = sealed(kind, 2, ALL_SEALS);
	CHECK(!unwind_rows_open(&u, fd, 2, &code, 0));
	close(fd);
	fd = sealed(good, 2, F_SEAL_SHRINK | F_SEAL_GROW);
	CHECK(!unwind_rows_open(&u, fd, 2, &code, 0));
	close(fd);
	fd = sealed(good, 2, ALL_SEALS);
	CHECK(!unwind_rows_open(&u, fd, 3, &code, 0));
	CHECK(!unwind_rows_open(&u, fd, 0, &code, 0));
	CHECK(!unwind_rows_open(&u, -1, 2, &code, 0));
	CHECK(!unwind_rows_open(&u, fd, 2, &behind, 0));
	CHECK(!unwind_rows_open(&u, fd, 2, &two, 1));
	CHECK(unwind_rows_open(&u, fd, 2, &code, 0));
	unwind_rows_close(&u);
	close(fd);
}

int
main(void)
{
	RUN(rows_of_the_child_are_checked);
	return test_done();
}
