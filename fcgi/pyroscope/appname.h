/*
 * Pyroscope's application names, "my.app.cpu{region=eu,pod=a}", and what
 * their last part means.
 *
 * Values are not quoted: they may hold '=', ':', '/', '{' and blanks inside,
 * never ',' or '}'.  Blanks around names and values are taken off.  Of two
 * labels with one name the later wins.  Labels that no store of theirs would
 * take are kept.  Left out, and counted: what has no '=' or no name, what is
 * behind the '}', the earlier of two values, and labels that number processes
 * or requests.
 *
 * The part behind the last '.' names a profile type where it is a known one;
 * the service is what is before it.  Where it is not, all of it is the
 * service, and the units tell the type.
 */
#ifndef FCGI_APPNAME_H
#define FCGI_APPNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "store/model/series.h"

struct err;
struct type;

#define APPNAME_LABELS_MAX 48

struct appname {
	char *service; /* owned: of `text` */
	struct label labels[APPNAME_LABELS_MAX];
	size_t n_labels;
	size_t left_out; /* parts */
	char *text;      /* private, */
	bool cut;        /* too */
};

/* Errors: ERR_REQUEST 400 with field "name".  appname_free() after any
 * outcome. */
const struct err *appname_parse(struct appname *a, const char *text);
void appname_free(struct appname *a);

/* Ids of one process or request are no label of a profile. */
bool appname_is_id(const char *name);

/* The type that the last part names, or NULL. */
const struct type *appname_suffix(const char *service);
/* Takes the last part off the service, once. */
void appname_cut(struct appname *a);

#endif
