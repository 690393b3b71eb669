slots detect -count 8
printf 'Name = "large@node1"\nMachine = "node1"\nCpus = 4\nMemory = 8000\nRequirements = TARGET.RequestCpus == 4\n' >large.ads
for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit hold=true -- true; done
submit -- sleep 60
submit -queue 4 -- sleep 60
negotiate -q
starter -q
slots advertise large.ads
