/*
 * The allocator's own frames at the leaves of a heap profile: what people
 * want to see is who asked for memory.
 *
 * jeprof's rule: all up to the last frame whose function is in its list is
 * the allocator's inside.  Where there are no symbols the library tells; what
 * has a name there that is not in the list, as gperftools' GetHeapProfile,
 * asked for memory itself.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/heap/heap.h"

/* Sorted by strcmp(). */
static const char *const hidden_functions[] = {
    "::do_malloc", "::do_malloc_or_cpp_alloc", "DoSampledAllocation",
    "__builtin_delete", "__builtin_new", "__builtin_vec_delete",
    "__builtin_vec_new", "__malloc_alloc_template::allocate",
    "__start_google_malloc", "__start_malloc_hook",
    "__stop_google_malloc", "__stop_malloc_hook", "aligned_alloc",
    "calloc", "cfree", "dallocx", "do_malloc", "fallback_impl", "free",
    "imalloc", "imalloc_body", "je_aligned_alloc", "je_calloc", "je_free",
    "je_malloc", "je_malloc_default", "je_mallocx", "je_memalign",
    "je_posix_memalign", "je_prof_backtrace", "je_prof_tctx_create",
    "je_rallocx", "je_realloc", "je_valloc", "je_xallocx", "malloc",
    "malloc_default", "malloc_zone_calloc", "malloc_zone_free",
    "malloc_zone_malloc", "malloc_zone_memalign", "malloc_zone_realloc",
    "malloc_zone_valloc", "mallocx", "memalign", "newImpl",
    "operator new", "operator new[]", "posix_memalign",
    "prof_alloc_prep", "prof_backtrace", "prof_backtrace_impl",
    "prof_tctx_create", "pvalloc", "rallocx", "realloc", "sdallocx",
    "sdallocx_noflags", "simple_alloc::allocate", "tc_calloc", "tc_cfree",
    "tc_delete", "tc_deletearray", "tc_free", "tc_malloc", "tc_memalign",
    "tc_new", "tc_new_nothrow", "tc_newarray", "tc_newarray_nothrow",
    "tc_posix_memalign", "tc_pvalloc", "tc_realloc", "tc_valloc",
    "valloc", "void* newImpl", "xallocx"
};
#define HIDDEN (sizeof(hidden_functions) / sizeof(hidden_functions[0]))

static const char *const allocator_libraries[] = {
    "libjemalloc", "libtcmalloc"
};

static int
hidden_compare(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool
hidden_find(const char *name)
{
	return bsearch(name, hidden_functions, HIDDEN,
	    sizeof(hidden_functions[0]), hidden_compare) != NULL;
}

/* Without arguments, template arguments and a version. */
static void
name_shorten(const char *name, char *out, size_t size)
{
	size_t n = 0;
	unsigned depth = 0;

	for (; *name != '\0' && n + 1 < size; name++) {
		if (*name == '(' || *name == '<')
			depth++;
		else if ((*name == ')' || *name == '>') && depth > 0)
			depth--;
		else if (*name == '@')
			break;
		else if (depth == 0)
			out[n++] = *name;
	}
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

static bool
function_hidden(const char *name)
{
	char s[256];

	name_shorten(name, s, sizeof(s));
	return hidden_find(s) || (s[0] == '_' && hidden_find(s + 1)) ||
	    strstr(s, "TCMalloc") != NULL ||
	    strncmp(s, "tcmalloc::", 10) == 0;
}

static bool
library_hidden(const char *name)
{
	for (size_t i = 0; i < 2; i++) {
		const char *known = allocator_libraries[i];

		if (strncmp(name, known, strlen(known)) == 0)
			return true;
	}
	return false;
}

enum { SHOWN, BY_LIBRARY, BY_NAME };

static uint8_t
address_hidden(const struct heap *h, const struct heap_address *a)
{
	/* the innermost: calloc may be inlined into its caller */
	const struct heap_frame *f = a->n == 0 ? NULL :
	    &h->frames[a->first + a->n - 1];

	if (f != NULL && f->kind != FRAME_ADDRESS)
		return function_hidden(intern_str(&h->strings, f->name))
		    ? BY_NAME : SHOWN;
	if (a->module != HEAP_NONE && library_hidden(intern_str(&h->strings,
	    h->modules[a->module].name)))
		return BY_LIBRARY;
	return SHOWN;
}

bool
heap_hide_allocator(struct heap *h)
{
	uint8_t *hidden = malloc((size_t)h->n_addresses + 1);

	if (hidden == NULL)
		return false;
	for (uint32_t i = 0; i < h->n_addresses; i++)
		hidden[i] = address_hidden(h, &h->addresses[i]);
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		struct heap_stack *s = &h->stacks[i];
		const uint32_t *places = h->places + s->first;
		uint32_t skip = 0;

		for (uint32_t k = 0; k < s->n; k++) {
			if (hidden[places[k]] == BY_NAME)
				skip = k + 1;
		}
		while (skip < s->n && hidden[places[skip]] == BY_LIBRARY)
			skip++;
		s->first += skip;
		s->n -= skip;
	}
	free(hidden);
	return true;
}
