Name = "hand"
Cpus = 2
