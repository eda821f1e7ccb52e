#!/bin/bash
# A process in a control group of its own carries its path as a label, and the
# group that it moves to from then on.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
groups=
for n in one two; do
	g=$root/memlens_$tag.$n
	[ -n "$root" ] && mkdir "$g" 2>/dev/null ||
		{ echo "skip - cgroup: no group can be made in '$root'"; exit 77; }
	groups="$groups $g"
done
before_end() { # empty groups can be removed
	kill -9 $pids 2>/dev/null
	wait 2>/dev/null
	for g in $groups; do rmdir "$g"; done
}
own "$BUILD/system/cpu_busy" grouped
begin "$dir/grouped_$tag" 900
echo "$last" >"$root/memlens_$tag.one/cgroup.procs" ||
	{ echo "skip - cgroup: no process can be moved"; exit 77; }
sampled() { # GROUP
	at_least 20 "[{]cgroup=/memlens_$tag.$1,.*process=grouped_$tag[,}]"
}
in_one() { sampled one; }
in_two() { sampled two; }
sample_until in_one -s 1000
n=$(samples "$out" "process=grouped_$tag[,}]")
one=$(samples "$out" "cgroup=/memlens_$tag.one,.*process=grouped_$tag[,}]")
expect "all its samples carry the group's path" "$one of $n" \
	"$one" -gt 0 -a "$one" = "$n"
echo "$last" >"$root/memlens_$tag.two/cgroup.procs"
sample_until in_two -s 1000
two=$(samples "$out" "cgroup=/memlens_$tag.two,.*process=grouped_$tag[,}]")
expect "and that of the group it was moved to" "$two" "$two" -ge 20
