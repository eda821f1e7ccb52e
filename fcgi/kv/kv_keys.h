/*
 * Which keys a target finds again: those that need no encoding always, others
 * by how it reads paths, which one round trip tells.
 */
#ifndef FCGI_KV_KEYS_H
#define FCGI_KV_KEYS_H

#include "fcgi/kv/kv.h"

struct context;
struct err;

#define KV_KEYS_PREFIX "memlens-" /* of keys that we write by ourselves */

/*
 * How the target is to be asked for a key.  For the first key that needs
 * encoding a key of ours is looked for in either way, and written where it is
 * not there and writing is allowed; a worker asks once.  KV_UNKNOWN: it may
 * not write, and the key is not there.  Errors: kv_ask()'s.
 */
const struct err *kv_keys_reads(struct context *c, const char *key,
    enum kv_reads *reads);

/* Is it of ours, which nobody else writes?  ERR_REQUEST 422, as below. */
const struct err *kv_keys_own(const char *key);

/* Can it be found again?  ERR_REQUEST 422 with the field "key", naming the
 * key and why not. */
const struct err *kv_keys_check(const char *key, enum kv_reads reads);

#endif
