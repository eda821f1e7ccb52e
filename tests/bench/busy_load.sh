#!/bin/bash
# What makes a host busy, for busy.sh; each goes on until it is ended.
#
#	busy_load.sh compile FOLDER         g++, clang++ and rustc in turn
#	busy_load.sh browse FOLDER          Chromium, headless, a heavy page
#	busy_load.sh sqlite PROGRAM FILE    statements for the sqlite3 command
#	busy_load.sh mariadb PORT           inserts, ranges and sums of root's
#	busy_load.sh memcached PORT         sets and gets, by hundreds
set -u
what=${1:?what}
shift

compile() {
	mkdir -p "$1" && cd "$1" || exit
	cat >unit.cc <<-'END'
	#include <functional>
	#include <iostream>
	#include <map>
	#include <regex>
	#include <string>
	#include <vector>
	template <int N> struct deep {
		std::map<std::string, std::vector<std::function<int(int)>>> m;
		deep<N - 1> next;
		int run(int x)
		{
			m[std::to_string(x)].push_back([x](int y) { return x + y + N; });
			std::regex r("a" + std::to_string(N) + "[b-d]*");
			return std::regex_match(std::to_string(x), r) + next.run(x + 1);
		}
	};
	template <> struct deep<0> { int run(int x) { return x; } };
	int main(int c, char **) { deep<60> d; std::cout << d.run(c); }
	END
	{
		echo 'use std::collections::BTreeMap;'
		for i in {1..60}; do
			echo "fn f$i(m: &mut BTreeMap<String, Vec<[u8; $i]>>) -> usize {
			m.entry(format!(\"{}\", $i)).or_default().push([$i; $i]);
			m.values().flat_map(|v| v.iter()).map(|a| a.len()).sum() }"
		done
		echo 'fn main() {'
		for i in {1..60}; do
			echo "println!(\"{}\", f$i(&mut BTreeMap::new()));"
		done
		echo '}'
	} >unit.rs
	while sleep 0.1; do
		g++ -std=c++17 -O2 -g -c -o unit.o unit.cc
		! command -v clang++ >/dev/null ||
			clang++ -std=c++17 -O2 -g -c -o unit.o unit.cc
		! command -v rustc >/dev/null || rustc -O -o unit unit.rs
	done 2>/dev/null
}

browse() {
	command -v chromium >/dev/null ||
		{ echo "busy: no chromium" >&2; return; }
	mkdir -p "$1" || exit
	cat >"$1/page.html" <<-'END'
	<script>
	let a = [];
	for (let i = 0; i < 3e6; i++)
		a.push({i, s: "" + i});
	document.write(a.length);
	</script>
	END
	while sleep 0.1; do
		timeout -k 1 30 chromium --headless=new --no-sandbox --disable-gpu \
			--disable-breakpad --user-data-dir="$1/user" --dump-dom \
			"file://$1/page.html" >/dev/null 2>&1
	done
}

sqlite() {
	{
		echo 'PRAGMA synchronous = off;
		CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER, s TEXT);
		CREATE INDEX i ON t (v);'
		yes 'INSERT INTO t (v, s) SELECT random() % 10000, hex(randomblob(50));
		SELECT count(*), max(s) FROM t WHERE v BETWEEN 100 AND 300;
		DELETE FROM t WHERE k < (SELECT max(k) FROM t) - 20000;'
	} | "$1" "$2"
}

mariadb() {
	{
		echo 'CREATE DATABASE IF NOT EXISTS work; USE work;
		CREATE TABLE t (k INT AUTO_INCREMENT PRIMARY KEY, v INT,
			s VARCHAR(80), KEY (v)) ENGINE=InnoDB;'
		yes 'INSERT INTO t (v, s) SELECT RAND() * 10000, MD5(RAND())
			FROM seq_1_to_50;
		SELECT COUNT(*), MAX(s) FROM t WHERE v BETWEEN 100 AND 300;
		DELETE FROM t ORDER BY k LIMIT 40;
		SELECT SUM(CRC32(seq)) FROM seq_1_to_900;'
	} | command mariadb --no-defaults -h 127.0.0.1 -P "$1" -u root
}

memcached() {
	exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
	cat <&3 >/dev/null &
	yes "$(for i in {1..50}; do
		printf 'set key%d 0 0 20\r\n01234567890123456789\r\n' $((i * 37))
		printf 'get key%d\r\n' $((i * 91 % 1850))
	done)"$'\r' >&3
}
"$what" "$@"
