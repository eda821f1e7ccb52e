/*
 * Reads heads and counts bodies of HTTP answers.
 */

#include "kvload_answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
answer_init(struct answer *a)
{
	a->status = 0;
	a->close = false;
	a->length = a->seen = 0;
	a->begin_size = 0;
	a->last = '\0';
	a->have_head = false;
	a->head_size = 0;
}

/* The value of a header, NULL if there is none; head ends with NUL. */
static const char *
header_value(const char *head, const char *name)
{
	size_t n = strlen(name);
	const char *line = head;

	while ((line = strstr(line, "\r\n")) != NULL) {
		line += 2;
		if (strncasecmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return NULL;
}

static bool
read_head(struct answer *a)
{
	const char *value;
	char *end;

	if (strncmp(a->head, "HTTP/1.", 7) != 0 || strlen(a->head) < 12)
		return false;
	a->status = atoi(a->head + 9);
	value = header_value(a->head, "connection");
	if (value != NULL)
		a->close = strncasecmp(value, "close", 5) == 0;
	value = header_value(a->head, "content-length");
	if (value == NULL)
		return false;
	a->length = strtoull(value, &end, 10);
	return end != value && a->status >= 100 && a->status <= 599;
}

/* Returns how many of the n bytes belong to the head, n if all of them. */
static size_t
take_head(struct answer *a, const char *data, size_t n)
{
	size_t i;

	for (i = 0; i < n && a->head_size < sizeof(a->head) - 1; ) {
		a->head[a->head_size++] = data[i++];
		a->head[a->head_size] = '\0';
		if (a->head_size >= 4 && memcmp(a->head + a->head_size - 4,
		    "\r\n\r\n", 4) == 0) {
			a->have_head = true;
			break;
		}
	}
	return i;
}

static void
take_body(struct answer *a, const char *data, size_t n)
{
	size_t part = sizeof(a->begin) - a->begin_size;

	if (n == 0)
		return;
	if (part > n)
		part = n;
	memcpy(a->begin + a->begin_size, data, part);
	a->begin_size += part;
	a->seen += n;
	a->last = data[n - 1];
}

enum answer_state
answer_feed(struct answer *a, const char *data, size_t n)
{
	if (!a->have_head) {
		size_t used = take_head(a, data, n);

		if (!a->have_head)
			return a->head_size < sizeof(a->head) - 1 ?
			    ANSWER_MORE : ANSWER_BROKEN;
		if (!read_head(a))
			return ANSWER_BROKEN;
		data += used;
		n -= used;
	}
	if (n > a->length - a->seen)
		return ANSWER_BROKEN;
	take_body(a, data, n);
	return a->seen == a->length ? ANSWER_WHOLE : ANSWER_MORE;
}
