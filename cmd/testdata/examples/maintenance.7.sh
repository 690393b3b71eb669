for n in 1 2; do printf 'Name = "slot%d@node7"\nMachine = "node7"\nCpus = 1\nRequirements = true\n\n' $n; done >pool.ads
