/*
 * Pools of threads that nobody named.
 */
#include "collector/process/thread_pool.h"
#include "tests/unit/test.h"

static const char *
judge(enum frame_kind kind, const char *module, const char *name)
{
	struct frame f = {.kind = kind, .module = module, .name = name,
	    .build_id = ""};
	static char out[THREAD_POOL_NAME_MAX];
	enum thread_pool_frame what = thread_pool_judge(&f, out);

	return what == THREAD_POOL_RUNTIME ? "(next)"
	    : what == THREAD_POOL_NONE	   ? "(none)"
					   : out;
}

TEST(what_threads_begin_with)
{
	static const struct {
		enum frame_kind kind;
		const char *module, *name, *want;
	} cases[] = {
	    {FRAME_NATIVE, "libc.so.6", "__clone3", "(next)"},
	    {FRAME_ADDRESS, "libc.so.6", "libc.so.6+0x89134", "(next)"},
	    {FRAME_ADDRESS, "libstdc++.so.6", "libstdc++.so.6+0xd44a3",
	        "(next)"},
	    {FRAME_NATIVE, "app", "start_thread", "(next)"},
	    {FRAME_NATIVE, "app", "_start", "(next)"},
	    {FRAME_NATIVE, "app", "void std::__invoke_impl<void, void (*)()>"
	        "(std::__invoke_other, void (*&&)())", "(next)"},
	    {FRAME_NATIVE, "app", "std::thread::_State_impl<std::thread::"
	        "_Invoker<std::tuple<void (*)(int), int> > >::_M_run()",
	        "(next)"},
	    {FRAME_NATIVE, "app", "std::thread::_State_impl<std::thread::"
	        "_Invoker<std::tuple<db::Server::Run(std::vector<int>)::"
	        "{lambda()#1}, int> > >::_M_run()",
	        "db::Server::Run(std::vector<int>)::{lambda()#1}"},
	    {FRAME_NATIVE, "app", "main", "main"},
	    {FRAME_NATIVE, "app", "db::Worker::Run(int, char const*) const",
	        "db::Worker::Run"},
	    {FRAME_NATIVE, "app", "db::(anonymous namespace)::Loop()",
	        "db::(anonymous namespace)::Loop"},
	    {FRAME_NATIVE, "app", "(odd)", "(odd)"},
	    {FRAME_ADDRESS, "app", "app+0x1234", "app+0x1234"},
	    {FRAME_KERNEL, "[kernel]", "do_syscall_64", "(none)"},
	    {FRAME_MARK, "", "[truncated]", "(none)"}};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(judge(cases[i].kind, cases[i].module,
		    cases[i].name), cases[i].want);
}

TEST(threads_of_go_and_rust_are_not_all_their_runtime)
{
	static const char *const names[][2] = {
	    {"runtime.goexit.abi0", "(next)"},
	    {"runtime.main", "(next)"},
	    {"runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker"},
	    {"main.main.func1", "main.main.func1"},
	    {"<std::sys::thread::unix::Thread>::new::thread_start",
	        "(next)"},
	    {"<<std::thread::Builder>::spawn_unchecked_<db::main::"
	        "{closure#0}, ()>::{closure#1} as core::ops::function::"
	        "FnOnce<()>>::call_once::{shim:vtable#0}", "(next)"},
	    {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
	        "(next)"},
	    {"std::sys::backtrace::__rust_begin_short_backtrace::<db::main::"
	        "{closure#0}, ()>", "(next)"},
	    {"<db::Pool as db::Work>::run", "<db::Pool as db::Work>::run"}};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(judge(FRAME_NATIVE, "app", names[i][0]),
		    names[i][1]);
}

TEST(long_and_broken_names)
{
	char name[5000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_INT(strlen(judge(FRAME_NATIVE, "app", name)),
	    THREAD_POOL_NAME_MAX - 1);
	CHECK_STR(judge(FRAME_NATIVE, "app", ")"), ")");
	CHECK_STR(judge(FRAME_NATIVE, "app", "a))"), "a))");
	CHECK_STR(judge(FRAME_NATIVE, "app", "std::thread::_State_impl<"
	    "std::thread::_Invoker<std::tuple<f()::{lambda"), "f()::{lambda");
	CHECK_STR(judge(FRAME_NATIVE, "app", ""), "(none)");
}

int
main(void)
{
	RUN(what_threads_begin_with);
	RUN(threads_of_go_and_rust_are_not_all_their_runtime);
	RUN(long_and_broken_names);
	return test_done();
}
