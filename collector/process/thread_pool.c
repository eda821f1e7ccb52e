/*
 * Tables of what every thread begins with.
 */
#include "collector/process/thread_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "store/base/text.h"

/* Libraries that begin threads. */
static const char *const modules[] = {"libc.so", "libc-2.", "ld-linux",
    "ld-2.", "ld-musl", "libpthread", "libstdc++.so", "libc++.so"};

/* The same code where it is linked in, and what stands before main(); what
 * Rust puts around the closure of a thread, and Go below each goroutine. */
static const char *const names[] = {"_start", "__libc_start", "clone",
    "__clone", "start_thread", "thread_start", "execute_native_thread_routine",
    "std::", "void std::", "decltype(auto) std::",
    "<std::", "<<std::", "core::ops::function::", "<core::ops::function::",
    "alloc::boxed::", "<alloc::boxed::",
    "runtime.goexit", "runtime.main", "runtime.mstart", "runtime.rt0_go",
    "_rt0_"};

static bool
begins_with(const char *text, const char *const *beginnings, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* Copies n bytes, cut at a character's border. */
static void
pool_copy(char *out, const char *name, size_t n)
{
	if (n > THREAD_POOL_NAME_MAX - 1) {
		n = THREAD_POOL_NAME_MAX - 1;
		while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(out, name, n);
	out[n] = '\0';
	text_clean(out);
}

/* The length of a C++ name without " const" and the list of arguments at its
 * end. */
static size_t
name_bare(const char *name)
{
	size_t n = strlen(name), i;
	int depth = 0;

	if (n > 6 && strcmp(name + n - 6, " const") == 0)
		n -= 6;
	if (n == 0 || name[n - 1] != ')')
		return n;
	for (i = n; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (depth == 0)
			break;
	}
	return depth == 0 && i > 0 ? i : n;
}

/*
 * A std::thread that was made with a lambda says so in the type of what runs
 * it; the lambda's body has mostly been put into that.
 *	..._Invoker<std::tuple<Server::run()::{lambda()#1}> > >::_M_run()
 */
static bool
name_lambda(const char *name, char *out)
{
	static const char before[] = "_Invoker<std::tuple<";
	const char *p = strstr(name, before), *end;
	int depth = 0;

	if (strncmp(name, "std::thread::_State_impl<", 25) != 0 || p == NULL)
		return false;
	p += sizeof(before) - 1;
	for (end = p; *end != '\0'; end++) {
		depth += *end == '<' || *end == '(' || *end == '{';
		if (depth == 0 && (*end == '>' || *end == ','))
			break;
		depth -= *end == '>' || *end == ')' || *end == '}';
	}
	if (end - p < 8 || memmem(p, (size_t)(end - p), "{lambda", 7) == NULL)
		return false;
	pool_copy(out, p, (size_t)(end - p));
	return true;
}

enum thread_pool_frame
thread_pool_judge(const struct frame *f, char *out)
{
	if (f->kind != FRAME_NATIVE && f->kind != FRAME_ADDRESS &&
	    f->kind != FRAME_JIT && f->kind != FRAME_INLINED)
		return THREAD_POOL_NONE;
	if (name_lambda(f->name, out))
		return THREAD_POOL_ENTRY;
	if (begins_with(f->module, modules,
	    sizeof(modules) / sizeof(modules[0])) ||
	    (f->kind != FRAME_ADDRESS && begins_with(f->name, names,
	    sizeof(names) / sizeof(names[0]))))
		return THREAD_POOL_RUNTIME;
	pool_copy(out, f->name, name_bare(f->name));
	return out[0] != '\0' ? THREAD_POOL_ENTRY : THREAD_POOL_NONE;
}
