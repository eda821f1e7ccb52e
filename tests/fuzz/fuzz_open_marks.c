/*
 * A sealed file's dictionary and its marks.  Two bytes (be16) tell how long
 * the dictionary's payload is; the marks follow it.  Header and checksums are
 * made here, since no fuzzer finds them.  Whatever the marks say, a reader
 * names what it can; and those that are made of a dictionary that is well are
 * taken and name all of it.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/journal/open_marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct err *
read_at(void *arg, uint64_t offset, void *to, size_t n, size_t *got)
{
	const struct buf *b = arg;

	*got = offset >= b->len ? 0 : b->len - (size_t)offset;
	*got = *got < n ? *got : n;
	memcpy(to, b->data + offset, *got);
	return NULL;
}

static void
put_record(struct buf *out, const uint8_t *p, size_t n)
{
	buf_put(out, "MLB", 3);
	buf_put_u8(out, (uint8_t)('0' + (n > 0 ? p[0] & 7 : 1)));
	buf_put_be32(out, (uint32_t)n);
	buf_put_be32(out, crc32c(0, p, n));
	buf_put_be32(out, crc32c(0, out->data, 12));
	buf_put(out, p, n);
}

/* All nodes and facts. */
static const struct err *
name_all(struct openspan *o)
{
	struct open_dict *d = &o->dicts[0];
	const struct err *e = openspan_name(o);
	bool fine = true;

	for (uint32_t i = 1; i < d->marks[OPEN_NODES].end && fine; i++)
		fine = open_names_need(d, &d->asked, OPEN_NODES, i);
	for (uint32_t i = 0; i < o->n_facts && fine; i++)
		fine = openspan_need_fact(o, &o->facts[i]);
	if (e == NULL)
		e = openspan_resolve(o, 100000);
	for (uint32_t i = 0; i < o->n_facts && fine && e == NULL; i++)
		fine = openspan_subject(o, &o->facts[i]) != INTERN_NONE;
	if (!fine)
		abort();
	return e;
}

static const struct err *
take(struct buf *dict, const struct buf *marks)
{
	struct symtab syms = {0};
	struct openspan o = {.syms = &syms, .pages = {.fd = -1,
	    .read = read_at, .arg = dict}};
	const struct err *e = symtab_init(&syms);

	if (e == NULL)
		e = openspan_take_marks(&o, marks->data, marks->len,
		    dict->len > BATCH_RECORD_HEADER
		    ? dict->data[BATCH_RECORD_HEADER] : 1, true);
	if (e == NULL)
		e = name_all(&o);
	openspan_fini(&o);
	symtab_fini(&syms);
	return e;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf dict = {0}, marks = {0};
	size_t n;

	if (size < 2 || (n = (size_t)data[0] << 8 | data[1]) > size - 2)
		return 0;
	put_record(&dict, data + 2, n);
	buf_put(&marks, data + 2 + n, size - 2 - n);
	buf_put_be32(&marks, crc32c(0, marks.data, marks.len));
	(void)take(&dict, &marks);
	buf_clear(&marks);
	if (open_marks_make(dict.data, dict.len, &marks) == NULL &&
	    take(&dict, &marks) != NULL)
		abort();
	buf_fini(&dict);
	buf_fini(&marks);
	return 0;
}
