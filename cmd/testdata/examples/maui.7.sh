printf 'JOB_PRIORITY_POLICY = "maui"\n' >>fairspool.toml
. "${0%/*}/pool.sh"
