/*
 * Error objects: a ring per thread, so that making one never allocates and
 * nobody has to free it.
 */
#include "store/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/base/text.h"

#define RING 16

static _Thread_local struct err ring[RING];
static _Thread_local unsigned next;

static struct err *
err_slot(enum err_domain domain, int code)
{
	struct err *e = &ring[next++ % RING];

	e->domain = domain;
	e->code = code;
	e->field[0] = '\0';
	e->text[0] = '\0';
	return e;
}

/* Messages quote names from outside, and end on terminals and in logs. */
__attribute__((format(printf, 2, 0))) static void
err_say(struct err *e, const char *fmt, va_list ap)
{
	char text[sizeof(e->text)];

	vsnprintf(text, sizeof(text), fmt, ap);
	text_show(e->text, sizeof(e->text), text);
}

const struct err *
err_new(enum err_domain domain, int code, const char *fmt, ...)
{
	struct err *e = err_slot(domain, code);
	va_list ap;

	va_start(ap, fmt);
	err_say(e, fmt, ap);
	va_end(ap);
	return e;
}

const struct err *
err_field(enum err_domain domain, int code, const char *field,
    const char *fmt, ...)
{
	struct err *e = err_slot(domain, code);
	va_list ap;

	snprintf(e->field, sizeof(e->field), "%s", field);
	va_start(ap, fmt);
	err_say(e, fmt, ap);
	va_end(ap);
	return e;
}

const struct err *
err_errno(const char *fmt, ...)
{
	int code = errno;
	struct err *e = err_slot(ERR_ERRNO, code);
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	err_say(e, fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(code));
	return e;
}

const struct err *
err_nomem(void)
{
	return err_new(ERR_ERRNO, ENOMEM, "out of memory");
}

const struct err *
err_wrap(const struct err *old, const char *fmt, ...)
{
	char tail[sizeof(old->text)];
	struct err *e;
	va_list ap;
	size_t n;

	memcpy(tail, old->text, sizeof(tail));
	e = err_slot(old->domain, old->code);
	if (e != old)
		memcpy(e->field, old->field, sizeof(e->field));
	va_start(ap, fmt);
	err_say(e, fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", tail);
	return e;
}
