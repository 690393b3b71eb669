printf 'executable = /bin/echo\narguments = $(mode:fast) 100$(Process)\nqueue 2\n' >a.sub
