#!/bin/bash
# The identity of threads' states over ten minutes of slots of 10 s: what
# tests/system/offcpu-identity.sh shows of some seconds.
#
#   identity.sh BUILD [SECONDS]
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
export BUILD
[ "$(id -u)" = 0 ] || { echo "skip - identity: needs root"; exit 0; }
# At a low load: they are busy for some hundredths of a CPU.
MODES="work sleep exec die fork" STOPPED=work SLOT_MS=10000 SPAN_MS=$((${2:-600} * 1000)) \
	exec bash tests/system/offcpu-identity.sh
