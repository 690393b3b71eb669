slots detect
for cluster in 1 2 3 4 5 6 7 8 9 10 11 12; do submit -- true; done
printf 'MyType = "Job"\nRequestMemory = 1024\nRequirements = TARGET.Memory >= RequestMemory\n' >job.ad
printf 'Name = "slot1@node7"\nMachine = "node7"\nMemory = 2048\nRequirements = true\n' | tee slot.ad >slots.ads
slots advertise slot.ad
mkdir slots.d
cp slots.ads slots.d/by-hand.ads
