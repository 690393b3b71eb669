printf 'executable = /bin/cat\n' >one.sub
printf 'a.dat -n\nb.dat -v\n' >list
touch a.dat b.dat
