/*
 * What text counts whose lines do not say so: by the name of a type, by the
 * units that a client says, or by both.  One rule for /ingest and for import.
 *
 *	name         units          counts
 *	cpu          -, samples     samples of 1 / rate seconds
 *	inuse_space  -, samples     what the type is in: bytes
 *	inuse_space  KiB            KiB, kept as bytes
 *	cpu          KiB            an error
 *	own          -, widgets     samples, widgets
 *	-            -, samples     as cpu
 *	-            bytes, KiB     as inuse_space; likewise others
 */
#ifndef FCGI_FORMAT_TEXTTYPE_H
#define FCGI_FORMAT_TEXTTYPE_H

#include <stdint.h>

struct err;
struct stacks_type;

#define TEXTTYPE_RATE 100 /* Hz, where nobody says one */

/* name and units may be NULL: not said.  *t borrows both.  Errors:
 * ERR_REQUEST 400 with field "units". */
const struct err *texttype_of(struct stacks_type *t, const char *name,
    const char *units, int64_t rate);

#endif
