fairspool-setup
cat >>/etc/fairspool/fairspool.toml <<'END'
[engine.hpc]
KIND = "slurm"
PILOT = { Cpus = 1, Memory = 500 }
PILOT_TIME = 3000
HOME = "ssh -T root@head serve -pilot"
ASK = ["-p", "main"]
END
submit -queue 3 -owner alice output=/dev/null error=/dev/null -- true
glidein -q
