# The pool and the files of docs/cookbook.md: job 4.0 has ended, 1.0 and 2.0 have slots, 3.0 is held, the others wait.
cat >analysis.sub <<'X'
executable = /bin/cat
arguments  = $(input)
output     = $(input).out
X
printf '#!/bin/sh\n#SBATCH --time=10\n#SBATCH --mem=100M\ncat "$1"\n' >job.sh
printf '#!/bin/sh\ncat "$@"\n' >collect
chmod +x job.sh collect
echo 1 >a.dat
echo 2 >b.dat
userprio -create -setfactor alice@example.org 1.5
slots detect -count 2
printf 'executable = /bin/sleep\narguments = 600\nwall_time = 900\nhold = true\nqueue 2\n' | submit -owner alice -
printf 'executable = /bin/sleep\narguments = 600\nwall_time = 900\nhold = true\nqueue 4\n' | submit -owner bob -
printf 'executable = /bin/true\nhold = true\nqueue\n' | submit -owner alice -
printf 'executable = /bin/echo\narguments = hello\noutput = hello\nerror = hello.err\nlog = done.log\nqueue\n' | submit -owner bob -
negotiate
starter -wait
qrls 1 2
negotiate
printf 'executable = /bin/true\n' >array.sub
printf 'executable = /bin/true\nqueue\n' >job.sub
echo 'PRIORITY_HALFLIFE = 3600' >condor_config
