echo 'GROUP_NAMES = ["physics", "chemistry"]' >>fairspool.toml
. "${0%/*}/pool.sh"
