/*
 * memlens repair: a new manifest for a store whose own is damaged or gone; and
 * the end of what it, or the daemon after a crash, has set aside as .old.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/memlens/cmd.h"
#include "store/base/err.h"
#include "store/check/repair.h"

static void
repair_said(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "memlens repair: %s\n", what);
}

static int
repair_clean(const char *dir)
{
	struct aside_report r;
	const struct err *e = store_aside(dir, true, &r);

	if (e != NULL) {
		fprintf(stderr, "memlens repair: %s\n", e->text);
		return 1;
	}
	printf("%s: deleted %llu files that others hold, %llu bytes\n", dir,
	    (unsigned long long)r.files, (unsigned long long)r.bytes);
	return 0;
}

int
cmd_repair(int argc, char **argv)
{
	struct repair_report r;
	const struct err *e;

	if (argc == 3 && strcmp(argv[1], "--clean") == 0)
		return repair_clean(argv[2]);
	if (argc != 2) {
		fprintf(stderr, "usage: memlens repair [--clean] DIR\n");
		return 2;
	}
	e = store_repair(argv[1], repair_said, NULL, &r);
	if (e != NULL) {
		fprintf(stderr, "memlens repair: %s\n", e->text);
		return 1;
	}
	if (!r.needed) {
		printf("%s: the manifest is whole, nothing to do\n", argv[1]);
		return 0;
	}
	printf("%s: a new manifest names %llu files; set aside: %llu damaged, "
	    "%llu that others hold\n", argv[1], (unsigned long long)r.kept,
	    (unsigned long long)r.damaged, (unsigned long long)r.superseded);
	return 0;
}
