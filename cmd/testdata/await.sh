# What scripts and their jobs wait with: ". ./await.sh".

# await COMMAND... waits until a command succeeds, for 3 minutes at most; traps run meanwhile. What
# the command says against a file that is still to come does not count.
await() {
	awaited=0
	until "$@" 2>/dev/null; do
		awaited=$((awaited + 1))
		test $awaited -lt 9000 || { echo "after 3 minutes: $*" >&2; exit 1; }
		sleep 0.02
	done
}

# stay goes on until a signal ends it; traps run meanwhile.
stay() {
	while :; do
		sleep 300 &
		wait $!
	done
}
