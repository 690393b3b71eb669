package jobad

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// Fate is what becomes of a submit command.
type Fate int

// What becomes of a command: Served acts. Kept is an attribute of the job, or nothing at
// all, and its lack of effect is harmless. Waiting is an attribute on which the pool does
// not act, with one warning. Refused is an error, because the jobs would silently
// misbehave.
const (
	Served Fate = iota
	Kept
	Waiting
	Refused
)

// String returns the fate in one word.
func (f Fate) String() string { return [...]string{"served", "kept", "waiting", "refused"}[f] }

// Command is a submit command.
type Command struct {
	Name string   // its name, in lower case
	Also []string // its other names, in lower case: where several are given, the first counts, Name before all
	Attr string   // the attribute that it sets; empty: none, or several
	Fate Fate
	Why  string // what does not happen, or why it is refused; may be empty

	kind  kind
	names []string // Name and Also
}

// kind is how a command that sets one attribute says its value.
type kind int

const (
	elsewhere kind = iota // a part of its own sees to the command
	text                  // a string, double quotes around it left out
	list                  // a string: words with commas between
	file                  // a string: a path, relative to the working directory
	truthful              // true or false
	whole                 // a whole number, or an expression that gives one as it stands
	natural               // the same, from 0 up
	seconds               // a whole number from 0 up, or an expression
	expr                  // an expression
)

// Commands returns all submit commands by subject: what submit-commands(5) has of them.
func Commands() []Command { return slices.Clone(table()) }

// table has all commands, with all of their names.
var table = sync.OnceValue(func() []Command {
	all := slices.Concat(programCommands, requestCommands, transferCommands, policyCommands,
		accountCommands, peopleCommands, universeCommands, otherCommands)
	taken := map[string]bool{}
	for _, c := range all {
		for _, n := range append(c.Also, c.Name) {
			taken[n] = true
		}
	}
	for i := range all {
		c := &all[i]
		for _, n := range []string{strings.ToLower(c.Attr), strings.ReplaceAll(c.Name, "_", "")} {
			if n != "" && !taken[n] && !ambiguous[n] {
				taken[n] = true
				c.Also = append(slices.Clip(c.Also), n)
			}
		}
		c.names = append([]string{c.Name}, c.Also...)
	}
	return all
})

// ambiguous are names that two commands would share (transfer_output is a truth, and
// TransferOutput the attribute of transfer_output_files), and names of attributes that
// people give to macros of their own.
var ambiguous = map[string]bool{"transferinput": true, "transferoutput": true, "in": true, "out": true, "err": true}

// byName finds a command by any of its names.
var byName = sync.OnceValue(func() map[string]*Command {
	m := map[string]*Command{}
	all := table()
	for i := range all {
		for _, n := range all[i].names {
			m[n] = &all[i]
		}
	}
	return m
})

// namesOf returns all names of a command, the one that counts first before all.
func namesOf(command string) []string {
	if c := byName()[command]; c != nil {
		return c.names
	}
	return []string{command}
}

// suggestions are the names that a warning may propose.
var suggestions = sync.OnceValue(func() []string {
	var out []string
	for _, c := range table() {
		if c.Fate != Refused {
			out = append(out, c.Name)
		}
	}
	return out
})

// requestPrefix begins the commands that ask for a resource by name.
const requestPrefix = "request_"

// requirePrefix begins the commands for the required properties of each unit of a
// resource, transformPrefix those with the statements that change a job that has to
// leave.
const (
	requirePrefix   = "require_"
	transformPrefix = "transform_body_"
)

// families are the beginnings and ends of commands that take part of their name
// from the user, besides request_NAME. The first two of the beginnings act, the others
// are kept without an attribute. Behind oauth stands what may be followed by _HANDLE.
var families = struct{ beginnings, ends, oauth []string }{
	[]string{requirePrefix, transformPrefix, "jobset.", "ec2_tag_", "ec2_parameter_", "cloud_label_"},
	[]string{"_container_port"},
	[]string{"_oauth_permissions", "_oauth_resource", "_oauth_options"},
}

// isCommand reports whether a name, in lower case, is a submit command's.
func isCommand(key string) bool {
	if byName()[key] != nil || isRequest(key) {
		return true
	}
	return slices.ContainsFunc(families.beginnings, func(b string) bool { return len(key) > len(b) && strings.HasPrefix(key, b) }) ||
		slices.ContainsFunc(families.ends, func(e string) bool { return strings.HasSuffix(key, e) }) ||
		slices.ContainsFunc(families.oauth, func(o string) bool {
			service, handle, found := strings.Cut(key, o)
			return found && service != "" && (handle == "" || len(handle) > 1 && handle[0] == '_')
		})
}

// isRequest reports whether a name, in lower case, asks for a resource that has no
// command of its own.
func isRequest(key string) bool {
	return len(key) > len(requestPrefix) && strings.HasPrefix(key, requestPrefix) && byName()[key] == nil
}

// The commands by subject. Those without a kind are worked out by the part of the
// job that bears the subject's name. Other names are HTCondor's own; attributes'
// names and names without underscores are added to them in commands.go.

var programCommands = []Command{
	{Name: "executable", Attr: "Cmd"},
	{Name: "shell", Why: "a line for /bin/sh in place of executable and arguments"},
	{Name: "arguments", Also: []string{"args"}},
	{Name: "arguments2", Also: []string{"args2"}, Attr: "Arguments"},
	{Name: "allow_arguments_v1"},
	{Name: "environment", Also: []string{"env"}},
	{Name: "environment2", Also: []string{"env2"}},
	{Name: "allow_environment_v1"},
	{Name: "getenv", Also: []string{"get_env"}},
	{Name: "input", Also: []string{"stdin"}, Attr: "In"},
	{Name: "output", Also: []string{"stdout"}, Attr: "Out"},
	{Name: "error", Also: []string{"stderr"}, Attr: "Err"},
	{Name: "log", Also: []string{"userlog"}, Attr: "UserLog"},
	{Name: "log_xml", Attr: "UserLogUseXML", kind: truthful, Fate: Waiting, Why: "the event log is text"},
	{Name: "initialdir", Also: []string{"initial_dir", "job_iwd"}, Attr: "Iwd"},
	{Name: "remote_initialdir", Attr: "RemoteIwd", kind: text, Fate: Kept},
	{Name: "universe", Attr: "JobUniverse"},
	{Name: "skip_filechecks"},
	{Name: "jar_files", Attr: "JarFiles", kind: text, Fate: Kept},
	{Name: "java_vm_arguments", Also: []string{"java_vm_args", "java_vm_arguments2"}, Attr: "JavaVMArguments"},
	{Name: "noop_job", Attr: "IsNoopJob", Fate: Refused, Why: "if true: the job would be run all the same"},
	{Name: "noop_job_exit_code", Attr: "NoopJobExitCode", kind: expr, Fate: Kept},
	{Name: "noop_job_exit_signal", Attr: "NoopJobExitSignal", kind: expr, Fate: Kept},
	{Name: "skip_if_dataflow", Attr: "SkipIfDataflow", kind: truthful, Fate: Waiting, Why: "the job runs even if its outputs are newer than its inputs"},
}

var requestCommands = []Command{
	{Name: "requirements", Attr: "Requirements"},
	{Name: "rank", Also: []string{"preferences"}, Attr: "Rank"},
	{Name: "request_cpus", Attr: "RequestCpus"},
	{Name: "request_memory", Attr: "RequestMemory"},
	{Name: "request_disk", Attr: "RequestDisk"},
	{Name: "request_gpus", Attr: "RequestGPUs"},
	{Name: "require_gpus", Attr: "RequireGPUs"},
	{Name: "gpus_minimum_capability", Attr: "GPUsMinCapability"},
	{Name: "gpus_maximum_capability", Attr: "GPUsMaxCapability"},
	{Name: "gpus_minimum_memory", Attr: "GPUsMinMemory"},
	{Name: "gpus_minimum_runtime", Attr: "GPUsMinRuntime"},
	{Name: "cuda_version", Attr: "CUDAVersion"},
	{Name: "retry_request_memory"},
	{Name: "retry_request_memory_increase"},
	{Name: "retry_request_memory_max"},
	{Name: "retry_request_disk"},
	{Name: "retry_request_disk_increase"},
	{Name: "retry_request_disk_max"},
	{Name: "image_size", Attr: "ImageSize"},
	{Name: "disk_usage", Attr: "DiskUsage", kind: expr, Fate: Kept},
	{Name: "memory_usage", Attr: "MemoryUsage", kind: expr, Fate: Kept},
	{Name: "coresize", Also: []string{"core_size"}, Attr: "CoreSize", kind: whole},
	{Name: "stack_size", Attr: "StackSize", kind: expr, Fate: Kept},
	{Name: "concurrency_limits", Attr: "ConcurrencyLimits"},
	{Name: "concurrency_limits_expr"},
	{Name: "machine_count", Also: []string{"node_count", "nodecount"}, Attr: "MachineCount", Why: "more than 1 is refused for a parallel job: a job runs on one slot"},
	{Name: "wantparallelscheduling", Attr: "WantParallelScheduling"},
	{Name: "parallel_slots", Attr: "ParallelSlots", Why: "counts in the order of jobs; a job runs on one slot"},
	{Name: "parallel_environment", Attr: "ParallelEnvironment"},
	{Name: "parallel_script_shadow", Attr: "ParallelScriptShadow", kind: text, Fate: Kept},
	{Name: "parallel_script_starter", Attr: "ParallelScriptStarter", kind: text, Fate: Kept},
	{Name: "keep_claim_idle", Attr: "KeepClaimIdle", kind: expr, Fate: Waiting},
	{Name: "next_job_start_delay", Attr: "NextJobStartDelay", kind: expr, Fate: Waiting},
	{Name: "match_list_length", Also: []string{"last_match_list_length"}, Attr: "LastMatchListLength", kind: whole, Fate: Kept},
}

var transferCommands = []Command{
	{Name: "should_transfer_files", Attr: "ShouldTransferFiles"},
	{Name: "when_to_transfer_output", Attr: "WhenToTransferOutput"},
	{Name: "transfer_executable", Attr: "TransferExecutable"},
	{Name: "transfer_input_files", Also: []string{"transferinputfiles"}, Attr: "TransferInput"},
	{Name: "transfer_output_files", Also: []string{"transferoutputfiles"}, Attr: "TransferOutput"},
	{Name: "transfer_output_remaps", Attr: "TransferOutputRemaps"},
	{Name: "transfer_input", Attr: "TransferIn"},
	{Name: "transfer_output", Attr: "TransferOut"},
	{Name: "transfer_error", Attr: "TransferErr"},
	{Name: "stream_input", Attr: "StreamIn"},
	{Name: "stream_output", Attr: "StreamOut"},
	{Name: "stream_error", Attr: "StreamErr"},
	{Name: "copy_to_spool"},
	{Name: "preserve_relative_paths", Attr: "PreserveRelativePaths"},
	{Name: "output_destination", Attr: "OutputDestination"},
	{Name: "output_directory", Attr: "OutputDirectory"},
	{Name: "public_input_files", Attr: "PublicInputFiles"},
	{Name: "transfer_common_input", Also: []string{"transfer_common_input_files", "common_input_files"}, Attr: "CommonInputFiles", Why: "the files are copied for each job"},
	{Name: "transfer_plugins", Attr: "TransferPlugins"},
	{Name: "transfer_checkpoint_files", Attr: "TransferCheckpoint", kind: text},
	{Name: "checkpoint_exit_code", Attr: "CheckpointExitCode", kind: whole},
	{Name: "checkpoint_destination", Attr: "CheckpointDestination", kind: text, Fate: Waiting},
	{Name: "erase_output_and_error_on_restart", Attr: "DontAppend", kind: truthful},
	{Name: "max_transfer_input_mb", Attr: "MaxTransferInputMB", kind: expr, Fate: Waiting},
	{Name: "max_transfer_output_mb", Attr: "MaxTransferOutputMB", kind: expr, Fate: Waiting},
	{Name: "encrypt_execute_directory", Attr: "EncryptExecuteDirectory"},
	{Name: "encrypt_input_files", Attr: "EncryptInputFiles", kind: text, Fate: Kept, Why: "files do not leave the machine"},
	{Name: "encrypt_output_files", Attr: "EncryptOutputFiles", kind: text, Fate: Kept, Why: "files do not leave the machine"},
	{Name: "dont_encrypt_input_files", Attr: "DontEncryptInputFiles", kind: text, Fate: Kept, Why: "files do not leave the machine"},
	{Name: "dont_encrypt_output_files", Attr: "DontEncryptOutputFiles", kind: text, Fate: Kept, Why: "files do not leave the machine"},
	{Name: "manifest", Attr: "WantManifest", kind: truthful, Fate: Kept},
	{Name: "manifest_dir", Attr: "ManifestDir", kind: text, Fate: Kept},
	{Name: "append_files", Attr: "AppendFiles", kind: text},
	{Name: "local_files", Attr: "LocalFiles", kind: text, Fate: Kept},
	{Name: "fetch_files", Attr: "FetchFiles", kind: text, Fate: Kept},
	{Name: "compress_files", Attr: "CompressFiles", kind: text, Fate: Kept},
	{Name: "buffer_files", Attr: "BufferFiles", kind: expr, Fate: Kept},
	{Name: "buffer_size", Attr: "BufferSize", kind: expr, Fate: Kept},
	{Name: "buffer_block_size", Attr: "BufferBlockSize", kind: expr, Fate: Kept},
	{Name: "file_remaps", Attr: "FileRemaps", kind: text, Fate: Kept},
	{Name: "want_io_proxy", Attr: "WantIOProxy", kind: truthful, Fate: Kept},
	{Name: "want_remote_io", Attr: "WantRemoteIO", kind: truthful, Fate: Kept},
	{Name: "want_job_networking", Attr: "WantJobNetworking", kind: truthful, Fate: Waiting, Why: "a job has the network of its machine"},
}

var policyCommands = []Command{
	{Name: "priority", Also: []string{"prio"}, Attr: "JobPrio"},
	{Name: "hold", Why: "jobs wait for qrls"},
	{Name: "leave_in_queue", Attr: "LeaveJobInQueue"},
	{Name: "periodic_hold", Attr: "PeriodicHold"},
	{Name: "periodic_hold_reason", Attr: "PeriodicHoldReason", kind: expr},
	{Name: "periodic_hold_subcode", Attr: "PeriodicHoldSubCode", kind: expr},
	{Name: "periodic_release", Attr: "PeriodicRelease"},
	{Name: "periodic_remove", Attr: "PeriodicRemove"},
	{Name: "periodic_remove_reason", Attr: "PeriodicRemoveReason", kind: expr},
	{Name: "periodic_vacate", Attr: "PeriodicVacate"},
	{Name: "on_exit_hold", Attr: "OnExitHold"},
	{Name: "on_exit_hold_reason", Attr: "OnExitHoldReason", kind: expr},
	{Name: "on_exit_hold_subcode", Attr: "OnExitHoldSubCode", kind: expr},
	{Name: "on_exit_remove", Attr: "OnExitRemove"},
	{Name: "on_exit_remove_reason", Attr: "OnExitRemoveReason", kind: expr, Fate: Kept},
	{Name: "on_evict_checks", Attr: "TransformOnEvict"},
	{Name: "max_retries", Attr: "JobMaxRetries"},
	{Name: "retry_until"},
	{Name: "success_exit_code", Attr: "JobSuccessExitCode"},
	{Name: "deferral_time", Attr: "DeferralTime"},
	{Name: "deferral_window", Attr: "DeferralWindow"},
	{Name: "deferral_prep_time", Attr: "DeferralPrepTime"},
	{Name: "cron_minute", Attr: "CronMinute"},
	{Name: "cron_hour", Attr: "CronHour"},
	{Name: "cron_day_of_month", Attr: "CronDayOfMonth"},
	{Name: "cron_month", Attr: "CronMonth"},
	{Name: "cron_day_of_week", Attr: "CronDayOfWeek"},
	{Name: "cron_window"},
	{Name: "cron_prep_time"},
	{Name: "after_ok", Attr: "AfterOk"},
	{Name: "after_any", Attr: "AfterAny"},
	{Name: "kill_sig", Attr: "KillSig"},
	{Name: "remove_kill_sig", Attr: "RemoveKillSig"},
	{Name: "hold_kill_sig", Attr: "HoldKillSig"},
	{Name: "kill_sig_timeout", Attr: "KillSigTimeout"},
	{Name: "job_max_vacate_time", Attr: "JobMaxVacateTime"},
	{Name: "want_graceful_removal", Attr: "WantGracefulRemoval", kind: expr},
	{Name: "max_job_retirement_time", Attr: "MaxJobRetirementTime", kind: seconds},
	{Name: "job_lease_duration", Attr: "JobLeaseDuration"},
	{Name: "allowed_job_duration", Attr: "AllowedJobDuration", kind: seconds},
	{Name: "allowed_execute_duration", Attr: "AllowedExecuteDuration", kind: seconds},
	{Name: "wall_time", Attr: "WallTimeLimit", kind: seconds},
	{Name: "deadline", Attr: "Deadline"},
	{Name: "job_share", Attr: "JobShare"},
	{Name: "override_tickets", Attr: "OverrideTickets", Fate: Refused, Why: "administrators give them to a job in the queue: prio -ot N JOB"},
	{Name: "max_materialize", Attr: "JobMaterializeLimit"},
	{Name: "max_idle", Also: []string{"materialize_max_idle"}, Attr: "JobMaterializeMaxIdle"},
	{Name: "exit_requirements", Attr: "ExitRequirements", Fate: Refused, Why: "HTCondor refuses it, too; on_exit_remove and on_exit_hold are in its place"},
}

var accountCommands = []Command{
	{Name: "accounting_group", Also: []string{"acctgroup"}},
	{Name: "accounting_group_user", Also: []string{"acctgroupuser"}},
	{Name: "nice_user", Also: []string{"niceuser"}},
	{Name: "qos", Attr: "QOS"},
	{Name: "class", Attr: "Class"},
	{Name: "account"},
	{Name: "unix_group", Attr: "UnixGroup"},
	{Name: "project", Attr: "Project"},
	{Name: "department", Attr: "Department"},
	{Name: "project_name", Attr: "ProjectName", kind: text, Fate: Kept, Why: "shares go by project"},
	{Name: "primary_unix_group", Attr: "PrimaryUnixGroup", kind: text, Fate: Waiting},
	{Name: "run_as_owner", Attr: "RunAsOwner", kind: truthful, Fate: Kept},
	{Name: "load_profile", Attr: "LoadProfile", kind: truthful, Fate: Kept},
}

var peopleCommands = []Command{
	{Name: "notification", Attr: "JobNotification"},
	{Name: "notify_user", Attr: "NotifyUser"},
	{Name: "notify_command", Attr: "NotifyCommand"},
	{Name: "notify_events", Attr: "NotifyEvents"},
	{Name: "email_attributes", Attr: "EmailAttributes", kind: list},
	{Name: "batch_name", Attr: "JobBatchName", kind: text},
	{Name: "batch_id", Attr: "JobBatchId", kind: text, Fate: Kept},
	{Name: "description", Attr: "JobDescription", kind: text},
	{Name: "jobset", Also: []string{"jobset_name"}, Attr: "JobSetName", kind: text, Fate: Kept},
	{Name: "job_ad_information_attrs", Attr: "JobAdInformationAttrs", kind: text},
	{Name: "job_machine_attrs", Attr: "JobMachineAttrs", kind: text},
	{Name: "job_machine_attrs_history_length", Attr: "JobMachineAttrsHistoryLength", kind: natural, Fate: Kept},
	{Name: "ulog_execute_attrs", Attr: "ULogExecuteEventAttrs", kind: text},
	{Name: "submit_event_notes", Attr: "SubmitEventNotes", kind: text, Fate: Kept},
	{Name: "submit_event_notes_attrs", Attr: "SubmitEventNotesAttrs", kind: list, Fate: Kept},
	{Name: "submit_event_user_notes", Attr: "SubmitEventUserNotes", kind: text, Fate: Kept},
	{Name: "dagman_log", Attr: "DAGManNodesLog", kind: file, Fate: Kept},
	{Name: "dagman_job_id", Attr: "DAGManJobId", kind: natural, Fate: Kept},
	{Name: "dag_node_name", Attr: "DAGNodeName", kind: text, Fate: Kept},
}

// Commands of containers, and commands for things that this pool does not do by itself: other
// universes, credentials and debugging.

const (
	noGrid = "the grid universe is not served"
	noVM   = "the vm universe is not served"
)

var universeCommands = []Command{
	{Name: "docker_image", Attr: "DockerImage"},
	{Name: "container_image", Attr: "ContainerImage"},
	{Name: "docker_network_type", Attr: "DockerNetworkType", kind: text},
	{Name: "docker_pull_policy", Attr: "DockerPullPolicy", kind: text},
	{Name: "docker_override_entrypoint", Attr: "DockerOverrideEntrypoint", kind: truthful},
	{Name: "docker_send_credentials", Attr: "DockerSendCredentials", kind: truthful, Fate: Kept},
	{Name: "container_service_names", Attr: "ContainerServiceNames", Fate: Refused, Why: "no port of a container is opened to others"},
	{Name: "container_target_dir", Attr: "ContainerTargetDir", kind: text},
	{Name: "container_image_source", Attr: "ContainerImageSource", kind: text, Fate: Kept},
	{Name: "container_is_common", kind: truthful, Fate: Kept, Why: "the image is copied for each job"},
	{Name: "transfer_container", Attr: "TransferContainer", kind: truthful},
	{Name: "mount_under_scratch", Attr: "MountUnderScratch", kind: expr, Fate: Kept},
	{Name: "remote_grid_resource", Attr: "Remote_GridResource", kind: text, Fate: Kept},
	{Name: "remote_remote_grid_resource", Attr: "Remote_Remote_GridResource", kind: text, Fate: Kept},
	{Name: "remote_universe", Fate: Kept},
	{Name: "remote_remote_universe", Fate: Kept},
	{Name: "remote_schedd", Fate: Kept}, {Name: "remote_pool", Fate: Kept},

	{Name: "grid_resource", Attr: "GridResource", kind: text, Fate: Kept, Why: noGrid},
	{Name: "batch_queue", Attr: "BatchQueue", kind: text, Fate: Kept, Why: noGrid},
	{Name: "batch_project", Attr: "BatchProject", kind: text, Fate: Kept, Why: noGrid},
	{Name: "batch_runtime", Attr: "BatchRuntime", kind: expr, Fate: Kept, Why: noGrid},
	{Name: "batch_extra_submit_args", Attr: "BatchExtraSubmitArgs", kind: text, Fate: Kept, Why: noGrid},
	{Name: "arc_rte", Attr: "ArcRte", kind: text, Fate: Kept, Why: noGrid},
	{Name: "arc_resources", Attr: "ArcResources", kind: text, Fate: Kept, Why: noGrid},
	{Name: "arc_application", Attr: "ArcApplication", kind: text, Fate: Kept, Why: noGrid},
	{Name: "arc_data_staging", Fate: Kept, Why: noGrid}, {Name: "arc_rsl", Fate: Kept, Why: noGrid},
	{Name: "nordugrid_rsl", Fate: Kept, Why: noGrid}, {Name: "cream_attributes", Fate: Kept, Why: noGrid},
	{Name: "condor_schedd", Fate: Kept, Why: noGrid}, {Name: "boinc_authenticator_file", Fate: Kept, Why: noGrid},
	{Name: "globus_rematch", Fate: Kept, Why: noGrid}, {Name: "globus_resubmit", Fate: Kept, Why: noGrid},
	{Name: "globus_rsl", Fate: Kept, Why: noGrid}, {Name: "globus_scheduler", Fate: Kept, Why: noGrid},
	{Name: "globus_xml", Fate: Kept, Why: noGrid}, {Name: "gridtype", Also: []string{"grid_type"}, Fate: Kept, Why: noGrid},
	{Name: "ec2_access_key_id", Fate: Kept, Why: noGrid}, {Name: "ec2_secret_access_key", Fate: Kept, Why: noGrid},
	{Name: "ec2_ami_id", Fate: Kept, Why: noGrid}, {Name: "ec2_instance_type", Fate: Kept, Why: noGrid},
	{Name: "ec2_user_data", Fate: Kept, Why: noGrid}, {Name: "ec2_user_data_file", Fate: Kept, Why: noGrid},
	{Name: "ec2_keypair", Also: []string{"ec2_keyp_air"}, Fate: Kept, Why: noGrid},
	{Name: "ec2_keypair_file", Also: []string{"ec2_key_pair_file"}, Fate: Kept, Why: noGrid},
	{Name: "ec2_security_groups", Fate: Kept, Why: noGrid}, {Name: "ec2_security_ids", Fate: Kept, Why: noGrid},
	{Name: "ec2_spot_price", Fate: Kept, Why: noGrid}, {Name: "ec2_ebs_volumes", Fate: Kept, Why: noGrid},
	{Name: "ec2_availability_zone", Fate: Kept, Why: noGrid}, {Name: "ec2_elastic_ip", Fate: Kept, Why: noGrid},
	{Name: "ec2_vpc_subnet", Fate: Kept, Why: noGrid}, {Name: "ec2_vpc_ip", Fate: Kept, Why: noGrid},
	{Name: "ec2_block_device_mapping", Fate: Kept, Why: noGrid}, {Name: "ec2_iam_profile_arn", Fate: Kept, Why: noGrid},
	{Name: "ec2_iam_profile_name", Fate: Kept, Why: noGrid}, {Name: "wantnametag", Fate: Kept, Why: noGrid},
	{Name: "gce_account", Fate: Kept, Why: noGrid}, {Name: "gce_image", Fate: Kept, Why: noGrid},
	{Name: "gce_auth_file", Fate: Kept, Why: noGrid}, {Name: "gce_machine_type", Fate: Kept, Why: noGrid},
	{Name: "gce_metadata", Fate: Kept, Why: noGrid}, {Name: "gce_metadata_file", Fate: Kept, Why: noGrid},
	{Name: "gce_preemptible", Fate: Kept, Why: noGrid}, {Name: "gce_json_file", Fate: Kept, Why: noGrid},
	{Name: "azure_auth_file", Fate: Kept, Why: noGrid}, {Name: "azure_location", Fate: Kept, Why: noGrid},
	{Name: "azure_size", Fate: Kept, Why: noGrid}, {Name: "azure_image", Fate: Kept, Why: noGrid},
	{Name: "azure_admin_username", Fate: Kept, Why: noGrid}, {Name: "azure_admin_key", Fate: Kept, Why: noGrid},

	{Name: "vm_type", Fate: Kept, Why: noVM}, {Name: "vm_memory", Fate: Kept, Why: noVM},
	{Name: "vm_disk", Fate: Kept, Why: noVM}, {Name: "vm_vcpus", Fate: Kept, Why: noVM},
	{Name: "vm_vnc", Fate: Kept, Why: noVM}, {Name: "vm_macaddr", Fate: Kept, Why: noVM},
	{Name: "vm_networking", Fate: Kept, Why: noVM}, {Name: "vm_networking_type", Fate: Kept, Why: noVM},
	{Name: "vm_checkpoint", Fate: Kept, Why: noVM}, {Name: "vm_no_output_vm", Fate: Kept, Why: noVM},
	{Name: "vmware_dir", Fate: Kept, Why: noVM}, {Name: "vmware_should_transfer_files", Fate: Kept, Why: noVM},
	{Name: "vmware_snapshot_disk", Fate: Kept, Why: noVM}, {Name: "xen_kernel", Fate: Kept, Why: noVM},
	{Name: "xen_initrd", Fate: Kept, Why: noVM}, {Name: "xen_root", Fate: Kept, Why: noVM},
	{Name: "xen_kernel_params", Fate: Kept, Why: noVM},
}

const noCredentials = "no credentials are handed on"

var otherCommands = []Command{
	{Name: "x509userproxy", Attr: "x509userproxy", kind: file, Fate: Waiting, Why: noCredentials},
	{Name: "use_x509userproxy", kind: truthful, Fate: Waiting, Why: noCredentials},
	{Name: "delegate_job_gsi_credentials_lifetime", Attr: "DelegateJobGSICredentialsLifetime", kind: whole, Fate: Kept},
	{Name: "use_oauth_services", Attr: "OAuthServicesNeeded", kind: list, Fate: Waiting, Why: noCredentials},
	{Name: "use_scitokens", Also: []string{"use_scitoken"}, kind: text, Fate: Waiting, Why: noCredentials},
	{Name: "scitokens_file", Attr: "ScitokensFile", kind: file, Fate: Waiting, Why: noCredentials},
	{Name: "send_credential", Attr: "SendCredential", kind: truthful, Fate: Waiting, Why: noCredentials},
	{Name: "kerberos_cache", Fate: Kept}, {Name: "myproxy_host", Fate: Kept}, {Name: "myproxy_server_dn", Fate: Kept},
	{Name: "myproxy_password", Fate: Kept}, {Name: "myproxy_credential_name", Fate: Kept},
	{Name: "myproxy_refresh_threshold", Fate: Kept}, {Name: "myproxy_new_proxy_lifetime", Fate: Kept},
	{Name: "aws_region", Attr: "AWSRegion", kind: text, Fate: Kept},
	{Name: "aws_access_key_id_file", Also: []string{"s3_access_key_id_file", "gs_access_key_id_file"}, Attr: "EC2AccessKeyId", kind: text, Fate: Kept},
	{Name: "aws_secret_access_key_file", Also: []string{"s3_secret_access_key_file", "gs_secret_access_key_file"}, Attr: "EC2SecretAccessKey", kind: text, Fate: Kept},

	{Name: "tool_daemon_cmd", Attr: "ToolDaemonCmd", kind: file, Fate: Waiting, Why: "no tool is started beside the job"},
	{Name: "tool_daemon_arguments", Also: []string{"tool_daemon_args", "tool_daemon_arguments2"}, Attr: "ToolDaemonArgs", kind: text, Fate: Kept},
	{Name: "tool_daemon_input", Attr: "ToolDaemonInput", kind: file, Fate: Kept},
	{Name: "tool_daemon_output", Attr: "ToolDaemonOutput", kind: file, Fate: Kept},
	{Name: "tool_daemon_error", Attr: "ToolDaemonError", kind: file, Fate: Kept},
	{Name: "suspend_job_at_exec", Attr: "SuspendJobAtExec", kind: truthful, Fate: Waiting},
	{Name: "starter_debug", Attr: "JobStarterDebug", kind: text, Fate: Kept},
	{Name: "starter_log", Attr: "JobStarterLog", kind: file, Fate: Kept},
	{Name: "rendezvousdir", Attr: "RendezvousDirectory", kind: text, Fate: Kept},
	{Name: "allow_startup_script", Fate: Kept}, {Name: "want_ads", Fate: Kept},
	{Name: "interactive_executable", Fate: Kept}, {Name: "interactive_args", Fate: Kept},
	{Name: "hook_keyword", Attr: "HookKeyword", kind: text, Fate: Kept},

	{Name: "submit_warn_empty_matches"}, {Name: "submit_fail_empty_matches"},
	{Name: "submit_warn_duplicate_matches"}, {Name: "submit_allow_duplicate_matches"}, {Name: "submit_match_directories"},
	{Name: "submit_fail_empty_fields"}, {Name: "submit_warn_empty_fields"},
	{Name: "warn_on_unused_submit_file_macros", Fate: Kept},
}

// simpleParts are the parts of commands that set one attribute each, or none: each
// command is a part, so that one that varies does not take the others along.
var simpleParts = sync.OnceValue(func() []part {
	var out []part
	all := table()
	for i := range all {
		c := &all[i]
		switch {
		case ours[c.Name] && c.kind != elsewhere:
			out = append(out, orMacro(c.Name, c.work))
		case c.kind != elsewhere, c.Fate == Waiting:
			out = append(out, c.work)
		}
	}
	return out
})

// work prints a command's notice, and sets its attribute if no other part does.
func (c *Command) work(j *job) error {
	g, ok, err := j.command(c.Name)
	if !ok || err != nil {
		return err
	}
	if c.Fate == Waiting && !c.idle(g.Text) {
		j.caution(g, "%s", c.notice())
	}
	if c.kind == elsewhere {
		return nil
	}
	s, err := c.setting(j, g)
	if err != nil {
		return err
	}
	if c.Attr != "" {
		j.set(s)
	}
	return nil
}

// notice is the text about a command that has no effect.
func (c *Command) notice() string {
	if c.Why == "" {
		return "kept in the ad, the pool does not act on it"
	}
	return "kept in the ad, the pool does not act on it: " + c.Why
}

// idle reports whether a value asks only for what happens anyway.
func (c *Command) idle(value string) bool {
	yes, plain := truth(value)
	switch c.Name {
	case "keep_claim_idle", "next_job_start_delay":
		return value == "0"
	case "want_job_networking":
		return plain && yes
	case "use_scitokens":
		return plain && !yes || strings.EqualFold(value, "auto")
	}
	return plain && !yes
}

// setting is the attribute as a command gives it.
func (c *Command) setting(j *job, g given) (setting, error) {
	switch c.kind {
	case text:
		text := unquoted(g.Text)
		if n := len(text); c.Name == "batch_name" && n > 2 && text[0] == '\'' && text[n-1] == '\'' {
			text = text[1 : n-1] // HTCondor takes off these, too
		}
		return setting{c.Attr, text, true}, nil
	case list:
		return setting{c.Attr, strings.Join(words(unquoted(g.Text)), ","), true}, nil
	case file:
		dir, err := j.folder()
		return setting{c.Attr, absolute(dir.Text, unquoted(g.Text)), true}, err
	case truthful:
		yes, err := j.boolean(c.Name, false)
		return setting{c.Attr, strconv.FormatBool(yes), false}, err
	case whole, natural:
		n, err := j.integer(g, c.kind == natural)
		return setting{c.Attr, strconv.FormatInt(n, 10), false}, err
	case seconds:
		if n, ok := Span(g.Text); ok {
			return setting{c.Attr, strconv.FormatInt(n, 10), false}, nil
		}
		err := j.checkSeconds(g)
		if err != nil && strings.ContainsAny(g.Text[:1], "0123456789") {
			err = j.refuse(g, "%s: want a time, such as 2:00:00, 90m, 2d or a number of seconds", submitfile.Shorten(g.Text))
		}
		return setting{c.Attr, g.Text, false}, err
	default:
		_, err := j.compile(g, g.Text)
		return setting{c.Attr, g.Text, false}, err
	}
}

// integer returns the whole number that a command is, as it stands or worked out
// without any ad.
func (j *job) integer(g given, positive bool) (int64, error) {
	e, err := j.compile(g, g.Text)
	if err != nil {
		return 0, err
	}
	n, isInt := e.Eval(&classad.Context{}, classad.New(), nil).Int()
	switch {
	case !isInt || BeyondInteger(g.Text):
		return 0, j.refuse(g, "%s: want a whole number", submitfile.Shorten(g.Text))
	case positive && n < 0:
		return 0, j.refuse(g, "%s: want a whole number from 0 up", submitfile.Shorten(g.Text))
	}
	return n, nil
}

// checkSeconds refuses all but a whole number of seconds from 0 up, or an expression for
// one. A bare name, such as a word by mistake, counts as an expression only when the
// description gives the job that attribute.
func (j *job) checkSeconds(g given) error {
	e, err := j.compile(g, g.Text)
	if err != nil {
		return err
	}
	v, constant := e.Constant()
	n, isInt := v.Int()
	bare := isAttributeName(g.Text) && !constant && !j.overrides[strings.ToLower(g.Text)]
	if constant && (!isInt || n < 0) || BeyondInteger(g.Text) || bare {
		return j.refuse(g, "%s: want seconds, a whole number from 0 up", submitfile.Shorten(g.Text))
	}
	return nil
}

// spans are the ways to write a span of time besides seconds: 2h, 1h30m, 2d; and 1:30:00 or
// 2-12:00:00, with days before the hyphen.
var spans = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(?:([0-9]{1,5})d)?(?:([0-9]{1,7})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,10})s)?$`),
		regexp.MustCompile(`^(?:([0-9]{1,5})-)?([0-9]{1,7}):([0-5][0-9]):([0-5][0-9])$`),
	}
})

// Span returns the seconds of a span of time that is written as 2h, 90m, 1h30m, 2d, 1:30:00 or
// 2-12:00:00.
func Span(text string) (seconds int64, ok bool) {
	for _, way := range spans() {
		m := way.FindStringSubmatch(text)
		if m == nil || text == "" {
			continue
		}
		for i, unit := range [...]int64{86400, 3600, 60, 1} {
			n, _ := strconv.ParseInt(m[1+i], 10, 64) // digits, or nothing
			seconds += n * unit
		}
		return seconds, true
	}
	return 0, false
}

// seconds sets an attribute to a number of seconds, if its command is given.
func (j *job) seconds(command, attr string) (found bool, err error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return false, err
	}
	if err := j.checkSeconds(g); err != nil {
		return false, err
	}
	j.setExpr(attr, g.Text)
	return true, nil
}

// meg are the words for units that old examples have: 28 Meg.
var meg = strings.NewReplacer("meg", "m", "gig", "g")

// imageSize sets ImageSize, in KB.
func (j *job) imageSize() error {
	g, ok, err := j.command("image_size")
	if !ok || err != nil {
		return err
	}
	n, ok := parseSize(meg.Replace(strings.ToLower(g.Text)), kilobyte)
	if !ok || n < 1 || n > math.MaxInt64/2 {
		return j.refuse(g, "%q: want a size in KB, or with K, M, G or T", submitfile.Shorten(g.Text))
	}
	j.setExpr("ImageSize", strconv.FormatInt(int64(n), 10))
	return nil
}

// ours are the commands that HTCondor does not know.
var ours = map[string]bool{
	"qos": true, "class": true, "account": true, "unix_group": true, "project": true, "department": true,
	"after_ok": true, "after_any": true, "wall_time": true, "deadline": true, "job_share": true, "override_tickets": true,
	"parallel_slots": true, "parallel_environment": true, "notify_command": true, "notify_events": true,
}

// orMacro is a part that ignores errors of a command whose name the description also uses
// as a macro of its own, as HTCondor does not know the command.
func orMacro(name string, work part) part {
	return func(j *job) error {
		err := work(j)
		var bad *submitfile.Error
		if errors.As(err, &bad) && j.refers(name) {
			return nil
		}
		return err
	}
}

// refers reports whether the description refers to a name.
func (j *job) refers(name string) bool {
	if j.uses == nil {
		uses := j.description.Uses()
		j.uses = &uses
	}
	return j.uses.Certainly(name)
}
