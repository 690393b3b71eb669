. "${0%/*}/replay.1.sh"
