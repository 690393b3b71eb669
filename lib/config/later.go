package config

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// laterKeys are names of keys that the manuals have and this version does not serve, each with
// the value that asks for nothing; empty: there is no such value. The keys are refused by
// name, so that nobody believes a setting to be in force that is not.
type laterKeys map[string]string

// laterNames returns what reads the keys of a list when they are first asked for, as NAME or
// NAME=VALUE with blanks between.
func laterNames(list string) func() laterKeys {
	return sync.OnceValue(func() laterKeys {
		keys := laterKeys{}
		for _, word := range strings.Fields(list) {
			name, value, _ := strings.Cut(word, "=")
			keys[name] = value
		}
		return keys
	})
}

// later are the keys at the top of the file.
var later = laterNames(`
	ACCOUNTANT_DATABASE_FILE MAX_ACCOUNTANT_DATABASE_SIZE
	NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES=false FORCE_NEGOTIATOR_SLOT_WEIGHT=false
	NEGOTIATOR_CYCLE_DELAY=0 NEGOTIATOR_TIMEOUT
	NEGOTIATOR_MAX_TIME_PER_CYCLE=31536000 NEGOTIATOR_MAX_TIME_PER_SCHEDD=31536000
	NEGOTIATOR_MAX_TIME_PER_SUBMITTER=31536000 NEGOTIATOR_MAX_TIME_PER_PIESPIN=31536000
	ALLOW_PSLOT_PREEMPTION=false NEGOTIATOR_SUBMITTER_CONSTRAINT=true
	NEGOTIATOR_UPDATE_AFTER_CYCLE=false NEGOTIATOR_UPDATE_INTERVAL
	NEGOTIATOR_CROSS_SLOT_PRIOS=false NEGOTIATOR_INFORM_STARTD=false
	NEGOTIATOR_PREFETCH_REQUESTS=false NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE=1 NEGOTIATOR_NUM_THREADS=1
	USE_RESOURCE_REQUEST_COUNTS=false
	CONSUMPTION_POLICY=false PRIORITY_FACTOR_AUTHORIZATION=false
	START=true RANK=0 PREEMPT=false KILL=false WANT_VACATE=true
	JOB_DEFAULT_NOTIFICATION=never DEFAULT_UNIVERSE=vanilla DEFAULT_RANK=0 SUBMIT_ATTRS
	MAX_JOBS_SUBMITTED=2147483647 MAX_JOBS_RUNNING=2147483647
	JOB_TRANSFORM_NAMES SUBMIT_MAX_PROCS_IN_CLUSTER=0 SUBMIT_ALLOW_GETENV=true
	IMMUTABLE_JOB_ATTRS PROTECTED_JOB_ATTRS SECURE_JOB_ATTRS
	SYSTEM_PERIODIC_HOLD=false SYSTEM_PERIODIC_RELEASE=false SYSTEM_PERIODIC_REMOVE=false SYSTEM_PERIODIC_VACATE=false`)

// laterSGE are parameters of sge_conf(5) that have to do with users' records.
var laterSGE = laterNames(`enforce_user=none enforce_project=false auto_user_fshare=0 auto_user_oticket=0
	auto_user_default_project=none auto_user_delete_time=0`)

// take returns an error for a key that is one of these, unless it is set to nothing or to what
// asks for nothing. ok reports whether it is one.
func (l laterKeys) take(name string, value any) (ok bool, err error) {
	nothing, ok := l[name]
	if ok && !asksNothing(nothing, value) {
		err = errNotServed
	}
	return ok, err
}

// AsksNothing reports whether a key at the top of the file is one that the manuals have and this
// version does not serve, and whether the value asks for nothing, so that the key is taken.
func AsksNothing(key string, value any) (known, nothing bool) {
	known, err := later().take(key, value)
	return known, known && err == nil
}

// asksNothing reports whether a value is empty or the one that asks for nothing, however that is
// written.
func asksNothing(nothing string, value any) bool {
	text, ok := plainText(value)
	if yes, is := value.(bool); is {
		text, ok = fmt.Sprint(yes), true
	}
	text = strings.TrimSpace(text)
	switch {
	case !ok:
		return false
	case text == "" || strings.EqualFold(text, nothing):
		return true
	case nothing == "0":
		return strings.Contains(text, "0") && strings.Trim(text, "0:.") == "" // also 0.0 and 00:00:00
	case nothing == "false" || nothing == "true":
		return truthWord(text) == nothing
	}
	x, wrong := strconv.ParseFloat(text, 64)
	y, also := strconv.ParseFloat(nothing, 64)
	return wrong == nil && also == nil && x == y
}

// truthWord returns true or false, as the word means; empty for any other word.
func truthWord(word string) string {
	switch strings.ToLower(word) {
	case "true", "yes", "on", "1":
		return "true"
	case "false", "no", "off", "0":
		return "false"
	}
	return ""
}
