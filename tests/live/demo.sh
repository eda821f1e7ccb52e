#!/bin/bash
# Serves the offline demo: the pages with their bundled snapshots, by an nginx
# without a backend.  Needs no root and no BPF.   demo.sh WWW [PORT]
set -u
www=$(cd "${1:?folder of the pages}" && pwd)
port=${2:-8080}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	echo "memlens demo: port $port is taken by another program" >&2
	exit 1
fi
user=
[ "$(id -u)" != 0 ] || user="user root;"
cat >"$dir/nginx.conf" <<END
daemon off;
$user
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/error.log;
events { worker_connections 64; }
http {
	include /etc/nginx/mime.types;
	access_log off;
	client_body_temp_path $dir/body;
	fastcgi_temp_path $dir/fastcgi;
	proxy_temp_path $dir/proxy;
	uwsgi_temp_path $dir/uwsgi;
	scgi_temp_path $dir/scgi;
	server {
		listen 127.0.0.1:$port;
		root $www;
		location /api/ {
			default_type application/json;
			return 404 '{"error": "this is the offline demo"}';
		}
	}
}
END
nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log" &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid; rm -rf "$dir"' EXIT
trap exit INT TERM
echo "http://localhost:$port/dashboard.html"
wait $pid
