/*
 * The cache of addresses, and what the child says about them.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collector/symbols/symbols_private.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/base/text.h"

#define KALLSYMS_WAIT_NS (10 * NS_PER_S) /* doubles up to the next line */
#define KALLSYMS_WAIT_MAX_NS (3600 * NS_PER_S)
#define PROGRAMS_WAIT_NS (60 * NS_PER_S) /* some 0.1 s of CPU each time */

/* Frame 0 stands for what found no room. */
static const struct frame full_frame = {.kind = FRAME_MARK,
    .name = "[symbol table full]", .module = "", .build_id = ""};

/* Code that a JIT made has no module that lasts, and no place in it. */
static struct frame
symbols_jit_frame(const char *name)
{
	return (struct frame){.kind = name != NULL ? FRAME_JIT :
	    FRAME_ADDRESS, .name = name != NULL ? name : "[anonymous code]",
	    .module = "", .build_id = ""};
}

static void
symbols_set_frame(struct symbols *s, uint32_t id, uint64_t address,
    enum wire_found found, const char *name)
{
	struct address *a = &s->addresses[id];
	const struct file *f = s->files[a->file];
	char bare[sizeof(f->module) + 32];
	struct frame frame = {.kind = FRAME_NATIVE, .name = name,
	    .module = f->module, .build_id = f->build_id, .offset = address};

	if (f->perfmap) {
		frame = symbols_jit_frame(found == WIRE_NAMED ? name : NULL);
		s->files[a->file]->missed |= found != WIRE_NAMED;
	} else if (found != WIRE_NAMED) {
		snprintf(bare, sizeof(bare), "%s+0x%" PRIx64, f->module,
		    address);
		frame.kind = FRAME_ADDRESS;
		frame.name = bare;
	}
	a->frame = frames_add(s->frames, &frame);
	a->state = ADDRESS_IDLE;
	if (a->frame == FRAMES_NONE)
		s->overflows++;
}

/* Takes one answer from the child's bytes; false when they end too soon. */
static bool
symbols_take(struct symbols *s, uint32_t id, struct cur *c)
{
	struct wire_answer a;
	char name[WIRE_NAME_MAX + 1];
	const uint8_t *p = cur_raw(c, sizeof(a));

	if (p == NULL)
		return false;
	memcpy(&a, p, sizeof(a));
	if (!symbols_take_text(c, a.name, name, sizeof(name)))
		return false;
	if (name[0] == '\0' && a.found == WIRE_NAMED)
		a.found = WIRE_FUNCTION;
	symbols_set_frame(s, id, a.address, a.found, name);
	return symbols_take_inlined(s, id, &a, c);
}

static void
symbols_take_rows(struct symbols *s, uint32_t table, int64_t cpu_ns,
    const struct wire_reply *r, const uint8_t *p, size_t n, int fd)
{
	struct wire_unwound code = {0};

	if (n == sizeof(code))
		memcpy(&code, p, n);
	s->rows(s->rows_arg, table, &(struct symbols_rows){
	    .status = r->status, .cpu_ns = cpu_ns, .base = code.base,
	    .regions = code.n,
	    .shift = code.shift, .n = r->symbols, .fd = fd,
	    .code_id = r->build_id, .code_id_len = r->build_id_len});
}

static void
symbols_answer(void *arg, const struct link_request *q,
    const struct wire_reply *r, const uint8_t *p, size_t n, int fd)
{
	struct symbols *s = arg;
	struct cur c = cur_of(p, n);
	uint32_t i;

	if (q->type == WIRE_UNWIND) {
		symbols_take_rows(s, q->file, q->cpu_ns, r, p, n, fd);
		return;
	}
	if (q->type != WIRE_RESOLVE) {
		symbols_file_answer(s, q->file, r, p, n);
		return;
	}
	for (i = 0; i < q->n && symbols_take(s, q->ids[i], &c); i++)
		continue;
	for (; i < q->n; i++)
		s->addresses[q->ids[i]].state = ADDRESS_IDLE;
}

/* What was on its way to a dead child is asked again of the next one, once
 * the file has been opened again. */
static void
symbols_lost(void *arg, const struct link_request *q, bool guilty)
{
	struct symbols *s = arg;
	uint32_t i;

	if (q->type == WIRE_UNWIND) {
		s->rows(s->rows_arg, q->file, &(struct symbols_rows){
		    .lost = true, .guilty = guilty, .cpu_ns = q->cpu_ns,
		    .fd = -1});
		return;
	}
	symbols_file_lost(s, q->file, guilty);
	if (q->type != WIRE_RESOLVE)
		return;
	for (i = 0; i < q->n; i++)
		symbols_file_queue(s, q->ids[i]);
}

/* Where a BPF program ends is not told, so that code of one that was loaded
 * since the names were read has that of the one before it, until now. */
static void
symbols_name_programs(struct symbols *s)
{
	struct frame frame;

	for (uint32_t i = 0; i < s->n_addresses; i++) {
		struct address *a = &s->addresses[i];

		if (a->file != KERNEL_FILE || a->frame == NONE ||
		    frames_get(s->frames, a->frame).kind != FRAME_BPF)
			continue;
		a->frame = kallsyms_lookup(s->kallsyms, a->offset, &frame) ?
		    symbols_frame(s, &frame) : NONE;
	}
}

static void
symbols_read_kallsyms(struct symbols *s, int64_t now_ns)
{
	const struct err *e;
	struct kallsyms *k;

	s->kallsyms_at_ns = now_ns;
	s->kernel_missed = false;
	if (s->kallsyms_path == NULL)
		return;
	e = kallsyms_open(&k, s->kallsyms_path);
	if (e != NULL) {
		log_warn("kernel symbols: %s", e->text);
		return;
	}
	kallsyms_close(s->kallsyms);
	s->kallsyms = k;
	if (s->programs_missed)
		programs_forget(&s->programs, INT64_MAX);
	s->programs_missed = false;
	symbols_name_programs(s);
}

const struct err *
symbols_new(struct symbols **out, const char *kallsyms, const char *debug)
{
	struct symbols *s = calloc(1, sizeof(*s));
	const struct err *e;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->kallsyms_path = kallsyms;
	s->debug = debug;
	s->n_files = 1;
	s->pending = NONE;
	s->most = SWEEP_LEAST;
	s->vdso = SYMBOLS_NO_FILE;
	s->now_ns = clock_mono_ns();
	s->kallsyms_wait_ns = KALLSYMS_WAIT_NS;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	e = s->epoll < 0 ? err_errno("epoll") : symbols_link_new(&s->link,
	    s->epoll, symbols_answer, symbols_lost, s);
	if (e == NULL) {
		s->frames = frames_new(FRAMES_MAX, FRAMES_MAX_BYTES);
		e = s->frames == NULL ||
		    frames_add(s->frames, &full_frame) != 0 ?
		    err_nomem() : NULL;
	}
	if (e != NULL) {
		symbols_free(s);
		return e;
	}
	symbols_read_kallsyms(s, s->now_ns);
	*out = s;
	return NULL;
}

void
symbols_free(struct symbols *s)
{
	if (s == NULL)
		return;
	if (s->link != NULL)
		symbols_files_clear(s);
	symbols_link_free(s->link);
	symbols_link_free(s->rows_link);
	if (s->epoll >= 0)
		close(s->epoll);
	kallsyms_close(s->kallsyms);
	programs_fini(&s->programs);
	frames_free(s->frames);
	free(s->addresses);
	free(s->inlined);
	free(s->places);
	free(s->address_slots);
	free(s);
}

void
symbols_set_inline(struct symbols *s, bool on)
{
	s->inlines = on;
	symbols_link_inline(s->link, on);
}

void
symbols_set_mirror(struct symbols *s, const char *folder)
{
	s->mirror = folder;
}

int
symbols_fd(const struct symbols *s)
{
	return s->epoll;
}

void
symbols_pump(struct symbols *s, int64_t now_ns)
{
	s->now_ns = now_ns;
	symbols_link_pump(s->link, now_ns);
	if (s->rows_link != NULL)
		symbols_link_pump(s->rows_link, now_ns);
	if (s->pending != NONE)
		symbols_files_send(s);
}

void
symbols_settle(struct symbols *s, int64_t max_ns)
{
	int64_t end = clock_mono_ns() + max_ns, now;
	struct pollfd p = {.fd = symbols_fd(s), .events = POLLIN};

	symbols_pump(s, clock_mono_ns());
	while (symbols_link_busy(s->link) &&
	    (now = clock_mono_ns()) < end) {
		poll(&p, 1, (int)((end - now) / NS_PER_MS) + 1);
		symbols_pump(s, clock_mono_ns());
	}
}

static uint64_t
address_hash(uint32_t file, uint64_t offset)
{
	return hash64_u64(file, offset);
}

void
symbols_put_address(struct symbols *s, uint32_t id)
{
	const struct address *a = &s->addresses[id];
	uint32_t i = (uint32_t)address_hash(a->file, a->offset) &
	    s->address_mask;

	while (s->address_slots[i] != 0)
		i = (i + 1) & s->address_mask;
	s->address_slots[i] = id + 1;
}

/* Room for one more address and its slot. */
static bool
addresses_grow(struct symbols *s)
{
	uint32_t cap = s->cap_addresses != 0 ? s->cap_addresses * 2 : 4096;
	struct address *a;
	uint32_t *slots, i;

	if (s->n_addresses < s->cap_addresses)
		return true;
	if (cap > ADDRESSES_MAX)
		return false;
	slots = calloc((size_t)cap * 2, sizeof(*slots));
	a = realloc(s->addresses, cap * sizeof(*a));
	s->addresses = a != NULL ? a : s->addresses;
	if (slots == NULL || a == NULL) {
		free(slots);
		return false;
	}
	free(s->address_slots);
	s->address_slots = slots;
	s->address_mask = cap * 2 - 1;
	s->cap_addresses = cap;
	for (i = 0; i < s->n_addresses; i++)
		symbols_put_address(s, i);
	return true;
}

/* The number of an address, made when new; NONE when the table is full. */
static uint32_t
address_find(struct symbols *s, uint32_t file, uint64_t offset)
{
	uint32_t i = (uint32_t)address_hash(file, offset) & s->address_mask;

	for (; s->address_slots != NULL && s->address_slots[i] != 0;
	     i = (i + 1) & s->address_mask) {
		struct address *a = &s->addresses[s->address_slots[i] - 1];

		if (a->offset != offset || a->file != file)
			continue;
		a->used = s->slot;
		return s->address_slots[i] - 1;
	}
	if (!addresses_grow(s)) {
		s->overflows++;
		return NONE;
	}
	s->addresses[s->n_addresses] = (struct address){
	    .offset = offset, .file = file, .frame = NONE, .next = NONE,
	    .used = s->slot};
	symbols_put_address(s, s->n_addresses);
	return s->n_addresses++;
}

uint32_t
symbols_frame(struct symbols *s, const struct frame *frame)
{
	uint32_t n = frames_add(s->frames, frame);

	if (n != FRAMES_NONE)
		return n;
	s->overflows++;
	return 0;
}

uint32_t
symbols_user(struct symbols *s, uint32_t file, uint64_t offset)
{
	uint32_t id = address_find(s, file, offset);
	const struct file *f = s->files[file];

	if (id == NONE)
		return 0;
	if (s->addresses[id].frame != NONE)
		return s->addresses[id].n_inlined == 0 ?
		    s->addresses[id].frame : id | SYMBOLS_UNRESOLVED;
	if (f->state == FILE_OPAQUE) {
		symbols_set_frame(s, id, offset, WIRE_NOTHING, "");
		if (s->addresses[id].frame != NONE)
			return s->addresses[id].frame;
	} else if (s->addresses[id].state == ADDRESS_IDLE) {
		symbols_file_queue(s, id);
	}
	if (f->kept_fd >= 0 && symbols_wants(s, file))
		symbols_load(s, file, f->kept_fd);
	return id | SYMBOLS_UNRESOLVED;
}

uint32_t
symbols_data(struct symbols *s, uint32_t file, uint64_t behind)
{
	return symbols_user(s, file, behind | WIRE_DATA);
}

void
symbols_program(struct symbols *s, const struct program_told *told)
{
	if (!programs_tell(&s->programs, told))
		symbols_programs_missed(s);
}

void
symbols_programs_missed(struct symbols *s)
{
	s->programs_missed = true;
}

uint32_t
symbols_kernel(struct symbols *s, uint64_t addr, int64_t time_ns)
{
	struct frame frame = {.kind = FRAME_KERNEL, .name = "[kernel]",
	    .module = "[kernel]", .build_id = ""};
	const char *program;
	uint32_t id;

	if (symbols_kernel_hidden(s))
		return symbols_frame(s, &frame);
	program = programs_find(&s->programs, addr, time_ns);
	if (program != NULL)
		return symbols_frame(s, &(struct frame){.kind = FRAME_BPF,
		    .name = program, .module = "[bpf]", .build_id = ""});
	id = address_find(s, KERNEL_FILE, addr);
	if (id == NONE)
		return 0;
	if (s->addresses[id].frame != NONE)
		return s->addresses[id].frame;
	if (!kallsyms_lookup(s->kallsyms, addr, &frame)) {
		s->kernel_missed = true;
		return symbols_frame(s, &frame);
	}
	if (frame.kind == FRAME_BPF)
		s->kernel_missed = true; /* or is it of another? */
	s->addresses[id].frame = symbols_frame(s, &frame);
	return s->addresses[id].frame;
}

bool
symbols_is_scheduler(const struct symbols *s, uint64_t addr)
{
	return s->kallsyms != NULL && kallsyms_is_scheduler(s->kallsyms, addr);
}

struct unwind_orc
symbols_orc(const struct symbols *s)
{
	return s->kallsyms != NULL ? kallsyms_orc(s->kallsyms) :
	    (struct unwind_orc){0};
}

bool
symbols_is_settled(const struct symbols *s, uint32_t ref)
{
	return (ref & SYMBOLS_UNRESOLVED) == 0 ||
	    s->addresses[ref & ~SYMBOLS_UNRESOLVED].frame != NONE;
}

uint32_t
symbols_final(struct symbols *s, uint32_t ref)
{
	const struct address *a;
	const struct file *f;
	char name[sizeof(f->module) + 32];

	if ((ref & SYMBOLS_UNRESOLVED) == 0)
		return ref;
	a = &s->addresses[ref & ~SYMBOLS_UNRESOLVED];
	if (a->frame != NONE)
		return a->frame;
	f = s->files[a->file];
	if (f->perfmap) {
		struct frame frame = symbols_jit_frame(NULL);

		return symbols_frame(s, &frame);
	}
	snprintf(name, sizeof(name), "%s+0x%" PRIx64, f->module, a->offset);
	return symbols_frame(s, &(struct frame){.kind = FRAME_ADDRESS,
	    .name = name, .module = f->module, .build_id = f->build_id,
	    .offset = a->offset});
}

size_t
symbols_expand(struct symbols *s, uint32_t ref, uint32_t *out)
{
	const struct address *a;
	uint32_t i;

	out[0] = symbols_final(s, ref);
	if ((ref & SYMBOLS_UNRESOLVED) == 0)
		return 1;
	a = &s->addresses[ref & ~SYMBOLS_UNRESOLVED];
	for (i = 0; i < a->n_inlined; i++)
		out[1 + i] = s->inlined[a->inlined + i];
	return 1 + a->n_inlined;
}

struct frame
symbols_get(const struct symbols *s, uint32_t ref)
{
	return frames_get(s->frames, ref);
}

void
symbols_forget(struct symbols *s)
{
	s->forget = true;
}

static bool
symbols_crowded(const struct symbols *s)
{
	return s->forget || s->n_addresses > ADDRESSES_MAX / 4 * 3 ||
	    s->n_files > FILES_MAX / 4 * 3 || frames_crowded(s->frames);
}

/* A module may have come, or a program that nobody told of. */
static void
symbols_renew_kernel(struct symbols *s, int64_t now_ns)
{
	int64_t wait_ns = s->kallsyms_wait_ns;

	if (s->programs_missed && wait_ns > PROGRAMS_WAIT_NS)
		wait_ns = PROGRAMS_WAIT_NS;
	if ((!s->kernel_missed && !s->programs_missed) ||
	    now_ns - s->kallsyms_at_ns <= wait_ns)
		return;
	symbols_read_kallsyms(s, now_ns);
	s->kallsyms_wait_ns *= 2;
	if (s->kallsyms_wait_ns > KALLSYMS_WAIT_MAX_NS)
		s->kallsyms_wait_ns = KALLSYMS_WAIT_MAX_NS;
}

bool
symbols_trim(struct symbols *s, int64_t now_ns)
{
	symbols_renew_kernel(s, now_ns);
	programs_forget(&s->programs, s->trimmed_ns);
	s->trimmed_ns = now_ns;
	s->slot++;
	/* An answer on its way would mean another address by then. */
	if (symbols_link_busy(s->link))
		return false;
	if (!symbols_crowded(s)) {
		symbols_sweep(s);
		return false;
	}
	if (s->forget)
		symbols_read_kallsyms(s, now_ns);
	s->forget = false;
	symbols_files_clear(s);
	frames_clear(s->frames);
	frames_add(s->frames, &full_frame); /* has its memory already */
	s->n_addresses = 0;
	s->n_inlined = 0;
	s->n_places = s->next_place = 0;
	if (s->address_slots != NULL)
		memset(s->address_slots, 0, ((size_t)s->address_mask + 1) *
		    sizeof(*s->address_slots));
	return true;
}

const struct err *
symbols_unwind_to(struct symbols *s, symbols_rows_fn *fn, void *arg)
{
	s->rows = fn;
	s->rows_arg = arg;
	return symbols_link_new(&s->rows_link, s->epoll, symbols_answer,
	    symbols_lost, s);
}

bool
symbols_unwind(struct symbols *s, uint32_t table, int fd, uint64_t size,
    uint32_t offset)
{
	return s->rows_link != NULL &&
	    symbols_link_unwind(s->rows_link, table, fd, size, offset);
}

bool
symbols_kernel_hidden(const struct symbols *s)
{
	return s->kallsyms == NULL || kallsyms_count(s->kallsyms) == 0;
}

void
symbols_stats(const struct symbols *s, struct symbols_stats *out)
{
	const struct symbols_link *rows = s->rows_link;

	*out = (struct symbols_stats){
	    .restarts = symbols_link_restarts(s->link) +
	        (rows != NULL ? symbols_link_restarts(rows) : 0),
	    .skipped = s->skipped,
	    .unpacked = s->unpacked,
	    .files = s->n_files - 1,
	    .addresses = s->n_addresses,
	    .frames = frames_count(s->frames),
	    .overflows = s->overflows,
	    .child = symbols_link_pid(s->link),
	    .rows_child = rows != NULL ? symbols_link_pid(rows) : 0,
	    .busy = symbols_link_busy(s->link),
	};
}
