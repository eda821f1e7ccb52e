/*
 * /proc/kallsyms: lines "ffffffff81000000 T _stext[\t[module]]", not sorted
 * beyond the kernel proper.  No sizes: a symbol ends where the next one
 * begins, and no function is larger than FUNCTION_MAX, which keeps what lies
 * between the regions (kernel, modules, BPF programs) without a name.
 */
#include "collector/symbols/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define FUNCTION_MAX (256u << 10)
#define BPF_MAX (64u << 10)
#define SYMBOLS_MAX (2u << 20)

struct symbol {
	uint64_t addr;
	uint32_t name, module; /* offsets; module 0: the kernel proper */
};

struct kallsyms {
	struct symbol *symbols;
	size_t n, cap;
	struct buf text;
	uint32_t last_module;
};

/* Where a module's name is; its symbols stand together. */
static uint32_t
kallsyms_module(struct kallsyms *k, const char *module)
{
	const char *last = (const char *)k->text.data + k->last_module;

	if (*module == '\0')
		return 0;
	if (k->last_module == 0 || strcmp(last, module) != 0) {
		k->last_module = (uint32_t)k->text.len;
		buf_put(&k->text, module, strlen(module) + 1);
	}
	return k->last_module;
}

static bool
kallsyms_add(struct kallsyms *k, uint64_t addr, const char *name,
    const char *module)
{
	size_t cap = k->cap != 0 ? k->cap * 2 : 1u << 16;
	struct symbol *p = k->symbols;

	if (k->n == SYMBOLS_MAX)
		return true;
	if (k->n == k->cap) {
		p = realloc(p, cap * sizeof(*p));
		if (p == NULL)
			return false;
		k->symbols = p;
		k->cap = cap;
	}
	p += k->n++;
	p->addr = addr;
	p->module = kallsyms_module(k, module);
	p->name = (uint32_t)k->text.len;
	buf_put(&k->text, name, strlen(name) + 1);
	return !k->text.failed;
}

/* Takes one line if it is a function; the text is the kernel's, so the form
 * is taken for granted, but not the lengths. */
static bool
kallsyms_line(struct kallsyms *k, char *line)
{
	char *rest, *name, *module;
	uint64_t addr = strtoull(line, &rest, 16);

	if (addr == 0 || rest == line || rest[0] != ' ' ||
	    strchr("tTwW", rest[1]) == NULL || rest[1] == '\0' ||
	    rest[2] != ' ')
		return true;
	name = rest + 3;
	module = name + strcspn(name, "\t\n ");
	if (*module != '\0') {
		*module++ = '\0';
		module += strspn(module, "\t ");
		module[strcspn(module, "\n")] = '\0';
	}
	return kallsyms_add(k, addr, name, module);
}

static int
symbol_compare(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Aliases of one address: the first in the file stays. */
static void
kallsyms_sort(struct kallsyms *k)
{
	size_t i, n = 0;
	struct symbol *p;

	if (k->n == 0)
		return;
	qsort(k->symbols, k->n, sizeof(*k->symbols), symbol_compare);
	for (i = 0; i < k->n; i++)
		if (n == 0 || k->symbols[n - 1].addr != k->symbols[i].addr)
			k->symbols[n++] = k->symbols[i];
	k->n = n;
	p = realloc(k->symbols, n * sizeof(*p));
	if (p != NULL)
		k->symbols = p;
}

static const struct err *
kallsyms_read(struct kallsyms *k, FILE *f)
{
	char *line = NULL;
	size_t cap = 0;
	bool ok = true;

	buf_put(&k->text, "[kernel]", sizeof("[kernel]"));
	while (ok && getline(&line, &cap, f) > 0)
		ok = kallsyms_line(k, line);
	free(line);
	if (!ok || k->text.failed)
		return err_nomem();
	kallsyms_sort(k);
	return NULL;
}

const struct err *
kallsyms_open(struct kallsyms **out, const char *path)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	const struct err *e;
	FILE *f;

	*out = NULL;
	if (k == NULL)
		return err_nomem();
	f = fopen(path, "re");
	e = f == NULL ? err_errno("%s", path) : kallsyms_read(k, f);
	if (f != NULL)
		fclose(f);
	if (e != NULL) {
		kallsyms_close(k);
		return e;
	}
	*out = k;
	return NULL;
}

void
kallsyms_close(struct kallsyms *k)
{
	if (k == NULL)
		return;
	free(k->symbols);
	buf_fini(&k->text);
	free(k);
}

size_t
kallsyms_count(const struct kallsyms *k)
{
	return k->n;
}

bool
kallsyms_lookup(const struct kallsyms *k, uint64_t addr, struct frame *out)
{
	const char *text = (const char *)k->text.data;
	size_t n = array_upto(k->symbols, k->n, addr, addr);
	const struct symbol *s;
	bool bpf;

	*out = (struct frame){.kind = FRAME_KERNEL, .name = "[kernel]",
	    .module = "[kernel]", .build_id = ""};
	if (n == 0)
		return false;
	s = &k->symbols[n - 1];
	bpf = strcmp(text + s->module, "[bpf]") == 0;
	if (addr - s->addr >= (bpf ? BPF_MAX : FUNCTION_MAX))
		return false;
	out->kind = bpf ? FRAME_BPF : FRAME_KERNEL;
	out->name = text + s->name;
	out->module = text + s->module;
	return true;
}
