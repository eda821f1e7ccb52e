# What tests of waits share; after cpu.sh.
slots() { [ "$(grep -ac '^child' "$out")" -ge "$1" ]; }

# Interrupts and what other guests took, in ns: the kernel takes that off a
# thread's CPU time, and so the program thinks that it was blocked.
stolen() { awk '/^cpu / { printf "%.0f\n", ($7 + $8 + $9) * 10000000 }' \
	/proc/stat; }
# lossless FROM TO : had the ring room until the slot was over in which line TO
# of the output was the last?  Else long waits may have
# no stack; their time is there all the same.
lossless() {
	awk -v from="$1" -v to="$2" 'over { next }
		/^counter .*\[ring full\]/ && NR > from { n += $(NF - 1) }
		/^child/ && NR > to { over = 1 }
		END { exit n > 0 }' "$out"
}
