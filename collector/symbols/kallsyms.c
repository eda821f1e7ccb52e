/*
 * /proc/kallsyms: lines "ffffffff81000000 T _stext[\t[module]]", not sorted
 * beyond the kernel proper.  No sizes: a symbol ends where the next one
 * begins, and no function is larger than FUNCTION_MAX, which keeps what lies
 * between the regions (kernel, modules, BPF programs) without a name.
 *
 * 60,000 names of 25 bytes are made of 15,000 words ("ext4_", "file_",
 * "write"), so that the table is bytes, and a mark for each 32 symbols:
 *
 *	symbol: varint address less the one before (or the mark's), varint
 *	module, varint word + 1 for each of its name, 0
 *
 * a third of what the names and their addresses are.
 */
#include "collector/symbols/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/intern.h"

#define FUNCTION_MAX (256u << 10)
#define BPF_MAX (64u << 10)
#define SYMBOLS_MAX (2u << 20)
#define MARK 32
#define PAD "__pfx_" /* of a function's name, before it */
#define PAD_MAX 64   /* bytes */
#define READ_BYTES 65536 /* stdio reads as little as 1,024 of /proc at once */

/* While the text is read. */
struct symbol {
	uint64_t addr;
	uint32_t at; /* of its module and name in `bytes` */
};

struct reading {
	struct symbol *symbols;
	size_t n, cap;
	struct buf bytes;
	uint64_t pad, behind; /* the last one, and the last function that is
	                       * named by its pad */
	char padded[256];     /* whose pad it is */
};

struct mark {
	uint64_t addr; /* of the symbol whose bytes begin at `at` */
	uint32_t at;
};

struct kallsyms {
	struct intern words, modules; /* module 0: the kernel proper */
	struct mark *marks;
	struct buf bytes;
	size_t n;        /* symbols */
	__u64 scheduler, behind; /* its code; 0: not known */
	struct unwind_orc orc;
	struct buf name; /* of the last look-up */
};

/* ---- the text ---- */

static bool
kallsyms_put_name(struct kallsyms *k, struct buf *out, const char *name)
{
	while (*name != '\0') {
		const char *end = name;
		uint32_t word;

		while (*end != '\0' && *end != '_')
			end++;
		while (*end == '_')
			end++;
		word = intern_put(&k->words, name, (size_t)(end - name));
		if (word == INTERN_NONE)
			return false;
		buf_put_varint(out, (uint64_t)word + 1);
		name = end;
	}
	buf_put_varint(out, 0);
	return !out->failed;
}

/*
 * Is a function of the kernel proper, whose lines are in order, named already?
 * Most begin with a pad for code that the kernel may put there, which has a
 * line of its own: with it half of all lines say nothing new.  A pad bears its
 * function's name.
 */
static bool
reading_has(struct reading *r, uint64_t addr, const char **name)
{
	size_t n = sizeof(PAD) - 1;

	if (addr == r->behind)
		return true;
	if (strncmp(*name, PAD, n) == 0) {
		*name += n;
		if (r->n > 0 && r->symbols[r->n - 1].addr == addr)
			return false; /* it is called by another name */
		r->pad = addr;
		if (memccpy(r->padded, *name, '\0', sizeof(r->padded)) ==
		    NULL)
			r->padded[0] = '\0';
		return false;
	}
	if (addr - r->pad > PAD_MAX || strcmp(*name, r->padded) != 0)
		return false;
	r->behind = addr;
	return true;
}

/* Borders in the kernel that we need ourselves, functions or not. */
static void
kallsyms_note(struct kallsyms *k, uint64_t addr, const char *name)
{
	const struct {
		const char *name;
		__u64 *to;
	} places[] = {{"__sched_text_start", &k->scheduler},
	    {"__sched_text_end", &k->behind},
	    {"__x86_indirect_thunk_array", &k->orc.thunks},
	    {"__start_orc_unwind_ip", &k->orc.ips},
	    {"__stop_orc_unwind_ip", &k->orc.ips_end},
	    {"__start_orc_unwind", &k->orc.rows},
	    {"_stext", &k->orc.text}, {"_etext", &k->orc.text_end}};

	if (name[0] != '_')
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(name, places[i].name) == 0)
			*places[i].to = addr;
}

static bool
kallsyms_add(struct kallsyms *k, struct reading *r, uint64_t addr,
    const char *name, const char *module)
{
	uint32_t m = *module == '\0' ? 0 : intern_put(&k->modules, module,
	    strlen(module));

	if (r->n == SYMBOLS_MAX ||
	    (*module == '\0' && reading_has(r, addr, &name)))
		return true;
	if (m == INTERN_NONE || !array_room(&r->symbols, r->n + 1, &r->cap))
		return false;
	r->symbols[r->n++] = (struct symbol){addr, (uint32_t)r->bytes.len};
	buf_put_varint(&r->bytes, m);
	return kallsyms_put_name(k, &r->bytes, name);
}

/* Hexadecimal digits, as the kernel writes them; *p ends up behind them. */
static uint64_t
kallsyms_address(char **p)
{
	uint64_t addr = 0;

	for (;; ++*p) {
		if (**p >= '0' && **p <= '9')
			addr = addr << 4 | (uint64_t)(**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			addr = addr << 4 | (uint64_t)(**p - 'a' + 10);
		else
			return addr;
	}
}

/* Takes one line if it is a function; the text is the kernel's, so the form
 * is taken for granted, but not the lengths. */
static bool
kallsyms_line(struct kallsyms *k, struct reading *r, char *line)
{
	char *rest = line, *name, *module;
	uint64_t addr = kallsyms_address(&rest);

	if (addr == 0 || rest[0] != ' ' || rest[1] == '\0' || rest[2] != ' ')
		return true;
	name = rest + 3;
	module = name + strcspn(name, "\t\n ");
	if (strchr("tTwWrRdD", rest[1]) == NULL)
		return true;
	if (*module != '\0') {
		*module++ = '\0';
		module += strspn(module, "\t ");
		module[strcspn(module, "\n")] = '\0';
	}
	if (*module == '\0')
		kallsyms_note(k, addr, name);
	if (strchr("tTwW", rest[1]) == NULL)
		return true;
	return kallsyms_add(k, r, addr, name, module);
}

/* ---- the table ---- */

static int
symbol_compare(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Most of them are in order: those of the kernel proper, before modules'. */
static void
kallsyms_sort(struct reading *r)
{
	size_t n = 1;
	uint64_t least = UINT64_MAX;

	while (n < r->n && r->symbols[n - 1].addr <= r->symbols[n].addr)
		n++;
	for (size_t i = n; i < r->n; i++)
		if (r->symbols[i].addr < least)
			least = r->symbols[i].addr;
	while (n > 0 && n < r->n && r->symbols[n - 1].addr >= least)
		n--;
	qsort(r->symbols + n, r->n - n, sizeof(*r->symbols),
	    symbol_compare);
}

static void
kallsyms_put_symbol(struct kallsyms *k, const struct reading *r,
    const struct symbol *s, uint64_t before)
{
	struct cur c = cur_of(r->bytes.data + s->at, r->bytes.len - s->at);

	if (k->n % MARK == 0)
		k->marks[k->n / MARK] = (struct mark){s->addr,
		    (uint32_t)k->bytes.len};
	buf_put_varint(&k->bytes, k->n % MARK == 0 ? 0 : s->addr - before);
	cur_varint(&c);
	while (cur_varint(&c) != 0)
		;
	buf_put(&k->bytes, r->bytes.data + s->at,
	    (size_t)(c.p - r->bytes.data) - s->at);
	k->n++;
}

/* Aliases of one address: the first in the file stays. */
static bool
kallsyms_pack(struct kallsyms *k, struct reading *r)
{
	const struct symbol *last = NULL;

	if (r->n == 0)
		return true;
	kallsyms_sort(r);
	k->marks = calloc(r->n / MARK + 1, sizeof(*k->marks));
	if (k->marks == NULL ||
	    !buf_reserve(&k->bytes, r->bytes.len + 3 * r->n))
		return false;
	for (const struct symbol *s = r->symbols; s < r->symbols + r->n; s++) {
		if (last != NULL && last->addr == s->addr)
			continue;
		kallsyms_put_symbol(k, r, s, last != NULL ? last->addr : 0);
		last = s;
	}
	return !k->bytes.failed;
}

static const struct err *
kallsyms_read(struct kallsyms *k, FILE *f)
{
	struct reading r = {0};
	char *line = NULL;
	size_t cap = 0;
	bool ok = intern_put(&k->modules, "[kernel]", 8) == 0;

	while (ok && getline(&line, &cap, f) > 0)
		ok = kallsyms_line(k, &r, line);
	ok = ok && kallsyms_pack(k, &r);
	intern_rest(&k->words);
	free(line);
	free(r.symbols);
	buf_fini(&r.bytes);
	return ok ? NULL : err_nomem();
}

const struct err *
kallsyms_open(struct kallsyms **out, const char *path)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	char room[READ_BYTES];
	const struct err *e;
	FILE *f;

	*out = NULL;
	if (k == NULL)
		return err_nomem();
	f = fopen(path, "re");
	if (f != NULL)
		setvbuf(f, room, _IOFBF, sizeof(room));
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
	intern_fini(&k->words);
	intern_fini(&k->modules);
	free(k->marks);
	buf_fini(&k->bytes);
	buf_fini(&k->name);
	free(k);
}

size_t
kallsyms_count(const struct kallsyms *k)
{
	return k->n;
}

/* The last symbol at or before an address, of which there is one: its own
 * address, its module and the place of its name. */
static uint64_t
kallsyms_find(const struct kallsyms *k, uint64_t addr, uint32_t *module,
    struct cur *name)
{
	size_t n = array_upto(k->marks, (k->n + MARK - 1) / MARK, addr, addr);
	const struct mark *m = &k->marks[n - 1];
	struct cur c = cur_of(k->bytes.data + m->at, k->bytes.len - m->at);
	uint64_t at = m->addr, found = at;

	for (unsigned i = 0; i < MARK && cur_left(&c) > 0; i++) {
		at += cur_varint(&c);
		if (at > addr)
			break;
		found = at;
		*module = (uint32_t)cur_varint(&c);
		*name = c;
		while (cur_varint(&c) != 0)
			;
	}
	return found;
}

static void
kallsyms_take_name(struct kallsyms *k, struct cur c)
{
	uint64_t word;

	buf_clear(&k->name);
	while ((word = cur_varint(&c)) != 0)
		buf_put(&k->name, intern_at(&k->words, (uint32_t)word - 1),
		    k->words.items[word - 1].len);
	buf_put_u8(&k->name, 0);
}

bool
kallsyms_lookup(struct kallsyms *k, uint64_t addr, struct frame *out)
{
	struct cur name = {0};
	uint32_t module = 0;
	uint64_t at;
	bool bpf;

	*out = (struct frame){.kind = FRAME_KERNEL, .name = "[kernel]",
	    .module = "[kernel]", .build_id = ""};
	if (k->n == 0 || addr < k->marks[0].addr)
		return false;
	at = kallsyms_find(k, addr, &module, &name);
	bpf = strcmp(intern_str(&k->modules, module), "[bpf]") == 0;
	if (addr - at >= (bpf ? BPF_MAX : FUNCTION_MAX))
		return false;
	kallsyms_take_name(k, name);
	if (k->name.failed) {
		buf_fini(&k->name);
		return false;
	}
	out->kind = bpf ? FRAME_BPF : FRAME_KERNEL;
	out->name = (const char *)k->name.data;
	out->module = intern_str(&k->modules, module);
	return true;
}

bool
kallsyms_is_scheduler(const struct kallsyms *k, uint64_t addr)
{
	return addr >= k->scheduler && addr < k->behind;
}

struct unwind_orc
kallsyms_orc(const struct kallsyms *k)
{
	return k->orc;
}
