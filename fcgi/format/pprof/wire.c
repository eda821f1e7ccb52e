/*
 * A message is walked as its descriptor says, down to the field that does not
 * fit.
 */
#include "fcgi/format/pprof/wire.h"

#define WIRE_DEPTH 16 /* of messages in messages that are walked */

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

uint64_t
wire_field(struct cur *c, const uint8_t **p, size_t *n)
{
	uint64_t tag = cur_varint(c);

	*p = NULL;
	*n = 0;
	switch (tag & 7) {
	case WIRE_VARINT:
		cur_varint(c);
		break;
	case WIRE_64:
		cur_raw(c, 8);
		break;
	case WIRE_BYTES:
		*p = cur_bytes(c, n);
		break;
	case WIRE_32:
		cur_raw(c, 4);
		break;
	default:
		c->bad = true;
	}
	return tag;
}

static unsigned
wire_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return WIRE_BYTES;
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return WIRE_64;
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return WIRE_32;
	default:
		return WIRE_VARINT;
	}
}

/* Many numbers may be packed in the bytes of one field. */
static bool
wire_fits(const ProtobufCFieldDescriptor *f, unsigned wire)
{
	return wire == wire_of(f->type) ||
	    (wire == WIRE_BYTES && f->label == PROTOBUF_C_LABEL_REPEATED);
}

static size_t
wire_walk(const ProtobufCMessageDescriptor *d, const uint8_t *data, size_t n,
    unsigned depth)
{
	struct cur c = cur_of(data, n);

	while (cur_left(&c) > 0) {
		size_t at = (size_t)(c.p - data), size, inner;
		const uint8_t *p;
		uint64_t tag = wire_field(&c, &p, &size);
		const ProtobufCFieldDescriptor *f = tag >> 3 > UINT32_MAX
		    ? NULL : protobuf_c_message_descriptor_get_field(d,
		    (unsigned)(tag >> 3));

		if (c.bad || (f != NULL && !wire_fits(f, tag & 7)))
			return at;
		if (f == NULL || f->type != PROTOBUF_C_TYPE_MESSAGE ||
		    depth == 0)
			continue;
		inner = wire_walk(f->descriptor, p, size, depth - 1);
		if (inner < size)
			return (size_t)(p - data) + inner;
	}
	return n;
}

size_t
wire_damage(const ProtobufCMessageDescriptor *d, const void *data, size_t n)
{
	return wire_walk(d, data, n, WIRE_DEPTH);
}
