printf 'executable = /bin/true\nqueue 2\n' >analysis.sub
printf 'executable = /bin/cat\ninput = to-come\nqueue\n' >later.sub
