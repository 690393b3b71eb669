echo 'JOB_PRIORITY_POLICY = "maui"' >>fairspool.toml
. "${0%/*}/pool.sh"
