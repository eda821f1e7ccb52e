/*
 * Two keys of round trips.  One has a byte that is encoded and what only a
 * decoder takes for an escape; the other has a letter beyond ASCII, which a
 * strict reader of HTTP refuses though it may read the first as it stands.
 */
#include "fcgi/kv/kv_keys.h"

#include <string.h>

#include "fcgi/kv/kv_ask.h"
#include "fcgi/server/context.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define KEYS_BUDGET_NS (5 * NS_PER_S)

static const char *const keys_probes[] = {KV_KEYS_PREFIX "check:%41",
    KV_KEYS_PREFIX "check:\xc3\xa9"};

/* Is the key of ours there by this way? */
static const struct err *
keys_look(const struct context *c, const char *probe, enum kv_reads way,
    enum kv_reads *found)
{
	struct buf json = {0};
	int64_t latency_ns;
	const struct err *e = kv_ask_get(c, probe, way, &json, &latency_ns);

	buf_fini(&json);
	if (e == NULL)
		*found = way;
	/* a refusal of its bytes is an answer, too; silence is none */
	else if (e->domain == ERR_REQUEST && e->code != 504)
		e = NULL;
	return e;
}

static const struct err *
keys_look_both(const struct context *c, const char *probe,
    enum kv_reads *found)
{
	const struct err *e = keys_look(c, probe, KV_DECODES, found);

	if (e == NULL && *found == KV_UNKNOWN)
		e = keys_look(c, probe, KV_RAW, found);
	return e;
}

static const struct err *
keys_learn(const struct context *c, const char *probe, enum kv_reads *found)
{
	int64_t latency_ns, end_ns = clock_mono_ns() + KEYS_BUDGET_NS;
	const struct err *e = keys_look_both(c, probe, found);

	if (e != NULL || *found != KV_UNKNOWN || !c->settings->kv_allow_put)
		return e;
	e = kv_ask_put(c, probe, "1", 1, &latency_ns);
	while (e == NULL && *found == KV_UNKNOWN && clock_mono_ns() < end_ns)
		e = keys_look_both(c, probe, found);
	if (e == NULL && *found == KV_UNKNOWN)
		*found = KV_NEITHER;
	return e;
}

const struct err *
kv_keys_reads(struct context *c, const char *key, enum kv_reads *reads)
{
	int which = kv_is_ascii(key) ? 0 : 1;
	enum kv_reads found = (enum kv_reads)c->kv_reads[which];
	const struct err *e = NULL;

	if (found == KV_UNKNOWN && !kv_is_plain(key))
		e = keys_learn(c, keys_probes[which], &found);
	if (e == NULL)
		c->kv_reads[which] = (int)found;
	*reads = found;
	return e;
}

const struct err *
kv_keys_own(const char *key)
{
	if (strncmp(key, KV_KEYS_PREFIX, strlen(KV_KEYS_PREFIX)) != 0)
		return NULL;
	return err_field(ERR_REQUEST, 422, "key", "\"%.200s\" is MemLens's: "
	    "keys that begin with " KV_KEYS_PREFIX " are what it writes by "
	    "itself", key);
}

const struct err *
kv_keys_check(const char *key, enum kv_reads reads)
{
	const char *byte = kv_unsent(key);

	if (reads == KV_DECODES || kv_is_plain(key))
		return NULL;
	if (reads == KV_NEITHER)
		return err_field(ERR_REQUEST, 422, "key", "\"%.200s\" would "
		    "not be found again: the target finds no key of such "
		    "characters, a round trip has shown", key);
	if (reads == KV_RAW && byte != NULL)
		return err_field(ERR_REQUEST, 422, "key", "\"%.200s\" would "
		    "not be found again: the target does not decode what it "
		    "is asked for, and no path has the byte 0x%02x at %td as "
		    "it stands", key, (unsigned char)*byte, byte - key);
	return NULL;
}
