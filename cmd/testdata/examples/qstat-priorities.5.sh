slots detect
for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit -- true; done
printf 'executable = /bin/true\nqueue 9\n' >nine.sub
submit -owner alice nine.sub
