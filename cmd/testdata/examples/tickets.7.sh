cat >>fairspool.toml <<'end'
JOB_PRIORITY_POLICY = "sge"
[sge]
weight_tickets_share = 1000000
[sge.share_tree]
"/eng" = 60
"/eng/default" = 1
"/carol" = 30
end
. "${0%/*}/pool.sh"
