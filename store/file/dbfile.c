/*
 * Every call of Berkeley DB for files is here, with its peculiarities: it
 * crashes where memory ends inside db_create(), and a handle that met a damaged
 * page reads no other.
 */
#include "store/file/dbfile.h"

#include <db.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/base/err.h"
#include "store/base/log.h"

#define DBFILE_PROBE (64 << 10) /* more than a handle takes */
#define DBFILE_WRITE_CACHE (512u << 10) /* pages come in order */

/* What a leaf page holds: a head with its checksum, a place of 2 bytes for each
 * key and each value, and these behind 3 bytes, at multiples of 4.  What is
 * longer than a quarter of it has pages of its own. */
#define DBFILE_HEAD 32
#define DBFILE_ITEM 3
#define DBFILE_EDGE 32   /* of dbfile_put_edge()'s, of keys of 18 bytes */
#define DBFILE_LOWEST 64 /* of the record that comes last */
#define DBFILE_LEAST 128 /* bytes that are worth a record */

struct dbfile {
	DB_ENV *env; /* memory of this process, and nothing on the disk */
	DB *db;
	DBC *cursor;
	bool failed;
	size_t page, room; /* being written: what a page holds, and takes; */
	struct buf last;   /* the highest key, and a zero */
	char path[512];
	DBT key, value; /* memory of the last record, ours */
};

static void
dbfile_errcall(const DB_ENV *env, const char *prefix, const char *message)
{
	(void)env;
	log_debug("berkeley db: %s%s%s", prefix ? prefix : "",
	    prefix ? ": " : "", message);
}

static const struct err *
dbfile_error(struct dbfile *f, int rc, const char *what)
{
	f->failed = true;
	return err_new(ERR_DB, rc, "%s: %s: %s", f->path, what,
	    rc == EIO || rc == DB_RUNRECOVERY ? "damaged or unreadable"
	                                      : db_strerror(rc));
}

/* To open a FIFO would wait for who writes to it. */
static bool
dbfile_is_odd(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/*
 * A handle without an environment makes one, and raises its cache to 16 pages:
 * 1.3 MB of a file with large ones.  One that we make keeps to what it is told;
 * each file has its own, so that damage in one of them is nobody else's.
 */
static int
dbfile_create_handle(struct dbfile *f, size_t cache_bytes)
{
	int rc = db_env_create(&f->env, 0);

	if (rc != 0)
		return rc;
	f->env->set_errcall(f->env, dbfile_errcall);
	rc = f->env->set_cachesize(f->env, 0, (uint32_t)cache_bytes, 1);
	if (rc == 0)
		rc = f->env->open(f->env, NULL,
		    DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE, 0);
	return rc != 0 ? rc : db_create(&f->db, f->env, 0);
}

static const struct err *
dbfile_new(struct dbfile **out, const char *path, size_t cache_bytes)
{
	struct dbfile *f = calloc(1, sizeof(*f));
	void *probe;
	int rc;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	strncpy(f->path, path, sizeof(f->path) - 1);
	f->key.flags = f->value.flags = DB_DBT_REALLOC;
	/* db_create() crashes when memory ends inside it: look first. */
	probe = malloc(DBFILE_PROBE);
	free(probe);
	rc = probe == NULL ? ENOMEM : dbfile_create_handle(f, cache_bytes);
	if (rc != 0) {
		const struct err *e = dbfile_error(f, rc, "no handle");

		dbfile_close(f);
		return e;
	}
	*out = f;
	return NULL;
}

const struct err *
dbfile_create(struct dbfile **out, const char *path, uint32_t page_size)
{
	const struct err *e = dbfile_new(out, path, DBFILE_WRITE_CACHE);
	struct dbfile *f = *out;
	int rc;

	if (e != NULL)
		return e;
	rc = f->db->set_flags(f->db, DB_CHKSUM);
	if (rc == 0)
		rc = f->db->set_pagesize(f->db, page_size);
	if (rc == 0)
		rc = f->db->open(f->db, NULL, path, NULL, DB_BTREE,
		    DB_CREATE | DB_EXCL, 0640);
	f->page = page_size - DBFILE_HEAD - DBFILE_EDGE;
	f->room = f->page - DBFILE_LOWEST;
	if (rc == 0)
		return NULL;
	e = dbfile_error(f, rc, "cannot be made");
	dbfile_close(f);
	*out = NULL;
	return e;
}

static size_t
dbfile_item(size_t n)
{
	return 2 + ((n + DBFILE_ITEM + 3) & ~(size_t)3);
}

static size_t
dbfile_bytes(size_t key, size_t n)
{
	return dbfile_item(key) + dbfile_item(n);
}

size_t
dbfile_piece(const struct dbfile *f, size_t key, size_t n)
{
	size_t most = f->page / 4 - DBFILE_HEAD, room = f->room;

	n = n < most ? n : most;
	if (dbfile_bytes(key, n) <= room ||
	    dbfile_bytes(key, DBFILE_LEAST) > room)
		return n; /* or of the next page */
	room -= dbfile_item(key) + 2;
	return (room & ~(size_t)3) - DBFILE_ITEM;
}

/* Is it behind all that are there? */
static bool
dbfile_is_behind(const struct dbfile *f, const struct buf *key)
{
	size_t n = f->last.len < key->len ? f->last.len : key->len;
	int order = n > 0 ? memcmp(key->data, f->last.data, n) : 0;

	return order > 0 || (order == 0 && key->len > f->last.len);
}

/* Takes the room of a record that comes behind all others. */
static const struct err *
dbfile_take_room(struct dbfile *f, const struct buf *key, size_t n)
{
	size_t bytes = dbfile_bytes(key->len, n);

	if (bytes > f->room)
		f->room = f->page;
	f->room -= bytes < f->room ? bytes : f->room;
	buf_clear(&f->last);
	buf_put(&f->last, key->data, key->len);
	buf_put_u8(&f->last, 0);
	return f->last.failed ? err_nomem() : NULL;
}

/* A full page is split before its last record when one comes behind it: that
 * is a short one here, which goes again. */
static int
dbfile_put_edge(struct dbfile *f, DBT *k, DBT *v)
{
	DBT edge = {.data = f->last.data, .size = (uint32_t)f->last.len};
	DBT none = {.data = NULL};
	int rc = f->db->put(f->db, NULL, &edge, &none, 0);

	if (rc == 0)
		rc = f->db->put(f->db, NULL, k, v, 0);
	return rc == 0 ? f->db->del(f->db, NULL, &edge, 0) : rc;
}

const struct err *
dbfile_put(struct dbfile *f, const struct buf *key, const void *p, size_t n)
{
	union {
		const void *in;
		void *out;
	} alias = {p};
	DBT k = {.data = key->data, .size = (uint32_t)key->len};
	DBT v = {.data = alias.out, .size = (uint32_t)n};
	bool behind = dbfile_is_behind(f, key);
	int rc;

	if (f->failed || key->failed)
		return err_nomem();
	if (behind && f->last.len > 0 && dbfile_bytes(key->len, n) > f->room)
		rc = dbfile_put_edge(f, &k, &v);
	else
		rc = f->db->put(f->db, NULL, &k, &v, 0);
	if (rc != 0)
		return dbfile_error(f, rc, "cannot be written");
	return behind ? dbfile_take_room(f, key, n) : NULL;
}

const struct err *
dbfile_finish(struct dbfile *f)
{
	DB *db = f->db;
	const struct err *e = NULL;
	int rc = db->close(db, 0); /* flushes and syncs */

	f->db = NULL;
	if (rc != 0)
		e = dbfile_error(f, rc, "cannot be finished");
	else if (f->failed)
		e = err_new(
		    ERR_DB, EIO, "%s: an earlier write failed", f->path);
	dbfile_close(f);
	return e;
}

const struct err *
dbfile_open(struct dbfile **out, const char *path, size_t cache_bytes)
{
	const struct err *e = dbfile_new(out, path, cache_bytes);
	struct dbfile *f = *out;
	int rc;

	if (e != NULL)
		return e;
	rc = dbfile_is_odd(path)
	    ? EINVAL
	    : f->db->open(f->db, NULL, path, NULL, DB_BTREE, DB_RDONLY, 0);
	if (rc == 0)
		rc = f->db->cursor(f->db, NULL, &f->cursor, 0);
	if (rc == 0)
		return NULL;
	e = dbfile_error(f, rc, "cannot be opened");
	dbfile_close(f);
	*out = NULL;
	return e;
}

const struct err *
dbfile_reopen(struct dbfile **f, size_t cache_bytes)
{
	char path[sizeof((*f)->path)];

	memcpy(path, (*f)->path, sizeof(path));
	dbfile_close(*f);
	return dbfile_open(f, path, cache_bytes);
}

static const struct err *
dbfile_get(struct dbfile *f, uint32_t flag, struct cur *key_out,
    struct cur *value, bool *found)
{
	int rc;

	*found = false;
	if (f->failed)
		return err_new(ERR_DB, EIO, "%s: failed before", f->path);
	rc = f->cursor->get(f->cursor, &f->key, &f->value, flag);
	/* it may have taken a key's memory away for as little as it needs */
	f->key.ulen = f->key.size;
	if (rc == DB_NOTFOUND)
		return NULL;
	if (rc != 0)
		return dbfile_error(f, rc, "cannot be read");
	*key_out = cur_of(f->key.data, f->key.size);
	*value = cur_of(f->value.data, f->value.size);
	*found = true;
	return NULL;
}

const struct err *
dbfile_seek(struct dbfile *f, const struct buf *key, struct cur *key_out,
    struct cur *value, bool *found)
{
	*found = false;
	if (key->failed)
		return err_nomem();
	if (f->key.ulen < key->len || f->key.data == NULL) {
		void *p = realloc(f->key.data, key->len + 64);

		if (p == NULL)
			return err_nomem();
		f->key.data = p;
		f->key.ulen = (uint32_t)key->len + 64;
	}
	if (key->len > 0)
		memcpy(f->key.data, key->data, key->len);
	f->key.size = (uint32_t)key->len;
	return dbfile_get(f, DB_SET_RANGE, key_out, value, found);
}

const struct err *
dbfile_next(struct dbfile *f, struct cur *key_out, struct cur *value,
    bool *found)
{
	return dbfile_get(f, DB_NEXT, key_out, value, found);
}

/*
 * From the root to each record, so that the pages above the leaves are read
 * as well.  DB->verify() would do, if damage did not make it go round and
 * round in its own tables for ever.
 */
static const struct err *
dbfile_walk(struct dbfile *f, struct buf *key)
{
	const struct err *e;
	struct cur k, v;
	bool found;

	while ((e = dbfile_seek(f, key, &k, &v, &found)) == NULL && found) {
		size_t n = cur_left(&k);
		size_t before = key->len > 0 ? key->len - 1 : 0;
		size_t same = n < before ? n : before;
		int order = same > 0 ? memcmp(k.p, key->data, same) : 0;

		/* `key` is the one before and a zero */
		if (order < 0 || (order == 0 && n < before))
			return dbfile_error(f, EIO, "verification: its order");
		buf_clear(key);
		buf_put(key, k.p, n);
		buf_put_u8(key, 0);
	}
	return e;
}

const struct err *
dbfile_verify(const char *path)
{
	struct buf key = {0};
	struct dbfile *f;
	const struct err *e = dbfile_open(&f, path, 1 << 20);

	if (e != NULL)
		return e;
	e = dbfile_walk(f, &key);
	buf_fini(&key);
	dbfile_close(f);
	return e;
}

void
dbfile_close(struct dbfile *f)
{
	if (f == NULL)
		return;
	if (f->cursor != NULL)
		f->cursor->close(f->cursor);
	if (f->db != NULL)
		f->db->close(f->db, DB_NOSYNC);
	if (f->env != NULL)
		f->env->close(f->env, 0);
	free(f->key.data);
	free(f->value.data);
	buf_fini(&f->last);
	free(f);
}
