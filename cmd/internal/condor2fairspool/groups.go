package condor2fairspool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
	"fairspool/lib/policy/registry"
)

// groupNames takes over GROUP_NAMES, without the names that HTCondor ignores and those
// that are invalid here.
func (v *conversion) groupNames(m condorconfig.Macro) error {
	x, err := v.Expand(m)
	if err != nil {
		return err
	}
	if len(x.Unknown) > 0 {
		v.refuse(config.Key{}, m, "depends on "+strings.Join(x.Unknown, ", ")+", which only HTCondor knows; write the value")
		return nil
	}
	names, left := groupTree(condorconfig.List(x.Text))
	for _, why := range left {
		v.warn(m.Place, "%s: %s", m.Name, why)
	}
	for _, name := range names {
		if long := accountant.LongName(name); long != "" {
			v.warn(m.Place, "%s: %s: %s", m.Name, name, long)
		}
	}
	v.groups = names
	v.add(tomlLine{key: "GROUP_NAMES", value: tomlList(names), above: left, from: m.Place.String()}, m, x)
	return nil
}

// groupTree returns the names that make a tree, and why the others are left out.
func groupTree(all []string) (names, left []string) {
	spelled := map[string]string{}
	for _, name := range all {
		first, twice := spelled[strings.ToLower(name)]
		err := accountant.CheckGroupName(name)
		switch {
		case twice && first == name:
			left = append(left, fmt.Sprintf("%s is there twice: HTCondor ignores the second", name))
		case twice:
			left = append(left, fmt.Sprintf("%s is left out: %s is the same, as case does not count; HTCondor ignores it, too", name, first))
		case err != nil:
			left = append(left, fmt.Sprintf("left out: %v", err))
		default:
			spelled[strings.ToLower(name)] = name
			names = append(names, name)
		}
	}
	// A parent stands in fewer parts than its child, so that one pass is enough.
	inOrder := slices.Clone(names)
	slices.SortStableFunc(inOrder, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, name := range inOrder {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			continue
		}
		if _, ok := spelled[strings.ToLower(name[:dot])]; !ok {
			delete(spelled, strings.ToLower(name))
			left = append(left, fmt.Sprintf("%s is left out: its parent %s is not listed; HTCondor ignores such a group with a warning", name, name[:dot]))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { _, ok := spelled[strings.ToLower(name)]; return !ok }), left
}

// groupKeys sets the keys of single groups, in the order of GROUP_NAMES.
func (v *conversion) groupKeys() error {
	for _, group := range v.groups {
		before := "GROUP_NAMES = " + tomlList(withParents(group)) + "\n"
		for _, k := range config.GroupKeys {
			m, ok := v.first([]string{k.Name + group})
			if !ok {
				continue
			}
			if err := v.take(k.Key, k.Name+group, m, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// requirements takes over SUBMIT_REQUIREMENT_NAMES, and what each of the names has to say. All of
// it or none is taken: without its expression a name means nothing.
func (v *conversion) requirements(names condorconfig.Macro) error {
	x, err := v.Expand(names)
	if err != nil {
		return err
	}
	type part struct {
		tomlLine
		m condorconfig.Macro
		x condorconfig.Expansion
	}
	var parts []part
	list := condorconfig.List(x.Text)
	text := "SUBMIT_REQUIREMENT_NAMES = " + tomlList(list) + "\n"
	for _, name := range list {
		for _, k := range slices.Backward(config.RequirementKeys) {
			key := "SUBMIT_REQUIREMENT_" + name + k.Name
			m, ok := v.first([]string{key})
			if !ok {
				continue
			}
			x, err := v.Expand(m)
			if err != nil {
				return err
			}
			value, err := tomlOf(k.Kind, x.Text)
			if len(x.Unknown) > 0 {
				err = fmt.Errorf("depends on %s, which only HTCondor knows; write the value", strings.Join(x.Unknown, ", "))
			}
			if err != nil {
				v.refuse(config.Key{}, m, err.Error())
				v.refuse(config.Key{}, names, key+": "+err.Error())
				return nil
			}
			line := tomlLine{key: key, value: value, from: m.Place.String()}
			text += line.key + " = " + line.value + "\n"
			parts = append(parts, part{line, m, x})
		}
	}
	if _, err := registry.Parse("", []byte(text)); err != nil {
		v.refuse(config.Key{}, names, reasonOf(err, "SUBMIT_REQUIREMENT_NAMES"))
		return nil
	}
	v.add(tomlLine{key: "SUBMIT_REQUIREMENT_NAMES", value: tomlList(list), from: names.Place.String()}, names, x)
	for _, p := range parts {
		v.add(p.tomlLine, p.m, p.x)
	}
	return nil
}

// withParents returns the group and those it is in.
func withParents(group string) []string {
	names := []string{group}
	for i, c := range []byte(group) {
		if c == '.' {
			names = append(names, group[:i])
		}
	}
	return names
}

// ofGroup returns the group that a macro is about, if it is about one.
func ofGroup(name string) (group string, ok bool) {
	upper := strings.ToUpper(name)
	for _, k := range config.GroupKeys {
		if strings.HasPrefix(upper, k.Name) && len(name) > len(k.Name) {
			return name[len(k.Name):], true
		}
	}
	return "", false
}

// limits sets the concurrency limits, in the order of the files.
func (v *conversion) limits() error {
	for _, m := range v.Macros() {
		k, key, ok := limitOf(v.Plain(m.Name))
		counts, _ := v.Lookup(v.Plain(m.Name))
		if !ok || counts.Name != m.Name || v.known(m) || v.elsewhere(m) != "" || family(v.Plain(m.Name)) != "" {
			continue
		}
		x, err := v.Expand(m)
		if err != nil {
			return err
		}
		line, why := v.lineOf(k, key, m, x, "")
		switch {
		case strings.HasPrefix(why, "unknown key"):
		case v.isEmpty(m):
			v.leaveUnset(m)
		case why != "":
			v.reasons[strings.ToLower(m.Name)] = "no concurrency limit: " + why
		default:
			v.add(line, m, x)
		}
	}
	return nil
}

// known tells of a macro that has become a line, or has a reason why not.
func (v *conversion) known(m condorconfig.Macro) bool {
	name := strings.ToLower(m.Name)
	return v.set[name] || v.reasons[name] != ""
}

// limitOf returns which of the keys of limits a macro is, and how it is written.
func limitOf(name string) (k config.Key, key string, ok bool) {
	upper := strings.ToUpper(name)
	of, suffix := config.LimitKeys[0].Name, config.LimitKeys[1].Name
	if strings.HasPrefix(upper, of) {
		return config.LimitKeys[0].Key, of + name[len(of):], true
	}
	if strings.HasSuffix(upper, suffix) && len(name) > len(suffix) {
		return config.LimitKeys[1].Key, name[:len(name)-len(suffix)] + suffix, true
	}
	return k, "", false
}

// Why macros have no meaning here, and what does the same where something does.
const (
	noDaemons  = "there are no daemons"
	noNetwork  = "nothing listens on the network; file permissions say who may do what"
	noLogs     = "no daemon writes a log; negotiate and starter report on their output"
	noPaths    = "a place of HTCondor's own files"
	slotPolicy = "an expression of slot ads: set Requirements and Rank in the slot's ad; see slot-ads(5)"
	noEviction = "a slot neither suspends nor evicts its job by itself"
	slotShape  = "the ads of slots say it: see slot-ads(5)"
	submitSide = "the submit description says it; see submit(5)"
	noPart     = "fairspool has no such part"
	noFlocking = "an engine of KIND = \"fairspool\" is another pool: see flocking(7)"
	noLimit    = "a cycle waits for nothing, so it needs no limit"
	noCollect  = "there is no collector: slots and submitters are files of the spool"
	noCkpt     = "there are no periodic checkpoints and no checkpoint server: see checkpoints(7)"
	noTransfer = "file:/// is the only kind of URL that is copied; see file-transfer(7)"
	jobStarts  = "negotiate matches and starter starts as many jobs as there are slots"
	configRead = "HTCondor also reads these files: name them after this one on the command line"
)

// Why macros have no meaning here that control in HTCondor what users do: nothing takes their
// place here.
const (
	noControl         = "a control that is dropped: "
	droppedTransforms = noControl + "jobs stay as submit makes them"
	droppedPolicies   = noControl + "only a job's own expressions hold, release, remove or vacate it"
	droppedLimits     = noControl + "there is no such limit"
	droppedAttributes = noControl + "prio(1) lists the attributes that users may not set"
	noRequirement     = "SUBMIT_REQUIREMENT_NAMES does not name it"
	partOfTransform   = "part of a transform of JOB_TRANSFORM_NAMES, which is dropped"
	partOfPolicy      = "part of an expression SYSTEM_PERIODIC_..., which is dropped"
)

// families says by patterns of names, in capitals, why macros have no meaning here.
// Of several that fit, the first counts. Those without a reason do have a meaning.
var families = []struct{ patterns, why string }{
	{"ALLOW_PSLOT_PREEMPTION", ""},
	{"LOCAL_CONFIG_FILE LOCAL_CONFIG_DIR", configRead},
	{"LOCAL_CONFIG_DIR_EXCLUDE_REGEXP REQUIRE_LOCAL_CONFIG_FILE LOCAL_ROOT_CONFIG_FILE USER_CONFIG_FILE", "the files to convert are named on the command line"},
	{"NEGOTIATOR_CYCLE_DELAY", "NEGOTIATOR_MIN_INTERVAL is the nearest; cycles never overlap"},
	{"NEGOTIATOR_MAX_TIME_PER_*", noLimit},
	{"NEGOTIATOR_UPDATE_INTERVAL NEGOTIATOR_UPDATE_AFTER_CYCLE NEGOTIATOR_INFORM_STARTD NEGOTIATOR_TIMEOUT NEGOTIATOR_SOCKET_CACHE_SIZE NEGOTIATOR_NUM_THREADS NEGOTIATOR_PREFETCH_REQUESTS NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE USE_RESOURCE_REQUEST_COUNTS NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE NEGOTIATOR_USE_NONBLOCKING_STARTD_CONTACT NEGOTIATOR_MATCH_EXPRS NEGOTIATOR_CYCLE_STATS_LENGTH", "the cycle reads the spool and talks to no daemon"},
	{"NEGOTIATOR_HOST NEGOTIATOR_NAME NEGOTIATOR_ARGS NEGOTIATOR_ADDRESS_FILE NEGOTIATOR_LOG NEGOTIATOR_MATCH_LOG MATCH_LOG NEGOTIATOR_DEBUG NEGOTIATOR_TRIM_* NEGOTIATOR", noDaemons},
	{"ACCOUNTANT_DATABASE_FILE MAX_ACCOUNTANT_DATABASE_SIZE ACCOUNTANT_HOST", "the accounts are part of the spool; see spool(5)"},
	{"SPOOL", "HTCondor's own; fairspool needs a directory of its own, see SPOOL in fairspool.toml(5)"},
	{"QUEUE_SUPER_USERS QUEUE_SUPER_USER_GROUP", "ADMINISTRATORS is the nearest; they may change the accounts, too"},

	{"SEC_* ALLOW_* DENY_* HOSTALLOW* HOSTDENY* GSI_* AUTH_* CERTIFICATE_MAPFILE* TRUST_* SETTABLE_ATTRS_* ENABLE_*_CONFIG PASSWD_* *.USE_VOMS_ATTRIBUTES USE_VOMS_ATTRIBUTES SCITOKENS_* QUEUE_ALL_USERS_TRUSTED", noNetwork},
	{"*_PORT LOWPORT HIGHPORT IN_LOWPORT IN_HIGHPORT OUT_* BIND_ALL_INTERFACES NETWORK_INTERFACE CCB_* PRIVATE_NETWORK_* TCP_* UDP_* ENABLE_IPV* USE_SHARED_PORT SHARED_PORT* *_USES_SHARED_PORT ENABLE_SOAP ENABLE_WEB_SERVER PREFER_* NO_DNS DEFAULT_DOMAIN_NAME CLIENT_TIMEOUT QUERY_TIMEOUT *_SOCKET_CACHE_SIZE MAX_CONCURRENT_DOWNLOADS MAX_CONCURRENT_UPLOAD*", noNetwork},
	{"FLOCK_*", noFlocking},
	{"CONDOR_HOST COLLECTOR_* CONDOR_VIEW_* *_COLLECTOR VIEW_*", noCollect},
	{"DAEMON_LIST DC_DAEMON_LIST MASTER STARTD SCHEDD COLLECTOR KBDD STARTER STARTER_LIST SHADOW SHADOW_LIST STARTER_* SHADOW_STANDARD CKPT_SERVER PREEN PREEN_* PROCD PROCD_* HAD HAD_* REPLICATION REPLICATION_* TRANSFERER TRANSFERER_* ROOSTER ROOSTER_* DEFRAG DEFRAG_* *_ADDRESS_FILE *_DAEMON_AD_FILE MASTER_* SCHEDD_ARGS SCHEDD_NAME SCHEDD_HOST *_ARGS *_ENVIRONMENT SHUTDOWN_* UPDATE_INTERVAL SCHEDD_INTERVAL *_UPDATE_INTERVAL POLLING_INTERVAL RESTART_* RUN_AS_*", noDaemons},
	{"*_LOG MAX_*_LOG MAX_NUM_*_LOG *_DEBUG ALL_DEBUG TRUNC_*_LOG_ON_OPEN LOGS_* *_LOG_ROTATION", noLogs},
	{"RELEASE_DIR LOCAL_DIR BIN SBIN LIB LIBEXEC INCLUDE ETC SHARE LOG LOCK RUN EXECUTE HISTORY TMP_DIR *_LOCK VALID_SPOOL_FILES INVALID_LOG_FILES SYSTEM_VALID_SPOOL_FILES MAIL CRED_STORE_DIR", noPaths},
	{"CONDOR_ADMIN CONDOR_IDS", noDaemons},
	{"FILESYSTEM_DOMAIN", "an attribute of slot ads, FileSystemDomain; see slots(8)"},

	{"START RANK STARTD_RANK IS_VALID_CHECKPOINT_PLATFORM IS_OWNER", slotPolicy},
	{"SUSPEND CONTINUE PREEMPT KILL WANT_SUSPEND WANT_VACATE WANT_HOLD* PREEMPT_VANILLA WANT_SUSPEND_VANILLA SUSPEND_VANILLA CONTINUE_VANILLA KILL_VANILLA POLL* START_VANILLA", noEviction},
	{"CLAIM_PARTITIONABLE_LEFTOVERS", "the cycle itself divides what is left of a partitionable slot; see matching(7)"},
	{"PERIODIC_CHECKPOINT CKPT_* *CKPT*", noCkpt},
	{"NUM_CPUS MEMORY NUM_SLOTS* SLOT_TYPE_* SLOT1_* MAX_NUM_CPUS MAX_SLOT_TYPES COUNT_HYPERTHREAD_CPUS RESERVED_* STARTD_ATTRS STARTD_EXPRS STARTD_JOB_EXPRS STARTD_JOB_ATTRS STARTD_SLOT_ATTRS STARTD_CRON_* STARTD_* MUST_MODIFY_REQUEST_EXPRS MODIFY_REQUEST_EXPR_* CONSUMPTION* NUM_CLAIMS MACHINE_RESOURCE_* RUNBENCHMARKS BENCHMARKS_* SLOT*_USER VIRTUAL_MACHINE_* NUM_VIRTUAL_* CONSOLE_DEVICES DETECTED_*", slotShape},
	{"SLOTWEIGHT", "SLOT_WEIGHT is the macro that counts; SlotWeight is an attribute of slot ads"},
	{"SUBMIT_REQUIREMENT_NAMES MAX_JOBS_PER_OWNER MAX_JOBS_PER_SUBMISSION", ""}, {"SUBMIT_REQUIREMENT_*", noRequirement},
	{"JOB_TRANSFORM_NAMES", droppedTransforms}, {"JOB_TRANSFORM_*", partOfTransform},
	{"SYSTEM_PERIODIC_HOLD SYSTEM_PERIODIC_RELEASE SYSTEM_PERIODIC_REMOVE SYSTEM_PERIODIC_VACATE", droppedPolicies}, {"SYSTEM_PERIODIC_*", partOfPolicy},
	{"MAX_JOBS_SUBMITTED MAX_JOBS_RUNNING SUBMIT_MAX_PROCS_IN_CLUSTER SUBMIT_ALLOW_GETENV", droppedLimits},
	{"IMMUTABLE_JOB_ATTRS PROTECTED_JOB_ATTRS SECURE_JOB_ATTRS", droppedAttributes},
	{"SUBMIT_EXPRS SUBMIT_ATTRS SYSTEM_SUBMIT_ATTRS APPEND_* DEFAULT_RANK* DEFAULT_UNIVERSE JOB_DEFAULT_NOTIFICATION SUBMIT_* SYSTEM_JOB_MACHINE_ATTRS JOB_REQUIREMENTS* WARN_ON_UNUSED_SUBMIT_FILE_MACROS", submitSide},
	{"MAX_PENDING_* JOB_START_* JOB_STOP_*", jobStarts},
	{"JOB_RENICE_INCREMENT", "the attribute Nice of a slot's ad says how nice its jobs are; see job-limits(7)"},
	{"CGROUP_* USE_PROCD USE_CGROUPS_*", "starter finds a job's processes itself; CGROUP_MEMORY_LIMIT_POLICY and BASE_CGROUP are the keys for that"},
	{"ENFORCE_CPU_AFFINITY SLOT*_CPU_AFFINITY", "ASSIGN_CPU_AFFINITY is the macro that counts"},
	{"DEDICATED_EXECUTE_ACCOUNT_REGEXP *_RUNAS_OWNER SLOT*_USER USE_PID_NAMESPACES", "starter runs a job as its owner; see access(7)"},
	{"DOCKER* SINGULARITY*", "CONTAINER_RUNTIMES names the programs that run containers; see running-settings(5)"},
	{"JAVA JAVA_* HDFS* QUILL* DBMSD* STORK* CREDD* CRED_* JOB_ROUTER* GRIDMANAGER* GRID_* GT2_* *_GAHP *_GAHP_* C_GAHP* GLIDEIN* GLITE* BATCH_GAHP* UNICORE_* VM_* VMWARE_* LIBVIRT_* LEASEMANAGER* LEASEMANGER* WINDOWS_* GANGLIAD* DAGMAN_* EC2_* ANNEX_* HIBERNATE* HIBERNATION* TRANSFER_* IMAGE_* KBDD_*", noPart},
	{"FILETRANSFER_PLUGINS ENABLE_URL_TRANSFERS FILE_TRANSFER_*", noTransfer},
	{"SCHEDD_* SHADOW_* MAX_*", noDaemons},
}

// family returns why a macro has no meaning here, empty for one of no family.
func family(name string) string {
	upper := strings.ToUpper(name)
	for _, f := range families {
		for _, pattern := range strings.Fields(f.patterns) {
			if fits, _ := path.Match(pattern, upper); fits {
				return f.why
			}
		}
	}
	return ""
}
