/*
 * Facts: what one program writes another one reads, and nothing else.
 */
#include "store/model/fact.h"
#include "tests/unit/test.h"

static const char *
text_of(struct buf *b)
{
	buf_put_u8(b, '\0');
	return (const char *)b->data;
}

TEST(a_process_is_read_as_it_was_written)
{
	struct fact_process p;
	struct buf b = {0};
	char comm[32];

	fact_put_process(&b, &(struct fact_process){42, 17,
	    fact_part_of("kv server"), fact_part_of("/bin/kv -d 1")});
	CHECK(fact_take_process(b.data, b.len, &p));
	CHECK_STR(text_of(&b), "42 17 kv server\t/bin/kv -d 1");
	CHECK_INT(p.pid, 42);
	CHECK_INT(p.started_ns, 17);
	fact_part_copy(p.comm, comm, sizeof(comm));
	CHECK_STR(comm, "kv server");
	CHECK(fact_part_is(p.command, fact_part_of("/bin/kv -d 1")));
	buf_fini(&b);
	CHECK(fact_take_process("7 8 q", 5, &p) && p.command.p == NULL);
	CHECK(!fact_take_process("7 8", 3, &p));
	CHECK(!fact_take_process(" 7 8 q", 6, &p));
	CHECK(!fact_take_process("7x 8 q", 6, &p));
	CHECK(!fact_take_process("7 99999999999999999999 q", 24, &p));
	CHECK(!fact_take_process("", 0, &p));
}

TEST(a_source_says_why_or_nothing)
{
	struct fact_source s;
	struct buf b = {0};

	fact_put_source(&b, &(struct fact_source){fact_part_of("degraded"),
	    fact_part_of("no: room")});
	fact_take_source(b.data, b.len, &s);
	CHECK_STR(text_of(&b), "degraded: no: room");
	CHECK(fact_part_is(s.state, fact_part_of("degraded")));
	CHECK(fact_part_is(s.why, fact_part_of("no: room")));
	buf_clear(&b);
	fact_put_source(&b, &(struct fact_source){fact_part_of("attached"),
	    fact_part_of("")});
	fact_take_source(b.data, b.len, &s);
	CHECK_STR(text_of(&b), "attached");
	CHECK_INT(s.why.n, 0);
	buf_fini(&b);
}

/* The collector told such places, which were read as another module's. */
TEST(a_place_whose_parts_cannot_be_told_apart_is_not_written)
{
	struct fact_place p = {.file = fact_part_of("a\tb.c"), .line = 3,
	    .module = fact_part_of("m"), .build_id = fact_part_of("")}, q;
	struct buf b = {0};

	CHECK(!fact_put_place(&b, &p));
	CHECK_INT(b.len, 0);
	p.file = fact_part_of("/src/a:b.c");
	p.seen = true;
	CHECK(fact_put_place(&b, &p));
	CHECK(fact_take_place(b.data, b.len, &q));
	CHECK_STR(text_of(&b), "/src/a:b.c:3+\tm\t");
	CHECK(q.seen && q.line == 3 && q.service.p == NULL);
	CHECK(fact_part_is(q.file, p.file));
	CHECK(!fact_take_place("a.c:x\tm\t", 8, &q));
	CHECK(!fact_take_place("a.c:1\tm", 7, &q));
	CHECK(!fact_take_place("a.c\tm\t", 6, &q));
	buf_fini(&b);
}

TEST(a_record_is_read_as_it_was_written)
{
	struct fact f;
	struct buf b = {0};
	struct cur c;

	fact_put(&b, &(struct fact){-5, FACT_RUN, 300, "abc", 3});
	c = cur_of(b.data, b.len);
	fact_take(&c, &f);
	CHECK(!c.bad && cur_left(&c) == 0);
	CHECK(f.time_ns == -5 && f.kind == FACT_RUN && f.subject == 300);
	CHECK(f.n == 3 && memcmp(f.data, "abc", 3) == 0);
	c = cur_of(b.data, b.len - 1);
	fact_take(&c, &f);
	CHECK(c.bad);
	buf_fini(&b);
}

TEST(parts_of_slots)
{
	struct fact_seen s;
	struct buf b = {0};

	fact_put_seen(&b, &(struct fact_seen){4000, fact_part_of("inuse")});
	CHECK(b.len == 10 && memcmp(b.data, "4000 inuse", 10) == 0);
	CHECK(fact_take_seen(b.data, b.len, &s));
	CHECK_INT(s.seen_ns, 4000);
	CHECK(fact_part_is(s.type, fact_part_of("inuse")));
	CHECK(!fact_take_seen("4000", 4, &s));
	CHECK(!fact_take_seen("4000 ", 5, &s));
	CHECK(!fact_take_seen(" inuse", 6, &s));
	CHECK(!fact_take_seen("", 0, &s));
	buf_fini(&b);
}

int
main(void)
{
	RUN(a_process_is_read_as_it_was_written);
	RUN(a_source_says_why_or_nothing);
	RUN(a_place_whose_parts_cannot_be_told_apart_is_not_written);
	RUN(parts_of_slots);
	RUN(a_record_is_read_as_it_was_written);
	return test_done();
}
