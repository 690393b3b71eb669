cat >a.sub <<'END'
executable     = /bin/echo
seed           = 100$(Process)
arguments      = "-seed $(seed) -title 'run $(Process)'"
output         = out.$(Process)
log            = simulate.log
request_memory = 2 GB
queue 3
END
printf 'executable = /bin/cat\ninput = $(data)\n' >one.sub
touch night.dat day.dat
