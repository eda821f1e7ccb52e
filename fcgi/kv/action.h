/*
 * What actions of the playground have in common: somebody confirms them in a
 * body, there is one at a time, and what came of one is kept as a named run.
 */
#ifndef FCGI_KV_ACTION_H
#define FCGI_KV_ACTION_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct context;
struct err;
struct json_object;
struct request;
struct response;

#define ACTION_NAME_MAX 64

/* The body, of which "confirmed" is true; json_object_put() it.  Errors: 415
 * for no JSON object, 400 for one without, which says what it `does`. */
const struct err *action_body(const struct request *rq, const char *does,
    struct json_object **out);

/* Errors: 409 while there is another one.  action_end() then. */
const struct err *action_begin(struct context *c);
void action_end(struct context *c);

/* A run's name: what it was and its second. */
void action_name(const char *what, int64_t now_ns,
    char name[ACTION_NAME_MAX]);

/* Keeps the run, a JSON object (fcgi/api/runs.h), and answers with it; that it
 * cannot be kept is told, since it was.  Errors: out of memory. */
const struct err *action_keep(struct context *c, const char *name,
    const struct buf *run, struct response *rs);

#endif
