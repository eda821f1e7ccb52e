# What the benchmarks share; sourced.

# row NAME VALUE UNIT [REFERENCE VALUE] : a line of JSON, see run.sh
row() {
	jq -nc --arg n "$1" --argjson v "${2:-null}" --arg u "$3" \
		--arg r "${4:-}" --argjson rv "${5:-null}" '{name: $n, value: $v,
		unit: $u, reference: (if $r == "" then null else $r end),
		reference_value: $rv,
		ratio: (if $rv == null or $rv == 0 or $v == null then null
		else ($v / $rv * 1000 | round / 1000) end)}'
}

# begin_nginx : in $dir, on $port, by the caller's begin
begin_nginx() {
	cp nginx/memlens-locations.conf /etc/nginx/{mime.types,fastcgi_params} \
		"$dir/nginx/"
	sed "s,@RUN@,$dir,g; s,@LISTEN@,127.0.0.1:$port,g; s,^user .*,user $(id -un);," \
		nginx/memlens-run.conf.in >"$dir/nginx/nginx.conf"
	begin "$(command -v nginx || echo /usr/sbin/nginx)" -p "$dir/nginx" \
		-c "$dir/nginx/nginx.conf"
}
