/*
 * A graph as bytes: what a child sends through its pipe, and what a fact of
 * the store holds.
 *
 *	u8      version, 1
 *	u8      flags: 1 something is missing; enum graph_bound << 1
 *	u8      enum graph_complete
 *	zigzag  when what was read was written, ns
 *	str 4   source, command, build id, module: "" where there is none
 *	varint  nodes:  name, package, kind, bytes + 1
 *	varint  edges:  from, to, kind, label
 *	varint  keys, by hash:  distance from the last one's, node + 1 or 0
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define VERSION 1

static void
code_put_text(struct buf *out, const char *text)
{
	buf_put_str(out, text != NULL ? text : "");
}

void
graph_encode(const struct graph *g, struct buf *out)
{
	uint64_t last = 0;

	buf_put_u8(out, VERSION);
	buf_put_u8(out, (uint8_t)(g->cut | g->over << 1));
	buf_put_u8(out, (uint8_t)g->origin.complete);
	buf_put_zigzag(out, g->origin.time_ns);
	code_put_text(out, g->origin.source);
	code_put_text(out, g->origin.command);
	code_put_text(out, g->origin.build_id);
	code_put_text(out, g->module);
	buf_put_varint(out, g->n_nodes);
	for (size_t i = 0; i < g->n_nodes; i++) {
		buf_put_str(out, g->nodes[i].name);
		code_put_text(out, g->nodes[i].package);
		buf_put_u8(out, (uint8_t)g->nodes[i].kind);
		buf_put_varint(out, (uint64_t)(g->nodes[i].bytes + 1));
	}
	buf_put_varint(out, g->n_edges);
	for (size_t i = 0; i < g->n_edges; i++) {
		buf_put_varint(out, g->edges[i].from);
		buf_put_varint(out, g->edges[i].to);
		buf_put_u8(out, (uint8_t)g->edges[i].kind);
		code_put_text(out, g->edges[i].label);
	}
	buf_put_varint(out, g->n_keys);
	for (size_t i = 0; i < g->n_keys; i++) {
		buf_put_varint(out, g->keys[i].hash - last);
		buf_put_varint(out, g->keys[i].node == GRAPH_BOTH ? 0
		    : (uint64_t)g->keys[i].node + 1);
		last = g->keys[i].hash;
	}
}

/* ---- taking ---- */

struct graph_taker {
	struct cur c;
	struct graph *g;
	char text[GRAPH_NAME_MAX + 1];
};

/* A string of the encoding, NUL-terminated in `text`; false when bad. */
static bool
code_text(struct graph_taker *t)
{
	size_t n;
	const uint8_t *p = cur_bytes(&t->c, &n);

	if (p == NULL || n > GRAPH_NAME_MAX || memchr(p, 0, n) != NULL)
		return false;
	memcpy(t->text, p, n);
	t->text[n] = '\0';
	return true;
}

static bool
code_field(struct graph_taker *t, char **field)
{
	if (!code_text(t))
		return false;
	graph_set(t->g, field, t->text);
	return true;
}

static bool
code_head(struct graph_taker *t)
{
	struct graph *g = t->g;
	uint8_t complete, flags;

	if (cur_u8(&t->c) != VERSION)
		return false;
	flags = cur_u8(&t->c);
	g->cut = (flags & 1) != 0;
	g->over = flags >> 1;
	complete = cur_u8(&t->c);
	g->origin.complete = (enum graph_complete)complete;
	g->origin.time_ns = cur_zigzag(&t->c);
	return flags >> 4 == 0 && complete <= GRAPH_WHOLE &&
	    code_field(t, &g->origin.source) &&
	    code_field(t, &g->origin.command) &&
	    code_field(t, &g->origin.build_id) && code_field(t, &g->module);
}

static bool
code_nodes(struct graph_taker *t)
{
	uint64_t n = cur_varint(&t->c), bytes;

	if (n > GRAPH_NODES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		struct graph_node *node;
		uint8_t kind;

		if (!code_text(t) || graph_node(t->g, t->text) != i)
			return false;
		node = &t->g->nodes[i];
		if (!code_field(t, &node->package))
			return false;
		kind = cur_u8(&t->c);
		bytes = cur_varint(&t->c);
		if (kind >= GRAPH_KINDS || bytes > INT64_MAX)
			return false;
		node->kind = (enum graph_kind)kind;
		node->bytes = (int64_t)bytes - 1;
	}
	return true;
}

static bool
code_edges(struct graph_taker *t)
{
	uint64_t n = cur_varint(&t->c), from, to;

	if (n > GRAPH_EDGES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint8_t kind;

		from = cur_varint(&t->c);
		to = cur_varint(&t->c);
		kind = cur_u8(&t->c);
		if (from >= t->g->n_nodes || to >= t->g->n_nodes ||
		    kind >= GRAPH_EDGE_KINDS || !code_text(t))
			return false;
		graph_edge_of(t->g, (uint32_t)from, (uint32_t)to,
		    (enum graph_edge_kind)kind, t->text);
	}
	return true;
}

static bool
code_keys(struct graph_taker *t)
{
	uint64_t n = cur_varint(&t->c), hash = 0;
	struct graph *g = t->g;

	if (n > GRAPH_KEYS_MAX)
		return false;
	for (uint64_t i = 0; i < n && !t->c.bad; i++) {
		uint64_t step = cur_varint(&t->c), node = cur_varint(&t->c);

		if (node > g->n_nodes || step > UINT64_MAX - hash ||
		    (i > 0 && step == 0))
			return false;
		hash += step;
		if (!array_room(&g->keys, g->n_keys + 1, &g->cap_keys)) {
			g->failed = true;
			return false;
		}
		g->keys[g->n_keys++] = (struct graph_key){hash,
		    node == 0 ? GRAPH_BOTH : (uint32_t)node - 1};
	}
	return true;
}

const struct err *
graph_decode(const void *data, size_t n, struct graph **out)
{
	struct graph_taker *t = calloc(1, sizeof(*t));
	const struct err *e = NULL;
	struct graph *g;

	*out = NULL;
	if (t == NULL || (t->g = graph_new()) == NULL) {
		free(t);
		return err_nomem();
	}
	g = t->g;
	t->c = cur_of(data, n);
	if (!code_head(t) || !code_nodes(t) || !code_edges(t) ||
	    !code_keys(t) || t->c.bad || cur_left(&t->c) != 0)
		e = err_new(ERR_FORMAT, (int)(n - cur_left(&t->c)),
		    "damaged graph");
	if (g->failed)
		e = err_nomem();
	free(t);
	if (e != NULL) {
		graph_free(g);
		return e;
	}
	*out = g;
	return NULL;
}
