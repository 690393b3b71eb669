echo 'GROUP_NAMES = ["physics"]' >>fairspool.toml
. "${0%/*}/pool.sh"
