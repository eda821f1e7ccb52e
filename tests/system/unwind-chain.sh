#!/bin/bash
# A generated program of 30 functions that call each other, with frames of
# every kind and no frame pointers: its stacks are known to the last frame.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/chain.sh"
out=$dir/out

{
	chain_functions 30000
	echo 'int main(void) { time_t end = time(0) + 900; uint64_t n = 0;'
	echo '	while (time(0) < end) c00(n++); return 0; }'
} >"$dir/unwind_chain.c"
name=chain_$tag
gcc -O2 -fomit-frame-pointer -o "$dir/$name" "$dir/unwind_chain.c" ||
	{ not_ok "compiles"; exit 1; }

begin "$dir/$name"
content() { sampled 3000 $name; }
sample_until content -h 997 -s 1000

# A stack is right when it goes from _start to main and on along the chain,
# without a gap, to wherever the clock found it; then kernel frames at most.
right() {
	settled "$out" $name | awk '{
		good = 0
		if (sub(/^.*};_start;[^;]*libc[^;]*;/, "") &&
		    sub(/^[^;]*libc[^;]*;main/, "")) {
			line = $0
			sub(/ [0-9]+$/, "", line)
			n = split(substr(line, 2), f, ";")
			for (i = 1; i <= n; i++)
				if (f[i] != sprintf("c%02d", i - 1))
					break
			good = 1
			if (i == 31 && f[i] == "last")
				i++
			for (; i <= n; i++)
				if (f[i] ~ /^(c[0-9][0-9]|last|main|_start)$/)
					good = 0
		}
		sum += good * $NF } END { print sum + 0 }'
}
all=$(settled "$out" $name | awk '{ n += $NF } END { print n + 0 }')
good=$(right)
expect "sampled" "$all samples" "$all" -ge 60
echo "# $good of $all"
if enough "$good" "$all" 999; then
	ok "99.9 % of the stacks are exactly right"
else
	not_ok "99.9 % of the stacks are exactly right" "$good of $all"
fi
deep=$(settled "$out" $name | awk '/;c28;c29;last / { n += $NF }
	END { print n + 0 }')
expect "the deepest function is where the time goes" "$deep samples" \
	"$deep" -ge 40
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
