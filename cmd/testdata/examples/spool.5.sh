slots detect
submit -- true
negotiate
starter -wait
for cluster in 2 3 4 5 6 7 8 9 10 11 12; do submit -- true; done
spool compact -q
prio +5 12
