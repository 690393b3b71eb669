"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobPrio = 5
JobStatus = 1
Owner = "carol"
ProcId = 6
RemoteWallClockTime = 0.1
# checksum a5a20a98

