#!/bin/bash
# What is sent to break a worker: refused in bounded memory and time, and the
# worker that refused it answers the next one.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_stack -j 1
start_nginx
at="from=1700000000&until=1700000010"
pid=$(cat /proc/$worker/task/$worker/children)

# A refusal: its status, by the same worker as ever, which has not grown
# beyond what a request may take.
refused()
{
	want=$1 file=$2 uri=$3
	shift 3
	code=$(curl -s -o "$T/body" -w '%{http_code}' --max-time 60 \
	    --data-binary @"$file" "$@" "$base$uri")
	case " $want " in
	*" $code "*) ;;
	*) echo "# $code, not $want"; return 1 ;;
	esac
	[ "$(cat /proc/$worker/task/$worker/children)" = "$pid" ] || {
		echo "# the worker has died"
		pid=$(cat /proc/$worker/task/$worker/children)
		return 1
	}
	sanitized || [ "$(awk '/VmHWM/ { print $2 }' \
	    /proc/${pid%% *}/status)" -lt 800000 ]
}

head -c 60000000 /dev/zero | gzip >"$T/bomb.gz"
check "a gzip bomb" refused 413 "$T/bomb.gz" "/ingest?name=a&$at"
check "one in Content-Encoding" refused 413 "$T/bomb.gz" \
    "/ingest?name=a&$at" -H 'Content-Encoding: gzip'
check "one as pprof" refused 413 "$T/bomb.gz" \
    "/ingest?name=a&$at&format=pprof"
check "one in Connect's push" refused "413 429" "$T/bomb.gz" \
    /push.v1.PusherService/Push -H 'Content-Type: application/proto' \
    -H 'Content-Encoding: gzip'
python3 - "$T" <<'END'
import sys
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])
def field(i, b):
    return varint(i << 3 | 2) + varint(len(b)) + b
def num(i, n):
    return varint(i << 3) + varint(n)
def put(name, data):
    open(sys.argv[1] + "/" + name, "wb").write(data)
put("deep.tree", b"\x01a\x01\x01" * 2000000)
put("deep.trie", b"\x01a\x00\x01" * 2000000)
put("deep.folded", b"f;" * 5000000 + b"f 1\n")
head = field(6, b"") + field(6, b"cpu") + field(6, b"x") + \
    field(1, num(1, 1) + num(2, 2)) + field(5, num(1, 1) + num(2, 2)) + \
    field(4, num(1, 1) + field(4, num(1, 1)))
put("labels.pprof", head + b"".join(field(6, b"v%d" % i)
    for i in range(1000000)) + b"".join(field(2, num(1, 1) + num(2, 1) +
    field(3, num(1, 1) + num(2, 3 + i))) for i in range(1000000)))
put("label.pprof", head + field(2, num(1, 1) + num(2, 1) +
    field(3, num(1, 1) + num(2, 1)) * 1000000))
put("samples.pprof", head + b"\x12\x00" * 8000000)
put("functions.pprof", head + b"\x2a\x00" * 8000000)
put("stack.pprof", head + field(2, field(1, b"\x01" * 8000000) + num(2, 1)))
put("length.pprof", b"\x12\xff\xff\xff\xff\x07abc")
put("length.tree", b"\x00\x00\xff\xff\xff\xff\x0f")
put("length.trie", b"\xff\xff\xff\xff\x0fa\x01\x00")
put("deep.json", b"[" * 1000000)
put("form", b"--XX\r\nContent-Disposition: form-data; name=\"profile\"\r\n")
put("push", varint(1 << 3 | 2) + varint(1 << 31) + b"abc")
END
check "a tree too deep" refused 413 "$T/deep.tree" \
    "/ingest?name=a&$at&format=tree"
check "a trie too deep" refused 413 "$T/deep.trie" \
    "/ingest?name=a&$at&format=trie"
check "a folded stack too deep" refused 413 "$T/deep.folded" \
    "/ingest?name=a&$at"
check "a million labels" refused 413 "$T/labels.pprof" \
    "/ingest?name=a&$at&format=pprof"
check "a million labels of one sample" refused 413 "$T/label.pprof" \
    "/ingest?name=a&$at&format=pprof"
check "millions of empty samples" refused 422 "$T/samples.pprof" \
    "/ingest?name=a&$at&format=pprof"
check "millions of empty functions" refused 413 "$T/functions.pprof" \
    "/ingest?name=a&$at&format=pprof"
check "a pprof stack too deep" refused 413 "$T/stack.pprof" \
    "/ingest?name=a&$at&format=pprof"
for f in pprof tree trie; do
	check "a length that lies: $f" refused 422 "$T/length.$f" \
	    "/ingest?name=a&$at&format=$f"
done
check "a form that ends early" refused 400 "$T/form" "/ingest?name=a&$at" \
    -H 'Content-Type: multipart/form-data; boundary=XX'
check "JSON too deep" refused 400 "$T/deep.json" \
    /push.v1.PusherService/Push -H 'Content-Type: application/json'
check "a message that lies" refused 400 "$T/push" \
    /push.v1.PusherService/Push -H 'Content-Type: application/proto'
labels=$(for i in $(seq 2000); do printf 'l%d=v,' $i; done)
echo "a 1" >"$T/a"
check "thousands of labels in a name" refused "400 414" "$T/a" \
    "/ingest?$at&name=a%7B$labels%7D"
check "a window of a year" refused 413 "$T/a" \
    "/ingest?name=a&from=1600000000&until=1631536000"

# a gigabyte: refused by its length, before it is sent
printf 'POST /ingest?name=a HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\n' \
    1073741824 >"$T/head.txt"
exec 3<>"/dev/tcp/127.0.0.1/$PORT"
cat "$T/head.txt" >&3
read -r -t 20 line <&3
exec 3>&-
: >"$T/body"
check "a body of 1 GiB: ${line%$'\r'}" [ "${line#*413}" != "$line" ]
get POST "/ingest?name=a&$at" CONTENT_LENGTH=1073741824
check "without nginx: 413 too" status 413
get POST "/ingest?name=a&$at" CONTENT_LENGTH=1000
check "a body shorter than it says: 400" status 400
get POST "/ingest?name=a&$at" CONTENT_LENGTH=-5
check "a negative length: 400" status 400
check "and then one that is fine" refused 200 "$T/a" "/ingest?name=a&$at"
exit $bad
