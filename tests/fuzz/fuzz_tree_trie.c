/*
 * Pyroscope's transport trie and tree, and gzip's bounds.
 */
#include "fcgi/format/gzip.h"
#include "fcgi/format/in/tree.h"
#include "fcgi/format/in/trie.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stacks_limits limits = {20000, 1 << 20, 200, 100};
	struct stacks *s = stacks_new(&limits);
	struct buf out = {0};

	trie_parse(s, data, size, NULL);
	stacks_free(s);
	s = stacks_new(&limits);
	tree_parse(s, data, size, NULL);
	stacks_free(s);
	gzip_inflate(&out, data, size, 1 << 20);
	buf_fini(&out);
	return 0;
}
