/*
 * GNU ld's map.  Three parts of it matter, each after its heading:
 *
 *	Archive member included to satisfy reference by file (symbol)
 *	/usr/lib/libz.a(inflate.o)
 *	                              main.o (inflate)
 *
 *	Linker script and memory map
 *	LOAD main.o
 *	 .text          0x0000000000001040       0x26 main.o
 *	 .text._ZN5cacheC2Ev
 *	                0x0000000000001070       0x14 cache.o
 *
 *	Cross Reference Table
 *	inflate                          /usr/lib/libz.a(inflate.o)
 *	                                 main.o
 *
 * The first file of a symbol has it, those below want it, where the program
 * defines it, and strongly.  Of weak symbols, as of templates, each file has a
 * copy of its own, one of which was kept: no reason to need anybody.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/memlens/program_parts.h"
#include "store/base/array.h"
#include "store/base/intern.h"

enum map_part { MAP_OTHER, MAP_MEMBERS, MAP_MEMORY, MAP_SYMBOLS };

static const struct {
	const char *heading;
	enum map_part part;
} headings[] = {
    {"Archive member included ", MAP_MEMBERS},
    {"As-needed library included ", MAP_OTHER},
    {"Discarded input sections", MAP_OTHER},
    {"Memory Configuration", MAP_OTHER},
    {"Merging program properties", MAP_OTHER},
    {"Linker script and memory map", MAP_MEMORY},
    {"Cross Reference Table", MAP_SYMBOLS},
};

struct map_piece {
	uint64_t start, end;
	uint32_t node;
};

struct map_reader {
	struct graph *g;
	const struct program_symbols *symbols;
	struct program_files *files;
	enum map_part part;
	struct intern loads;   /* files that were linked */
	struct intern names;   /* those and their members as the map has them */
	uint32_t *nodes;       /* by name; NONE: no part of the program */
	uint32_t cap_nodes;
	struct intern strong;  /* names that one file alone has defined */
	struct map64 edges;    /* that are there */
	struct map_piece *pieces;
	size_t n_pieces, cap_pieces;
	uint32_t has;          /* the node that has the symbol, or NONE */
	bool pending;          /* the name of a section stood alone */
	bool unloaded;         /* this section is not: it has no addresses */
	bool linked;           /* this one is of the linker's own making */
	bool whole;            /* it has the table of symbols */
	char folder[PATH_MAX]; /* of relative names; "": not known */
	char *relative;        /* the first such file, or NULL */
	size_t n_code;         /* sections of code that are where they should */
};

/* ---- files ---- */

/* "/usr/lib/libz.a(inflate.o)": how long is the file's own name? */
static size_t
map_file_length(const char *name)
{
	const char *bracket = strrchr(name, '(');

	return bracket != NULL && name[strlen(name) - 1] == ')'
	    ? (size_t)(bracket - name) : strlen(name);
}

/* A file of the map from the root on; false: it cannot be said. */
static bool
map_path(const struct map_reader *m, const char *name, char *out, size_t room)
{
	if (*name != '/' && m->folder[0] == '\0')
		return false;
	return (size_t)snprintf(out, room, "%s%s%s",
	    *name != '/' ? m->folder : "", *name != '/' ? "/" : "", name) <
	    room;
}

/* Is the file of the map below a folder around this path? */
static bool
map_find_folder(struct map_reader *m, const char *around)
{
	char *end, path[PATH_MAX], *real = realpath(around, NULL);

	if (real != NULL)
		snprintf(m->folder, sizeof(m->folder), "%s", real);
	free(real);
	while ((end = strrchr(m->folder, '/')) != NULL) {
		*end = '\0';
		if (m->folder[0] != '\0' && map_path(m, m->relative, path,
		    sizeof(path)) && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* The node of a shared library that the program needs. */
static uint32_t
map_library(const struct map_reader *m, const char *name)
{
	char path[PATH_MAX], *slash,
	    *real = map_path(m, name, path, sizeof(path))
	    ? realpath(path, NULL) : NULL;
	const char *file = real != NULL ? real : name;
	uint32_t node;

	if ((slash = strrchr(file, '/')) != NULL)
		file = slash + 1;
	node = graph_owner(m->g, GRAPH_BY_MODULE, file, strlen(file));
	if (node >= m->g->n_nodes && real == NULL && *name != '/')
		m->g->cut = true; /* a link to one, perhaps */
	free(real);
	return node < m->g->n_nodes ? node : INTERN_NONE;
}

static uint32_t
map_object(struct map_reader *m, const char *name)
{
	size_t len = map_file_length(name), base = len;
	char *file, path[PATH_MAX];
	uint32_t node;

	if (intern_find(&m->loads, name, len) == INTERN_NONE)
		return INTERN_NONE; /* the program itself, and no file at all */
	file = strndup(name, len);
	while (base > 0 && name[base - 1] != '/')
		base--;
	/* two of one name are told apart by their folders */
	node = graph_node(m->g, graph_find(m->g, name + base) == INTERN_NONE
	    ? name + base : name);
	if (node != INTERN_NONE) {
		m->g->nodes[node].kind = GRAPH_OBJECT;
		m->g->nodes[node].bytes = 0;
		if (name[len] == '\0')
			graph_edge_of(m->g, 0, node, GRAPH_HOLDS, NULL);
	}
	if (file == NULL || (map_path(m, file, path, sizeof(path)) &&
	    !program_files_set(m->files, node, path)))
		m->g->failed = true;
	free(file);
	return node;
}

static bool
map_is_shared(const char *name)
{
	const char *so = strstr(name, ".so");

	return so != NULL && (so[3] == '\0' || so[3] == '.');
}

/* The node of a file of the map, new or old. */
static uint32_t
map_file(struct map_reader *m, const char *name)
{
	uint32_t before = m->names.n;
	uint32_t i = intern_put(&m->names, name, strlen(name));

	if (i == INTERN_NONE ||
	    !array_room(&m->nodes, m->names.n, &m->cap_nodes)) {
		m->g->failed = true;
		return INTERN_NONE;
	}
	if (i == before)
		m->nodes[i] = map_is_shared(name) ? map_library(m, name)
						  : map_object(m, name);
	return m->nodes[i];
}

static void
map_edge(struct map_reader *m, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to;

	if (from == INTERN_NONE || to == INTERN_NONE || from == to ||
	    m->g->nodes[from].kind != GRAPH_OBJECT ||
	    map64_get(&m->edges, key) != INTERN_NONE)
		return;
	if (!map64_add(&m->edges, key, 0))
		m->g->failed = true;
	graph_edge(m->g, from, to, NULL);
}

/* ---- lines ---- */

/* The member at the line's beginning; who wants it below, or beside it. */
static void
map_take_member(struct map_reader *m, char *line)
{
	char *at = line + strspn(line, " "), *symbol = strstr(at, " (");

	if (at == line) {
		char *end = strpbrk(line, " ");

		if (end != NULL)
			*end = '\0';
		m->has = map_file(m, line);
		if (end == NULL)
			return;
		at = end + 1 + strspn(end + 1, " ");
		symbol = strstr(at, " (");
	}
	if (symbol == NULL)
		return;
	*symbol = '\0';
	map_edge(m, map_file(m, at), m->has);
}

static bool
map_is_code(const struct map_reader *m, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < m->symbols->n_code; i++)
		if (address >= m->symbols->code[i].start &&
		    address + size <= m->symbols->code[i].end)
			return true;
	return false;
}

/* "0xADDRESS 0xSIZE FILE" */
static void
map_take_piece(struct map_reader *m, const char *text)
{
	char *end;
	uint64_t address = strtoull(text, &end, 16), size;
	uint32_t node;

	text = end + strspn(end, " ");
	if (strncmp(text, "0x", 2) != 0)
		return;
	size = strtoull(text, &end, 16);
	text = end + strspn(end, " ");
	if (*text == '\0' || size == 0 || size > UINT32_MAX || m->linked ||
	    !map_is_code(m, address, size))
		return;
	node = map_file(m, text);
	if (node == INTERN_NONE || m->g->nodes[node].kind != GRAPH_OBJECT)
		return;
	if (!array_room(&m->pieces, m->n_pieces + 1, &m->cap_pieces)) {
		m->g->failed = true;
		return;
	}
	m->pieces[m->n_pieces++] = (struct map_piece){address,
	    address + size, node};
	m->g->nodes[node].bytes += (int64_t)size;
}

/* Debug information begins at 0, and so may look like code. */
static bool
map_is_unloaded(const char *section)
{
	static const char *const names[] = {".comment", ".debug", ".zdebug",
	    ".stab", ".line", ".gnu.attributes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(section, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The table of calls to libraries is of no object, though the map has it with
 * the first: no name tells of it either. */
static bool
map_is_linked(const char *section)
{
	return strncmp(section, ".plt", 4) == 0 ||
	    strncmp(section, ".iplt", 5) == 0;
}

/* ".text 0xADDRESS 0xSIZE": the program has all its code just there, or the
 * map is another's. */
static void
map_take_section(struct map_reader *m, const char *line)
{
	const char *at = line + strcspn(line, " ");
	char *end;
	uint64_t address = strtoull(at, &end, 16), size;

	size = strtoull(end, &end, 16);
	for (size_t i = 0; i < m->symbols->n_code; i++)
		m->n_code += address == m->symbols->code[i].start &&
		    address + size == m->symbols->code[i].end;
}

static void
map_take_memory(struct map_reader *m, const char *line)
{
	const char *at = line + strspn(line, " ");

	if (at == line) {
		m->unloaded = map_is_unloaded(line);
		m->linked = map_is_linked(line);
	}
	if (m->unloaded)
		return;
	if (at == line)
		map_take_section(m, line);
	if (m->pending && strncmp(at, "0x", 2) == 0) {
		map_take_piece(m, at);
	} else if (at == line + 1 && *at != '*') {
		at += strcspn(at, " ");
		at += strspn(at, " ");
		m->pending = *at == '\0';
		if (strncmp(at, "0x", 2) == 0)
			map_take_piece(m, at);
		return;
	}
	m->pending = false;
}

/* What compilers ask for in case it is there: mostly nobody defines it, and the
 * first file of its row is only the first that asks. */
static bool
map_is_hook(const char *name)
{
	static const char *const hooks[] = {"_ITM_", "__gmon_start__ ",
	    "_Jv_RegisterClasses "};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (strncmp(name, hooks[i], strlen(hooks[i])) == 0)
			return true;
	return false;
}

static void
map_take_symbol(struct map_reader *m, char *line)
{
	char *file = strrchr(line, ' '), *end = file;

	if (file == NULL)
		return;
	file++;
	if (line[0] == ' ') {
		map_edge(m, map_file(m, file), m->has);
		return;
	}
	while (end > line && end[-1] == ' ')
		end--;
	m->has = map_file(m, file);
	if (map_is_hook(line))
		m->has = INTERN_NONE;
	if (m->has != INTERN_NONE &&
	    m->g->nodes[m->has].kind == GRAPH_OBJECT &&
	    intern_find(&m->strong, line, (size_t)(end - line)) ==
	    INTERN_NONE)
		m->has = INTERN_NONE;
}

static void
map_take(struct map_reader *m, char *line)
{
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		if (strncmp(line, headings[i].heading,
		        strlen(headings[i].heading)) == 0) {
			m->part = headings[i].part;
			m->has = INTERN_NONE;
			return;
		}
	if (*line == '\0')
		return;
	if (m->part == MAP_MEMBERS)
		map_take_member(m, line);
	else if (m->part == MAP_MEMORY)
		map_take_memory(m, line);
	else if (m->part == MAP_SYMBOLS)
		map_take_symbol(m, line);
}

/* ---- the whole ---- */

static int
map_piece_order(const void *a, const void *b)
{
	const struct map_piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Which function is in which piece; the rest is the program's own. */
static void
map_own(struct map_reader *m)
{
	int64_t rest = m->g->nodes[0].bytes;

	if (m->n_pieces > 0)
		qsort(m->pieces, m->n_pieces, sizeof(*m->pieces),
		    map_piece_order);
	for (size_t i = 0; i < m->n_pieces; i++)
		rest -= (int64_t)(m->pieces[i].end - m->pieces[i].start);
	if (m->g->nodes[0].bytes >= 0)
		m->g->nodes[0].bytes = rest > 0 ? rest : 0;
	for (size_t i = 0; i < m->symbols->n; i++) {
		const struct program_symbol *y = &m->symbols->items[i];
		size_t at = array_upto(m->pieces, m->n_pieces, start,
		    y->address);

		if (y->function && at > 0 &&
		    y->address < m->pieces[at - 1].end)
			graph_own(m->g, GRAPH_BY_FUNCTION, y->name,
			    m->pieces[at - 1].node);
	}
}

/* What was linked, which the map says after it has named members. */
static void
map_take_load(struct map_reader *m, char *line)
{
	if (strncmp(line, "LOAD ", 5) == 0 && intern_put(&m->loads, line + 5,
	        strlen(line + 5)) == INTERN_NONE)
		m->g->failed = true;
	else if (strncmp(line, "LOAD ", 5) == 0 && line[5] != '/' &&
	    m->relative == NULL && (m->relative = strdup(line + 5)) == NULL)
		m->g->failed = true;
	else if (strncmp(line, "Cross Reference Table", 21) == 0)
		m->whole = true;
}

/* Each line of the file. */
static void
map_read(struct map_reader *m, FILE *f,
    void (*take)(struct map_reader *m, char *line))
{
	char *line = NULL;
	size_t cap = 0;

	rewind(f);
	while (!m->g->failed && getline(&line, &cap, f) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		take(m, line);
	}
	free(line);
}

static bool
map_strong(struct map_reader *m)
{
	for (size_t i = 0; i < m->symbols->n; i++) {
		const struct program_symbol *y = &m->symbols->items[i];

		if (!y->weak && intern_put(&m->strong, y->name,
		        strlen(y->name)) == INTERN_NONE)
			return false;
	}
	return true;
}

bool
program_map_load(struct graph *g, const char *path, const char *program,
    const struct program_symbols *s, struct program_files *files)
{
	struct map_reader m = {.g = g, .symbols = s, .files = files,
	    .has = INTERN_NONE};
	FILE *f = fopen(path, "re");
	bool known = false;

	graph_settle(g); /* libraries are looked up */
	if (f != NULL && map_strong(&m)) {
		map_read(&m, f, map_take_load);
		if (m.relative != NULL && !map_find_folder(&m, path) &&
		    !map_find_folder(&m, program))
			m.folder[0] = '\0';
		map_read(&m, f, map_take);
		known = m.loads.n > 0 && m.n_code >= s->n_code;
		map_own(&m);
	}
	if (f != NULL)
		fclose(f);
	/* without --cref it says of each member one reason alone */
	g->cut = g->cut || !m.whole;
	if (m.whole && !g->cut)
		g->origin.complete = GRAPH_WHOLE;
	free(m.relative);
	free(m.nodes);
	free(m.pieces);
	intern_fini(&m.loads);
	intern_fini(&m.names);
	intern_fini(&m.strong);
	map64_fini(&m.edges);
	return known && !g->failed;
}
