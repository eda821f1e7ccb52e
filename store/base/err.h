/*
 * Errors as values.  A library function that can fail returns
 * `const struct err *`: NULL is success.  The message is made once, where
 * the failure happened; callers pass the pointer up or add a prefix.
 *
 * Lifetime: objects live in a ring of 16 per thread.  Print or copy one
 * before the thread makes 16 more.  Nothing is ever freed by the caller.
 */
#ifndef STORE_BASE_ERR_H
#define STORE_BASE_ERR_H

#include <stddef.h>

/* The number space that `code` belongs to. */
enum err_domain {
	ERR_ERRNO,   /* errno */
	ERR_DB,      /* Berkeley DB: positive errno or negative DB_* */
	ERR_BPF,     /* libbpf: positive errno */
	ERR_FORMAT,  /* foreign or damaged bytes; code is a byte offset */
	ERR_CONFIG,  /* configuration; code is a line number */
	ERR_REQUEST, /* a request; code is an HTTP status */
	ERR_LIMIT    /* a bound of ours was reached */
};

struct err {
	enum err_domain domain;
	int code;
	char field[32]; /* the name of what was wrong, or "" */
	char text[400]; /* complete message, no newline */
};

/* A new error with a formatted message. */
const struct err *err_new(enum err_domain domain, int code, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* A new error about a named field (a query parameter, a key). */
const struct err *err_field(enum err_domain domain, int code,
    const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A new error from errno: "<message>: <strerror>". */
const struct err *err_errno(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Out of memory.  Never allocates. */
const struct err *err_nomem(void);

/* The same error with "<prefix>: " before its message. */
const struct err *err_wrap(const struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
