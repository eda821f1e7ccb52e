/*
 * A profile in another tool's format: parsed here, without privileges, and
 * handed on as bounded batches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/in/texttype.h"
#include "fcgi/format/stacks.h"
#include "fcgi/memlens/cmd_heap.h"
#include "fcgi/memlens/cmd_import.h"
#include "fcgi/push/push.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"

static const struct err *
parse_heap(struct stacks *s, const struct import_foreign *f,
    const struct buf *data)
{
	struct heap h = {0};
	const struct err *e = heap_read(&h, data->data, data->len, 1);

	if (e == NULL && !f->raw)
		e = cmd_heap_name(&h, f->binary, false);
	if (e == NULL && (!heap_name_rest(&h) || !heap_hide_allocator(&h)))
		e = err_nomem();
	if (e == NULL)
		e = heap_put(&h, s);
	heap_fini(&h);
	return e;
}

static const struct err *
parse_typed(struct stacks *s, const struct import_foreign *f,
    const struct foreign *format, const struct buf *data)
{
	struct stacks_type type;
	const struct err *e = texttype_of(&type, f->type, f->unit,
	    TEXTTYPE_RATE);

	if (e != NULL || format->typed != NULL)
		return e != NULL ? e : format->typed(s, data->data, data->len,
		    &type);
	return err_new(ERR_REQUEST, 422, "%s says itself what it counts: "
	    "--type and --unit are for those that do not", format->name);
}

static const struct err *
parse_any(struct stacks *s, const struct import_foreign *f,
    const struct buf *data)
{
	const struct foreign *format;
	const struct err *e =
	    foreign_choose(&format, f->format, data->data, data->len);

	if (e != NULL || (e = foreign_single(format)) != NULL)
		return e;
	if (f->type != NULL)
		return parse_typed(s, f, format, data);
	if (format->parse == heap_parse)
		return parse_heap(s, f, data);
	e = foreign_take(format, s, data->data, data->len, NULL);
	return e != NULL ? e : stacks_error(s);
}

/* What is not on the command line: by the profile, else the moment when its
 * file was last written. */
static const struct err *
import_range(const struct import_foreign *f, const struct stacks *s,
    const char *path, struct push_window *w)
{
	int64_t now = clock_wall_ns();
	struct stat st;

	stacks_range(s, &w->from_ns, &w->until_ns);
	if (w->from_ns == 0 && w->until_ns == 0) {
		w->from_ns = w->until_ns = stat(path, &st) != 0 ? now
		    : (int64_t)st.st_mtim.tv_sec * 1000000000 +
		    st.st_mtim.tv_nsec;
	}
	if (f->from_ns != 0)
		w->from_ns = f->from_ns;
	if (f->until_ns != 0)
		w->until_ns = f->until_ns;
	else if (f->from_ns != 0 && w->until_ns < w->from_ns)
		w->until_ns = w->from_ns;
	if (w->until_ns > now + PUSH_FAR_NS)
		return err_new(ERR_REQUEST, 400,
		    "the time is more than an hour ahead");
	return NULL;
}

static const struct err *
import_send(void *arg, struct batch *b)
{
	return import_batch(arg, b);
}

static const struct err *
import_get(void *arg, size_t i, struct batch **b)
{
	*b = push_batch(arg, i);
	return NULL;
}

/* All of a file or nothing of it. */
static const struct err *
import_store(struct import *in, struct push *p)
{
	struct store_parts parts = {.n = push_n_batches(p),
	    .id = push_batch(p, 0)->id, .get = import_get, .arg = p};
	const struct err *e = NULL;

	for (size_t i = 0; i < parts.n && e == NULL; i++) {
		uint64_t until = store_batch_until(push_batch(p, i));

		e = batch_finish(push_batch(p, i));
		if (until > parts.until)
			parts.until = until;
	}
	if (e == NULL)
		e = import_clock(in, parts.until, push_batch(p, 0)->slot_ns);
	if (e == NULL)
		e = store_append_parts(in->writer, &parts);
	in->batches += parts.n;
	return e;
}

static const struct err *
import_push(struct import *in, const struct import_foreign *f,
    struct stacks *s, const char *path)
{
	struct push_window w = {.service = f->service, .labels = f->labels,
	    .n_labels = f->n_labels};
	const struct err *e = import_range(f, s, path, &w);
	struct push *p;

	if (e != NULL)
		return e;
	p = push_new(f->slot_ns, NULL);
	if (p == NULL)
		return err_nomem();
	e = push_add(p, s, &w);
	if (e == NULL)
		push_places(p, &in->told, s, &w);
	if (e == NULL)
		e = in->post != NULL ? push_send(p, import_send, in)
		                     : import_store(in, p);
	push_free(p);
	return e;
}

const struct err *
import_foreign(struct import *in, const struct import_foreign *f,
    const char *path)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	struct buf data = {0};
	const struct err *e = s == NULL ? err_nomem()
	    : cmd_heap_read_file(path, &data);

	if (e == NULL && (e = parse_any(s, f, &data)) != NULL)
		e = err_wrap(e, "%s", path);
	buf_fini(&data);
	for (size_t i = 0; e == NULL && i < stacks_n_skipped(s); i++) {
		struct stacks_skipped skipped;

		stacks_get_skipped(s, i, &skipped);
		fprintf(stderr, "memlens import: %s: %" PRIu64 " %s\n", path,
		    skipped.n, skipped.why);
	}
	if (e == NULL)
		e = import_push(in, f, s, path);
	stacks_free(s);
	return e;
}
