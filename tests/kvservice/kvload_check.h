/*
 * kvload --check: its own arithmetic against naive models.
 */

#ifndef KVLOAD_CHECK_H
#define KVLOAD_CHECK_H

/* Prints a line "ok - name" or "not ok - name" a case; returns failures. */
int check_all(void);

#endif
