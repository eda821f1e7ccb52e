/*
 * An incremental reader of HTTP answers. It keeps the head, and of the body
 * only its beginning and its last byte: memory is bounded whatever comes.
 */

#ifndef KVLOAD_ANSWER_H
#define KVLOAD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer_state { ANSWER_MORE, ANSWER_WHOLE, ANSWER_BROKEN };

struct answer {
	int status;
	bool close;		/* the server ends the connection */
	uint64_t length;	/* of the body */
	uint64_t seen;		/* of the body, so far */
	char begin[256];	/* of the body, as far as there */
	size_t begin_size;
	char last;		/* byte of the body */

	bool have_head;
	char head[4096];
	size_t head_size;
};

/* Make it ready for a new answer. */
void answer_init(struct answer *);

/*
 * Take n more bytes. ANSWER_WHOLE with the last byte of the body;
 * ANSWER_BROKEN for what is not HTTP/1.x with a Content-Length, or for
 * bytes after the end.
 */
enum answer_state answer_feed(struct answer *, const char *data, size_t n);

#endif
