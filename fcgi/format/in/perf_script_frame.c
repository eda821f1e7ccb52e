/*
 * The rules are those that stackcollapse-perf made usual, but that names are
 * whole; each is one small step here.  Frames come this way once:
 * perf_script.c remembers them.
 */
#include "fcgi/format/in/perf_script_frame.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/in/perf_script_event.h"
#include "fcgi/format/stacks.h"

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

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    is_digit(c) || c == '_' || c == '$' || (c & 0x80) != 0;
}

/* Where the bracket begins that the last byte closes; NULL: nowhere. */
static const char *
span_group(struct span s)
{
	int depth = 0;

	for (const char *p = s.end; p > s.p; p--) {
		if (p[-1] == ')')
			depth++;
		else if (p[-1] == '(' && --depth <= 0)
			return depth == 0 ? p - 1 : NULL;
	}
	return NULL;
}

/* The '(' of " (module)" behind "+0x1a", or behind what is unknown. */
static const char *
frame_module_begin(struct span all)
{
	static const char unknown[] = "[unknown] (";

	if (span_begins(all, unknown))
		return all.p + strlen(unknown) - 1;
	for (const char *p = all.p; p + 3 < all.end; p++) {
		const char *q = p + 3;

		if (memcmp(p, "+0x", 3) != 0)
			continue;
		while (q < all.end && is_hex(*q))
			q++;
		if (q > p + 3 && all.end - q >= 2 && q[0] == ' ' &&
		    q[1] == '(')
			return q + 1;
	}
	return NULL;
}

/* The same without an offset: the last that is closed at the end. */
static const char *
frame_module_last(struct span all)
{
	const char *at = span_group(all);

	if (at != NULL && (at == all.p || at[-1] == ' '))
		return at;
	for (at = all.end - 1; at > all.p; at--)
		if (*at == '(' && at[-1] == ' ')
			return at;
	return *all.p == '(' ? all.p : NULL;
}

/*
 * Splits "symbol+0x1a (module)"; a file that is gone is "(module (deleted))".
 * Symbols and modules both may hold blanks and brackets.
 */
static bool
frame_split(struct span all, struct span *symbol, struct span *module)
{
	static const char gone[] = " (deleted)";
	const char *at;

	while (all.end > all.p && (is_space(all.end[-1]) ||
	    all.end[-1] == '\r'))
		all.end--;
	if (all.end == all.p || all.end[-1] != ')')
		return false;
	at = frame_module_begin(all);
	if (at == NULL && (at = frame_module_last(all)) == NULL)
		return false;
	*module = (struct span){at + 1, all.end - 1};
	if (span_ends(*module, gone))
		module->end -= strlen(gone);
	*symbol = (struct span){all.p, at > all.p ? at - 1 : all.p};
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

/* Is it the word "operator" with nothing but its sign behind it? */
static bool
name_is_operator(struct span s)
{
	static const char op[] = "operator";
	size_t n = strlen(op);

	while (s.end > s.p && !is_word(s.end[-1]))
		s.end--;
	return span_ends(s, op) && ((size_t)(s.end - s.p) == n ||
	    !is_word(s.end[-1 - (ptrdiff_t)n]));
}

/* May arguments follow it, or is it half of something?  A function that
 * returns a pointer to another is "int (*f(long))(int)". */
static bool
name_takes_arguments(struct span s)
{
	return s.p < s.end && (is_word(s.end[-1]) ||
	    strchr(">}]'.", s.end[-1]) != NULL || name_is_operator(s));
}

/* Takes one of what may stand behind arguments off the end. */
static bool
name_cut_qualifier(struct span *s)
{
	static const char *const all[] = {" ", "&", " const", " volatile",
	    " noexcept", " restrict"};
	const char *at = span_ends(*s, ")") ? span_group(*s) : NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (span_ends(*s, all[i])) {
			s->end -= strlen(all[i]);
			return true;
		}
	if (span_ends(*s, "]"))
		at = memrchr(s->p, '[', (size_t)(s->end - s->p));
	if (at == NULL || at == s->p || at[-1] != ' ' ||
	    !(span_begins((struct span){at, s->end}, "[clone ") ||
	    span_begins((struct span){at, s->end}, "(.")))
		return false;
	s->end = at;
	return true;
}

/* A JIT's name for a place in a source: "JS:*page /app/(x)/page.js:1:29". */
static bool
name_is_place(struct span s)
{
	const char *at = s.end;

	while (at > s.p && is_digit(at[-1]))
		at--;
	return at < s.end && at > s.p && at[-1] == ':';
}

/*
 * For names in brief: cuts the function's own arguments off, and what is
 * behind them.  Nothing else in brackets goes, for it tells functions apart:
 * "f<void (int)>", "f(int)::{lambda()#2}::operator()", "decltype(auto)
 * f<int>(int)".
 */
static struct span
name_without_arguments(struct span s)
{
	struct span name = s;
	const char *at;

	if (name_is_go(s) || name_is_place(s))
		return s;
	while (name_cut_qualifier(&name))
		;
	if (!span_ends(name, ")") || (at = span_group(name)) == NULL)
		return s;
	/* the sign of operator() is no arguments */
	if (name.end - at == 2 && name_is_operator((struct span){s.p, at}) &&
	    is_word(at[-1]))
		return s;
	name.end = at;
	if (!name_takes_arguments(name))
		return s;
	return name;
}

/* Quotes go with the arguments; no name holds a NUL. */
static bool
name_drops(char c, bool brief)
{
	return c == '\0' || (brief && (c == '"' || c == '\''));
}

/* A copy as people see it; the caller frees it.  NULL: out of memory. */
static char *
name_tidy(struct span s, bool java, bool jit, bool brief)
{
	char *text = malloc((size_t)(s.end - s.p) + 1), *out = text;

	if (text == NULL)
		return NULL;
	if (brief && !jit) /* which calls things as it likes */
		s = name_without_arguments(s);
	while (s.end > s.p && is_space(s.end[-1]))
		s.end--;
	if (java && s.p < s.end && *s.p == 'L' &&
	    memchr(s.p, '/', (size_t)(s.end - s.p)) != NULL)
		s.p++;
	for (const char *p = s.p; p < s.end; p++)
		if (!name_drops(*p, brief))
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

/* Where the first "->" begins that is no C++ operator, none in brackets and
 * no Rust "fn() -> i32"; the end: none. */
static const char *
chain_next(struct span s)
{
	int depth = 0;

	for (const char *p = s.p; p + 1 < s.end; p++) {
		depth += (*p == '(') - (*p == ')');
		if (p[0] == '-' && p[1] == '>' && depth <= 0 &&
		    (p + 2 == s.end || p[2] != ' ') &&
		    !span_ends((struct span){s.p, p}, "operator"))
			return p;
	}
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
frame_chain(struct stacks *s, struct span symbol, struct frame f,
    const struct perf_names *how, uint32_t *chain)
{
	bool jit = f.kind == FRAME_JIT;
	int n = 0;

	while (symbol.p <= symbol.end && n < PERF_CHAIN_MAX) {
		const char *next = chain_next(symbol);
		char *name = name_tidy((struct span){symbol.p, next},
		    how->java, jit, how->brief);

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
    const struct perf_names *how, uint32_t chain[PERF_CHAIN_MAX])
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
		n = frame_chain(s, symbol, f, how, chain);
	}
	free(file);
	return n;
}
