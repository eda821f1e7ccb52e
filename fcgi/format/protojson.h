/*
 * Messages of protobuf-c as JSON, as proto3 maps them: lowerCamelCase names,
 * 64-bit integers as strings, bytes as base64, defaults left out.  On input
 * names of either kind, numbers for strings and strings for numbers; enums by
 * name or number.
 */
#ifndef FCGI_FORMAT_PROTOJSON_H
#define FCGI_FORMAT_PROTOJSON_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct arena;
struct err;
struct writer;

#define PROTOJSON_DEPTH_MAX 16

/* A message in the arena.  Unknown members are ignored.  Errors: ERR_REQUEST
 * 400 with the member, 413 over the arena's limit, ENOMEM. */
const struct err *protojson_parse(struct arena *a,
    const ProtobufCMessageDescriptor *d, const char *text, size_t n,
    ProtobufCMessage **out);

/* Writes the message as an object. */
void protojson_put(struct writer *w, const ProtobufCMessage *m);

#endif
