/*
 * From a file to the graph that is shown of it, and the command line that
 * does the same: one rule for the page and for memlens graph.
 */
#include "fcgi/graph/graph_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"

bool
graph_is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4];
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	    memcmp(magic, "\177ELF", sizeof(magic)) == 0;
	close(fd);
	return is;
}

const struct err *
graph_read(const struct graph_source *s, unsigned depth, struct graph **out)
{
	uint32_t root = 0;
	struct graph *whole;
	const struct err *e = s->elf ? graph_read_elf(s->path, depth, &whole)
				     : graph_read_bazel(s->path, &whole);

	*out = NULL;
	if (e != NULL)
		return e->domain == ERR_REQUEST ? e
		    : err_new(ERR_REQUEST, 503, "%s", e->text);
	if (!s->elf)
		root = s->root != NULL ? graph_find(whole, s->root)
				       : graph_root(whole);
	if (root == UINT32_MAX)
		e = err_new(ERR_REQUEST, 422, "%.200s has no node \"%.200s\"",
		    s->path, s->root);
	else if ((*out = graph_cut(whole, root, depth)) == NULL)
		e = err_nomem();
	graph_free(whole);
	return e;
}

/* A word of a shell's line, quoted where it has to be. */
static void
graph_put_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:+,@%=-";

	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		buf_printf(out, " %s", word);
		return;
	}
	buf_printf(out, " '");
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_printf(out, "'\\''");
		else
			buf_put_u8(out, (uint8_t)*word);
	}
	buf_put_u8(out, '\'');
}

void
graph_put_command(struct buf *out, const struct graph_source *s,
    unsigned depth)
{
	buf_printf(out, "memlens graph --depth %u", depth);
	if (s->root != NULL) {
		buf_printf(out, " --root");
		graph_put_word(out, s->root);
	}
	graph_put_word(out, s->path);
}
