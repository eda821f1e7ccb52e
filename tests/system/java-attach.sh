#!/bin/bash
# memlens-java asks a virtual machine for its map as that one's user, once with
# SIGQUIT and never again, and says in words why it gets none.  The virtual
# machine is a double in Python that speaks the protocol; a real one where there
# is a Java compiler.
. "$(dirname "$0")/daemon-lib.bash"
need_root "java-attach"
chmod 755 "$dir"
user=65534
uniq=jv$(LC_ALL=C tr -dc a-z </dev/urandom | head -c 6)
cp /bin/true "$dir/libjvm.so" && chmod 755 "$dir/libjvm.so"
cat >"$dir/fake.py" <<'PY'
"""fake.py NAME MODE: a process of that name that may be a virtual machine."""
import ctypes, mmap, os, signal, socket, struct, sys, time
name, mode = sys.argv[1:3]
here = os.path.dirname(os.path.abspath(__file__))
ctypes.CDLL(None).prctl(15, name.encode())
if mode != 'other':
    f = open(here + '/libjvm.so', 'rb')
    jvm = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
path, quits, server = '/tmp/.java_pid%d' % os.getpid(), 0, None
asked = '/tmp/.attach_pid%d' % os.getpid()

def on_quit(*_):
    global quits, server
    quits += 1
    print('quit', quits, flush=True)
    if mode == 'deaf' or server or os.stat(asked).st_uid != os.geteuid():
        return
    server = socket.socket(socket.AF_UNIX)
    server.bind(path + '.tmp')
    server.listen(5)
    os.rename(path + '.tmp', path)

if mode != 'xrs':
    signal.signal(signal.SIGQUIT, on_quit)
print('ready', flush=True)
while True:
    if not server:
        time.sleep(0.02)
        continue
    c, _ = server.accept()
    pid, uid, gid = struct.unpack('3i', c.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if (uid, gid) != (os.geteuid(), os.getegid()):
        print('stranger', uid, gid, flush=True)
        c.close()
        continue
    words = b''
    while words.count(b'\0') < 5:
        words += c.recv(1000)
    print('asked', words.split(b'\0')[1:3], flush=True)
    flag = b'printflag' in words
    if mode == 'silent':
        time.sleep(1000)
    elif mode == 'old':
        c.sendall(b'1\njava.lang.IllegalArgumentException: '
                  b'Unknown diagnostic command\n')
    elif mode == 'noise':
        c.sendall(b'0\n\x1b[31m' + b'x' * 100000)
    elif flag:
        c.sendall(b'0\n-XX:%sPreserveFramePointer\n' % (
            b'-' if mode == 'nofp' else b'+'))
    else:
        with open('/tmp/perf-%d.map' % os.getpid(), 'w') as m:
            m.write('1000 100 Lapp;::work\n')
        c.sendall(b'0\n')
    c.close()
PY
declare -A pid
fake() { # MODE [USER]
	begin "$dir/$1.log" setpriv --reuid "${2:-$user}" --regid "${2:-$user}" \
		--clear-groups /usr/bin/python3 "$dir/fake.py" "$uniq" "$1"
	pid[$1]=$last
	await 60 said "$dir/$1.log" ready || not_ok "$1 begins"
}
clean_up() {
	for p in "${pid[@]}"; do
		kill -9 "$p" 2>/dev/null
		rm -f "/tmp/.java_pid$p" "/tmp/perf-$p.map" "/tmp/.attach_pid$p"
	done
	finish
}
trap clean_up EXIT
for mode in good nofp deaf xrs other old noise silent; do fake $mode; done
fake root 0
cat >"$dir/java.conf" <<END
[java]
comm = ^$uniq\$
interval = 1s
deadline = 3s
socket = $dir/sock
slot = 500ms
END
"$BUILD/memlens-java" -1 -f "$dir/java.conf" >"$dir/once" 2>"$dir/err"
says() { # MODE TEXT NAME
	expect "$3" "$(sed -n "s/^${pid[$1]} $uniq: //p" "$dir/once")" "$2"
}
says good named "one that answers"
expect "its map is its own user's" "$(stat -c %u "/tmp/perf-${pid[good]}.map")" \
	"$user"
expect "it was asked for the map, then for the flag" \
	"$(grep -c asked "$dir/good.log")" 2
says nofp "started without -XX:+PreserveFramePointer: callers are missing" \
	"one without frame pointers"
says deaf "does not listen: -XX:+DisableAttachMechanism?" "one that is deaf"
says xrs "does not catch SIGQUIT (-Xrs?)" "one that SIGQUIT would end"
says other "is no Java virtual machine (no libjvm.so)" "another program"
says old "refused: java.lang.IllegalArgumentException: Unknown diagnostic command (a Java before 17)" \
	"an old one"
says silent "no answer in time" "one that never answers"
says root "runs as root: nobody is asked as root" "one of root"
expect "what it says acts on no terminal" \
	"$(grep -c "^${pid[noise]} $uniq: refused: ?\[31mxxx" "$dir/once")" 1
alive=0
for p in "${pid[@]}"; do kill -0 "$p" && alive=$((alive + 1)); done
expect "nobody died of it" "$alive" 9
expect "no file is left" "$(ls /tmp/.attach_pid* 2>/dev/null |
	grep -cE "pid($(IFS='|'; echo "${pid[*]}"))$")" 0

# While it runs: health, and one SIGQUIT a life.
end "${pid[silent]}" KILL
configure 500ms 500ms
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
health() { # PATTERN
	REQUEST_METHOD=GET REQUEST_URI=/api/v1/health QUERY_STRING='' \
		cgi-fcgi -bind -connect "$dir/fcgi" >"$dir/health" 2>/dev/null
	grep -qE "$1" "$dir/health"
}
begin "$dir/java.log" "$BUILD/memlens-java" -f "$dir/java.conf"
asker=$last
for mode in deaf xrs other old noise root; do end "${pid[$mode]}" KILL; done
expect_true "health says who is not whole" await 120 health \
	"java: 1 of 2: $uniq ${pid[nofp]}: started without -XX:.PreserveFrame"
again() { [ "$(grep -c perfmap "$dir/good.log")" -ge 3 ]; }
expect_true "it is asked again" await 240 again
expect "with one SIGQUIT in all" "$(grep -c quit "$dir/good.log")" 1
end "${pid[nofp]}" KILL
expect_true "health is content" await 120 health '"name":"java","state":"attached"'
end "$asker"
expect "SIGTERM: status" "$status" 0
expect_true "health says that it is off" await 120 health \
	'"name":"java","state":"off"'

# A real one.
if ! command -v javac >/dev/null; then
	echo "skip - a real virtual machine: no javac"
	exit
fi
mkdir "$dir/class"
cat >"$dir/Busy.java" <<'J'
public class Busy {
	static long work(long n) {
		long s = 0;
		for (long i = 0; i < n; i++) s = s * 31 + i % 7;
		return s;
	}
	public static void main(String[] a) {
		long s = 0, end = System.nanoTime() + 300_000_000_000L;
		while (System.nanoTime() < end) s += work(100_000);
		System.out.println(s);
	}
}
J
javac -d "$dir/class" "$dir/Busy.java" 2>"$dir/err" ||
	{ not_ok "compiles" "$(cat "$dir/err")"; exit; }
chmod -R a+rX "$dir/class"
real() { # MODE OPTIONS...
	begin "$dir/$1.log" setpriv --reuid $user --regid $user --clear-groups \
		nice -n 15 java "${@:2}" -Xmx64m -cp "$dir/class" Busy
	pid[$1]=$last
}
real whole -XX:+PreserveFramePointer
real bare
real shut -XX:+DisableAttachMechanism
sed -i 's/^comm = .*/comm = ^java$/; s/^deadline = .*/deadline = 20s/' "$dir/java.conf"
mapped() {
	"$BUILD/memlens-java" -1 -f "$dir/java.conf" >"$dir/once" 2>"$dir/err"
	grep -qs 'Busy.*work' "/tmp/perf-${pid[whole]}.map"
}
await 120 mapped
uniq=java
says whole named "a real one is named"
says bare "started without -XX:+PreserveFramePointer: callers are missing" \
	"a real one without frame pointers"
expect_text "a real one that is shut" \
	"$(sed -n "s/^${pid[shut]} java: //p" "$dir/once")" \
	"DisableAttachMechanism\|does not catch SIGQUIT"
expect_text "its code is in the map" "$(grep -m 1 'Busy.*work' \
	"/tmp/perf-${pid[whole]}.map")" work
