cat >project <<'END'
name physics
oticket 0
fshare 10
acl NONE
xacl NONE
END
cat >tree <<'END'
id=0
name=Root
type=0
shares=1
childnodes=1
id=1
name=default
type=0
shares=10
childnodes=NONE
END
qconf -Aprj project
qconf -Astree tree
