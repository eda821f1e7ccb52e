/*
 * Reads and writes the text whole; each line is checked before it is believed,
 * since every other check relies on what it says.
 */
#include "store/file/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define MANIFEST_VERSION 6
#define MANIFEST_MAX (4u << 20)

static const char *const manifest_kinds[] = {"span", "late", "summary",
    "journal", "ids"};
#define MANIFEST_KINDS (sizeof(manifest_kinds) / sizeof(manifest_kinds[0]))

void
manifest_fini(struct manifest *m)
{
	free(m->files);
	*m = (struct manifest){0};
}

const struct err *
manifest_add(struct manifest *m, const struct manifest_file *f)
{
	if (!array_room(&m->files, m->n + 1, &m->cap))
		return err_nomem();
	m->files[m->n++] = *f;
	return NULL;
}

void
manifest_remove(struct manifest *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (strcmp(m->files[i].name, name) != 0)
			continue;
		memmove(&m->files[i], &m->files[i + 1],
		    (m->n - i - 1) * sizeof(*m->files));
		m->n--;
		return;
	}
}

const struct manifest_file *
manifest_find(const struct manifest *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (strcmp(m->files[i].name, name) == 0)
			return &m->files[i];
	}
	return NULL;
}

/* ---- gaps ---- */

static void
manifest_drop_gap(struct manifest *m, uint32_t i)
{
	memmove(&m->gaps[i], &m->gaps[i + 1],
	    (m->n_gaps - i - 1) * sizeof(m->gaps[0]));
	m->n_gaps--;
}

/* Makes one of the two neighbours that are nearest to each other. */
static void
manifest_join_gaps(struct manifest *m)
{
	uint64_t least = UINT64_MAX;
	struct manifest_gap *g;
	uint32_t at = 0;

	for (uint32_t i = 0; i + 1 < m->n_gaps; i++) {
		uint64_t end = m->gaps[i].until, next = m->gaps[i + 1].from;
		uint64_t apart = next > end ? next - end : 0;

		if (apart < least) {
			least = apart;
			at = i;
		}
	}
	g = &m->gaps[at];
	if (g->until < g[1].until)
		g->until = g[1].until;
	snprintf(g->why, sizeof(g->why), "damage in many places");
	manifest_drop_gap(m, at + 1);
}

void
manifest_add_gap(struct manifest *m, uint64_t from, uint64_t until,
    const char *why)
{
	struct manifest_gap g = {from, until, ""};
	uint32_t at = 0;

	if (from >= until)
		return;
	snprintf(g.why, sizeof(g.why), "%s", why);
	for (uint32_t i = m->n_gaps; i-- > 0;) {
		const struct manifest_gap *x = &m->gaps[i];

		if (x->from > g.until || g.from > x->until ||
		    strcmp(x->why, g.why) != 0)
			continue;
		g.from = x->from < g.from ? x->from : g.from;
		g.until = x->until > g.until ? x->until : g.until;
		manifest_drop_gap(m, i);
	}
	if (m->n_gaps == MANIFEST_GAPS)
		manifest_join_gaps(m);
	while (at < m->n_gaps && m->gaps[at].from <= g.from)
		at++;
	memmove(&m->gaps[at + 1], &m->gaps[at],
	    (m->n_gaps - at) * sizeof(g));
	m->gaps[at] = g;
	m->n_gaps++;
}

void
manifest_forget_gaps(struct manifest *m, uint64_t from, uint64_t until)
{
	for (uint32_t i = m->n_gaps; i-- > 0;) {
		struct manifest_gap *g = &m->gaps[i];

		if (g->from < from || g->from >= until)
			continue;
		if (g->until <= until)
			manifest_drop_gap(m, i);
		else
			g->from = until;
	}
}

bool
manifest_is_apart(const char *name)
{
	return strncmp(name, MANIFEST_APART, strlen(MANIFEST_APART)) == 0;
}

bool
manifest_is_part(const char *name, uint64_t *of)
{
	uint64_t own;

	return sscanf(name, MANIFEST_APART "%*u-%*u-%" SCNu64 "-%" SCNu64, of,
	    &own) == 2;
}

static bool
manifest_number_is(const char *name, uint64_t *number)
{
	const char *last = strrchr(name, '-');
	char *end;

	*number = strtoull(last + 1, &end, 10);
	return end > last + 1 && (*end == '\0' || strcmp(end, ".mdb") == 0);
}

bool
manifest_name_is(const char *name, enum manifest_kind *kind, uint64_t *number)
{
	for (size_t i = 0; i < MANIFEST_KINDS; i++) {
		size_t n = strlen(manifest_kinds[i]);

		if (strncmp(name, manifest_kinds[i], n) != 0 || name[n] != '-')
			continue;
		*kind = (enum manifest_kind)i;
		return manifest_number_is(name, number);
	}
	*kind = MANIFEST_LATE;
	return manifest_is_apart(name) && manifest_number_is(name, number);
}

const struct err *
manifest_copy(struct manifest *to, const struct manifest *m)
{
	*to = *m;
	to->cap = m->n;
	to->files = malloc((m->n + 1) * sizeof(*to->files));
	if (to->files == NULL)
		return err_nomem();
	if (m->n > 0)
		memcpy(to->files, m->files, m->n * sizeof(*to->files));
	return NULL;
}

/* ---- reading ---- */

static const struct err *
manifest_slurp(int dir, struct buf *text)
{
	int fd = openat(dir, "manifest", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return err_errno("manifest");
	do {
		if (text->len > MANIFEST_MAX || !buf_reserve(text, 65536)) {
			close(fd);
			return err_new(ERR_LIMIT, 0, "manifest: too long");
		}
		n = read(fd, text->data + text->len, 65535);
		if (n > 0)
			text->len += (size_t)n;
	} while (n > 0);
	close(fd);
	if (n < 0)
		return err_errno("manifest");
	text->data[text->len] = '\0';
	return NULL;
}

static bool
manifest_take_file(struct manifest *m, const char *line,
    const struct err **error)
{
	struct manifest_file f = {0};
	char kind[16];

	if (sscanf(line,
	        "%15s %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
	        " %" SCNu64 " %63s %255s",
	        kind, &f.level, &f.first, &f.slots, &f.since, &f.until,
	        &f.bytes, f.name, f.of) < 8 ||
	    strchr(f.name, '/') != NULL)
		return false;
	for (size_t i = 0; i < MANIFEST_KINDS; i++) {
		if (strcmp(kind, manifest_kinds[i]) != 0)
			continue;
		f.kind = (enum manifest_kind)i;
		*error = manifest_add(m, &f);
		return true;
	}
	return false;
}

static bool
manifest_take_gap(struct manifest *m, const char *line)
{
	struct manifest_gap g;

	if (sscanf(line, "gap %" SCNu64 " %" SCNu64 " %111[^\n]", &g.from,
	        &g.until, g.why) != 3)
		return false;
	manifest_add_gap(m, g.from, g.until, g.why);
	return true;
}

static const struct err *
manifest_take_line(struct manifest *m, const char *line, int number)
{
	const struct err *e = NULL;
	unsigned version;

	if (number == 1) {
		if (sscanf(line, "memlens %u", &version) != 1)
			return err_new(ERR_FORMAT, 1, "not a manifest");
		if (version == 0 || version > MANIFEST_VERSION)
			return err_new(ERR_LIMIT, 1,
			    "version %u is not known here", version);
		return NULL;
	}
	if (sscanf(line, "generation %" SCNu64, &m->generation) == 1 ||
	    sscanf(line, "slot_ns %" SCNd64, &m->slot_ns) == 1 ||
	    sscanf(line, "fine_from %" SCNu64, &m->fine_from) == 1 ||
	    manifest_take_gap(m, line))
		return NULL;
	if (!manifest_take_file(m, line, &e))
		return err_new(ERR_FORMAT, number, "line %d is malformed",
		    number);
	return e;
}

static const struct err *
manifest_parse(struct manifest *m, char *text, size_t size)
{
	char *crc = strstr(text, "\ncrc "), *line, *save = NULL;
	const struct err *e = NULL;
	int number = 0;

	if (crc == NULL || strtoul(crc + 5, NULL, 16) !=
	        crc32c(0, text, (size_t)(crc + 1 - text)))
		return err_new(ERR_FORMAT, (int)size, "checksum is wrong");
	crc[1] = '\0';
	for (line = strtok_r(text, "\n", &save); line != NULL && e == NULL;
	     line = strtok_r(NULL, "\n", &save))
		e = manifest_take_line(m, line, ++number);
	if (e == NULL && m->slot_ns <= 0)
		e = err_new(ERR_FORMAT, 0, "no slot_ns");
	return e;
}

const struct err *
manifest_load(struct manifest *m, int dir)
{
	struct buf text = {0};
	const struct err *e = manifest_slurp(dir, &text);

	*m = (struct manifest){0};
	if (e == NULL) {
		e = manifest_parse(m, (char *)text.data, text.len);
		if (e != NULL)
			e = err_wrap(e, "manifest");
	}
	if (e != NULL)
		manifest_fini(m);
	buf_fini(&text);
	return e;
}

void
manifest_salvage(struct manifest *m, int dir)
{
	struct buf text = {0};
	const struct err *e = manifest_slurp(dir, &text);
	char *save = NULL, *line;

	if (e != NULL) {
		buf_fini(&text);
		return;
	}
	for (line = strtok_r((char *)text.data, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "fine_from %" SCNu64, &m->fine_from) != 1)
			manifest_take_gap(m, line);
	}
	buf_fini(&text);
}

const struct err *
manifest_generation(int dir, uint64_t *generation)
{
	int fd = openat(dir, "manifest", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char head[128];
	ssize_t n;

	if (fd < 0)
		return err_errno("manifest");
	n = read(fd, head, sizeof(head) - 1);
	close(fd);
	if (n < 0)
		return err_errno("manifest");
	head[n] = '\0';
	if (sscanf(head, "memlens %*u generation %" SCNu64, generation) != 1)
		return err_new(ERR_FORMAT, 0, "not a manifest");
	return NULL;
}

/* ---- writing ---- */

static void
manifest_print(const struct manifest *m, struct buf *text)
{
	buf_printf(text, "memlens %d\ngeneration %" PRIu64 "\nslot_ns %" PRId64
	    "\nfine_from %" PRIu64 "\n", MANIFEST_VERSION, m->generation,
	    m->slot_ns, m->fine_from);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		buf_printf(text,
		    "%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		    " %" PRIu64 " %s%s%s\n",
		    manifest_kinds[f->kind], f->level, f->first, f->slots,
		    f->since, f->until, f->bytes, f->name,
		    f->of[0] != '\0' ? " " : "", f->of);
	}
	for (uint32_t i = 0; i < m->n_gaps; i++)
		buf_printf(text, "gap %" PRIu64 " %" PRIu64 " %s\n",
		    m->gaps[i].from, m->gaps[i].until, m->gaps[i].why);
	buf_printf(text, "crc %08x\n", crc32c(0, text->data, text->len));
}

static const struct err *
manifest_write(int dir, const struct buf *text, bool *published)
{
	int fd = openat(dir, "manifest.tmp",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	const struct err *e = NULL;

	if (fd < 0)
		return err_errno("manifest.tmp");
	if (write(fd, text->data, text->len) != (ssize_t)text->len ||
	    fdatasync(fd) != 0)
		e = err_errno("manifest.tmp");
	if (close(fd) != 0 && e == NULL)
		e = err_errno("manifest.tmp");
	if (e == NULL && renameat(dir, "manifest.tmp", dir, "manifest") != 0)
		e = err_errno("manifest");
	*published = e == NULL;
	if (e == NULL && fsync(dir) != 0)
		e = err_errno("the store's directory");
	return e;
}

const struct err *
manifest_save(struct manifest *m, int dir, bool *published)
{
	struct buf text = {0};
	const struct err *e;

	*published = false;
	m->generation++;
	manifest_print(m, &text);
	e = text.failed ? err_nomem() : manifest_write(dir, &text, published);
	buf_fini(&text);
	return e;
}
