/*
 * Opening, guessing, adding up, and telling what was left out.
 */
#include "fcgi/memlens/cmd_stacks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "store/base/text.h"

#define PIECE_MAX ((size_t)4 << 30) /* what must be in memory at once */

static const struct err *
cmd_stacks_file(struct stacks *s, const char *format, const char *path)
{
	bool in = strcmp(path, "-") == 0;
	int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	const struct err *e;

	if (fd < 0)
		return err_errno("%s", path);
	e = foreign_read(s, format, fd, PIECE_MAX);
	if (!in)
		close(fd);
	return e == NULL ? NULL : err_wrap(e, "%s", path);
}

const struct err *
cmd_stacks_read(struct stacks **out, const char *command, const char *format,
    int n, char **paths, bool pair)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	const struct err *e = s == NULL ? err_nomem() : NULL;

	*out = s;
	for (int i = 0; i < n && e == NULL; i++)
		e = cmd_stacks_file(s, format, paths[i]);
	if (e == NULL && (!pair || n > 1) && folded_pair_in(s))
		e = foreign_single(foreign_find("folded-pair"));
	for (size_t i = 0; e == NULL && i < stacks_n_skipped(s); i++) {
		struct stacks_skipped k;

		stacks_get_skipped(s, i, &k);
		fprintf(stderr, "memlens %s: %" PRIu64 " %s\n", command, k.n,
		    k.why);
	}
	return e;
}

static void
cmd_stacks_list(const struct stacks *s, const char *command, uint32_t n)
{
	struct stacks_type t;

	stacks_get_type(s, 0, &t);
	fprintf(stderr, "memlens %s: this is --type ", command);
	text_print(stderr, t.name);
	fputs(" of", stderr);
	for (uint32_t i = 0; i < n; i++) {
		stacks_get_type(s, i, &t);
		fputc(' ', stderr);
		text_print(stderr, t.name);
	}
	fputc('\n', stderr);
}

const struct err *
cmd_stacks_type(struct stacks *s, const char *command, const char *name,
    uint32_t *type)
{
	struct stacks_type t;
	uint32_t n;

	if (stacks_n_types(s) == 0)
		stacks_type(s, &folded_samples);
	n = (uint32_t)stacks_n_types(s);
	for (*type = 0; name != NULL && *type < n; ++*type) {
		stacks_get_type(s, *type, &t);
		if (strcmp(t.name, name) == 0)
			return NULL;
	}
	if (name != NULL)
		return err_new(ERR_REQUEST, 422, "nothing counts \"%s\" here",
		    name);
	if (n > 1)
		cmd_stacks_list(s, command, n);
	return NULL;
}

void
cmd_stacks_formats(FILE *out)
{
	fprintf(out, "formats, else guessed:\n");
	for (size_t i = 0; i < foreign_n_formats; i++)
		fprintf(out, "  %-12s %s\n", foreign_formats[i].name,
		    foreign_formats[i].what);
}
