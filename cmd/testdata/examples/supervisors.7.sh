for cluster in 1 2 3 4 5 6 7 8 9 10 11 12; do submit -- true; done
qhold 12.0
: >spool/starter.log
