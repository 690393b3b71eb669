slots detect
for cluster in 1 2 3 4 5 6 7 8 9 10 11 12; do submit -- true; done
printf 'MyType = "Job"\nRequestMemory = 1024\nRequirements = TARGET.Memory >= RequestMemory\n' >job.ad
printf 'Name = "slot1@node7"\nMachine = "node7"\nMemory = 2048\nRequirements = true\n' | tee slot.ad >slots.ads
slots advertise slot.ad
mkdir slots.d
cp slots.ads slots.d/by-hand.ads
mkdir bin
# There is no HTCondor here: two ads as its condor_status -long prints them.
cat >bin/condor_status <<'END'
#!/bin/sh
for slot in 1 2; do printf 'Activity = "Idle"\nCpus = 1\nMachine = "node1"\nMemory = 2048\nMyType = "Machine"\nName = "slot%d@node1"\nRank = 0.0\nStart = true\n\n' $slot; done
END
chmod +x bin/condor_status
