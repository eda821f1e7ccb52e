#!/bin/bash
# With every CPU busy the program runs rate x CPUs x time, within 1 %.  A
# virtual machine that did not run in a clock's tick has missed it: what the
# hypervisor kept for itself, as the kernel counts it in steps of 10 ms, may
# be missing too.  Where more is, another try shows whether it was that.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
keep_cpus_busy
# ms that the CPUs were kept from us
stolen() { awk '/^cpu / { print $9 * 10 }' /proc/stat; }
for try in 1 2 3 4 5 6; do
	before=$(stolen)
	"$driver" -h 99 -s 1000 -n 4 >"$out" 2>"$dir/err"
	need_attached "$out"
	said=$(awk -v stolen=$(($(stolen) - before)) '
		/^clock / { hz = $2; want = $2 * $3 * $4 / 1000 }
		/^balance / {
			off = $2 - want
			may = want / 100 + hz * stolen / 1000
			said = (off < may && -off < may) ? "fine" : "off"
			printf "%d runs, %d expected, %d ms stolen: %s\n", $2,
			    want, stolen, said
		}' "$out")
	echo "# try $try: $said"
	[ "${said##*: }" = fine ] && break
done
expect "runs are rate x CPUs x time within 1 %" "$said" "${said##*: }" = fine
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
