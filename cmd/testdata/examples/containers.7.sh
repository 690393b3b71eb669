slots detect
cat >python.sub <<'END'
universe     = docker
docker_image = docker.io/library/python:3.13
executable   = /usr/local/bin/python3
transfer_executable = false
arguments    = "-c 'print(6 * 7)'"
output       = answer
queue
END
