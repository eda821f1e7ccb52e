/*
 * The text of /proc/PID/maps:
 *	55d0c8a3c000-55d0c8a51000 r-xp 00002000 fd:01 1234   /usr/bin/x
 * Lines are sorted by address; only those with x matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "collector/maps/maps.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/text.h"

struct line {
	uint64_t start, end, offset, ino;
	unsigned major, minor;
	char perms[5];
	const char *name;
	size_t name_len;
};

/* A number in hexadecimal or decimal up to a character, which is skipped. */
static bool
maps_number(const char **p, const char *end, int base, char stop,
    uint64_t *out)
{
	const char *begin = *p;
	unsigned digit;

	*out = 0;
	for (; *p < end && **p != stop; (*p)++) {
		digit = **p >= '0' && **p <= '9' ? (unsigned)(**p - '0') :
		    **p >= 'a' && **p <= 'f' ? (unsigned)(**p - 'a') + 10 : 99;
		if (digit >= (unsigned)base || *p - begin >= 20)
			return false;
		*out = *out * (unsigned)base + digit;
	}
	if (*p == begin || *p == end)
		return false;
	(*p)++;
	return true;
}

static bool
maps_line(const char *p, const char *end, struct line *l)
{
	uint64_t major, minor;

	if (!maps_number(&p, end, 16, '-', &l->start) ||
	    !maps_number(&p, end, 16, ' ', &l->end) || end - p < 5)
		return false;
	memcpy(l->perms, p, 4);
	p += 5;
	if (!maps_number(&p, end, 16, ' ', &l->offset) ||
	    !maps_number(&p, end, 16, ':', &major) ||
	    !maps_number(&p, end, 16, ' ', &minor) ||
	    !maps_number(&p, end, 10, ' ', &l->ino))
		return false;
	l->major = (unsigned)major;
	l->minor = (unsigned)minor;
	while (p < end && *p == ' ')
		p++;
	l->name = p;
	l->name_len = (size_t)(end - p);
	return l->start < l->end;
}

static enum map_kind
maps_kind(const struct line *l)
{
	static const char vdso[] = "[vdso]";
	/* .NET's memory for code, which it maps twice. */
	static const char doubled[] = "/memfd:doublemapper";

	if (l->name_len == sizeof(vdso) - 1 &&
	    memcmp(l->name, vdso, l->name_len) == 0)
		return MAPPING_VDSO;
	if (l->name_len >= sizeof(doubled) - 1 &&
	    memcmp(l->name, doubled, sizeof(doubled) - 1) == 0)
		return MAPPING_ANONYMOUS;
	if (l->name_len > 0 && l->name[0] == '/' && l->ino != 0)
		return MAPPING_FILE;
	if (l->name_len > 0 && l->name[0] == '[' &&
	    strncmp(l->name, "[anon", 5) != 0 &&
	    strncmp(l->name, "[heap", 5) != 0 &&
	    strncmp(l->name, "[stack", 6) != 0)
		return MAPPING_SPECIAL;
	return MAPPING_ANONYMOUS;
}

static void
maps_append(struct buf *mappings, struct buf *names, const struct line *l)
{
	struct mapping m = {.start = l->start, .end = l->end,
	    .offset = l->offset, .dev = makedev(l->major, l->minor),
	    .ino = l->ino, .kind = maps_kind(l), .file = MAPS_NO_FILE,
	    .name = (uint32_t)names->len};

	if (m.kind != MAPPING_ANONYMOUS)
		buf_put(names, l->name, l->name_len);
	buf_put_u8(names, 0);
	buf_put(mappings, &m, sizeof(m));
}

static const struct err *
maps_scan(const char *text, size_t n, bool sorted, struct buf *mappings,
    struct buf *names)
{
	const char *p = text, *end = text + n, *eol;
	uint64_t last = 0;
	struct line l;

	for (; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (eol == NULL)
			eol = end;
		if (!maps_line(p, eol, &l) || (sorted && l.start < last))
			return err_new(ERR_FORMAT, (int)(p - text),
			    "maps: byte %zu: not a mapping",
			    (size_t)(p - text));
		last = l.end;
		if (l.perms[2] != 'x')
			continue;
		if (mappings->len / sizeof(struct mapping) == MAPS_EACH_MAX)
			return err_new(ERR_LIMIT, MAPS_EACH_MAX,
			    "maps: more than %d executable mappings",
			    MAPS_EACH_MAX);
		maps_append(mappings, names, &l);
	}
	return NULL;
}

static const struct err *
maps_parse_as(const char *text, size_t n, bool sorted,
    struct maps_list *out)
{
	struct buf mappings = {0}, names = {0};
	const struct err *e = maps_scan(text, n, sorted, &mappings, &names);

	if (e == NULL && (mappings.failed || names.failed)) {
		buf_fini(&mappings);
		buf_fini(&names);
		e = err_nomem();
	}
	out->mappings = (void *)mappings.data;
	out->n = mappings.len / sizeof(struct mapping);
	out->names = (char *)names.data;
	return e;
}

const struct err *
maps_parse(const char *text, size_t n, struct maps_list *out)
{
	return maps_parse_as(text, n, true, out);
}

const struct err *
maps_parse_any(const char *text, size_t n, struct maps_list *out)
{
	return maps_parse_as(text, n, false, out);
}

void
maps_list_fini(struct maps_list *l)
{
	free(l->mappings);
	free(l->names);
	*l = (struct maps_list){0};
}

struct mapping *
maps_list_find(const struct maps_list *l, uint64_t addr)
{
	size_t low = 0, high = l->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->mappings[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->n || addr < l->mappings[low].start)
		return NULL;
	return &l->mappings[low];
}

const char *
maps_name(const struct maps_list *l, const struct mapping *m)
{
	return l->names + m->name;
}

/* The next blank-separated number in base 10, which ends at `stop`. */
static bool
mountinfo_number(const char **p, const char *end, char stop, uint64_t *out)
{
	while (*p < end && **p == ' ')
		(*p)++;
	return maps_number(p, end, 10, stop, out);
}

/* A line of mountinfo, "36 35 0:45 / /mnt rw - fuse.x src opts": is it of
 * this kind, and which device is it?  Not by sscanf(3), which measures the
 * whole text for each line: its length is up to whoever mounts. */
static bool
mountinfo_is_fuse(const char *line, const char *end, uint64_t *dev)
{
	uint64_t skipped, major, minor;
	const char *p = line;

	if (!mountinfo_number(&p, end, ' ', &skipped) ||
	    !mountinfo_number(&p, end, ' ', &skipped) ||
	    !mountinfo_number(&p, end, ':', &major) ||
	    !mountinfo_number(&p, end, ' ', &minor))
		return false;
	*dev = makedev((unsigned)major, (unsigned)minor);
	for (; p + 3 < end; p++)
		if (memcmp(p, " - ", 3) == 0)
			break;
	return end - p >= 7 && memcmp(p + 3, "fuse", 4) == 0;
}

/* Marks the files of a device; of all that have no block device when
 * `any`. */
static void
maps_mark_device(struct maps_list *l, uint64_t dev, bool any)
{
	for (size_t i = 0; i < l->n; i++) {
		struct mapping *m = &l->mappings[i];

		if (m->kind == MAPPING_FILE &&
		    (any ? major(m->dev) == 0 : m->dev == dev))
			m->kind = MAPPING_FOREIGN;
	}
}

void
maps_mark_foreign(struct maps_list *l, const char *text)
{
	const char *eol;
	uint64_t dev;

	if (text == NULL) {
		maps_mark_device(l, 0, true);
		return;
	}
	for (; *text != '\0'; text = *eol != '\0' ? eol + 1 : eol) {
		eol = text + strcspn(text, "\n");
		if (mountinfo_is_fuse(text, eol, &dev))
			maps_mark_device(l, dev, false);
	}
}
