. "${0%/*}/slots.8.sh"
