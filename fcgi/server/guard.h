/*
 * Who may ask at all, before any page is run: the one place for rules about
 * Host, Origin, Sec-Fetch-Site and the time that a request has waited.
 *
 * A browser asks on behalf of any page that is open in it.  What it says of
 * that page no script can change: Origin and Sec-Fetch-Site say which site
 * has made it write, Host which name it believes to talk to.  A name that
 * was made to point at us (DNS rebinding) makes another's page "same-origin",
 * so a name must be one that the operator knows; an address needs no name
 * server and cannot be pointed anywhere.  Programs send neither Origin nor
 * Sec-Fetch-Site, and pass.
 */
#ifndef FCGI_GUARD_H
#define FCGI_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct request;

#define GUARD_PATIENCE_S 30 /* nginx's, for an answer */
#define GUARD_WAIT_S 10     /* of it, for a worker */

/*
 * Is `host` ("name", "name:port", "[address]:port") localhost or below it,
 * an address, or in `hosts` (names with or without a port, between blanks or
 * commas; "*": all; NULL: none)?  A name without a port is good for all.
 * Neither case nor a dot at a name's end matters.
 */
bool guard_host(const char *hosts, const char *host);

/* May a page of `origin` write to `host`?  `site` is Sec-Fetch-Site; both may
 * be "".  Names in `hosts` are ours, as they stand there. */
bool guard_origin(const char *hosts, const char *host, const char *origin,
    const char *site);

/* Are the names of a configuration names? */
const struct err *guard_check_hosts(const char *hosts);

/* Both for a request.  Errors: ERR_REQUEST 403, which name the header and
 * the line of the configuration that would let it in. */
const struct err *guard_request(const char *hosts, const struct request *rq);

/* How long it has waited for a worker; 0 where the web server does not say
 * when it passed it on. */
int64_t guard_wait_ns(const struct request *rq);

/* Has whoever waits for the answer perhaps gone away by now?  ERR_REQUEST
 * 429. */
const struct err *guard_waited(const struct request *rq);

#endif
