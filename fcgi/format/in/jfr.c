/*
 * The first bytes, and the way out.
 */
#include "fcgi/format/in/jfr.h"

#include <string.h>

#include "store/base/err.h"

bool
jfr_looks(const char *p, size_t n)
{
	return n >= 4 && memcmp(p, "FLR", 4) == 0;
}

const struct err *
jfr_refuse(void)
{
	return err_field(ERR_REQUEST, 422, "format", "jfr is not read here: "
	    "send pprof or folded stacks; async-profiler's `jfrconv -o pprof "
	    "a.jfr a.pprof` and `jfrconv -o collapsed a.jfr a.txt` make them");
}
