# A pool of this machine with jobs of alice and bob; cluster 12 has ten jobs that wait, as they ask for too much.
slots detect
for cluster in 1 2 3 4 5 6 7 8 9 10; do submit -owner alice -- true; done
submit -owner bob -- true
printf 'executable = /bin/true\nrequest_memory = 100000000\nqueue 10\n' | submit -owner alice
printf 'executable = /bin/true\nqueue\n' >analysis.sub
negotiate -q
