. "${0%/*}/pool.sh"
