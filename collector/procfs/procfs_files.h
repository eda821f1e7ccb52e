/*
 * What the files of services take on disks, data and logs apart, so that a log
 * that grows beside a small database is seen.  For programs that a rule names:
 *
 *	files that a process has open for writing ──► their folders
 *	a folder, without those below it ──► its files ──► data or log, by name
 *
 *	memlens_service_files_bytes{folder, kind, service}   kind: data, log
 *	memlens_service_files{folder, kind, service}         how many
 *	memlens_service_folders{service, state}     state: read, left out
 *
 * Of a folder those files count that the service has open, and those of its
 * user; where everybody may write, or its user is root, only those whose name
 * begins with the program's.  Processes that share a folder share its figure.
 * A file of several names counts once for a service, in the folder that is read
 * first; one that was deleted counts as long as it is open for writing, where
 * it was.
 *
 * It is read once in six slots, within so much time of the CPU.  Folders of
 * file systems that may hang, as those of a network, are never looked at.
 * Those with too many files, and beyond what there is room or time for, are
 * left out, and counted.
 */
#ifndef COLLECTOR_PROCFS_FILES_H
#define COLLECTOR_PROCFS_FILES_H

#include <stdbool.h>
#include <stdint.h>

#define FILES_FOLDERS_MAX 128        /* of all services */
#define FILES_SERVICE_MAX 8          /* folders of one */
#define FILES_ENTRIES_MAX 4096       /* of a folder */
#define FILES_FDS_MAX 512            /* of a process */
#define FILES_CPU_NS INT64_C(20000000) /* of one reading */

struct files;
struct process;
struct procfs_reading;

/* NULL when out of memory. */
struct files *files_new(int64_t slot_ns);
void files_free(struct files *f);

/* Is a file of that name a log, or what logrotate made of one?  LevelDB's own
 * journal, 000012.log, is not. */
bool files_is_log(const char *name);

/* Before the processes of a reading; adds the folders of each, where it is
 * time; reads them, tells of them and forgets them. */
void files_begin(struct files *f, int64_t now_ns);
void files_add(struct files *f, int proc_fd, const struct process *p);
void files_put(struct files *f, int proc_fd, const struct procfs_reading *r);

#endif
