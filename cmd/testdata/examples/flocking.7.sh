cat >>fairspool.toml <<'end'
[engine.b]
KIND = "fairspool"
VIA = "true"
HOME = "true"
PILOT = { Cpus = 1, Memory = 500 }
end
