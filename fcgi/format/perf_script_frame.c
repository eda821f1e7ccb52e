/*
 * The rules are those that stackcollapse-perf made usual; each is one small
 * step here.  Frames come this way once: perf_script.c remembers them.
 */
#include "perf_script_frame.h"

#include <stdlib.h>
#include <string.h>

#include "stacks.h"

struct span {
	const char *p, *end;
};

static const char anonymous[] = "(anonymous namespace)";

static bool
span_is(struct span s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s.end - s.p) == n && memcmp(s.p, text, n) == 0;
}

static bool
span_ends(struct span s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s.end - s.p) >= n &&
	    memcmp(s.end - n, text, n) == 0;
}

static bool
span_begins(struct span s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s.end - s.p) >= n && memcmp(s.p, text, n) == 0;
}

/* Splits "symbol (module)"; a file that is gone is "(module (deleted))". */
static bool
frame_split(struct span all, struct span *symbol, struct span *module)
{
	static const char gone[] = " (deleted))";
	const char *at;

	while (all.end > all.p && (all.end[-1] == ' ' || all.end[-1] == '\r'))
		all.end--;
	if (all.end == all.p || all.end[-1] != ')')
		return false;
	*module = (struct span){NULL, all.end - 1};
	if (span_ends(all, gone))
		module->end = all.end - strlen(gone);
	for (at = module->end; at > all.p; at--)
		if (at[-1] == '(' && (at - 1 == all.p || at[-2] == ' '))
			break;
	if (at == all.p)
		return false;
	module->p = at;
	symbol->p = all.p;
	symbol->end = at - 1 > all.p ? at - 2 : all.p;
	return true;
}

/* Takes "+0x1a" off the end. */
static void
frame_cut_offset(struct span *s)
{
	const char *at = s->end;

	while (at > s->p && strchr("0123456789abcdef", at[-1]) != NULL)
		at--;
	if (at < s->end && at - s->p >= 3 && memcmp(at - 3, "+0x", 3) == 0)
		s->end = at - 3;
}

/* Go writes "net.(*conn).Read": those brackets are no arguments. */
static bool
name_is_go(struct span s)
{
	for (const char *p = s.p; p + 2 < s.end; p++)
		if (p[0] == '.' && p[1] == '(')
			for (const char *q = p + 2; q + 1 < s.end; q++)
				if (q[0] == ')' && q[1] == '.')
					return true;
	return false;
}

/* Behind "operator": how much of what follows is its name. */
static size_t
name_operator(struct span s)
{
	static const char *const all[] = {"()", "<=>", "<<=", ">>=", "->*",
	    "->", "<<", ">>", "<=", ">=", "<", ">"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (span_begins(s, all[i]))
			return strlen(all[i]);
	return 0;
}

/* Bytes at s.p that are part of a name, whatever brackets are in them. */
static size_t
name_whole(struct span s)
{
	static const char op[] = "operator";

	if (span_begins(s, anonymous))
		return strlen(anonymous);
	if (span_begins(s, op))
		return strlen(op) + name_operator((struct span){s.p +
		    strlen(op), s.end});
	return 0;
}

/*
 * Cuts the function's own arguments off, and what is behind them.  Those in
 * other brackets, "f<void (int)>", and those of a function that it lies in,
 * "f(int)::{lambda()#2}::operator()", tell it from others.
 */
static struct span
name_without_arguments(struct span s)
{
	const char *cut = NULL;
	int depth = 0;
	size_t n;

	if (name_is_go(s))
		return s;
	for (const char *p = s.p; p < s.end; p += n) {
		struct span rest = {p, s.end};

		if ((n = name_whole(rest)) > 0)
			continue;
		n = 1;
		if (depth == 0 && cut == NULL && *p == '(')
			cut = p;
		else if (depth == 0 && span_begins(rest, "::"))
			cut = NULL;
		if (strchr("({<", *p) != NULL)
			depth++;
		else if (strchr(")}>", *p) != NULL && depth > 0)
			depth--;
	}
	return (struct span){s.p, cut != NULL ? cut : s.end};
}

/* A copy as people see it; the caller frees it.  NULL: out of memory. */
static char *
name_tidy(struct span s, bool java)
{
	char *text = malloc((size_t)(s.end - s.p) + 1), *out = text;

	if (text == NULL)
		return NULL;
	s = name_without_arguments(s);
	if (java && s.p < s.end && *s.p == 'L' &&
	    memchr(s.p, '/', (size_t)(s.end - s.p)) != NULL)
		s.p++;
	for (const char *p = s.p; p < s.end; p++)
		if (*p != '"' && *p != '\'' && *p != '\0')
			*out++ = *p == ';' ? ':' : *p;
	*out = '\0';
	return text;
}

static enum frame_kind
module_kind(struct span module)
{
	if (span_is(module, "inlined"))
		return FRAME_INLINED;
	if (span_is(module, "[unknown]"))
		return FRAME_ADDRESS;
	if (span_begins(module, "[vdso]") || span_begins(module, "[vsyscall]"))
		return FRAME_NATIVE;
	if ((module.p < module.end && *module.p == '[') ||
	    span_ends(module, "vmlinux"))
		return FRAME_KERNEL;
	if (span_begins(module, "/tmp/perf-") && span_ends(module, ".map"))
		return FRAME_JIT;
	return FRAME_NATIVE;
}

/* The file without its folder; the caller frees it. */
static char *
module_name(struct span module)
{
	const char *slash = memrchr(module.p, '/',
	    (size_t)(module.end - module.p));

	if (span_is(module, "inlined") || span_is(module, "[unknown]"))
		return strdup("");
	if (span_begins(module, "[kernel.") ||
	    span_begins(module, "[guest.kernel."))
		return strdup("[kernel]");
	return slash == NULL
	    ? strndup(module.p, (size_t)(module.end - module.p))
	    : strndup(slash + 1, (size_t)(module.end - slash - 1));
}

/* What has no symbol is called after its module, in brackets. */
static uint32_t
frame_unknown(struct stacks *s, struct span module, const char *file)
{
	struct frame f = {FRAME_ADDRESS, "[unknown]", file, "", 0};
	size_t n = strlen(file);
	uint32_t frame;
	char *name;

	f.kind = module_kind(module);
	if (f.kind == FRAME_NATIVE)
		f.kind = FRAME_ADDRESS;
	if (n == 0 || file[0] == '[') {
		f.name = n == 0 ? "[unknown]" : file;
		return stacks_frame(s, &f);
	}
	name = malloc(n + 3);
	if (name != NULL) {
		name[0] = '[';
		memcpy(name + 1, file, n);
		memcpy(name + 1 + n, "]", 2);
		f.name = name;
	}
	frame = stacks_frame(s, &f);
	free(name);
	return frame;
}

/* Where the first "->" that is no C++ operator begins; the end: none. */
static const char *
chain_next(struct span s)
{
	for (const char *p = s.p; p + 1 < s.end; p++)
		if (p[0] == '-' && p[1] == '>' &&
		    !span_ends((struct span){s.p, p}, "operator"))
			return p;
	return s.end;
}

static void
chain_reverse(uint32_t *chain, int n)
{
	for (int i = 0; i < n / 2; i++) {
		uint32_t t = chain[i];

		chain[i] = chain[n - 1 - i];
		chain[n - 1 - i] = t;
	}
}

/* The parts of "a->b->c", a the outermost. */
static int
frame_chain(struct stacks *s, struct span symbol, struct frame f, bool java,
    uint32_t *chain)
{
	int n = 0;

	while (symbol.p <= symbol.end && n < PERF_CHAIN_MAX) {
		const char *next = chain_next(symbol);
		char *name = name_tidy((struct span){symbol.p, next}, java);

		if (n > 0)
			f.kind = FRAME_INLINED;
		f.name = name != NULL ? name : "";
		chain[n++] = stacks_frame(s, &f);
		free(name);
		if (next == symbol.end)
			break;
		symbol.p = next + 2;
	}
	chain_reverse(chain, n);
	return n;
}

int
perf_script_frame(struct stacks *s, const char *p, const char *end,
    bool java, uint32_t chain[PERF_CHAIN_MAX])
{
	struct span symbol, module;
	struct frame f = {.build_id = ""};
	char *file;
	int n;

	if (!frame_split((struct span){p, end}, &symbol, &module))
		return -1;
	if (symbol.p == symbol.end ||
	    (*symbol.p == '(' && !span_begins(symbol, anonymous)))
		return 0;
	frame_cut_offset(&symbol);
	file = module_name(module);
	f.kind = module_kind(module);
	f.module = file != NULL ? file : "";
	if (span_is(symbol, "[unknown]")) {
		chain[0] = frame_unknown(s, module, f.module);
		n = 1;
	} else {
		n = frame_chain(s, symbol, f, java, chain);
	}
	free(file);
	return n;
}
