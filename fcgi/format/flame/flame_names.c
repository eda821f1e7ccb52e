/*
 * The way of a name that was not met by its address before.
 */
#include "fcgi/format/flame/flame_names.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

#define RECENT 4096u /* powers of two: of a small profile, of a large one */
#define RECENT_LARGE 16384u

bool
flame_names_init(struct flame_names *t, size_t n_nodes)
{
	*t = (struct flame_names){
	    .n_recent = n_nodes > RECENT ? RECENT_LARGE : RECENT};
	t->recent = calloc(t->n_recent, sizeof(*t->recent));
	return t->recent != NULL;
}

void
flame_names_fini(struct flame_names *t)
{
	free(t->names);
	free(t->recent);
	intern_fini(&t->keys);
	buf_fini(&t->key);
}

uint32_t
flame_names_put(struct flame_names *t, const char *text, enum flame_kind kind,
    bool inlined)
{
	uint32_t i = INTERN_NONE;

	if (t->failed)
		return 0;
	buf_clear(&t->key);
	buf_put_u8(&t->key, (uint8_t)(kind << 1 | inlined));
	buf_put(&t->key, text, strlen(text));
	if (!t->key.failed)
		i = intern_put(&t->keys, t->key.data, t->key.len);
	if (i == INTERN_NONE || !array_room(&t->names, i + 1, &t->cap)) {
		t->failed = true;
		return 0;
	}
	if (i == t->n)
		t->names[t->n++] = (struct flame_name){text, kind, inlined};
	return i;
}
