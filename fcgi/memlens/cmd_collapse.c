/*
 * memlens collapse: any format that is known as folded stacks.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/format/out/stacks_folded.h"
#include "fcgi/format/stacks.h"
#include "fcgi/memlens/cmd.h"
#include "fcgi/memlens/cmd_stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/text.h"

struct collapse {
	const char *format, *type;
	bool bare;
};

static const struct option collapse_options[] = {
    {"format", required_argument, NULL, 'f'},
    {"type", required_argument, NULL, 't'},
    {"bare", no_argument, NULL, 'b'},
    {NULL, 0, NULL, 0},
};

static const struct err *
collapse_write(void *arg, struct buf *out)
{
	(void)arg;
	if (fwrite(out->data, 1, out->len, stdout) != out->len ||
	    fflush(stdout) != 0)
		return err_errno("standard output");
	buf_clear(out);
	return NULL;
}

/* Samples count themselves; what else the numbers are is said. */
static void
collapse_say_unit(const struct stacks *s, uint32_t type)
{
	struct stacks_type t;

	stacks_get_type(s, type, &t);
	if (t.unit[0] == '\0' || strcmp(t.unit, "samples") == 0 ||
	    strcmp(t.unit, "count") == 0)
		return;
	fputs("memlens collapse: numbers are ", stderr);
	text_print(stderr, t.unit);
	fputs(" of ", stderr);
	text_print(stderr, t.name);
	fputc('\n', stderr);
}

static const struct err *
collapse_run(const struct collapse *c, int n, char **paths)
{
	struct stacks *s = NULL;
	uint32_t type = 0;
	const struct err *e = cmd_stacks_read(&s, "collapse", c->format, n,
	    paths, false);

	if (e == NULL)
		e = cmd_stacks_type(s, "collapse", c->type, &type);
	if (e == NULL)
		e = stacks_put_folded(s, type, c->bare, collapse_write, NULL);
	if (e == NULL)
		collapse_say_unit(s, type);
	stacks_free(s);
	return e;
}

int
cmd_collapse(int argc, char **argv)
{
	struct collapse c = {0};
	char *in[] = {(char[]){"-"}};
	const struct err *e;
	int option;

	while ((option = getopt_long(argc, argv, "", collapse_options,
	    NULL)) != -1) {
		switch (option) {
		case 'f':
			c.format = optarg;
			break;
		case 't':
			c.type = optarg;
			break;
		case 'b':
			c.bare = true;
			break;
		default:
			fprintf(stderr, "usage: memlens collapse [--format "
			    "NAME] [--type NAME] [--bare] [FILE...]\n"
			    "numbers are sums of what the type counts: of "
			    "perf script its periods,\nnanoseconds for the "
			    "clocks, or samples where the text has none\n");
			cmd_stacks_formats(stderr);
			return 2;
		}
	}
	e = optind == argc ? collapse_run(&c, 1, in)
	    : collapse_run(&c, argc - optind, argv + optind);
	if (e == NULL)
		return 0;
	fprintf(stderr, "memlens collapse: %s\n", e->text);
	return 1;
}
