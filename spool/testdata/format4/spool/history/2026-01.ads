"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobStatus = 1
Owner = "carol"
ProcId = 11
RemoteWallClockTime = 0.1
# checksum 214a7d42

"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobPrio = 5
JobStatus = 1
Owner = "carol"
ProcId = 4
RemoteWallClockTime = 0.1
# checksum c96fc2d0

"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobPrio = 5
JobStatus = 1
Owner = "carol"
ProcId = 5
RemoteWallClockTime = 0.1
# checksum f5cb2bbc

"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobPrio = 5
JobStatus = 1
Owner = "carol"
ProcId = 7
RemoteWallClockTime = 0.1
# checksum 3a39e342

"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobPrio = 5
JobStatus = 1
Owner = "carol"
ProcId = 9
RemoteWallClockTime = 0.1
# checksum 9cdaf31a

"a name = with\nanything in it" = 1
ClusterId = 5
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobStatus = 1
Owner = "alice"
ProcId = 0
RemoteWallClockTime = 0.1
# checksum 7a950172

"a name = with\nanything in it" = 1
ClusterId = 5
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobStatus = 1
Owner = "alice"
ProcId = 1
RemoteWallClockTime = 0.1
# checksum 54022067

"a name = with\nanything in it" = 1
ClusterId = 1
Cmd = "/bin/echo \"two\nlines\" \\ é"
JobStatus = 1
Owner = "carol"
ProcId = 10
RemoteWallClockTime = 0.1
# checksum cc2fa019

