slots detect -count 1
for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit hold=true -- true; done
submit -- sleep 60
negotiate -q
starter -q
