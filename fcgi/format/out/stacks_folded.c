/*
 * Nodes stand in the order in which stacks grew, so the line of one is most
 * often that of the node before it and one name more.
 */
#include "fcgi/format/out/stacks_folded.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/folded_name.h"
#include "fcgi/format/stacks_private.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"

#define PIECE (1u << 20)

struct fold_out {
	const struct stacks *s;
	struct buf text;           /* names as they are written, ';' behind */
	uint32_t *first;           /* of each frame, and one more */
	struct buf line, out;
	size_t *ends;              /* of the line, by depth */
	uint32_t *path;            /* nodes of the line, by depth */
	size_t depth;
};

static void
fold_name(struct fold_out *o, uint32_t i, bool bare)
{
	static const struct {
		enum frame_kind kind;
		const char *mark;
	} marks[] = {
	    {FRAME_KERNEL, "_[k]"}, {FRAME_BPF, "_[k]"}, {FRAME_JIT, "_[j]"},
	    {FRAME_INLINED, "_[i]"},
	};
	struct frame f;

	stacks_get_frame(o->s, i, &f);
	/* one text for all places, and it may begin a line */
	folded_put_name(&o->text, f.name, true);
	for (size_t k = 0; !bare && k < sizeof(marks) / sizeof(marks[0]); k++)
		if (marks[k].kind == f.kind)
			buf_put(&o->text, marks[k].mark, 4);
	buf_put_u8(&o->text, ';');
}

static const struct err *
fold_names(struct fold_out *o, bool bare)
{
	size_t n = stacks_n_frames(o->s);

	o->first = malloc((n + 1) * sizeof(*o->first));
	o->ends = malloc((o->s->limits.depth + 2) * sizeof(*o->ends));
	o->path = malloc((o->s->limits.depth + 2) * sizeof(*o->path));
	if (o->first == NULL || o->ends == NULL || o->path == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++) {
		o->first[i] = (uint32_t)o->text.len;
		fold_name(o, i, bare);
	}
	o->first[n] = (uint32_t)o->text.len;
	o->ends[0] = 0;
	o->path[0] = 0;
	return o->text.failed || o->text.len > UINT32_MAX ? err_nomem() : NULL;
}

/* Makes the line that of a node. */
static void
fold_go(struct fold_out *o, uint32_t node)
{
	uint32_t depth = o->s->nodes[node].depth, at = node;
	size_t known = o->depth;

	/* label sets are at depth 0 and have no text */
	for (uint32_t d = depth; d > 0; d--) {
		if (d <= known && o->path[d] == at) {
			o->depth = d;
			break;
		}
		o->path[d] = at;
		at = o->s->nodes[at].parent;
		o->depth = d - 1;
	}
	if (depth == 0)
		o->depth = 0;
	while (o->depth < depth) {
		uint32_t edge = o->s->nodes[o->path[o->depth + 1]].edge;

		o->line.len = o->ends[o->depth++];
		buf_put(&o->line, o->text.data + o->first[edge],
		    o->first[edge + 1] - o->first[edge]);
		o->ends[o->depth] = o->line.len;
	}
}

static void
fold_put(struct fold_out *o, uint32_t node, int64_t value)
{
	size_t n;

	fold_go(o, node);
	n = o->ends[o->depth];
	if (n == 0) /* samples without a frame need a line, too */
		buf_put(&o->out, "[no stack] ", 11);
	else
		buf_put(&o->out, o->line.data, n);
	if (!o->out.failed)
		o->out.data[o->out.len - 1] = ' ';
	writer_put_int(&o->out, value);
	buf_put_u8(&o->out, '\n');
}

static const struct err *
fold_run(struct fold_out *o, uint32_t type, stacks_folded_fn *flush,
    void *arg)
{
	const struct err *e = NULL;
	size_t n = stacks_n_nodes(o->s);

	for (uint32_t i = 0; i < n && e == NULL; i++) {
		int64_t value = stacks_value(o->s, i, type);

		if (value == 0)
			continue;
		fold_put(o, i, value);
		if (o->out.failed || o->line.failed)
			return err_nomem();
		if (o->out.len >= PIECE)
			e = flush(arg, &o->out);
	}
	return e != NULL ? e : flush(arg, &o->out);
}

const struct err *
stacks_put_folded(const struct stacks *s, uint32_t type, bool bare,
    stacks_folded_fn *flush, void *arg)
{
	struct fold_out o = {.s = s};
	const struct err *e = fold_names(&o, bare);

	if (e == NULL)
		e = fold_run(&o, type, flush, arg);
	buf_fini(&o.text);
	buf_fini(&o.line);
	buf_fini(&o.out);
	free(o.first);
	free(o.ends);
	free(o.path);
	return e;
}
