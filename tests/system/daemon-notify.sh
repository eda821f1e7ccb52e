#!/bin/bash
# What the service manager is told: READY, STATUS, WATCHDOG, STOPPING; and
# messages with priorities for the journal.
. "$(dirname "$0")/daemon-lib.bash"
configure 500ms 500ms
cat >"$dir/manager.py" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\0', 1))
print('bound', flush=True)
while True:
    print(s.recv(1000).decode(), flush=True)
END
for address in "$dir/notify" "@memlens-test-$$"; do
	begin "$dir/manager.log" python3 "$dir/manager.py" "$address"
	manager=$last
	await 60 said "$dir/manager.log" bound
	begin "$dir/d.log" env NOTIFY_SOCKET="$address" WATCHDOG_USEC=1000000 JOURNAL_STREAM=8:1 \
		"$BUILD/memlensd" -f "$dir/conf" -s "$dir/store" -v
	d=$last
	expect_true "READY=1" await 60 said "$dir/manager.log" "^READY=1$"
	expect_true "STATUS" await 60 said "$dir/manager.log" "^STATUS=.*procfs attached.*services"
	twice() { [ "$(grep -c '^WATCHDOG=1$' "$dir/manager.log")" -ge 2 ]; }
	expect_true "WATCHDOG=1 at least twice" await 60 twice
	end "$d"
	expect_true "STOPPING=1" await 60 said "$dir/manager.log" "^STOPPING=1$"
	end "$manager"
done
expect_text "messages have priorities" "$(grep -m 1 source "$dir/d.log")" "^<6>source"
expect_text "-v says more" "$(cat "$dir/d.log")" "^<7>slot [0-9]*: [0-9]* blocks"
