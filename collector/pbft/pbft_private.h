/*
 * What the parts of the source of PBFT share: programs (pbft_files.c), replicas
 * that run them (pbft_members.c), and their slots (pbft.c).
 */
#ifndef COLLECTOR_PBFT_PRIVATE_H
#define COLLECTOR_PBFT_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "collector/pbft/pbft_cluster.h"
#include "collector/pbft/pbft_find.h"
#include "collector/pbft/pbft_slots.h"
#include "collector/probe/pbft_probe.h"

struct config;
struct services;

enum file_state {
	FILE_FREE,
	FILE_NEW,      /* nobody has looked into it */
	FILE_LOOKED,   /* the child does */
	FILE_ATTACHED,
	FILE_REFUSED
};

/* A program, as its first process was seen to run it. */
struct pbft_file {
	enum file_state state;
	int fd; /* while it is looked into */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	bool runs; /* a process was seen with it lately */
	char name[16];
	char why[160]; /* refused */
};

struct pbft_member {
	int32_t pid;
	uint64_t start_ns; /* of the process; 0: the place is free */
	uint32_t image, file;
	uint32_t looks; /* at its port */
	bool seen, counted;
	char service[64], instance[16];
	char cluster[PBFT_CLUSTER_MAX];
	uint64_t states[PBFT_STATES]; /* since it is counted */
	uint64_t dropped; /* read, of slots that are no data */
	uint64_t told[PBFT_STATES], told_lost[PBFT_LOSTS];
};

struct pbft {
	const struct config *config;
	struct services *services;
	int proc_fd;
	struct pbft_probe *probe; /* NULL: not needed yet */
	struct pbft_find find;
	uint32_t looked; /* the file of find */
	int64_t look_ns;
	struct pbft_file files[PBFT_FILES];
	struct pbft_member members[PBFT_REPLICAS];
	struct pbft_slots slots;
	uint64_t heard;   /* of the probe's: those are looked at */
	uint64_t unknown; /* phases of who is no member, or without memory */
	uint64_t told_unknown, told_strangers;
	bool lossy;       /* the slot lacks some: it is no data */
	uint64_t lost, lost_slots, lost_slot; /* of late; the last of them */
	char why[160];    /* "": nothing was lost for a while */
	bool crowded; /* more files or processes than there is room for */
};

/* The number of an open file, which is its own from now on; PBFT_FILES: there
 * is no room.  `comm`: of the process that runs it. */
uint32_t pbft_file_of(struct pbft *p, int fd, const char *comm);
void pbft_file_free(struct pbft *p, uint32_t i);
/* Goes on looking into files, one at a time, and attaches to those that have
 * the functions. */
void pbft_files_look(struct pbft *p);

/* Looks which processes run such programs now. */
void pbft_members_look(struct pbft *p);
/* Looks at those that the kernel has begun to count by itself. */
void pbft_members_hear(struct pbft *p);
/* The member whose calls are those of this number, or NULL. */
struct pbft_member *pbft_member_counted(struct pbft *p, int32_t pid);
/* After their last slot: who is gone, and programs that nobody runs. */
void pbft_members_forget(struct pbft *p);

#endif
