/*
 * Parents come before their children.
 */
#include "fcgi/query/stack_list.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/intern.h"
#include "store/store.h"

#define DEPTH_MAX 512

uint64_t *
stack_list_hashes(const struct profile *p)
{
	uint64_t *h = malloc((p->n_nodes + 1) * sizeof(*h));

	for (size_t i = 0; h != NULL && i < p->n_nodes; i++) {
		const struct profile_node *x = &p->nodes[i];

		h[i] = hash64(i == 0 ? 1 : h[x->parent] + x->kind, x->name,
		    strlen(x->name));
	}
	return h;
}

void
stack_list_put(struct writer *w, const struct profile *p, uint32_t node,
    uint32_t levels)
{
	uint32_t path[DEPTH_MAX];
	size_t n = 0;

	for (uint32_t i = node; i != 0 && n < DEPTH_MAX &&
	    p->nodes[i].depth > levels; i = p->nodes[i].parent)
		path[n++] = i;
	writer_key_open(w, "stack", '[');
	while (n > 0)
		writer_str(w, p->nodes[path[--n]].name);
	writer_close(w, ']');
}
