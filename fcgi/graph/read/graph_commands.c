/*
 * The graph of a compile_commands.json: which files are compiled, by the
 * target that the object's name tells, as CMake's and Meson's do, or by the
 * folder of the source.  It tells nothing of what they need of each other.
 *
 *	[{"directory": ..., "file": ..., "output": ..., "command": ... or
 *	  "arguments": [...]}, ...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/read_file.h"

struct commands {
	struct graph *g;
	struct buf file, folder, output, text;
};

/* What follows "-o" in a command. */
static void
commands_output(struct commands *c, struct json_in entry)
{
	struct json_in list;
	bool next = false;
	const char *at;

	json_in_find_string(entry, "output", &c->output);
	if (c->output.len > 0)
		return;
	if (json_in_find(entry, "arguments", &list) &&
	    json_in_open(&list, '[')) {
		while (json_in_item(&list) && json_in_peek(&list) == '"') {
			json_in_string(&list, &c->text);
			if (next) {
				buf_put(&c->output, c->text.data,
				    c->text.len);
				return;
			}
			next = json_in_is(&c->text, "-o");
		}
		return;
	}
	json_in_find_string(entry, "command", &c->text);
	at = strstr(read_text(&c->text), " -o ");
	if (at != NULL)
		buf_put(&c->output, at + 4, strcspn(at + 4, " "));
}

/* "CMakeFiles/store.dir/..." and "libstore.a.p/..." name a target. */
static bool
commands_target(const char *output, char *name, size_t room)
{
	static const char *const ends[] = {".dir/", ".p/"};

	for (size_t i = 0; i < 2; i++) {
		const char *end = strstr(output, ends[i]), *start = end;

		while (start != NULL && start > output && start[-1] != '/')
			start--;
		if (start == NULL || start == end)
			continue;
		snprintf(name, room, "%.*s", (int)(end - start), start);
		return true;
	}
	return false;
}

static void
commands_entry(struct commands *c, struct json_in entry)
{
	char name[GRAPH_NAME_MAX];
	const char *file, *slash, *output;
	size_t before = c->g->n_nodes;
	bool target;
	uint32_t node;

	json_in_find_string(entry, "file", &c->file);
	json_in_find_string(entry, "directory", &c->folder);
	commands_output(c, entry);
	file = read_text(&c->file);
	output = read_text(&c->output);
	if (*file == '\0') {
		c->g->cut = true;
		return;
	}
	slash = strrchr(file, '/');
	target = commands_target(output, name, sizeof(name));
	if (!target)
		snprintf(name, sizeof(name), "%.*s/", slash == NULL ? 1
		    : (int)(slash - file), slash == NULL ? "." : file);
	node = graph_node(c->g, name);
	if (node == UINT32_MAX)
		return;
	if (node >= before) {
		c->g->nodes[node].kind = target ? GRAPH_TARGET : GRAPH_FOLDER;
		graph_edge_of(c->g, 0, node, GRAPH_HOLDS, NULL);
	}
	while (strncmp(file, "../", 3) == 0)
		file += 3;
	graph_own(c->g, GRAPH_BY_FILE, file, node);
}

bool
graph_is_commands(const char *path)
{
	FILE *f = fopen(path, "re");
	int first = f != NULL ? getc(f) : EOF;

	if (f != NULL)
		fclose(f);
	return first == '[';
}

bool
graph_load_commands(struct graph *g, const struct graph_source *s)
{
	struct commands c = {.g = g};
	struct buf text = {0};
	struct json_in json;
	const char *slash = strrchr(s->path, '/');

	if (read_json(s->path, &text, &json, &g->origin.time_ns) &&
	    json_in_open(&json, '[')) {
		graph_node(g, slash != NULL ? slash + 1 : s->path);
		while (json_in_item(&json) && !g->failed) {
			commands_entry(&c, json);
			json_in_skip(&json);
		}
	}
	g->failed = g->failed || c.file.failed || c.folder.failed ||
	    c.output.failed || c.text.failed;
	buf_fini(&text);
	buf_fini(&c.file);
	buf_fini(&c.folder);
	buf_fini(&c.output);
	buf_fini(&c.text);
	return !g->failed;
}
