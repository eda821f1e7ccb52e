/*
 * A table of functions as comma-separated values (RFC 4180): every text in
 * quotes, lines end in CR LF, the first one has the names.  A name that a
 * spreadsheet would compute begins with '.
 */
#ifndef FCGI_FORMAT_CSV_H
#define FCGI_FORMAT_CSV_H

#include "fcgi/format/flame/table.h"

/* function,kind,self,total,self_share,total_share,self_samples,total_samples
 * of a single profile; samples are empty where they are not known, and where
 * some are not, self_unknown,total_unknown follow: the units without. */
void csv_put_table(struct buf *out, const struct table *t);

#endif
