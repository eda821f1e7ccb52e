/*
 * Facts: what is read of any bytes is written as it was, and read again the
 * same.  The first byte says what they are.
 */
#include <stdlib.h>
#include <string.h>

#include "store/model/fact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool right)
{
	if (!right)
		abort();
}

static void
check_process(const uint8_t *data, size_t n, struct buf *out)
{
	struct fact_process p, q;

	if (!fact_take_process(data, n, &p))
		return;
	fact_put_process(out, &p);
	must(fact_take_process(out->data, out->len, &q) && p.pid == q.pid &&
	    p.started_ns == q.started_ns && fact_part_is(p.comm, q.comm) &&
	    fact_part_is(p.command, q.command));
}

static void
check_source(const uint8_t *data, size_t n, struct buf *out)
{
	struct fact_source s, t;

	fact_take_source(data, n, &s);
	fact_put_source(out, &s);
	fact_take_source(out->data, out->len, &t);
	must(s.state.n == t.state.n && s.why.n == t.why.n &&
	    (s.why.n == 0 || memcmp(s.why.p, t.why.p, s.why.n) == 0));
}

static void
check_place(const uint8_t *data, size_t n, struct buf *out)
{
	struct fact_place p, q;

	if (!fact_take_place(data, n, &p) || !fact_put_place(out, &p))
		return;
	must(fact_take_place(out->data, out->len, &q) && p.line == q.line &&
	    p.seen == q.seen && fact_part_is(p.file, q.file) &&
	    fact_part_is(p.module, q.module) &&
	    fact_part_is(p.build_id, q.build_id) &&
	    fact_part_is(p.service, q.service));
}

static void
check_record(const uint8_t *data, size_t n, struct buf *out)
{
	struct cur c = cur_of(data, n), again;
	struct fact f, g;

	while (cur_left(&c) > 0) {
		fact_take(&c, &f);
		if (c.bad)
			return;
		buf_clear(out);
		fact_put(out, &f);
		again = cur_of(out->data, out->len);
		fact_take(&again, &g);
		must(!again.bad && cur_left(&again) == 0 &&
		    f.time_ns == g.time_ns && f.kind == g.kind &&
		    f.subject == g.subject && f.n == g.n &&
		    (f.n == 0 || memcmp(f.data, g.data, f.n) == 0));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = {0};

	if (size == 0)
		return 0;
	buf_reserve(&out, 1); /* never NULL */
	switch (data[0] % 4) {
	case 0:
		check_record(data + 1, size - 1, &out);
		break;
	case 1:
		check_process(data + 1, size - 1, &out);
		break;
	case 2:
		check_source(data + 1, size - 1, &out);
		break;
	default:
		check_place(data + 1, size - 1, &out);
	}
	buf_fini(&out);
	return 0;
}
