#!/bin/bash
# The daemon on the kernel of Debian 12, in an emulated machine: its BPF
# programs load, stacks of a program of known shape come.  The instructions
# that the verifier went through are printed for that kernel and for the
# running one.
#
#   old-kernel.sh BUILD [STACKS...]
#
# One machine for each way of taking stacks of waits (memlens.conf(5), stacks),
# all three that it has by default: from one to four minutes each, since nothing
# here needs KVM.  The kernel is
# fetched once, into BUILD/old-kernel.  KERNEL names a vmlinuz instead.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
shift
ways=${*:-auto schedule leave}
work=$build/old-kernel
root=$work/root
limit=50000 # verified instructions
failed=0

skip() { echo "skip - old kernel: $*"; exit 0; }
check() { # NAME TEST...
	local name=$1
	shift
	if [ "$@" ]; then echo "ok - $name"; else
		echo "not ok - $name: $*"
		failed=1
	fi
}
. tests/bench/lib.sh
for tool in qemu-system-x86_64 cpio dpkg-deb; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

fetch_kernel() {
	local name
	name=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		awk '/Depends:.*linux-image-6\.1\./ { print $2; exit }')
	[ -n "$name" ] || skip "no package of a 6.1 kernel is known to apt"
	mkdir -p "$work/deb"
	(cd "$work/deb" && apt-get download "$name" >/dev/null 2>&1) ||
		skip "$name cannot be fetched"
	dpkg-deb --fsys-tarfile "$work"/deb/"$name"_*.deb |
		tar xf - -C "$work" --wildcards './boot/vmlinuz-*'
	rm -rf "$work/deb"
}

# make_root STACKS : programs with their libraries, nothing else
make_root() {
	rm -rf "$root"
	mkdir -p "$root"/{proc,sys,dev,tmp,etc,run}
	cp "$build/bench/old_kernel" "$root/init"
	cp "$build/memlensd" "$build/system/cpu_busy" \
		"$build/bench/bpf_programs" "$root/"
	ldd "$root/init" "$root/memlensd" "$root/cpu_busy" \
		"$root/bpf_programs" |
		grep -oE '/[^ ]+\.so[^ ]*' | sort -u |
		while read -r lib; do
			mkdir -p "$root${lib%/*}"
			cp -L "$lib" "$root$lib"
		done
	cat >"$root/memlens.conf" <<-END
	[store]
	slot = 10s
	reserve = 0
	[socket]
	path = /tmp/memlensd.sock
	[disk]
	run-queue = yes
	major-faults = yes
	[offcpu]
	enabled = yes
	stacks = $1
	END
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/initrd"
}

[ -n "${KERNEL:-}" ] || ls "$work"/boot/vmlinuz-* >/dev/null 2>&1 ||
	fetch_kernel
kernel=${KERNEL:-$(ls "$work"/boot/vmlinuz-* | tail -n 1)}
# A machine that is held up for long at a bad moment takes its own clock for
# broken: without that check, and once more if it panics all the same.
emulate() {
	rm -f "$work/recording" "$work/console"
	timeout -k 5 900 qemu-system-x86_64 -accel tcg -cpu max -smp 2 \
		-m 1024 -display none -monitor none -no-reboot -nodefaults \
		-serial "file:$work/console" -serial "file:$work/recording" \
		-kernel "$kernel" -initrd "$work/initrd" -append "$1" </dev/null
	grep -q 'init: done' "$work/console"
}

# runs PROGRAM : how often it ran there, of all types; 0: it was not loaded
runs() { awk -v n="$1" '$1 == n { r += $3 } END { print r + 0 }' "$work/old"; }

# total NAME [SOURCE] : increase of a counter after the first two slots.
# Tables of unwind rows are being made for long on a slow machine, and the ring
# is read late: neither is the kernel's fault.
total() {
	grep -vE 'reason="(no tables yet|new code|no process|no stack|no memory|ring full|held full)"' \
		"$work/blocks" |
		awk -v name="counter memlens_profile_$1_total" -v of="${2:-}" '
		first == "" { first = $1 }
		$1 > first + 1 && index($0, name) &&
		(of == "" || index($0, "source=\"" of "\"")) {
			sub(/.*increase.: /, ""); n += $0 + 0 }
		END { print n + 0 }'
}

# compare WAY : verified instructions there and here
compare() {
	local name old new
	"$build/system/cpu_driver" -s 1000 -n 2 -w 1000 -o "$1" \
		>"$work/driver" 2>/dev/null &
	driver=$!
	sleep 1.5
	"$build/bench/bpf_programs" >"$work/all"
	wait $driver
	echo "program: verified instructions on 6.1, here"
	while read -r name old _; do
		new=$(awk -v n="$name" '$1 == n { print $5; exit }' "$work/all")
		echo "  $name: $old, ${new:-not loaded here}"
		row "bpf_verified_6.1_$name" "$old" insns "limit" $limit
		row "bpf_verified_here_$name" "${new:-0}" insns "limit" $limit
		[ "$old" -le "$worst" ] || worst=$old
		[ "${new:-0}" -le "$worst" ] || worst=$new
	done <"$work/old"
}

# waited WAY : waits are taken there, and in that way
waited() {
	local back exit return
	back=$(runs wait_back) exit=$(runs wait_exit) return=$(runs wait_return)
	check "$1: switches are seen" "$(runs wait_switch)" -gt 100
	case $1 in
	auto) check "$1: threads come back in an interrupt" "$back" -gt 100 \
		-a "$exit" = 0 -a "$return" = 0 ;;
	schedule) check "$1: or by the end of schedule()" "$return" -gt 100 \
		-a "$back" = 0 ;;
	*) check "$1: or nothing runs as they do" \
		$((back + exit + return)) = 0 ;;
	esac
	check "$1: there are stacks of waits" "$(total samples offcpu)" -ge 100
	check "$1: threads have states" \
		"$(grep -c 'thread_seconds_total' "$work/blocks")" -ge 10
}

# on_old_kernel WAY
on_old_kernel() {
	local began=$SECONDS try samples broken lost name
	make_root "$1"
	for try in 1 2 3; do
		emulate "console=ttyS0 quiet panic=-1 nokaslr no_timer_check" &&
			break
	done
	echo "$1: emulated for $((SECONDS - began)) s: $(grep -o \
		'init: kernel.*' "$work/console" | tr -d '\r')"
	check "$1: the emulated machine came to its end" \
		"$(grep -c 'init: done' "$work/console")" = 1
	# NAME TYPE RUNS NS VERIFIED JITED BYTES
	tr -d '\r' <"$work/console" | awk 'NF == 7 && $2 ~ /^[0-9]+$/ &&
		$5 ~ /^[0-9]+$/ { print $1, $5, $3 }' >"$work/old"
	python3 tests/system/mlb.py "$work/recording" >"$work/blocks" \
		2>/dev/null
	compare "$1"
	check "$1: perf_sample is loaded and runs" "$(runs perf_sample)" -gt 10
	waited "$1"
	samples=$(total samples cpu) broken=$(total stacks_broken cpu)
	lost=$(total samples_lost cpu)
	echo "$1: after two slots: $samples samples, $broken broken, $lost lost;" \
		"of waits $(total samples offcpu), $(total samples_lost offcpu)"
	check "$1: samples come" "$samples" -ge 100
	check "$1: at most 1 % of the stacks are broken" \
		$((broken * 100)) -le "$samples"
	check "$1: none is lost where there is room" "$lost" = 0
	for name in round_of_work heavy light; do
		check "$1: $name is in the recording" \
			"$(grep -ac "$name" "$work/recording")" -ge 1
	done
	row bpf_samples_6.1 "$samples" samples
	row bpf_broken_6.1 "$broken" stacks samples "$samples"
}

worst=0
for way in $ways; do
	on_old_kernel "$way"
done
check "no program is above $limit verified instructions" \
	"$worst" -le $limit -a "$worst" -gt 0
exit $failed
