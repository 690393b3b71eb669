for cluster in 1 2 3 4 5 6 7 8 9 10; do submit -- true; done
printf 'executable = /bin/true\nqueue 5\n' >five.sub
submit five.sub
submit five.sub
submit -owner alice five.sub
qhold -a
