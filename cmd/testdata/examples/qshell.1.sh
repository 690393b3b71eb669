slots detect -count 8
printf 'Name = "slot1@node1"\nMachine = "node1"\nCpus = 4\nMemory = 8000\nRequirements = true\n' >>large.ads
for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit hold=true -- true; done
submit -- sleep 60
submit -queue 4 -- sleep 60
negotiate -q
starter -q
sed -i s/slot1@/large@/ large.ads
slots advertise large.ads
