package jobad

import "testing"

// TestManual holds what HTCondor's manual and program make of commands, written down from
// them and not from this package.
func TestManual(t *testing.T) {
	o := testOptions()
	o.Environ = []string{"ZA=1", "ZB=two words", "YA=q'x"}
	for _, c := range []struct{ text, name, want string }{
		{`arguments = "a b"`, "Arguments", `"a b"`}, {`arguments = "a b"`, "Args", "-"}, {`arguments = "a 'b c'"`, "Arguments", `"a b' 'c"`},
		{`arguments = "'it''s'"`, "Arguments", `"it''''s"`}, {`arguments = "a ""q"""`, "Arguments", `"a \"q\""`},
		{`arguments = a \"q\"`, "Args", `"a \"q\""`}, {"arguments = 'a b'", "Args", `"'a b'"`}, {"args = x", "Args", `"x"`},
		{`arguments2 = "x y"`, "Arguments", `"x y"`}, {"arguments = a\narguments2=\"b\"\nallow_arguments_v1=true", "Arguments", `"b"`},
		{"arguments =", "Arguments", `""`}, {`arguments = ""`, "Arguments", `""`}, {`arguments = "''"`, "Arguments", `"''"`},
		{`arguments = a\b`, "Args", `"a\b"`}, {`arguments = "a\b"`, "Arguments", `"a\b"`}, {`arguments = "  a   b "`, "Arguments", `"a b"`},
		{`arguments = "a'b c'd"`, "Arguments", `"ab' 'cd"`}, {"arguments = -x=$(Process) $(Cluster)", "Args", `"-x=0 1"`},
		{"arguments = $$(Arch)", "Args", `"$$(Arch)"`}, {"environment = A=1;B=2", "Env", `"A=1;B=2"`}, {"environment = A=1;B=2", "Environment", "-"},
		{`environment = "A=1 B=2"`, "Environment", `"A=1 B=2"`}, {`environment = "A=1 B=2"`, "Env", "-"},
		{`environment = "A='x y'"`, "Environment", `"A=x' 'y"`}, {`environment = "A='x''y'"`, "Environment", `"A=x''''y"`},
		{`environment = "A=""q"""`, "Environment", `"A=\"q\""`}, {"environment = A=1", "Env", `"A=1"`}, {"environment = A=x y;B=", "Env", `"A=x y;B="`},
		{`environment = "A=1 A=2"`, "Environment", `"A=2"`}, {`env = "A=1"`, "Environment", `"A=1"`}, {`environment2="A=1"`, "Environment", `"A=1"`},
		{`environment = A="q"`, "Env", `"A=\"q\""`}, {"", "Environment", "-"}, {"", "Env", "-"}, {`environment = "B=1 A=2"`, "Environment", `"B=1 A=2"`},
		{"getenv = ZA", "Environment", `"ZA=1"`}, {"getenv = ZA, ZB", "Environment", `"ZA=1 ZB=two' 'words"`},
		{"getenv = Z*", "Environment", `"ZA=1 ZB=two' 'words"`}, {"getenv = za", "Environment", `"ZA=1"`}, {"getenv = Z*, !ZB", "Environment", `"ZA=1"`},
		{"getenv = false", "Environment", "-"}, {"getenv = ZA\nenvironment=\"ZA=9 C=1\"", "Environment", `"ZA=9 C=1"`},
		{"getenv = YA", "Environment", `"YA=q''''x"`}, {"initialdir=run1", "Iwd", `"/home/alice/run1"`}, {"initialdir=run1/", "Iwd", `"/home/alice/run1/"`},
		{"iwd=run1\nlog=l", "UserLog", `"/home/alice/run1/l"`}, {"log=/tmp/l", "UserLog", `"/tmp/l"`}, {"output=o.$(Process)", "Out", `"o.0"`},
		{"output=o.$(Process)", "StreamOut", "false"}, {"", "TransferOut", "false"}, {"", "StreamOut", "-"},
		{"input=in.txt\nstream_input=true", "In", `"in.txt"`}, {"input=in.txt\nstream_input=true", "StreamIn", "true"}, {"stdout=a\nstderr=b", "Out", `"a"`},
		{"stdout=a\nstderr=b", "Err", `"b"`}, {"output=o\ntransfer_output=false", "TransferOut", "false"}, {"universe=vanilla", "JobUniverse", "5"},
		{"universe=VANILLA", "JobUniverse", "5"}, {"universe=Scheduler", "JobUniverse", "7"}, {"universe=local", "JobUniverse", "12"},
		{"universe=java", "JobUniverse", "10"}, {"universe=standard", "JobUniverse", "1"}, {"universe=5", "JobUniverse", "5"},
		{"universe=docker\ndocker_image=x", "JobUniverse", "5"}, {"universe=container\ncontainer_image=x", "JobUniverse", "5"},
		{"universe=docker\ndocker_image=i:l", "WantDocker", "true"}, {"universe=docker\ndocker_image=i:l", "DockerImage", `"i:l"`},
		{"container_image=x.sif", "WantContainer", "true"}, {"container_image=x.sif", "ContainerImage", `"x.sif"`},
		{"universe=local", "KillSig", `"SIGTERM"`}, {"universe=local", "JobLeaseDuration", "-"}, {"universe=vanilla", "KillSig", "-"},
		{"universe=vanilla", "JobLeaseDuration", "2400"}, {"universe=scheduler", "KillSig", `"SIGTERM"`}, {"kill_sig=9", "KillSig", `"SIGKILL"`},
		{"kill_sig=sigusr1", "KillSig", `"SIGUSR1"`}, {"remove_kill_sig=2", "RemoveKillSig", `"SIGINT"`},
		{"hold_kill_sig=SIGHUP", "HoldKillSig", `"SIGHUP"`}, {"kill_sig_timeout=30", "KillSigTimeout", "30"},
		{"job_max_vacate_time=60", "JobMaxVacateTime", "60"}, {"job_lease_duration=10", "JobLeaseDuration", "20"},
		{"job_lease_duration=0", "JobLeaseDuration", "-"}, {"job_lease_duration=60*60", "JobLeaseDuration", "60 * 60"},
		{"request_memory=512", "RequestMemory", "512"}, {"request_memory=1G", "RequestMemory", "1024"}, {"request_memory=1GB", "RequestMemory", "1024"},
		{"request_memory=1.5G", "RequestMemory", "1536"}, {"request_memory=2 GB", "RequestMemory", "2048"}, {"request_memory=500K", "RequestMemory", "1"},
		{"request_memory=1025K", "RequestMemory", "2"}, {"request_memory=1M", "RequestMemory", "1"}, {"request_memory=1T", "RequestMemory", "1048576"},
		{"request_memory=1GiB", "RequestMemory", "1024"}, {"request_memory=512 MB", "RequestMemory", "512"},
		{"request_memory=1024*2", "RequestMemory", "1024 * 2"}, {"request_memory=$(Process)+100", "RequestMemory", "0 + 100"},
		{"request_memory=undefined", "RequestMemory", "-"}, {"request_memory=0", "RequestMemory", "0"}, {"request_memory=1048576B", "RequestMemory", "1"},
		{"request_memory=1g", "RequestMemory", "1024"}, {"request_memory=1.2", "RequestMemory", "2"},
		{"request_memory=ifThenElse(MemoryUsage =!= undefined,MemoryUsage,10)", "RequestMemory", "ifThenElse(MemoryUsage =!= undefined,MemoryUsage,10)"},
		{"request_disk=1", "RequestDisk", "1"}, {"request_disk=1M", "RequestDisk", "1024"}, {"request_disk=1G", "RequestDisk", "1048576"},
		{"request_disk=1.5G", "RequestDisk", "1572864"}, {"request_disk=1K", "RequestDisk", "1"}, {"request_disk=1KB", "RequestDisk", "1"},
		{"request_disk=1B", "RequestDisk", "1"}, {"request_disk=2T", "RequestDisk", "2147483648"}, {"request_cpus=4", "RequestCpus", "4"},
		{"request_cpus=2*2", "RequestCpus", "2 * 2"}, {"request_cpus=undefined", "RequestCpus", "-"}, {"request_gpus=1", "RequestGPUs", "1"},
		{"request_foo=2", "RequestFoo", "2"}, {`request_foo="a"`, "RequestFoo", `"a"`}, {"RequestCpus=3", "RequestCpus", "3"},
		{"image_size=1M", "ImageSize", "1024"}, {"machine_count=1", "MachineCount", "1"}, {"priority=5", "JobPrio", "5"}, {"prio=-5", "JobPrio", "-5"},
		{"priority=1+1", "JobPrio", "2"}, {"accounting_group=g", "AcctGroup", `"g"`}, {"accounting_group=g", "AcctGroupUser", `"alice"`},
		{"accounting_group=g", "AccountingGroup", `"g.alice"`}, {"accounting_group=g\naccounting_group_user=u", "AccountingGroup", `"g.u"`},
		{"accounting_group=g\naccounting_group_user=u", "AcctGroupUser", `"u"`}, {"accounting_group_user=u", "AccountingGroup", `"u"`},
		{"accounting_group_user=u", "AcctGroup", "-"}, {"accounting_group=g.h.i", "AccountingGroup", `"g.h.i.alice"`},
		{"nice_user=true", "AccountingGroup", `"nice-user.alice"`}, {"nice_user=true", "MaxJobRetirementTime", "0"},
		{"nice_user=true\naccounting_group=g", "AccountingGroup", `"g.alice"`}, {"nice_user=false", "AccountingGroup", "-"},
		{"nice_user=true\nmax_job_retirement_time=7", "MaxJobRetirementTime", "7"}, {`+AccountingGroup="x.y"`, "AccountingGroup", `"x.y"`},
		{"concurrency_limits=a.b", "ConcurrencyLimits", `"a.b"`}, {`concurrency_limits_expr=strcat("a","b")`, "ConcurrencyLimits", `strcat("a","b")`},
		{"concurrency_limits=a:1.5", "ConcurrencyLimits", `"a:1.5"`}, {"notification=never", "JobNotification", "0"},
		{"notification=ALWAYS", "JobNotification", "1"}, {"notification=Complete", "JobNotification", "2"}, {"notification=error", "JobNotification", "3"},
		{"notification=start", "JobNotification", "4"}, {"notify_user=a@b", "NotifyUser", `"a@b"`}, {"hold=true", "JobStatus", "5"},
		{"hold=true", "HoldReason", `"submitted on hold at user's request"`}, {"hold=true", "HoldReasonCode", "15"}, {"hold=false", "JobStatus", "1"},
		{"max_retries=3", "JobMaxRetries", "3"}, {"max_retries=3", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0"},
		{"max_retries=3\nsuccess_exit_code=5", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= JobSuccessExitCode"},
		{"max_retries=3\nsuccess_exit_code=5", "JobSuccessExitCode", "5"}, {"retry_until=4", "JobMaxRetries", "2"},
		{"retry_until=4", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitCode =?= 4"},
		{"max_retries=1\nretry_until=ExitCode > 3", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitCode > 3"},
		{"max_retries=1\non_exit_remove=ExitBySignal", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitBySignal"},
		{"on_exit_remove=ExitCode==0", "OnExitRemove", "ExitCode == 0"},
		{"on_exit_hold=ExitCode!=0\non_exit_hold_reason=\"x\"\non_exit_hold_subcode=3", "OnExitHold", "ExitCode != 0"},
		{"on_exit_hold=ExitCode!=0\non_exit_hold_reason=\"x\"\non_exit_hold_subcode=3", "OnExitHoldReason", `"x"`},
		{"on_exit_hold=ExitCode!=0\non_exit_hold_reason=\"x\"\non_exit_hold_subcode=3", "OnExitHoldSubCode", "3"},
		{"success_exit_code=2", "JobSuccessExitCode", "2"}, {"success_exit_code=2", "JobMaxRetries", "2"},
		{"success_exit_code=2", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= JobSuccessExitCode"},
		{"max_retries=1\nretry_until=a&&b", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || a && b"},
		{"max_retries=1\nretry_until=a?b:c", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || (a ? b : c)"},
		{"max_retries=0", "JobMaxRetries", "0"},
		{"periodic_hold=true\nperiodic_release=NumJobStarts < 3\nperiodic_remove=false\nperiodic_vacate=1", "PeriodicHold", "true"},
		{"periodic_hold=true\nperiodic_release=NumJobStarts < 3\nperiodic_remove=false\nperiodic_vacate=1", "PeriodicRelease", "NumJobStarts < 3"},
		{"periodic_hold=true\nperiodic_release=NumJobStarts < 3\nperiodic_remove=false\nperiodic_vacate=1", "PeriodicRemove", "false"},
		{"periodic_hold=true\nperiodic_release=NumJobStarts < 3\nperiodic_remove=false\nperiodic_vacate=1", "PeriodicVacate", "1"},
		{"leave_in_queue=true", "LeaveJobInQueue", "true"}, {"rank=Memory", "Rank", "Memory"}, {"preferences=Mips", "Rank", "Mips"},
		{"rank=kflops*1.0", "Rank", "kflops * 1.0"}, {"+Foo=1", "Foo", "1"}, {`+Foo="a"`, "Foo", `"a"`}, {"+Foo=bar", "Foo", "bar"},
		{"+Foo=", "Foo", "undefined"}, {"MY.Foo=1+1", "Foo", "1 + 1"}, {"+JobPrio=7\npriority=1", "JobPrio", "7"},
		{"+Requirements=true", "Requirements", "true"}, {"MY.Requirements=Memory>1", "Requirements", "Memory > 1"}, {"+Rank=2", "Rank", "2"},
		{"+RequestMemory=99", "RequestMemory", "99"}, {`+Owner="x"`, "Owner", `"alice"`}, {"+Foo=$(Process)", "Foo", "0"},
		{`+Foo="$(Process)"`, "Foo", `"0"`}, {"+foo=1\n+FOO=2", "FOO", "2"}, {"+Foo={1,2}", "Foo", "{ 1,2 }"}, {"+Foo=[a=1]", "Foo", "[ a = 1 ]"},
		{"should_transfer_files=yes", "ShouldTransferFiles", `"YES"`}, {"should_transfer_files=yes", "WhenToTransferOutput", `"ON_EXIT"`},
		{"should_transfer_files=NO", "ShouldTransferFiles", `"NO"`}, {"should_transfer_files=NO", "WhenToTransferOutput", "-"},
		{"should_transfer_files=if_needed", "ShouldTransferFiles", `"IF_NEEDED"`}, {"should_transfer_files=true", "ShouldTransferFiles", `"YES"`},
		{"when_to_transfer_output=on_success\nshould_transfer_files=YES", "WhenToTransferOutput", `"ON_SUCCESS"`},
		{"when_to_transfer_output=ON_EXIT_OR_EVICT\nshould_transfer_files=yes", "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`},
		{"transfer_input_files=in.txt, run1/ ,  exe", "TransferInput", `"in.txt,run1/,exe"`}, {"transfer_output_files=a, b", "TransferOutput", `"a,b"`},
		{`transfer_output_files=""`, "TransferOutput", `""`}, {`transfer_output_remaps="a=b"`, "TransferOutputRemaps", `"a=b"`},
		{"transfer_input_files=http://x/y,in.txt", "TransferInput", `"http://x/y,in.txt"`}, {"max_transfer_input_mb=5", "MaxTransferInputMB", "5"},
		{"preserve_relative_paths=true", "PreserveRelativePaths", "true"}, {"batch_name=b", "JobBatchName", `"b"`},
		{`batch_name="b c"`, "JobBatchName", `"b c"`}, {"batch_name='b'", "JobBatchName", `"b"`}, {"coresize=5", "CoreSize", "5"},
		{"allowed_job_duration=60", "AllowedJobDuration", "60"}, {"deferral_time=1000", "DeferralTime", "1000"},
		{"deferral_time=1000", "DeferralWindow", "0"}, {"deferral_time=1000", "DeferralPrepTime", "300"}, {"cron_minute=5", "CronMinute", `"5"`},
		{"log=l\nlog_xml=true", "UserLogUseXML", "true"}, {"email_attributes=A,B", "EmailAttributes", `"A,B"`},
		{"stack_size=5", "StackSize", "5"}, {`environment = A="q" \"r`, "Env", `"A=\"q\" \\"r"`}, {"arguments = a b  c", "Args", `"a b c"`},
		{"concurrency_limits=B,a", "ConcurrencyLimits", `"a,B"`}, {"concurrency_limits=x:2 Y", "ConcurrencyLimits", `"x:2,Y"`},
		{`transfer_output_remaps="a = b; c=d"`, "TransferOutputRemaps", `"a = b; c=d"`}, {"job_lease_duration=-5", "JobLeaseDuration", "20"},
		{"universe=java\narguments=M", "KillSig", `"SIGTERM"`}, {"universe=local\nkill_sig=2", "KillSig", `"SIGINT"`},
		{"universe=docker\ndocker_image=x", "KillSig", "-"}, {"universe=local\njob_lease_duration=60", "JobLeaseDuration", "60"},
		{"universe=java\narguments=M", "JobLeaseDuration", "2400"},
	} {
		d, _, err := read("executable = /bin/true\n"+c.text+"\nqueue\n", o)
		if err != nil {
			t.Errorf("read(%q) = %v", c.text, err)
			continue
		}
		cluster, err := d.Expand(1)
		if err != nil {
			t.Errorf("Expand of %q = %v", c.text, err)
			continue
		}
		got := "-"
		if e, ok := cluster.Runs[0].Ad().Chain(cluster.Ad).Lookup(c.name); ok {
			got = e.String()
		}
		if got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// TestManualRefusals holds what HTCondor's submit refuses, and we do.
func TestManualRefusals(t *testing.T) {
	for _, text := range []string{
		`arguments = a"b`, `arguments = "a`, `arguments = "a" b`, `arguments = "'a"`, "arguments2 = x", "arguments = a\narguments2=\"b\"",
		`environment = "A"`, "environment = A", "environment = =1", "universe=grid", "universe=vm", "universe=foo", "universe=parallel\nmachine_count=2",
		"universe=mpi", "universe=pvm", "universe=docker", "universe=container", "kill_sig=99", "request_memory=lots", "request_memory=1X",
		"request_memory=-1", "request_memory=1 2", `request_memory="1G"`, `request_cpus="4"`, "priority=abc", "accounting_group=g h",
		"concurrency_limits=a-b", "concurrency_limits=a\nconcurrency_limits_expr=\"b\"", "concurrency_limits=a:0", "concurrency_limits=a:x",
		"notification=foo", "hold=maybe", "max_retries=x", "max_retries=1\nretry_until=\"x\"", "max_retries=1\nretry_until=2.5", "periodic_hold=a b",
		"+Foo=a b", "+A b=1", "+1a=1", "should_transfer_files=maybe", "when_to_transfer_output=never",
		"should_transfer_files=NO\nwhen_to_transfer_output=ON_EXIT", "should_transfer_files=IF_NEEDED\nwhen_to_transfer_output=ON_EXIT_OR_EVICT",
		"cron_minute=99", "deferral_time=-1", "noop_job=true",
	} {
		if d, _, err := read("executable = /bin/true\n"+text+"\nqueue\n", testOptions()); err == nil {
			t.Errorf("read(%q) = %v, want an error", text, d)
		}
	}
}
