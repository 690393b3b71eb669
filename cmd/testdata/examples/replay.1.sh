slots detect
submit -- true
negotiate -q
starter -wait -q
printf 'PRIORITY_HALFLIFE = 604800\n' >new.toml
printf '1 0 0 60 1 60 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n' | gzip >LCG-2005.swf.gz
mkdir bin
# sacct wants a database of Slurm's accounting, which no test has: rows in its form.
cat >bin/sacct <<'END'
#!/bin/sh
echo 'JobID|User|Account|Submit|Start|End|AllocCPUS'
echo '101|ann|physics|2026-11-02T08:00:00|2026-11-02T08:00:10|2026-11-02T09:00:10|4'
echo '102|bob|chemistry|2026-11-02T08:05:00|2026-11-02T08:05:20|2026-11-02T08:25:20|1'
END
chmod +x bin/sacct
