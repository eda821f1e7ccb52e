/*
 * The source of PBFT: rounds of ResilientDB's replicas, by uprobes on programs
 * as they are.  See pbft.c.
 */
#ifndef COLLECTOR_PBFT_H
#define COLLECTOR_PBFT_H

#include "collector/base/source.h"

extern const struct source_ops source_pbft;

#endif
