/*
 * Protobuf's wire: fields, one after the other, and where a message that
 * protobuf-c has refused is damaged, which it does not say.
 */
#ifndef FCGI_FORMAT_PPROF_WIRE_H
#define FCGI_FORMAT_PPROF_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "store/base/buf.h"

/* Takes one field off: its tag (number << 3 | how it is coded) and, where it
 * has a length, its bytes.  c->bad: there is none. */
uint64_t wire_field(struct cur *c, const uint8_t **p, size_t *n);

/* The byte at which the innermost field begins that is none of such a message;
 * n: there is no such field. */
size_t wire_damage(const ProtobufCMessageDescriptor *d, const void *data,
    size_t n);

#endif
