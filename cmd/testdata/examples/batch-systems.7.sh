cat >>fairspool.toml <<'end'
[engine.hpc]
KIND = "command"
PILOT = { Cpus = 16, Memory = 64000 }
HOME = "true"
BIN = "/bin"
ASK = "true"
ASK_PATTERN = '(\d+)'
LOOK = "true"
LOOK_PATTERN = '(?P<ref>\d+) (?P<name>\S+) (?P<state>\S+)'
WAITING = "W"
RUNNING = "R"
CANCEL = "true"
end
