#!/bin/sh
# memlens export leaves no part of a file behind.
. tests/api/lib
"$B/memlens" export "$T/nowhere" now-1h now "$T/part.mlb" >"$T/body" 2>&1
check "an export that fails is a 1" [ $? -eq 1 ]
check "and leaves no file" [ ! -e "$T/part.mlb" ]
printf keep >"$T/there"
"$B/memlens" export "$T/nowhere" now-1h now "$T/there" >"$T/body" 2>&1
check "a file that was there stays" grep -q keep "$T/there"
exit $bad
