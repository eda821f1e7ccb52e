# What the benchmarks share; sourced.  $dir is the caller's temporary folder.

# What runs live, runs as the daemon does by itself.
export OFFCPU=no

# row NAME VALUE UNIT [REFERENCE VALUE [RATIO]] : a line of JSON, see run.sh;
# with SPREAD="LEAST MOST N", what values of N times the value stands for
row() {
	jq -nc --arg n "$1" --argjson v "${2:-null}" --arg u "$3" \
		--arg r "${4:-}" --argjson rv "${5:-null}" \
		--argjson q "${6:-null}" --arg s "${SPREAD:-}" '
		($s | split(" ") | map(tonumber)) as $s | {name: $n, value: $v,
		unit: $u, reference: (if $r == "" then null else $r end),
		reference_value: $rv,
		ratio: (if $q != null then $q
		elif $rv == null or $rv == 0 or $v == null then null
		else ($v / $rv * 1000 | round / 1000) end)} + if $s == [] then {}
		else {spread: {least: $s[0], most: $s[1], of: $s[2]}} end'
}

# spread < NUMBERS : "LEAST MOST N" of a number in each line
spread() {
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[1], v[NR], NR }'
}

# middle_of < NUMBERS : their median
middle_of() {
	sort -g | awk '{ v[NR] = $1 }
		END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# begin_as_root BUILD : $BUILD, $dir with a folder for logs, and its end; skips
# the whole benchmark without rights
begin_as_root() {
	BUILD=$(cd "${1:?folder of the build}" && pwd)
	[ "$(id -u)" = 0 ] || {
		echo "skip - $(basename "$0" .sh): needs root"
		exit 0
	}
	dir=$(mktemp -d)
	mkdir "$dir/log"
	chmod 755 "$dir"
	trap end_all EXIT
}

# begin COMMAND... : in the background; end_all ends what has begun so
pids=()
begin() {
	"$@" >>"$dir/log/out" 2>&1 &
	pids+=("$!")
}
end_all() {
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$dir"
}

# begin_nginx : in $dir, on $port; "$dir/sockets" has those of the workers
begin_nginx() {
	cp nginx/memlens-locations.conf /etc/nginx/{mime.types,fastcgi_params} \
		"$dir/nginx/"
	sed "s,@RUN@,$dir,g; s,@LISTEN@,127.0.0.1:$port,g; s,^user .*,user $(id -un);," \
		nginx/memlens-run.conf.in >"$dir/nginx/nginx.conf"
	begin "$(command -v nginx || echo /usr/sbin/nginx)" -p "$dir/nginx" \
		-c "$dir/nginx/nginx.conf"
}
# begin_worker OPTION... : on $dir/store, behind nginx; $worker is its pid
begin_worker() {
	begin "$BUILD/memlens-fcgi" -s "$dir/store" -p all "$@" \
		-l "$dir/sockets/query.sock"
	worker=${pids[-1]}
	ln -s query.sock "$dir/sockets/health.sock"
	begin_nginx
	for _ in $(seq 100); do
		curl -sf -o /dev/null "http://127.0.0.1:$port/api/v1/health" &&
			return
		sleep 0.1
	done
	cat "$dir/log/out"
	return 1
}

children() { cat "/proc/$1/task/$1/children"; }
# cpu_ns PID... : CPU time of all their threads, in ns
cpu_ns() {
	local p
	for p in "$@"; do cat /proc/"$p"/task/*/schedstat 2>/dev/null; done |
		awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# cargo_program ROOT NAME VERSION [OPTION...] : installs it once
cargo_program() {
	local root=$1 name=$2 version=$3
	shift 3
	! ls "$root"/bin/* >/dev/null 2>&1 || return 0
	command -v cargo >/dev/null || {
		echo "no $name beside us: there is no cargo" >&2
		return 1
	}
	echo "installing $name $version (once)" >&2
	cargo install -q "$name" --version "$version" --locked "$@" \
		--root "$root" >"$dir/cargo" 2>&1 || {
		echo "no $name beside us: $(tail -n 1 "$dir/cargo")" >&2
		return 1
	}
}

# recompute CHECKER MODE QUESTIONS SLOTS : adds to $asked and $wrong, moves on
# $seed
recompute() {
	local said
	seed=$((seed + 1))
	said=$("tests/torture/$1.sh" "$build" "$2" "$3" $seed "$4" 2>&1)
	echo "$2, seed $seed: $(tail -n 1 <<<"$said")"
	grep '^#.*[1-9][0-9]* wrong\|^# [a-z_]*: [A-Z]\|^#   ' <<<"$said"
	[[ $(tail -n 1 <<<"$said") =~ ^([0-9]+)\ questions,\ ([0-9]+)\ wrong$ ]] ||
		{ echo "$said" | tail -n 5; exit 1; }
	asked=$((asked + BASH_REMATCH[1])) wrong=$((wrong + BASH_REMATCH[2]))
}
