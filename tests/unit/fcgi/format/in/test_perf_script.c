/*
 * perf script's text, by what stackcollapse-perf makes of it.
 */
#include <stdlib.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/in/perf_script.h"
#include "fcgi/format/out/folded_out.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

/* A type's stacks, folded. */
static const char *
folded(const struct stacks *s, uint32_t type)
{
	static const struct flame_options all = {.max_nodes = -1,
	    .other = "(other)"};
	static struct buf out;
	struct profile *p = NULL;
	struct flame *f = NULL;

	buf_clear(&out);
	CHECK_OK(stacks_profile(s, type, &p));
	CHECK_OK(flame_new(&f, p, &all));
	CHECK_OK(folded_put(&out, f, false, 1 << 20));
	buf_put_u8(&out, 0);
	flame_free(f);
	profile_free(p);
	return (const char *)out.data;
}

static struct stacks *
parse(const char *text)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	CHECK_OK(perf_script_parse(s, text, strlen(text)));
	CHECK_OK(stacks_error(s));
	return s;
}

static void
check(const char *text, const char *want)
{
	struct stacks *s = parse(text);

	CHECK_STR(folded(s, 0), want);
	stacks_free(s);
}

TEST(a_sample_of_each_part)
{
	check("# comment\n"
	    "kv worker 4711/4712 [001] 83.1: 10101010 cpu-clock:ppp: \n"
	    "\tffffffff812a sys_read+0x1a ([kernel.kallsyms])\n"
	    "\t    7f0c1234 __read+0x4e (/usr/lib/libc.so.6)\n"
	    "\t    55d0aaaa DB::Get(int, char*)+0x10 (/usr/bin/kv)\n"
	    "\n",
	    "kv_worker;DB::Get(int, char*);__read;sys_read_[k] 10101010\n");
}

#define EVENT "kv 1/1 [000] 1.0: 1 cycles: \n"

static void
check_name(const char *line, bool brief, const char *want)
{
	char text[512], expected[512];
	struct stacks *s = stacks_new(&stacks_limits_push);

	snprintf(text, sizeof(text), EVENT "\t 1f %s\n\n", line);
	snprintf(expected, sizeof(expected), "kv%s%s 1\n",
	    want[0] ? ";" : "", want);
	CHECK_OK((brief ? perf_script_parse_brief : perf_script_parse)(s,
	    text, strlen(text)));
	CHECK_STR(folded(s, 0), expected);
	stacks_free(s);
}

/* A name in brief. */
static void
check_frame(const char *line, const char *want)
{
	check_name(line, true, want);
}

/* Without arguments, two functions were one frame. */
TEST(names_are_whole)
{
	static const char *const names[] = {"f(int)", "f(long) const",
	    "main::{lambda(int)#2}::operator()(int) const",
	    "std::function<void (int)>::operator()(int) const &",
	    "decltype ({parm#1}->f()) g<T*>(T*) [clone .cold]",
	    "int (*retfp<int>(int))(int)", "net.(*conn).Read",
	    "(anonymous namespace)::f(int)", "core::ops::{{closure}}",
	    "<dyn Fn(i32) -> i32>::call", "operator\"\"_km(long double)",
	    "it's"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[256];

		snprintf(line, sizeof(line), "%s+0x1a (/x/a (b))", names[i]);
		check_name(line, false, names[i]);
	}
	check_name("a;b(int)+0x2 (/k)", false, "a:b(int)");
	check_name("f(int (*)(long))->g(int)+0x2 (/k)", false,
	    "f(int (*)(long));g(int)_[i]");
	check_name("RegExp:a(b)+0x4 (/tmp/perf-7.map)", false,
	    "RegExp:a(b)_[j]");
}

TEST(names_are_tidied)
{
	check_frame("main+0x0 (/bin/kv)", "main");
	check_frame("a;b (/bin/kv)", "a:b");
	check_frame("\"q'uoted (/bin/kv)", "quoted");
	check_frame("[unknown] (/usr/lib/libc.so.6)", "[libc.so.6]");
	check_frame("[unknown] ([unknown])", "[unknown]");
	check_frame("(skipped) (/bin/kv)", "");
	check_frame("net.(*conn).Read+0x1 (/bin/go)", "net.(*conn).Read");
	check_frame("(anonymous namespace)::f(int) (/bin/kv)",
	    "(anonymous namespace)::f");
	check_frame("x::(anonymous namespace)::f(int)+0xa (/bin/kv)",
	    "x::(anonymous namespace)::f");
	check_frame("f+0x1 (/bin/kv (deleted))", "f");
	check_frame("outer->inner+0x2 (/bin/kv)", "outer;inner_[i]");
	check_frame("Box::operator->+0x2 (/bin/kv)", "Box::operator->");
	check_frame("tick+0x1 (/boot/vmlinux)", "tick_[k]");
	check_frame("Lfoo+0x1 (/tmp/perf-12.map)", "Lfoo_[j]");
	check_frame("gettime ([vdso])", "gettime");
	check_frame("f (x) (/bin/kv)", "f (x)");
}

/* Cut at the first bracket, the two lambdas were one frame. */
TEST(what_tells_functions_apart_stays)
{
	check_frame("main::{lambda(int)#1}::operator()(int) const (/bin/kv)",
	    "main::{lambda(int)#1}::operator()");
	check_frame("main::{lambda(int)#2}::operator()(int) const (/bin/kv)",
	    "main::{lambda(int)#2}::operator()");
	check_frame("f(int) const::{lambda()#1}::operator()() (/bin/kv)",
	    "f(int) const::{lambda()#1}::operator()");
	check_frame("std::function<void (int)>::operator()(int) const (/k)",
	    "std::function<void (int)>::operator()");
	check_frame("g<(anonymous namespace)::T>(T) [clone .cold] (/bin/kv)",
	    "g<(anonymous namespace)::T>");
	check_frame("ns::operator<< (std::ostream&, X const&)+0x1 (/bin/kv)",
	    "ns::operator<<");
	check_frame("X::operator<(X const&) const (/bin/kv)", "X::operator<");
	check_frame("X::operator bool() const (/bin/kv)", "X::operator bool");
	check_frame("std::get(long) (/bin/kv)", "std::get");
	check_frame("f<(lambda at x.cc:3:5)>(int (/bin/kv)",
	    "f<(lambda at x.cc:3:5)>(int");
}

/* Cut at their first bracket, these were "decltype" and "int". */
TEST(brackets_in_front_of_a_name_stay)
{
	check_frame("decltype(auto) alpha<long>(long)+0x1a (/k)",
	    "decltype(auto) alpha<long>");
	check_frame("decltype ({parm#1}+(1)) gamma_<long>(long)+0x1a (/k)",
	    "decltype ({parm#1}+(1)) gamma_<long>");
	check_frame("decltype ({parm#1}->f()) g<T*>(T*)+0x1 (/k)",
	    "decltype ({parm#1}->f()) g<T*>");
	check_frame("int (*retfp<int>(int))(int)+0x1a (/k)",
	    "int (*retfp<int>(int))(int)");
	check_frame("void (X::*f<int>())(int) const+0x1 (/k)",
	    "void (X::*f<int>())(int) const");
	check_frame("X::operator()+0x1 (/k)", "X::operator()");
	check_frame("X::operator void (*)(int)+0x1 (/k)",
	    "X::operator void (*)(int)");
	check_frame("my_operator()+0x1 (/k)", "my_operator");
	check_frame("X::get() const &+0x1 (/k)", "X::get");
	check_frame("f(int) (.cold)+0x1 (/k)", "f");
	check_frame("<dyn Fn(i32) -> i32>::call+0x1 (/k)",
	    "<dyn Fn(i32) -> i32>::call");
}

/* Two routes of one name were one frame. */
TEST(names_of_a_jit_are_whole)
{
	check_frame("JS:*page /x/app/(auth)/page.js:1:29+0x4 "
	    "(/tmp/perf-7.map)", "JS:*page /x/app/(auth)/page.js:1:29_[j]");
	check_frame("JS:*page /x/app/(shop)/page.js:1:29 (/tmp/j.so)",
	    "JS:*page /x/app/(shop)/page.js:1:29");
	check_frame("RegExp:a(b)+0x4 (/tmp/perf-7.map)", "RegExp:a(b)_[j]");
}

/* Their offset stayed, so that each address was a function. */
TEST(a_module_may_have_brackets_in_its_path)
{
	check_frame("alpha<long>+0x1a (/x/My App (x86)/dprog)",
	    "alpha<long>");
	check_frame("alpha<long>+0x1a (/x/lam (x) 3 (deleted))",
	    "alpha<long>");
	check_frame("alpha+0x1a (/x/a (b/c)", "alpha");
	check_frame("alpha (/x/My App (x86)/dprog)", "alpha");
	check_frame("[unknown] (/x/My App (x86)/dprog)", "[dprog]");
	check_frame("[unknown] (/x/a (b)", "[a (b]");
}

/* Recorded without -g; perf fills the command up with blanks. */
TEST(samples_without_a_chain)
{
	static const char text[] =
	    "   dprog 77 [001]  9.5:   10101010 cpu-clock:ppp:      55af12 "
	    "beta<long>+0x1e (/x/dprog)\n"
	    " kv wrk 77/78  9.6:   5 cpu-clock:ppp:   55af13 [unknown] (/k)\n"
	    "dprog 77 9.7: 7 cpu-clock:ppp: ffffff1f tick+0x1 "
	    "([kernel.kallsyms])\r\n"
	    "   dprog 77 9.8: nothing here\n";
	struct stacks *s = parse(text);
	struct stacks_skipped k;

	CHECK_STR(foreign_guess(text, strlen(text))->name, "perf");
	CHECK_STR(folded(s, 0), "dprog;beta<long> 10101010\n"
	    "dprog;tick_[k] 7\nkv_wrk;[k] 5\n");
	CHECK_INT(stacks_n_skipped(s), 1);
	stacks_get_skipped(s, 0, &k);
	CHECK_INT(k.n, 1);
	stacks_free(s);
	check("  a 1 cycles: 1f f+0x1 (/a)\n", "a;f 1\n");
}

/* Their time was part of the root's name, so each was a root of its own. */
/* What ends in a number, and a period that stands where no pid is. */
TEST(names_of_threads_are_whole)
{
	check("my thread 7 200/201 [000] 83.1: 5 cycles: \n\t1 f (/a)\n\n"
	    "my thread 8 200 [000] 83.1: 5 cycles: \n\t1 f (/a)\n\n"
	    "my thread 9 200 83.1: 5 cycles: \n\t1 f (/a)\n\n"
	    "kv 200 5 cycles: \n\t1 f (/a)\n\n",
	    "kv;f 5\nmy_thread_7;f 5\nmy_thread_8;f 5\nmy_thread_9;f 5\n");
}

TEST(ended_tasks_are_one_command)
{
	struct stacks *s = parse(
	    ":-1    -1 [001] 83.125: 7 cycles: \n\t1 f (/a)\n\n"
	    ":-1    -1/-1 [000] 84.250: 5 cycles: \n\t1 f (/a)\n\n"
	    ":4711 4711/4712 [000] 85.5: 4 cycles: \n\t1 f (/a)\n\n"
	    ":x 1/1 [000] 86.5: 1 cycles: \n\t1 f (/a)\n\n");
	struct stacks_skipped skipped;

	CHECK_STR(folded(s, 0), "(exited);f 16\n:x;f 1\n");
	CHECK_INT(stacks_n_skipped(s), 1);
	stacks_get_skipped(s, 0, &skipped);
	CHECK_INT(skipped.n, 3);
	stacks_free(s);
}

TEST(java_loses_its_L)
{
	check("java 7 1.0: cycles:\n\t 1 Ljava/util/Map:get (/tmp/perf-7.map)"
	    "\n\t 2 Lx (/bin/java)\n\n",
	    "java;Lx;java/util/Map:get_[j] 1\n");
}

TEST(events_are_types)
{
	struct stacks *s = parse(
	    "a 1/1 [000] 1.0: 7 cycles:u: \n\t1 f (/a)\n\n"
	    "a 1/1 [000] 1.0: 5 sched:sched_switch: \n\t1 g (/a)\n\n"
	    "a 1/1 [000] 1.1: 1 cycles:u: \n\t1 f (/a)\n\n"
	    "a 1/1 [000] 1.1: 100 cpu-clock: \n\t1 f (/a)\n\n"
	    "a 1 1.1: instructions: \n\t1 f (/a)\n\n");
	static const char *const names[] = {"cycles", "sched:sched_switch",
	    "cpu-clock", "instructions"};
	static const char *const units[] = {"cycles", "sched:sched_switch",
	    "nanoseconds", "samples"};
	struct stacks_type t;

	CHECK_INT(stacks_n_types(s), 4);
	for (uint32_t i = 0; i < 4 && i < stacks_n_types(s); i++) {
		stacks_get_type(s, i, &t);
		CHECK_STR(t.name, names[i]);
		CHECK_STR(t.unit, units[i]);
	}
	CHECK_STR(folded(s, 0), "a;f 8\n");
	CHECK_STR(folded(s, 1), "a;g 5\n");
	CHECK_STR(folded(s, 3), "a;f 1\n");
	stacks_free(s);
}

TEST(broken_lines_are_counted_not_fatal)
{
	struct stacks *s = parse(
	    "garbage\n\n"
	    EVENT "\t zz not hex (/bin/kv)\n\t12 no module\n"
	    "\t 1f good (/bin/kv)\n"
	    EVENT "\t 1f good (/bin/kv)");
	struct stacks_skipped k;

	CHECK_STR(folded(s, 0), "kv;good 2\n");
	CHECK_INT(stacks_n_skipped(s), 1);
	stacks_get_skipped(s, 0, &k);
	CHECK_INT(k.n, 3);
	stacks_free(s);
}

TEST(no_sample_is_an_error_with_its_line)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = perf_script_parse(s, "\nhello\nworld\n", 13);

	CHECK(e != NULL && e->code == 422 && strstr(e->text, "line 2 "));
	stacks_free(s);
}

TEST(pieces_equal_the_whole)
{
	static const char text[] = EVENT "\t 1f leaf+0x10 (/bin/kv)\n"
	    "\t 2f a_long_name_of_a_caller+0x10 (/usr/lib/libc.so.6)\n\n"
	    EVENT "\t 1f leaf+0x11 (/bin/kv)\n\n";

	for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
		struct stacks *s = stacks_new(&stacks_limits_push);
		struct perf_script *p = perf_script_new(s, false);
		size_t used = perf_script_feed(p, text, cut, false);

		used += perf_script_feed(p, text + used,
		    sizeof(text) - 1 - used, true);
		CHECK_INT(used, sizeof(text) - 1);
		CHECK_OK(perf_script_finish(p));
		CHECK_STR(folded(s, 0), "kv;a_long_name_of_a_caller;leaf 1\n"
		    "kv;leaf 1\n");
		stacks_free(s);
	}
}

TEST(deep_stacks_are_cut_and_said)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf text = {0};
	struct stacks_skipped k;

	buf_printf(&text, EVENT);
	for (int i = 0; i < 5000; i++)
		buf_printf(&text, "\t 1f f%d (/bin/kv)\n", i % 10);
	CHECK_OK(perf_script_parse(s, text.data, text.len));
	CHECK_INT(stacks_n_nodes(s), 4097);
	CHECK_INT(stacks_n_skipped(s), 1);
	stacks_get_skipped(s, 0, &k);
	CHECK_INT(k.n, 905);
	buf_fini(&text);
	stacks_free(s);
}

TEST(it_is_guessed)
{
	CHECK_STR(foreign_guess(EVENT, strlen(EVENT))->name, "perf");
}

int
main(void)
{
	RUN(a_sample_of_each_part);
	RUN(names_are_whole);
	RUN(names_are_tidied);
	RUN(what_tells_functions_apart_stays);
	RUN(brackets_in_front_of_a_name_stay);
	RUN(names_of_a_jit_are_whole);
	RUN(a_module_may_have_brackets_in_its_path);
	RUN(samples_without_a_chain);
	RUN(names_of_threads_are_whole);
	RUN(ended_tasks_are_one_command);
	RUN(java_loses_its_L);
	RUN(events_are_types);
	RUN(broken_lines_are_counted_not_fatal);
	RUN(no_sample_is_an_error_with_its_line);
	RUN(pieces_equal_the_whole);
	RUN(deep_stacks_are_cut_and_said);
	RUN(it_is_guessed);
	return test_done();
}
