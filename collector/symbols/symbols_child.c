/*
 * The loop of the symbols child: files by number, requests in order.
 */
#include "collector/symbols/symbols_child.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/blocks.h"
#include "collector/base/file_id.h"
#include "collector/elf/elf.h"
#include "collector/symbols/inlines.h"
#include "collector/symbols/perfmap.h"
#include "collector/symbols/symbols_wire.h"
#include "store/base/heap.h"

#define REST_MS 1000

/* An open file and what was read of it. */
struct source_file {
	int fd;
	struct file_id id; /* as it was opened */
	uint64_t blocks;   /* base/blocks.h */
	struct elf *elf;
	struct perfmap *map; /* instead of elf: what a JIT wrote */
	struct inlines *inlines;
	uint64_t size;
};

struct child_file {
	struct source_file program, debug;
	struct elf *mini;       /* packed into the program; NULL: nothing is, */
	enum elf_status packed; /* or, unless ELF_OK, why it cannot be read */
	struct source_file alt; /* shared by one of them */
	bool inlined;        /* inlined functions are asked for */
	bool inlines_opened; /* or found to be missing */
};

struct child {
	int socket;
	struct child_file *files[WIRE_FILES_MAX];
	char reply[WIRE_REPLY_MAX];
};

static bool
child_read(void *arg, uint64_t at, void *p, size_t n)
{
	const struct source_file *f = arg;

	return blocks_read(f->fd, f->blocks, at, p, n);
}

/* By the call that the sandbox allows, which takes no path. */
static bool
source_stat(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st) == 0;
}

/* What was written over since it was opened has names at other places: those of
 * the code that runs are gone. */
static bool
source_is_same(struct source_file *f)
{
	struct stat st;

	return f->elf == NULL || (source_stat(f->fd, &st) &&
	    file_id_has_bytes(&f->id, f->fd, &st));
}

static enum elf_status
source_open(struct source_file *f, int fd, uint64_t size)
{
	struct elf_input in = {.read = child_read, .arg = f, .size = size};
	struct stat st;

	if (source_stat(fd, &st))
		file_id_set(&f->id, fd, &st);
	f->fd = fd;
	f->blocks = blocks_file();
	f->size = size;
	return elf_open(&f->elf, &in);
}

static enum elf_status
source_open_map(struct source_file *f, int fd, uint64_t size)
{
	struct elf_input in = {.read = child_read, .arg = f, .size = size};

	f->fd = fd;
	f->blocks = BLOCKS_NONE;
	return perfmap_open(&f->map, &in);
}

static void
source_close(struct source_file *f)
{
	elf_close(f->elf);
	inlines_close(f->inlines);
	perfmap_close(f->map);
	if (f->fd >= 0)
		close(f->fd);
	f->elf = NULL;
	f->map = NULL;
	f->inlines = NULL;
	f->fd = -1;
}

static void
child_drop(struct child *c, uint32_t file)
{
	struct child_file *f = c->files[file];

	if (f == NULL)
		return;
	elf_close(f->mini);
	source_close(&f->program);
	source_close(&f->debug);
	source_close(&f->alt);
	free(f);
	c->files[file] = NULL;
}

static void
child_send(struct child *c, size_t n)
{
	if (!wire_send(c->socket, c->reply, n, -1, 0))
		_exit(1);
}

/* Names the file that shares debug information with this one. */
static size_t
child_put_alt(struct child *c, const struct elf *e, struct wire_reply *r)
{
	struct elf_debug_alt alt;
	size_t at = sizeof(*r), n;

	if (r->n != 1 || !elf_debug_alt(e, &alt))
		return at;
	r->alt_id_len = (uint8_t)alt.n_build_id;
	n = strlen(alt.path);
	memcpy(c->reply + at, alt.build_id, alt.n_build_id);
	memcpy(c->reply + at + alt.n_build_id, alt.path, n);
	return at + alt.n_build_id + n;
}

static void
child_send_loaded(struct child *c, const struct wire_request *q,
    const struct elf *e, enum elf_status status)
{
	struct wire_reply r = {.type = q->type, .seq = q->seq,
	    .file = q->file, .n = q->n, .status = status};
	size_t n, size = sizeof(r);
	const uint8_t *id;

	if (e != NULL) {
		id = elf_build_id(e, &n);
		memcpy(r.build_id, id, n);
		r.build_id_len = (uint8_t)n;
		r.symbols = (uint32_t)elf_symbols(e);
		if (q->type == WIRE_LOAD && c->files[q->file]->mini != NULL)
			r.symbols += (uint32_t)elf_symbols(
			    c->files[q->file]->mini);
		if (q->type == WIRE_LOAD)
			r.packed = (uint8_t)c->files[q->file]->packed;
		r.complete = elf_has_symtab(e);
		size = child_put_alt(c, e, &r);
	}
	memcpy(c->reply, &r, sizeof(r));
	child_send(c, size);
}

static void
child_load(struct child *c, const struct wire_request *q, int fd)
{
	struct child_file *f;
	enum elf_status status;

	child_drop(c, q->file);
	f = calloc(1, sizeof(*f));
	if (f == NULL) {
		close(fd);
		child_send_loaded(c, q, NULL, ELF_NO_MEMORY);
		return;
	}
	f->debug.fd = f->alt.fd = -1;
	f->inlined = q->n == 1;
	c->files[q->file] = f;
	status = q->type == WIRE_PERFMAP ?
	    source_open_map(&f->program, fd, q->size) :
	    source_open(&f->program, fd, q->size);
	if (status == ELF_OK && f->program.elf != NULL &&
	    !elf_has_symtab(f->program.elf))
		f->packed = elf_open_mini(&f->mini, f->program.elf);
	child_send_loaded(c, q, f->program.elf, status);
	if (status != ELF_OK)
		child_drop(c, q->file);
}

static bool
same_build_id(const struct elf *a, const struct elf *b)
{
	size_t na, nb;
	const uint8_t *pa = elf_build_id(a, &na), *pb = elf_build_id(b, &nb);

	return na > 0 && na == nb && memcmp(pa, pb, na) == 0;
}

/* A debug file counts only when it was made for this very program. */
static void
child_debug(struct child *c, const struct wire_request *q, int fd)
{
	struct child_file *f = c->files[q->file];
	enum elf_status status;

	if (f == NULL || f->program.elf == NULL || f->debug.elf != NULL) {
		close(fd);
		child_send_loaded(c, q, NULL, ELF_NOT_ELF);
		return;
	}
	status = source_open(&f->debug, fd, q->size);
	if (status == ELF_OK &&
	    !same_build_id(f->program.elf, f->debug.elf))
		status = ELF_DAMAGED;
	child_send_loaded(c, q, f->debug.elf, status);
	if (status != ELF_OK)
		source_close(&f->debug);
}

/* Looked into when it is needed. */
static void
child_alt(struct child *c, const struct wire_request *q, int fd)
{
	struct child_file *f = c->files[q->file];

	if (f == NULL || f->alt.fd >= 0) {
		close(fd);
	} else {
		f->alt.fd = fd;
		f->alt.size = q->size;
	}
	child_send_loaded(c, q, NULL, ELF_OK);
}

/* By the debug file, else by what is packed into the program, else by the
 * program itself. */
static bool
child_lookup(const struct child_file *f, uint64_t vaddr, struct elf_symbol *s,
    char *name)
{
	const struct elf *const elves[] = {f->debug.elf, f->mini,
	    f->program.elf};

	for (size_t i = 0; i < sizeof(elves) / sizeof(elves[0]); i++)
		if (elves[i] != NULL && elf_lookup(elves[i], vaddr, s, name))
			return true;
	return false;
}

/* The same, or what a signal's handler returns to, which C libraries have no
 * symbol for.  A caller's address in it may be the byte before it, another
 * function's last. */
static bool
child_find(const struct child_file *f, uint64_t vaddr, struct elf_symbol *s,
    char *name)
{
	bool found = child_lookup(f, vaddr, s, name);
	struct elf_symbol back;

	if (found && vaddr + 1 - s->entry < s->size)
		return true;
	if (!elf_signal_return(f->program.elf, vaddr, &back))
		return found;
	if (!child_lookup(f, back.entry, s, name)) {
		*s = back;
		symbols_child_copy("__restore_rt", name, ELF_NAME_MAX);
	}
	return true;
}

/* The symbol of data.  Whose code is in several places has none: which of them
 * it is counted from is not known. */
static size_t
child_answer_data(const struct child_file *f, uint64_t behind,
    struct wire_answer *a, char *name)
{
	char raw[ELF_NAME_MAX];
	struct elf_code code[2];
	struct elf_symbol s;
	uint64_t begin;
	const struct elf *const elves[] = {f->debug.elf, f->mini,
	    f->program.elf};

	if (elf_code_segments(f->program.elf, code, 2) != 1)
		return 0;
	begin = code[0].vaddr - code[0].offset;
	for (size_t i = 0; i < sizeof(elves) / sizeof(elves[0]); i++) {
		if (elves[i] == NULL ||
		    !elf_find_data(elves[i], begin + behind, &s, raw))
			continue;
		symbols_child_name(raw, name, WIRE_NAME_MAX + 1);
		a->found = WIRE_NAMED;
		a->address = s.entry - begin;
		return a->name = (uint16_t)strlen(name);
	}
	return 0;
}

/* The name, else the border of the function, else the address alone.
 * Returns the length of the name. */
static size_t
child_answer(const struct child_file *f, uint64_t offset,
    struct wire_answer *a, char *name)
{
	char raw[ELF_NAME_MAX];
	struct elf_symbol s;

	memset(a, 0, sizeof(*a));
	a->address = offset;
	if (f != NULL && f->program.map != NULL) {
		if (!perfmap_lookup(f->program.map, offset, &s, raw))
			return 0;
		symbols_child_copy(raw, name, WIRE_NAME_MAX + 1);
		a->found = WIRE_NAMED;
		a->address = s.entry;
		return a->name = (uint16_t)strlen(name);
	}
	if (f != NULL && f->program.elf != NULL && (offset & WIRE_DATA) != 0)
		return child_answer_data(f, offset & ~WIRE_DATA, a, name);
	if (f == NULL || !elf_vaddr(f->program.elf, offset, &a->address))
		return 0;
	if (child_find(f, a->address, &s, raw)) {
		symbols_child_name(raw, name, WIRE_NAME_MAX + 1);
		a->found = WIRE_NAMED;
		a->name = (uint16_t)strlen(name);
	} else if (elf_context(f->program.elf, a->address, &s)) {
		symbols_child_copy("__start_context", name, WIRE_NAME_MAX + 1);
		a->found = WIRE_NAMED;
		a->name = (uint16_t)strlen(name);
	} else if (elf_start(f->program.elf, a->address, &s)) {
		symbols_child_copy("_start", name, WIRE_NAME_MAX + 1);
		a->found = WIRE_NAMED;
		a->name = (uint16_t)strlen(name);
	} else if (elf_function(f->program.elf, a->address, &s)) {
		a->found = WIRE_FUNCTION;
	} else {
		return 0;
	}
	a->address = s.entry;
	return a->name;
}

/* The debug information is read when the first address is asked for. */
static void
child_open_inlines(struct child_file *f)
{
	struct source_file *of[2] = {&f->debug, &f->program};
	struct elf_input alt = {.read = child_read, .arg = &f->alt,
	    .size = f->alt.size};
	size_t i;

	f->inlines_opened = true;
	for (i = 0; i < 2; i++) {
		struct elf_input in = {.read = child_read, .arg = of[i],
		    .size = of[i]->size};

		if (of[i]->elf != NULL)
			of[i]->inlines = inlines_open(&in,
			    f->alt.fd >= 0 ? &alt : NULL);
		if (of[i]->inlines != NULL)
			return;
	}
}

/* What was inlined at an address of the file, behind the answer to it;
 * returns where that ends. */
static size_t
child_put_inlined(struct child *c, struct child_file *f, uint64_t offset,
    struct wire_answer *a, size_t at)
{
	struct inlines_name names[WIRE_INLINED_MAX];
	char place[WIRE_PLACE_MAX + 1];
	struct inlines *l;
	uint64_t vaddr;
	size_t i;

	if (!f->inlines_opened)
		child_open_inlines(f);
	l = f->debug.inlines != NULL ? f->debug.inlines :
	    f->program.inlines;
	if (l == NULL || !elf_vaddr(f->program.elf, offset, &vaddr))
		return at;
	a->inlined = (uint16_t)inlines_find(l, vaddr, place, names,
	    WIRE_INLINED_MAX);
	a->place = (uint16_t)strlen(place);
	memcpy(c->reply + at, place, a->place);
	at += a->place;
	for (i = 0; i < a->inlined; i++) {
		struct wire_inlined head = {
		    .name = (uint16_t)strlen(names[i].text),
		    .place = (uint16_t)strlen(names[i].place)};

		memcpy(c->reply + at, &head, sizeof(head));
		at += sizeof(head);
		memcpy(c->reply + at, names[i].text, head.name);
		at += head.name;
		memcpy(c->reply + at, names[i].place, head.place);
		at += head.place;
	}
	return at;
}

/* Returns where the answers end. */
static size_t
child_put_answers(struct child *c, struct child_file *f,
    const struct wire_request *q, size_t at)
{
	char name[WIRE_NAME_MAX + 1];
	struct wire_answer a;
	size_t head, n;
	uint32_t i;

	for (i = 0; i < q->n; i++) {
		n = child_answer(f, q->offsets[i], &a, name);
		head = at;
		at += sizeof(a);
		memcpy(c->reply + at, name, n);
		at += n;
		if (f != NULL && f->inlined && f->program.elf != NULL &&
		    a.found != WIRE_NOTHING &&
		    (q->offsets[i] & WIRE_DATA) == 0 &&
		    q->n <= WIRE_OFFSETS_INLINE)
			at = child_put_inlined(c, f, q->offsets[i], &a, at);
		memcpy(c->reply + head, &a, sizeof(a));
	}
	return at;
}

static void
child_resolve(struct child *c, const struct wire_request *q)
{
	struct wire_reply r = {.type = q->type, .seq = q->seq,
	    .file = q->file, .n = q->n};
	struct child_file *f = c->files[q->file];
	size_t end;

	memcpy(c->reply, &r, sizeof(r));
	end = child_put_answers(c, f, q, sizeof(r));
	if (f != NULL && !source_is_same(&f->program))
		end = child_put_answers(c, NULL, q, sizeof(r));
	child_send(c, end);
}

/* What reading debug information took does not stay when nobody asks. */
static void
child_rest(struct child *c)
{
	struct pollfd p = {.fd = c->socket, .events = POLLIN};

	if (poll(&p, 1, REST_MS) == 0)
		heap_trim();
}

/* One request and its descriptor (-1: none).  False at the end. */
static bool
child_receive(struct child *c, struct wire_request *q, int *fd)
{
	memset(q, 0, sizeof(*q));
	child_rest(c);
	return wire_receive(c->socket, q, sizeof(*q), fd) > 0 &&
	    q->file < WIRE_FILES_MAX && q->n <= WIRE_OFFSETS;
}

static void
child_serve(struct child *c, const struct wire_request *q, int fd)
{
	if ((q->type == WIRE_LOAD || q->type == WIRE_PERFMAP) && fd >= 0)
		child_load(c, q, fd);
	else if (q->type == WIRE_DEBUG && fd >= 0)
		child_debug(c, q, fd);
	else if (q->type == WIRE_ALT && fd >= 0)
		child_alt(c, q, fd);
	else if (q->type == WIRE_DROP)
		child_drop(c, q->file);
	else if (q->type == WIRE_RESOLVE)
		child_resolve(c, q);
	else if (q->type != WIRE_UNWIND || fd < 0)
		_exit(2);
	else if (!symbols_child_unwind(c->socket, q, fd))
		_exit(1);
}

_Noreturn void
symbols_child_run(int socket)
{
	struct child *c = calloc(1, sizeof(*c));
	struct wire_request q;
	int fd;

	if (c == NULL)
		_exit(1);
	c->socket = socket;
	while (child_receive(c, &q, &fd))
		child_serve(c, &q, fd);
	_exit(0);
}
