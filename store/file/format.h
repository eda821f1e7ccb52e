/*
 * THE FORMAT of the store's files.
 *
 * DIRECTORY
 *	manifest          names all that counts; replaced by rename
 *	lock              locked (F_OFD_SETLK) by the one writer, who may say
 *	                  in its first byte how it is: o, or f (the disk is
 *	                  full), e (writing fails); empty: nothing
 *	span-*, late-*, summary-*, apart-*   sealed files (below), all *.mdb;
 *	                  what is apart is late data, too (work_apart.c)
 *	journal-*         records of batches (journal.h), one after the other
 *	journal.index     of the newest of them, while there is a writer
 *	                  (open_index.h); who finds none reads the journal
 *	ids-*             ids of the batches of the last 24 hours
 *	*.tmp             unfinished; deleted at the next start
 *	*.old, *.bad      set aside: what others hold too, what is damaged
 *
 * SEALED FILE: a Berkeley DB 5.3 B-tree with page checksums (DB_CHKSUM).
 *	KEY                                    VALUE
 *	01 chunk(be32)                         meta
 *	02 chunk(be32)                         dictionary
 *	03 chunk(be32)                         stacks
 *	04 chunk(be32)                         marks
 *	05 chunk(be32)                         series
 *	10 series(be32) level(u8) last(be64)   strip
 *	11 chunk(be32)                         lives (of files of before: 06)
 * Values of 01 to 05 and 11 are byte streams cut into chunks; but for meta each
 * chunk is of 8,192 bytes: be32 these, be32 bytes deflated (RFC 1951), the
 * deflated.  Chunks and large strips are cut in turn into pieces, as the pages
 * have room for them, so that they are full; the second and later ones have
 * their number (be32) behind the key.  For that, keys are written in their
 * order, but for meta.  In files of version 1 chunks have 1,000 bytes and are
 * as they are.
 *
 * meta        varints: version (3), slot length in ns, first slot, slots of
 *             the span; u8 lowest level, u8 highest level; varint levels
 *             that it holds of these, 1 << level each (before version 3
 *             not told: all); varint end of
 *             the newest slot with data; varint number of its name, so
 *             that no copy of another file is taken for it; varint bytes
 *             of memory that names take (files of before end without
 *             one or both).
 * dictionary  one record as in batch.h, without blocks, but that its magic is
 *             "MLB3", its version 3, and its frames are as in frame_code.h
 *             (files before version 3: as in batch.h).  Strings, frames,
 *             label sets and series are sorted (symtab.h says by what), the
 *             call tree is in pre-order with children in that order, and
 *             facts are by time.  Frames are sorted by names that are no
 *             strings, too.
 * stacks      varint n, then n varints: the node of each stack, as the
 *             difference to the one before.  Stacks are the nodes that have
 *             a value of their own in this file, in pre-order; their place
 *             here is their number in strips.
 * marks       of a dictionary of 16 KiB and more (before: 128), so that it
 *             need not be read whole; files of before have none, and who does
 *             not know them passes them over: varint bytes of the dictionary;
 *             of strings, frames, label sets and nodes each: varint n, and when
 *             n > 0 varint number of the first, one past the last number,
 *             byte at which the first begins, then n times for 64 of them in
 *             a row (128 strings), the last for the rest: varint bytes; of
 *             strings, too, varint n and n bytes that the first shares with
 *             the one before; varint place and length of the sections of
 *             series and of facts; CRC-32C (be32) of all this.
 * series      of a dictionary that has marks: its series by their label
 *             `service`, for who asks for one service's; as marks, files of
 *             before have none.  be32 bytes of the head, then it: varints,
 *             series of the file, its stacks, bits by kind of its facts; n
 *             heads, in the order in which lists first name them: u8 kind, u8
 *             scale, zigzag period, varint n labels, name, unit, their names
 *             (each varint length, bytes); varint n services, sorted, the
 *             first of which stands for none: its name, varint bytes of its
 *             list of profiles, the same of metrics; CRC-32C (be32) of all
 *             this.  Then the lists, all of profiles first.  A series:
 *             varint number less the one before and 1, varint head, the
 *             values of its labels but the service.
 * lives       of a file that has `series` (not of files of before): u8 a level,
 *             of a summary its lowest, else that of a sixteenth of the span;
 *             then of each service there, in that order, the blocks of this
 *             level that any series of it has, and behind them those of each
 *             series of its list of profiles: varint n, then n times varint
 *             how many blocks after the last of the ones before (of the first:
 *             since 1970) the next ones begin, varint how many they are;
 *             CRC-32C (be32) of all this.
 * strip       up to 64 blocks of one series and level, from one group of 64
 *             neighbours: u8 n; varint start of the first in blocks of its
 *             level since 1970; column of distances between starts (when
 *             n > 1); the kind's columns; entries of all blocks.  Where these
 *             are more than 1,000 bytes (in files of before: 3,700), they are
 *             deflated, by Huffman's codes alone, and the strip begins with
 *             u8 128 + n, be32 its bytes; not so in files of version 1.
 * bundle      strips that are small or not deflated, in the order of their
 *             keys, in the place of a strip (before, small ones only, and in
 *             files of at most 256 slots), under the key of the last: u8 0,
 *             then a chunk (as of a stream) of: key (14 bytes), varint bytes
 *             of the strip, the strip.
 *	gauge      count, last, last - min, max - last, sum - count * last,
 *	           ns from the block's start to the last observation
 *	counter    count, increase, last raw value (after the first: less the
 *	           one before and the increase), ns as above
 *	profile    observations, bytes of entries
 *	histogram  count, -min, max, sum, bytes of entries
 *             Columns are in column.h.
 * entries     (key, value) with rising keys, one byte each where both are
 *             small: high nibble = key - previous key - 1, low nibble =
 *             value - 1; 15 in a nibble: a varint of the rest minus 15
 *             follows, the key's before the value's.
 *	example    keys 3, 4, 40 with values 1, 20, 2:
 *	           30 | 0f 04 | f1 14
 *	           (3-0, 1-1) (0, 15: 20-16=4) (15: 35-15=20, 2-1)
 *
 * A file's span is 4^k slots, aligned; it holds level 0 of them, and of more
 * than 64 slots every second level up to k: a block of another is the sum of
 * those below it.  A late file has the same form and span as a full one (4,096
 * slots).  The summary holds levels 6 and up of all completed spans.
 *
 * CUTTING A SLOT  Of a stack's value v in a slot of length L the part [a, b)
 * is floor(v*b/L + h) - floor(v*a/L + h) with h = H / 2^64, H = the hash of
 * (series, stack, slot): hash64_u64(hash64_u64(series, stack), slot), of the
 * hashes in symtab.c.  All contributions of a series to a slot are added
 * first.  Partitions of a slot add up to it, whatever the borders.
 *
 * VERSIONS  A reader refuses files of a version that it does not know; each
 * kind has its own: the store in the manifest's first line (now 6), sealed
 * files in meta (3), journals (2) and batches (1) in their magic.  Whoever
 * raises one of them raises the manifest's: an older program then refuses the
 * store as a whole and changes nothing.  Within a version nothing changes
 * meaning, and what an older one wrote stays readable: stores of each are
 * kept in tests/data/store-N.
 */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

#define FORMAT_VERSION 3

#define FORMAT_SEAL_LEVEL 3    /* a journal covers 4^3 = 64 slots, */
#define FORMAT_SHORT_LEVEL 2   /* or 4^2 = 16 where much is written */
#define FORMAT_SPAN_LEVEL 6    /* full files cover 4^6 = 4,096 slots */

/* Facts stand in a file that covers their time, or ends or begins so many slots
 * from it: what is told of a moment is often told in the next slot. */
#define FORMAT_FACT_SLACK 6u

#endif
