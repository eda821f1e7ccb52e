/*
 * Two sets; when the younger is full or a day old it becomes the older one, so
 * that forgetting costs nothing.
 */
#include "store/file/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"

#define IDS_DAY_NS (86400 * NS_PER_S)

void
ids_fini(struct ids *ids)
{
	intern_fini(&ids->young);
	intern_fini(&ids->old);
}

bool
ids_has(const struct ids *ids, const uint8_t id[16])
{
	return intern_find(&ids->young, id, 16) != INTERN_NONE ||
	    intern_find(&ids->old, id, 16) != INTERN_NONE;
}

const struct err *
ids_reserve(struct ids *ids, int64_t now_ns)
{
	bool full = ids->young.n >= IDS_MAX;

	/* a clock that was set back, or a recording's after ours */
	if (ids->since_ns == 0 || now_ns < ids->since_ns)
		ids->since_ns = now_ns;
	if (full || now_ns - ids->since_ns >= IDS_DAY_NS) {
		ids->dropped += full;
		intern_fini(&ids->old);
		ids->old = ids->young;
		ids->young = (struct intern){0};
		ids->since_ns = now_ns;
	}
	return intern_reserve(&ids->young, 16) ? NULL : err_nomem();
}

const struct err *
ids_add(struct ids *ids, const uint8_t id[16], int64_t now_ns)
{
	const struct err *e = ids_reserve(ids, now_ns);

	if (e == NULL && intern_put(&ids->young, id, 16) == INTERN_NONE)
		e = err_nomem();
	return e;
}

static void
ids_put(struct buf *out, const struct intern *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		buf_put(out, intern_at(t, i), 16);
}

void
ids_encode(const struct ids *ids, struct buf *out)
{
	struct buf body = {0};

	buf_put_be64(&body, (uint64_t)ids->since_ns);
	buf_put_be32(&body, ids->old.n);
	buf_put_be32(&body, ids->young.n);
	ids_put(&body, &ids->old);
	ids_put(&body, &ids->young);
	buf_put_be64(&body, (uint64_t)ids->lost_ns);
	buf_put(out, "MLI1", 4);
	buf_put_be32(out, crc32c(0, body.data, body.len));
	buf_put(out, body.data, body.len);
	if (body.failed)
		out->failed = true;
	buf_fini(&body);
}

static bool
ids_take(struct intern *t, struct cur *c, uint32_t n)
{
	while (n-- > 0) {
		const uint8_t *id = cur_raw(c, 16);

		if (id == NULL || intern_put(t, id, 16) == INTERN_NONE)
			return false;
	}
	return true;
}

const struct err *
ids_decode(struct ids *ids, const void *p, size_t n)
{
	struct cur c = cur_of(p, n);
	const uint8_t *magic = cur_raw(&c, 4);
	uint32_t crc = cur_be32(&c), old, young;

	if (c.bad || memcmp(magic, "MLI1", 4) != 0 ||
	    crc != crc32c(0, c.p, cur_left(&c)))
		return err_new(ERR_FORMAT, 0, "the list of ids is damaged");
	ids->since_ns = (int64_t)cur_be64(&c);
	old = cur_be32(&c);
	young = cur_be32(&c);
	if (!ids_take(&ids->old, &c, old) || !ids_take(&ids->young, &c, young))
		return err_new(ERR_FORMAT, 8, "the list of ids is cut short");
	if (cur_left(&c) >= 8)
		ids->lost_ns = (int64_t)cur_be64(&c);
	return NULL;
}

static const struct err *
ids_read(struct ids *ids, int fd, const char *name)
{
	const struct err *e;
	struct stat st;
	uint8_t *p;

	if (fstat(fd, &st) != 0)
		return err_errno("%s", name);
	p = malloc((size_t)st.st_size + 1);
	if (p == NULL)
		e = err_nomem();
	else if (read(fd, p, (size_t)st.st_size) != st.st_size)
		e = err_errno("%s", name);
	else if ((e = ids_decode(ids, p, (size_t)st.st_size)) != NULL)
		e = err_wrap(e, "%s", name);
	free(p);
	return e;
}

const struct err *
ids_load(struct ids *ids, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	const struct err *e;

	*ids = (struct ids){0};
	if (fd < 0)
		return err_errno("%s", name);
	e = ids_read(ids, fd, name);
	close(fd);
	if (e != NULL) {
		ids_fini(ids);
		*ids = (struct ids){0};
	}
	return e;
}

bool
ids_lost(const struct err *e)
{
	return e->domain == ERR_FORMAT || (e->domain == ERR_ERRNO &&
	    (e->code == ENOENT || e->code == EISDIR || e->code == ELOOP));
}
