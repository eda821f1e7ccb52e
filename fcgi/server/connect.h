/*
 * Connect's unary calls: a POST whose body is one message, protobuf or JSON,
 * perhaps packed; an answer of the same kind; an error as JSON with a code.
 */
#ifndef FCGI_CONNECT_H
#define FCGI_CONNECT_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct arena;
struct err;
struct request;
struct response;

/* The message of a request, in the arena; an empty JSON body is {}.  Errors:
 * ERR_REQUEST 400, 413, 415, 422. */
const struct err *connect_read(struct request *rq, struct arena *a,
    const ProtobufCMessageDescriptor *d, ProtobufCMessage **out);

/* Makes the answer of a message. */
const struct err *connect_write(const struct request *rq,
    struct response *rs, const ProtobufCMessage *m);

/* Makes the answer of an error: {"code": "...", "message": "..."}. */
void connect_error(struct response *rs, const struct err *e);

#endif
