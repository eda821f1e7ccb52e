/*
 * The marks of a large dictionary as bytes, so that who opens a sealed file
 * need not read what is called how.  The stream is in format.h.
 */
#ifndef STORE_OPEN_MARKS_H
#define STORE_OPEN_MARKS_H

#include "store/journal/openspan.h"

#define OPEN_MARKS_LEAST (16u << 10) /* bytes of a dictionary that has them */

/* Appends those of a sealed file's dictionary, a whole record, to `out`. */
const struct err *open_marks_make(const void *record, size_t size,
    struct buf *out);

/* In the place of openspan_take_dict(): o->pages reads the dictionary, which
 * is of the version `dict`, and of which only facts are read here, and
 * `series`, which who has an index of them does not need.  ERR_FORMAT: these
 * are not its marks, and the span is empty. */
const struct err *openspan_take_marks(struct openspan *o, const void *marks,
    size_t size, unsigned dict, bool series);

/* open_names.c: n symbols from number `first` on begin at `at`. */
bool open_dict_put_mark(struct open_dict *d, enum open_kind kind,
    const struct open_mark *mark, const void *text);
/* open_skim.c: the sections of the record that o->pages has, at these places
 * of it; all other names are marked already. */
const struct err *openspan_take_places(struct openspan *o, bool series);

#endif
