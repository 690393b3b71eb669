slots detect
for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit hold=true -- true; done
submit -- echo done
submit -queue 4 -- sh -c 'echo done; echo one >&2'
negotiate -q
starter -q -wait
negotiate -q
starter -q -wait
negotiate -q
starter -q -wait
