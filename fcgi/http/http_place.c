/*
 * Where requests go: libcurl takes URLs apart, the C library looks names up,
 * when a configuration is read, so that a mistake shows there and no request
 * waits for it.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/http/http.h"
#include "fcgi/http/http_curl.h"
#include "store/base/err.h"

static const struct err *
place_bad(const char *text)
{
	return err_new(ERR_CONFIG, 0, "\"%s\" is not a URL", text);
}

/* Remembers what the name is now; an address needs none of that. */
static const struct err *
place_resolve(struct http_place *p, const char *host, const char *port,
    bool look_up)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = look_up ? 0 : AI_NUMERICHOST}, *list;
	bool here = !look_up && strcmp(host, "localhost") == 0;
	unsigned char address[16];
	char numeric[INET6_ADDRSTRLEN];
	int bad;

	if (host[0] == '[' || inet_pton(AF_INET, host, address) == 1)
		return NULL;
	if ((bad = getaddrinfo(here ? "127.0.0.1" : host, port,
	    &hints, &list)) != 0)
		return err_new(ERR_CONFIG, 0, "%s: %s", host,
		    gai_strerror(bad));
	bad = getnameinfo(list->ai_addr, list->ai_addrlen, numeric,
	    sizeof(numeric), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(list);
	if (bad != 0 || (size_t)snprintf(p->address, sizeof(p->address),
	    "%s:%s:%s", host, port, numeric) >= sizeof(p->address))
		return err_new(ERR_CONFIG, 0, "%s: %s", host,
		    gai_strerror(bad));
	return NULL;
}

/* "unix:/run/kv.sock:/metrics" */
static const struct err *
place_parse_unix(struct http_place *p, const char *text)
{
	const char *path = text + strlen("unix:");
	size_t n = strcspn(path, ":");

	if (path[0] != '/' || n >= sizeof(p->socket) ||
	    (path[n] == ':' && path[n + 1] != '/') ||
	    strlen(path + n) >= sizeof(p->path) ||
	    strpbrk(text, " \t\r\n#") != NULL)
		return place_bad(text);
	snprintf(p->base, sizeof(p->base), "http://localhost");
	snprintf(p->socket, sizeof(p->socket), "%.*s", (int)n, path);
	snprintf(p->name, sizeof(p->name), "%s", p->socket);
	snprintf(p->path, sizeof(p->path), "%s",
	    path[n] == ':' ? path + n + 1 : "/");
	return NULL;
}

/* Part of a URL into out[room]; false where it is not there or too long. */
static bool
place_part(const struct http_curl *curl, CURLU *u, CURLUPart part, char *out,
    size_t room)
{
	char *text = NULL;
	bool fine = curl->url_get(u, part, &text, part == CURLUPART_PORT ?
	    CURLU_DEFAULT_PORT : 0) == CURLUE_OK &&
	    (size_t)snprintf(out, room, "%s", text) < room;

	free(text); /* curl_free() is free() */
	return fine;
}

static const struct err *
place_split(struct http_place *p, const struct http_curl *curl, CURLU *u,
    const char *text, bool look_up)
{
	char scheme[8], host[100], port[8], query[sizeof(p->path)];
	size_t n;

	if (strpbrk(text, " \t\r\n@#") != NULL ||
	    strlen(text) >= sizeof(p->path) ||
	    curl->url_set(u, CURLUPART_URL, text, 0) != CURLUE_OK ||
	    !place_part(curl, u, CURLUPART_SCHEME, scheme, sizeof(scheme)) ||
	    !place_part(curl, u, CURLUPART_HOST, host, sizeof(host)) ||
	    !place_part(curl, u, CURLUPART_PORT, port, sizeof(port)) ||
	    !place_part(curl, u, CURLUPART_PATH, p->path, sizeof(p->path)))
		return place_bad(text);
	n = strlen(p->path);
	if (place_part(curl, u, CURLUPART_QUERY, query, sizeof(query)) &&
	    (size_t)snprintf(p->path + n, sizeof(p->path) - n, "?%s",
	        query) >= sizeof(p->path) - n)
		return place_bad(text);
	snprintf(p->name, sizeof(p->name), "%s:%s", host, port);
	snprintf(p->base, sizeof(p->base), "%s://%s", scheme, p->name);
	return place_resolve(p, host, port, look_up);
}

const struct err *
http_place_parse(struct http_place *p, const char *text, bool look_up)
{
	const struct http_curl *curl;
	const struct err *e;
	CURLU *u;

	*p = (struct http_place){.base = ""};
	if (strncmp(text, "unix:", 5) == 0)
		return place_parse_unix(p, text);
	if (strncasecmp(text, "http://", 7) != 0 &&
	    strncasecmp(text, "https://", 8) != 0)
		return err_new(ERR_CONFIG, 0, "\"%s\" does not begin with "
		    "http://, https:// or unix:/", text);
	if ((e = http_curl_load(&curl)) != NULL)
		return e;
	if ((u = curl->url()) == NULL)
		return err_nomem();
	e = place_split(p, curl, u, text, look_up);
	curl->url_cleanup(u);
	return e;
}
