/*
 * One pass in pre-order; the line of the open stack is kept, with the length
 * that it has at each level.
 */
#include "fcgi/format/out/folded_out.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/folded_name.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/gone.h"

static void
folded_put_frame(struct buf *line, const struct flame_name *name, bool bare)
{
	folded_put_name(line, name->text, line->len == 0);
	if (!bare && name->kind == FLAME_KERNEL)
		buf_put(line, "_[k]", 4);
	else if (!bare && name->kind == FLAME_JIT)
		buf_put(line, "_[j]", 4);
	else if (!bare && name->inlined)
		buf_put(line, "_[i]", 4);
}

const struct err *
folded_put(struct buf *out, const struct flame *f, bool bare,
    size_t max_bytes)
{
	size_t *ends = calloc((size_t)f->n_levels + 1, sizeof(*ends));
	size_t before = out->len;
	struct buf line = {0};
	bool failed, large = false;

	for (size_t i = 0; ends != NULL && i < f->n_frames && !gone(); i++) {
		const struct flame_frame *a = &f->frames[i];

		if (a->level > 0) {
			line.len = ends[a->level - 1];
			if (a->level > 1)
				buf_put_u8(&line, ';');
			folded_put_frame(&line, &f->names[a->name],
			    bare);
		}
		ends[a->level] = line.len;
		if (a->self == 0)
			continue;
		large = out->len - before + line.len > max_bytes;
		if (large)
			break;
		/* samples without a frame have no line to be on */
		if (a->level > 0)
			buf_put(out, line.data, line.len);
		else
			buf_put(out, "[no stack]", 10);
		buf_put_u8(out, ' ');
		writer_put_int(out, a->self);
		buf_put_u8(out, '\n');
	}
	failed = ends == NULL || out->failed || line.failed;
	buf_fini(&line);
	free(ends);
	if (failed)
		return err_nomem();
	if (large)
		return err_new(ERR_REQUEST, 413, "the text would be larger "
		    "than %zu bytes: ask for less", max_bytes);
	return NULL;
}
