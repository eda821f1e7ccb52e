/*
 * A batch: blocks of values and facts, self-contained.  The one encoding of
 * the unix socket, recordings and exports; a journal's records are made of
 * the same sections (journal.h).
 *
 * RECORD (how batches stand in a recording or a socket stream)
 *	OFFSET SIZE
 *	0      4     "MLB1"
 *	4      4     length of the payload, big endian; bit 31: the next record
 *	             belongs to the same push, and neither counts alone
 *	8      4     CRC-32C of the payload
 *	12     4     CRC-32C of bytes 0 to 11
 *	16     n     payload
 *
 * PAYLOAD
 *	u8 version (1), 16 bytes batch id, varint slot length in ns, then
 *	sections (varint tag, varint length, content), each of the seven once
 *	and in this order:
 *	1 strings   n, (bytes shared with the one before, rest)*
 *	            string 0 is "" and not sent
 *	2 frames    n, (u8 kind, name, module, build id, offset)*
 *	3 labels    n, (pairs, (name, value)*)*  sets; set 0 is {} and not sent
 *	4 nodes     n, (own number - parent, edge)*  node 0 is the root, not
 *	            sent; an edge is a label set below the root, else a frame
 *	5 series    n, (u8 kind, name, unit, label set, zigzag period, scale)*
 *	6 blocks    n, (series, zigzag slot - previous slot, value)*
 *	7 facts     n, (a fact)*  see fact.h
 *	All numbers are varints; names, values and units are string numbers.
 *	Values of blocks:
 *	flow, stock  observations, n, (node - previous node, value > 0)*
 *	             a stock's 0: joins what others observe, see stock_count.h
 *	gauge        count, zigzag min, max - min, zigzag128 sum,
 *	             zigzag last, zigzag time of last in ns from slot's start
 *	counter      increase, count, zigzag last, zigzag time as above
 *	histogram    n, (bucket - previous bucket, count)*, zigzag128 sum,
 *	             zigzag min, zigzag max
 *
 * Slots are numbered since 1970: slot k is [k, k+1) * slot length.
 *
 * STREAM RECORD (a client of the socket that comes again and again)
 *	The same with magic "MLS1"; its payload has after the slot length five
 *	varints, the numbers of the first string, frame, label set, node and
 *	series of its sections.  Sections 1 to 5 hold what is new and go on
 *	from what the connection's records before it have brought; all numbers
 *	are the connection's.  1, 0, 1, 1, 0 begins anew.
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "store/base/buf.h"
#include "store/base/intern.h"
#include "store/model/fact.h"
#include "store/model/series.h"

#define BATCH_RECORD_HEADER 16
#define BATCH_MAX_BYTES (16u << 20) /* payload of one batch */
#define BATCH_MAX_STRING 65535u
#define BATCH_MAX_DEPTH 4096u
#define BATCH_MAX_LABELS 64 /* of one set */

struct batch_frame {
	uint8_t kind;
	uint32_t name, module, build_id; /* strings */
	uint64_t offset;
};

struct batch_node {
	uint32_t parent, edge; /* parent < own number */
};

struct batch_labels {
	uint32_t first, n; /* pair i is pairs[2i] name, pairs[2i+1] value */
};

struct batch_series {
	uint8_t kind, scale;
	uint32_t name, unit, labels; /* string, string, label set */
	int64_t period;
};

/* One (node, value) of a profile or (bucket, count) of a histogram. */
struct batch_entry {
	uint32_t key;
	int64_t value;
};

struct batch_block {
	uint32_t series;
	uint8_t kind;       /* of the series */
	bool joins;         /* building: batch_join() */
	uint64_t slot;
	uint32_t first, n;  /* entries of a profile or histogram */
	uint64_t count;     /* observations */
	int64_t min, max;   /* gauge, histogram */
	int64_t increase;   /* counter, never negative */
	int128 sum;         /* gauge, histogram */
	int64_t last;       /* gauge value, counter raw value */
	int64_t last_ns;    /* after the slot's start */
};

struct batch_fact {
	int64_t time_ns;
	uint8_t kind;
	uint32_t subject; /* string */
	uint32_t first, n; /* bytes in fact_bytes */
};

/*
 * Arrays with their counts; read them freely, change them only through the
 * functions below.  Element 0 of strings, labels and nodes is always there.
 */
struct batch {
	uint8_t id[16];
	uint64_t slot_ns;
	struct intern strings;
	struct buf fact_bytes;
	struct batch_frame *frames;
	struct batch_labels *labels;
	uint32_t *pairs;
	struct batch_node *nodes;
	struct batch_series *series;
	struct batch_block *blocks;
	struct batch_entry *entries;
	struct batch_fact *facts;
	size_t n_frames, n_labels, n_pairs, n_nodes, n_series,
	    n_blocks, n_entries, n_facts;
	uint64_t stream;        /* received: not 0: the tables are those of the
	                         * batch before with this number, or longer */
	bool failed;            /* out of memory or over a bound */
	bool more;              /* the next batch is of the same push: all of
	                         * them count or none */
	struct batch_index *index; /* private to the builder */
};

/* An empty batch with a fresh random id.  NULL when out of memory. */
struct batch *batch_new(uint64_t slot_ns);
void batch_free(struct batch *b);

/* Interning: the number of what is given; 0 and b->failed on failure. */
uint32_t batch_string(struct batch *b, const char *s, size_t n);
uint32_t batch_frame(struct batch *b, const struct frame *f);
/* Labels in any order; sorted here; a later duplicate name wins. */
uint32_t batch_labels(struct batch *b, const struct label *labels, size_t n);
/* Child of `parent`: edge is a label set when parent is 0, else a frame. */
uint32_t batch_node(struct batch *b, uint32_t parent, uint32_t edge);
uint32_t batch_series(struct batch *b, const struct series_desc *d);
/* The same without looking for an equal one, for who knows that there is
 * none; one that is there twice costs bytes and nothing else.  Later calls
 * of batch_frame() find the frame, those of batch_node() not the node. */
uint32_t batch_frame_new(struct batch *b, const struct frame *f,
    uint32_t module, uint32_t build_id);
uint32_t batch_node_new(struct batch *b, uint32_t parent, uint32_t edge);

/* Adds value, not negative, to a stack of a slot's profile. */
void batch_add_profile(struct batch *b, uint32_t series, uint64_t slot,
    uint32_t node, int64_t value);
/* States that the profile was observed `n` more times in the slot, samples
 * or not: "probe active, zero events" is a block without entries. */
void batch_observe(struct batch *b, uint32_t series, uint64_t slot,
    uint64_t n);
/* States that a stock was observed in the slot by one of several that may do
 * so: values add, and the slot counts once (stock_count.h). */
void batch_join(struct batch *b, uint32_t series, uint64_t slot);
/* One observation of a gauge at a time within the slot. */
void batch_add_gauge(struct batch *b, uint32_t series, uint64_t slot,
    int64_t time_ns, int64_t value);
/* An increase of a counter (>= 0, resets already resolved) and its raw
 * value at that time. */
void batch_add_counter(struct batch *b, uint32_t series, uint64_t slot,
    int64_t time_ns, int64_t increase, int64_t raw);
/* n observations of `value`, which is counted in histogram_bucket(value). */
void batch_add_histogram(struct batch *b, uint32_t series, uint64_t slot,
    int64_t value, int64_t n);
void batch_add_fact(struct batch *b, int64_t time_ns, enum fact_kind kind,
    const char *subject, const void *data, size_t n);

/* Sorts and folds what was added, so that blocks, entries and facts can be
 * read; batch_encode() does it by itself. */
const struct err *batch_finish(struct batch *b);

/* Appends the record (header and payload) to out.  Errors: out of memory, or
 * a bound exceeded while building. */
const struct err *batch_encode(struct batch *b, struct buf *out);

/*
 * Reads the header of a record: the payload's length in *n.  ERR_FORMAT when
 * the magic or the header's CRC is wrong.  `p` has BATCH_RECORD_HEADER bytes.
 */
const struct err *batch_record_header(const void *p, size_t *n);
/* Does the next record belong to the same push?  Of a header that is fine. */
bool batch_record_more(const void *p);

/*
 * Decodes one whole record of `size` bytes; every number is checked against
 * its bound.  The batch owns its memory; batch_free() it.  ERR_FORMAT with
 * the byte offset otherwise.
 */
const struct err *batch_decode(const void *record, size_t size,
    struct batch **out);

/*
 * ---- streams, batch_stream.c ----
 *
 * The sender's batch is used again and again and keeps its names:
 *
 *	b = batch_new(slot_ns);
 *	batch_add_...(b, ...);
 *	batch_encode_stream(b, &out), send, batch_sent(b), batch_renew(b), ...
 */
struct batch_stream;

/* Appends a record with what is not yet sent of the names.  Errors: those of
 * batch_encode(). */
const struct err *batch_encode_stream(struct batch *b, struct buf *out);
/* The peer has the last record; it has none of the names. */
void batch_sent(struct batch *b);
void batch_unsent(struct batch *b);
/* Forgets blocks and facts and gives it a fresh random id.  False when the
 * batch has failed: free it. */
bool batch_renew(struct batch *b);
/* An estimate of the memory that the peer will need for its names. */
size_t batch_names_bytes(const struct batch *b);

/* The receiver's tables are bounded by so much; a record that passes it is
 * refused. */
#define BATCH_STREAM_BYTES (4u << 20)

/* What came of one connection.  NULL when out of memory. */
struct batch_stream *batch_stream_new(void);
void batch_stream_free(struct batch_stream *s); /* NULL is fine */

bool batch_stream_is(const void *header);
/* As batch_record_header(). */
const struct err *batch_stream_header(const void *p, size_t *n);
/*
 * Decodes one whole record; the batch is the stream's and unchanged until the
 * next.  ERR_REQUEST 409 when the record goes on from names that are not
 * there, and the stream stays as it was.  After another error it is of no
 * more use.
 */
const struct err *batch_stream_decode(struct batch_stream *s,
    const void *record, size_t size, struct batch **out);

/* A copy of a stream's batch with no other names than it needs. */
const struct err *batch_trim(const struct batch *b, struct batch **out);

/* The batch is done with: memory of large blocks goes back. */
void batch_stream_rest(struct batch_stream *s);

/* Strings of a batch, NUL-terminated, valid while it lives and unchanged. */
const char *batch_str(const struct batch *b, uint32_t string);
/* Fills *d and labels[] (room for n_room) of a series; strings borrowed. */
void batch_series_desc(const struct batch *b, uint32_t series,
    struct series_desc *d, struct label *labels, size_t n_room);

#endif
