for cluster in 1 2 3 4 5 6 7 8 9 10 11 12; do submit -- true; done
printf '#!/bin/sh\n' >collect
chmod +x collect
mkdir results
touch a.dat b.dat
printf '#!/bin/sh\n#SBATCH --mem=2G\ncat "$1"\n' >job.sh
printf 'executable = /bin/true\nqueue 2\n' | tee analysis.sub >nightly.sub
printf 'executable = /bin/cat\ninput = $(input)\n' >one.sub
mkdir weekly
cp nightly.sub weekly/weekly.sub
printf 'Name = "large@node1"\nMachine = "node1"\nCpus = 4\nMemory = 8000\nRequirements = TARGET.RequestCpus == 4\n' >large.ads
slots advertise large.ads
