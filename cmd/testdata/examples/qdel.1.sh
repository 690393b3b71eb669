for cluster in 1 2 3 4 5 6 7 8 9 10 11; do submit -- true; done
printf 'executable = /bin/true\nqueue 3\n' >three.sub
submit three.sub
submit three.sub
submit three.sub
submit -owner alice hold=true three.sub
submit -owner alice leave_in_queue=true three.sub
submit -owner bob three.sub
