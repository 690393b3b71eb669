package jobad

import (
	"slices"
	"strings"
)

// commands are the submit commands that this version serves, each with its
// other names. Where a description gives several names of one command, the
// first in this list counts.
var commands = [][]string{
	{"executable", "cmd"},
	{"arguments", "args"},
	{"environment", "env"},
	{"getenv", "get_env"},
	{"input", "in", "stdin"},
	{"output", "out", "stdout"},
	{"error", "err", "stderr"},
	{"log", "userlog"},
	{"initialdir", "initial_dir", "iwd"},
	{"universe", "jobuniverse"},
	{"requirements"},
	{"rank", "preferences"},
	{"priority", "prio", "jobprio"},
	{"nice_user", "niceuser"},
	{"request_cpus", "requestcpus"},
	{"request_memory", "requestmemory"},
	{"request_disk", "requestdisk"},
	{"concurrency_limits", "concurrencylimits"},
	{"concurrency_limits_expr", "concurrencylimitsexpr"},
	{"accounting_group", "acctgroup"},
	{"accounting_group_user", "acctgroupuser"},
	{"qos"},
	{"class"},
	{"account"},
	{"unix_group", "unixgroup"},
	{"project"},
	{"department"},
	{"notification", "jobnotification"},
	{"should_transfer_files", "shouldtransferfiles"},
	{"when_to_transfer_output", "whentotransferoutput"},
	{"transfer_executable", "transferexecutable"},
	{"transfer_input", "transferin"},
	{"transfer_output", "transferout"},
	{"transfer_error", "transfererr"},
	{"stream_input", "streamin"},
	{"stream_output", "streamout"},
	{"stream_error", "streamerr"},
	{"copy_to_spool", "copytospool"},
	{"kill_sig", "killsig"},
	{"remove_kill_sig", "removekillsig"},
	{"kill_sig_timeout", "killsigtimeout"},
	{"job_max_vacate_time", "jobmaxvacatetime"},
	{"batch_name", "jobbatchname"},
	{"description", "jobdescription"},
}

// requestPrefix begins the commands that ask for a resource by name.
const requestPrefix = "request_"

// otherNames maps every name of a served command to its first one.
var otherNames = func() map[string]string {
	m := map[string]string{}
	for _, names := range commands {
		for _, n := range names {
			m[n] = names[0]
		}
	}
	return m
}()

// servedNames are all names of commands, as a suggestion may give them.
var servedNames = slices.Concat(commands...)

// isCommand tells whether a name, in lower case, is a served command.
func isCommand(key string) bool {
	return otherNames[key] != "" || len(key) > len(requestPrefix) && strings.HasPrefix(key, requestPrefix)
}

// namesOf returns all names of a served command, the one that counts first.
func namesOf(command string) []string {
	for _, names := range commands {
		if names[0] == command {
			return names
		}
	}
	return []string{command}
}

// protected are the attributes that no description may set, because the
// pool's own records hang on them.
var protected = []string{
	"clusterid", "procid", "owner", "user", "qdate", "mytype", "jobuniverse", "jobstatus",
	"lastjobstatus", "enteredcurrentstatus", "numjobstarts", "numjobmatches", "lastmatchtime",
	"remotewallclocktime", "remoteusercpu", "remotesyscpu", "remotehost", "lastremotehost",
	"completiondate", "exitcode", "exitbysignal", "exitsignal", "jobstartdate",
	"jobcurrentstartdate", "residentsetsize",
}

func isProtected(attr string) bool { return slices.Contains(protected, strings.ToLower(attr)) }
