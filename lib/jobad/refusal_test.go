package jobad

import (
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// the grammar
		{"", "a.sub: no queue line, so no jobs: end it with the line queue, or queue N"},
		{"hello\nqueue", `a.sub:1: "hello": want NAME = value, or queue`},
		{"= 3\nqueue", `a.sub:1: "": not a name`},
		{"+1x = 3\nqueue", `a.sub:1: +1x: "1x" is no name of an attribute`},
		{sleep + "queue MY.a.b in (1 2)", `a.sub:2: +a.b: "a.b" is no name of an attribute`},
		{"a = \x00\nqueue", "a.sub:1: a NUL byte: not a text file"},
		{"queue", "a.sub:1: executable: not given: name the program that is to be run"},
		{sleep + "queue x", "a.sub:2: queue x: want a number of jobs, or variables followed by in, from or matching"},
		{sleep + "queue 3 items", "a.sub:2: queue 3 items: want a number of jobs, or variables followed by in, from or matching"},
		{sleep + "queue -1", "a.sub:2: queue -1: a negative number of jobs"},
		{sleep + "queue 1.5", "a.sub:2: queue 1.5: want a number of jobs"},
		{sleep + "queue 10000001", "a.sub:2: queue 10000001: more than 10000000 jobs in one cluster"},
		{sleep + "queue 9999999\nqueue 2", "a.sub:3: queue 2: more than 10000000 jobs in one cluster"},
		{sleep + "n = 99999999999999999999\nqueue $(n)", "a.sub:3: queue $(n): more than 10000000 jobs in one cluster"},
		{sleep + "queue -99999999999999999999", "a.sub:2: queue -99999999999999999999: a negative number of jobs"},

		// macros
		{sleep + "A = $(B)\nB = $(A)\nargs = $(A)\nqueue", "a.sub:2: A: refers to itself through $(A)"},
		{sleep + "A = $($(B))\nB = A\nargs = $(A)\nqueue", "a.sub:2: A: refers to itself through $(A)"},
		{sleep + "B = " + strings.Repeat("x", 257) + "\nargs = $($(B))\nqueue", "a.sub:3: $(" + strings.Repeat("x", 57) + "...): a name longer than 256 bytes"},
		{sleep + "args = $EVAL($INT($EVAL($CHOICE(9,a,b))))\nqueue", "a.sub:2: $CHOICE(9,a,b): index 9: want 0 to 1"},
		{"if defined X\nqueue", "a.sub:1: if: no endif closes it"},
		{"use feature : X\nqueue", "a.sub:1: use: templates belong to HTCondor's configuration: write what it stands for"},

		// what is not served
		{sleep + "universe = grid\nqueue", "a.sub:2: universe: grid: jobs are not handed to other batch systems: leave it out to run the job here; see submit(5)"},
		{sleep + "universe = 9\nqueue", "a.sub:2: universe: 9: jobs are not handed to other batch systems: leave it out to run the job here; see submit(5)"},
		{sleep + "universe = VM\nqueue", "a.sub:2: universe: VM: virtual machines are not run; see submit(5)"},
		{sleep + "universe = pvm\nqueue", `a.sub:2: universe: "pvm": no universe, want vanilla`},
		{sleep + "universe = 4\nqueue", `a.sub:2: universe: "4": no universe, want vanilla`},
		{sleep + "universe = parallel\nnode_count = 4\nqueue", "a.sub:3: node_count: 4: a job runs on one slot: a parallel job can only have 1; see submit(5)"},
		{sleep + "universe = parallel\nqueue", "a.sub:2: universe: parallel: wants machine_count, which has to be 1 here"},
		{sleep + "universe = parallel\nmachine_count = many\nqueue", "a.sub:3: machine_count: many: want a whole number"},
		{sleep + "universe = docker\nqueue", "a.sub:2: universe: docker: wants docker_image, the image to run"},
		{sleep + "universe = container\nqueue", "a.sub:2: universe: container: wants container_image, the image to run"},
		{sleep + "universe = docker\ncontainer_image = x.sif\nqueue", "a.sub:3: container_image: the docker universe wants docker_image"},
		{sleep + "container_image = \"\"\nqueue", "a.sub:2: container_image: an empty name: want the image to run"},
		{sleep + "container_image = x.sif\nshould_transfer_files = NO\nqueue", "a.sub:2: container_image: excludes should_transfer_files = NO, by which no files are transferred"},
		{sleep + "docker_image = a\ncontainer_image = b\nqueue", "a.sub:3: container_image: excludes docker_image"},
		{sleep + "noop_job = true\nqueue", "a.sub:2: noop_job: true: the job would be run: leave it out, or hold the job"},

		// values
		{sleep + "+Foo = (1\nqueue", "a.sub:2: +Foo: (1: expected "},
		{sleep + "Requirements = a b\nqueue", "a.sub:2: Requirements: a b: expected "},
		{sleep + "rank = \\\n 1 +\nqueue", "a.sub:3: rank: 1 +: expected "},
		{sleep + "prio = high\nqueue", `a.sub:2: prio: "high": want a whole number from -2147483648 to 2147483647`},
		{sleep + "priority = 2147483648.0\nqueue", `a.sub:2: priority: "2147483648.0": want a whole number from -2147483648 to 2147483647`},
		{sleep + "priority = real(\"NaN\")\nqueue", `a.sub:2: priority: "real(\"NaN\")": want a whole number from -2147483648 to 2147483647`},
		{sleep + "priority = true\nqueue", `a.sub:2: priority: "true": want a whole number from -2147483648 to 2147483647`},
		{sleep + "priority = 2147483648\nqueue", `a.sub:2: priority: "2147483648": want a whole number from -2147483648 to 2147483647`},
		{sleep + "concurrency_limits = a b-c\nqueue", `a.sub:2: concurrency_limits: "b-c": want names of limits, as in license, sw.matlab:2`},
		{sleep + "concurrency_limits = a.b.c\nqueue", `a.sub:2: concurrency_limits: "a.b.c": want names of limits, as in license, sw.matlab:2`},
		{sleep + "concurrency_limits = a:0\nqueue", `a.sub:2: concurrency_limits: "a:0": want names of limits, as in license, sw.matlab:2`},
		{sleep + "concurrency_limits = 9a:1\nqueue", `a.sub:2: concurrency_limits: "9a:1": want names of limits, as in license, sw.matlab:2`},
		{sleep + "concurrency_limits_expr = a b\nqueue", "a.sub:2: concurrency_limits_expr: a b: expected "},
		{sleep + "concurrency_limits = a\nconcurrency_limits_expr = a\nqueue", "a.sub:2: concurrency_limits: excludes concurrency_limits_expr"},
		{sleep + "nice_user = maybe\nqueue", `a.sub:2: nice_user: "maybe": want true or false`},
		{sleep + "request_cpus = -1\nqueue", "a.sub:2: request_cpus: -1: want a whole number from 0 to 1000000"},
		{sleep + "request_cpus = 1.5\nqueue", "a.sub:2: request_cpus: 1.5: want a whole number from 0 to 1000000"},
		{sleep + "request_cpus = 1000001\nqueue", "a.sub:2: request_cpus: 1000001: want a whole number from 0 to 1000000"},
		{sleep + "request_cpus = 99999999999999999999\nqueue", "a.sub:2: request_cpus: 99999999999999999999: want a whole number from 0 to 1000000"},
		{sleep + "request_cpus = \"2\"\nqueue", `a.sub:2: request_cpus: "2": want a whole number from 0 to 1000000`},
		{sleep + "request_gpus = -1\nqueue", "a.sub:2: request_gpus: -1: must not be negative"},
		{sleep + "request_gpus = 99999999999999999999\nqueue", "a.sub:2: request_gpus: 99999999999999999999: too large"},
		{sleep + "request_memory = 3 X\nqueue", "a.sub:2: request_memory: 3 X: want a size, such as 512 MB or 1.5 GB, or an expression"},
		{sleep + "request_memory = 99999999999999999999T\nqueue", "a.sub:2: request_memory: 99999999999999999999T: too large"},
		{sleep + "kill_sig = SIGNONE\nqueue", `a.sub:2: kill_sig: "SIGNONE": not a signal, want a name as SIGTERM or a number from 1 to 31`},
		{sleep + "kill_sig_timeout = -4\nqueue", "a.sub:2: kill_sig_timeout: -4: want seconds, a whole number from 0 up"},
		{sleep + "kill_sig_timeout = 99999999999999999999\nqueue", "a.sub:2: kill_sig_timeout: 99999999999999999999: want seconds, a whole number from 0 up"},
		{sleep + "job_max_vacate_time = 1.5\nqueue", "a.sub:2: job_max_vacate_time: 1.5: want seconds, a whole number from 0 up"},
		{sleep + "job_max_vacate_time = abc\nqueue", "a.sub:2: job_max_vacate_time: abc: want seconds, a whole number from 0 up"},
		{sleep + "job_max_vacate_time = \"abc\"\nqueue", `a.sub:2: job_max_vacate_time: "abc": want seconds, a whole number from 0 up`},
		{sleep + "job_max_vacate_time = 5 m\nqueue", "a.sub:2: job_max_vacate_time: 5 m: expected "},
		{sleep + "kill_sig = 0\nqueue", `a.sub:2: kill_sig: "0": not a signal, want a name as SIGTERM or a number from 1 to 31`},
		{sleep + "arguments = \"a\nqueue", "a.sub:2: arguments: the double quote at its beginning is not closed"},
		{sleep + "arguments = \"a\" b\"\nqueue", `a.sub:2: arguments: a double quote inside: write "" for it`},
		{sleep + "arguments = a \"b\"\nqueue", `a.sub:2: arguments: a double quote inside: write \" in the old syntax, or put all of it in double quotes for the new one`},
		{sleep + "arguments = \"it's\"\nqueue", "a.sub:2: arguments: a single quote is not closed"},
		{sleep + "environment = A\nqueue", `a.sub:2: environment: "A": want NAME=value`},

		{sleep + "arguments = a\narguments2 = \"b\"\nqueue", "a.sub:3: arguments2: excludes arguments, unless allow_arguments_v1 = true"},
		{sleep + "arguments2 = b\nqueue", "a.sub:2: arguments2: want the new syntax, with all of it in double quotes"},
		{sleep + "environment = A=1\nenvironment2 = \"B=2\"\nqueue", "a.sub:3: environment2: excludes environment, unless allow_environment_v1 = true"},
		{sleep + "notification = sometimes\nqueue", `a.sub:2: notification: "sometimes": want one of never, always, complete, error and start`},
		{sleep + "hold = maybe\nqueue", `a.sub:2: hold: "maybe": want true or false`},
		{sleep + "PeriodicHold = a b\nqueue", "a.sub:2: PeriodicHold: a b: expected "},
		{sleep + "on_exit_remove = (1\nmax_retries = 2\nqueue", "a.sub:2: on_exit_remove: (1: expected "},
		{sleep + "max_retries = few\nqueue", "a.sub:2: max_retries: few: want a whole number"},
		{sleep + "success_exit_code = \"0\"\nqueue", "a.sub:2: success_exit_code: \"0\": want a whole number"},
		{sleep + "retry_until = \"x\"\nqueue", "a.sub:2: retry_until: \"x\": want an exit code, or a condition"},
		{sleep + "retry_until = 1.5\nqueue", "a.sub:2: retry_until: 1.5: want an exit code, or a condition"},
		{sleep + "retry_until = 4294967296\nqueue", "a.sub:2: retry_until: 4294967296: want an exit code, or a condition"},
		{sleep + "deferral_time = -1\nqueue", "a.sub:2: deferral_time: -1: want seconds, a whole number from 0 up"},
		{sleep + "cron_hour = 24\nqueue", `a.sub:2: cron_hour: "24": want numbers from 0 to 23 as in crontab(5): 5, 1-10, */2, *`},
		{sleep + "cron_month = 0\nqueue", `a.sub:2: cron_month: "0": want numbers from 1 to 12 as in crontab(5): 5, 1-10, */2, *`},
		{sleep + "cron_minute = 5-1\nqueue", `a.sub:2: cron_minute: "5-1": want numbers from 0 to 59 as in crontab(5): 5, 1-10, */2, *`},
		{sleep + "cron_minute = */0\nqueue", `a.sub:2: cron_minute: "*/0": want numbers from 0 to 59 as in crontab(5): 5, 1-10, */2, *`},
		{sleep + "dagman_job_id = -1\nqueue", "a.sub:2: dagman_job_id: -1: want a whole number from 0 up"},
		{sleep + "override_tickets = 10\nqueue", "a.sub:2: override_tickets: only administrators may give them, to a job in the queue: prio -ot N JOB"},
		{sleep + "exit_requirements = ExitCode == 0\nqueue", "a.sub:2: exit_requirements: has no meaning any more, nor in HTCondor: use on_exit_remove or on_exit_hold"},
		{sleep + "coresize = 1.5\nqueue", "a.sub:2: coresize: 1.5: want a whole number"},
		{sleep + "parallel_slots = few\nqueue", `a.sub:2: parallel_slots: "few": want a number of slots such as 4, a range such as 2-8, 4- or -8, or several with commas between them`},
		{sleep + "parallel_environment = two words\nqueue", `a.sub:2: parallel_environment: "two words": want a name without blanks and double quotes`},
		{sleep + "job_share = -1\nqueue", "a.sub:2: job_share: -1: want a whole number from 0 to 4294967295"},
		{sleep + "job_share = 4294967296\nqueue", "a.sub:2: job_share: 4294967296: want a whole number from 0 to 4294967295"},
		{sleep + "parallel_slots = 0\nqueue", `a.sub:2: parallel_slots: "0": a number of slots must be greater than zero`},
		{sleep + "deadline = tomorrow\nqueue", "a.sub:2: deadline: \"tomorrow\": want Unix seconds, or a time such as 2026-11-22 15:30, 202611221530 or 2026-11-22T15:30:00Z"},
		{sleep + "deadline = QDate + 60\nqueue", "a.sub:2: deadline: \"QDate + 60\": want Unix seconds, or a time such as 2026-11-22 15:30, 202611221530 or 2026-11-22T15:30:00Z"},
		{sleep + "deadline = 9999999999999\nqueue", "a.sub:2: deadline: \"9999999999999\": want a time between 1970 and 9999"},
		{sleep + "deadline = 2026-11-2$(Process) 15:30\nmax_idle = 1\nqueue 3", "a.sub:2: deadline: \"2026-11-20 15:30\": a local time has to be the same for all jobs with max_materialize or max_idle: write Unix seconds, or 2026-11-22T15:30:00Z"},
		{sleep + "image_size = big\nqueue", `a.sub:2: image_size: "big": want a size in KB, or with K, M, G or T`},

		// a comment behind a value is a part of it
		{sleep + "checkpoint_exit_code = 85 # then it goes on\nqueue", "a.sub:2: checkpoint_exit_code: 85 # then it goes on: a comment has to have a line of its own"},
		{sleep + "+Token = true   # for writing\nqueue", "a.sub:2: +Token: true   # for writing: a comment has to have a line of its own"},
		{sleep + "request_memory = 4GB # enough\nqueue", "a.sub:2: request_memory: 4GB # enough: a comment has to have a line of its own"},
		{sleep + "requirements = Kind == \"a#b\" &&\nqueue", "a.sub:2: requirements: Kind == \"a#b\" &&: expected "},

		// who is charged
		{sleep + "accounting_group = a\u00a0b\nqueue", `a.sub:2: accounting_group: "a\u00a0b.alice": a name with white space`},
		{sleep + "+AccountingGroup = \"a\\\"b\"\nqueue", `a.sub:2: +AccountingGroup: "a\"b": a name with a quote`},
		{sleep + "accounting_group = a b\nqueue", `a.sub:2: accounting_group: "a b.alice": a name with white space`},
		{sleep + "accounting_group_user = bob@x\nqueue", `a.sub:2: accounting_group_user: "bob@x": give the name without @ and domain`},
		{sleep + "accounting_group = " + strings.Repeat("g", 251) + "\nqueue", `a.sub:2: accounting_group: "` + submitfile.Shorten(strings.Repeat("g", 251)+".alice") + `": 257 characters, at most 256`},
		{sleep + "project = a b\nqueue", `a.sub:2: project: "a b": want a name without blanks and double quotes`},
		{sleep + "qos = \"\"\nqueue", "a.sub:2: qos: empty name"},
		{sleep + "class = " + strings.Repeat("c", 101) + "\nqueue", `a.sub:2: class: "` + submitfile.Shorten(strings.Repeat("c", 101)) + `": 101 characters, at most 100`},
		{sleep + "+AccountingGroup = Project\nqueue", "a.sub:2: +AccountingGroup: Project: want a name in double quotes"},
		{sleep + "+AccountingGroup = MY.physics\nqueue", "a.sub:2: +AccountingGroup: MY.physics: want a name in double quotes"},
		{sleep + "+physics = \"b@x\"\n+AccountingGroup = physics\nqueue", "a.sub:3: +AccountingGroup: physics: want a name in double quotes"},
		{sleep + "+AccountingGroup = out\nqueue", "a.sub:2: +AccountingGroup: out: want a name in double quotes"},
		{sleep + "+AccountingGroup = strcat(\"a\", Owner)\nqueue", `a.sub:2: +AccountingGroup: strcat("a", Owner): want a name in double quotes`},
		{sleep + "periodic_hold = 7\nqueue", "a.sub:2: periodic_hold: 7: want true, false or an expression for them"},
		{sleep + "leave_in_queue = \"yes\"\nqueue", `a.sub:2: leave_in_queue: "yes": want true, false or an expression for them`},
		{sleep + "on_exit_remove = 2.0\nmax_retries = 3\nqueue", "a.sub:2: on_exit_remove: 2.0: want true, false or an expression for them"},
		{sleep + "after_ok = 12.0\nqueue", `a.sub:2: after_ok: "12.0": want numbers of clusters, such as 12, 13`},
		{sleep + "after_any = 0\nqueue", `a.sub:2: after_any: "0": want numbers of clusters, such as 12, 13`},
		{sleep + "cron_hour = 5\ncron_day_of_month = 30\ncron_month = 2\nqueue", "a.sub:2: cron_hour: CronDayOfMonth, CronMonth: no month has such a day"},
		{sleep + "+AccountingGroup = 7\nqueue", "a.sub:2: +AccountingGroup: 7: want a name in double quotes"},
		{sleep + "+AccountingGroup = \"bob@x\"\nqueue", `a.sub:2: +AccountingGroup: "bob@x": give the name without @ and domain`},
	} {
		d, _, err := read(c.text, testOptions())
		part := strings.HasSuffix(c.want, "expected ") // what follows is the ClassAd parser's to say
		if err == nil || err.Error() != c.want && !(part && strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("read(%q) = %v, %v, want %s", c.text, d, err, c.want)
		}
	}
}

// TestGrowthIsBounded gives values that grow exponentially, and one that is
// nested deeply.
func TestGrowthIsBounded(t *testing.T) {
	double, empty := "A = x\n", "A0 =\n"
	for i := range 40 {
		double += "A = $(A)$(A)\n"
		empty += strings.ReplaceAll(strings.ReplaceAll("AN = $(AM)$(AM)\n", "AN", name(i+1)), "AM", name(i))
	}
	for _, text := range []string{
		sleep + double + "args = $(A)\nqueue",
		sleep + empty + "args = $(" + name(40) + ")\nqueue",
		sleep + "args = " + strings.Repeat("$(a", 1<<18) + strings.Repeat(")", 1<<18) + "\nqueue",
		sleep + double[:len(double)/2] + "args = $(x$(A)$(A))\nqueue",
		sleep + "args = " + strings.Repeat("$(a:", 1<<14) + strings.Repeat(")", 1<<14) + "\nqueue",
	} {
		if _, _, err := read(text, testOptions()); err == nil {
			t.Errorf("read(%.80q...) succeeded, want an error", text)
		}
	}
}

// TestNestingIsCheap reads text nested deeply that is no reference: reading it
// anew for each level would not end.
func TestNestingIsCheap(t *testing.T) {
	for _, inside := range []string{"$(a b", "$(a$(b) c", "$ENV(x$"} {
		text := strings.Repeat(inside, 9000) + strings.Repeat(" d)", 9000)
		want := strings.ReplaceAll(text, "$(b)", "")
		d, _, err := read(sleep+"description = "+text+"\nqueue", testOptions())
		if err != nil {
			t.Errorf("Parse of %s nested 9000 deep = %.80v, want no error", inside, err)
			continue
		}
		c, err := d.Expand(1)
		if got, _ := c.Ad.EvalString(&classad.Context{}, "JobDescription"); err != nil || got != want {
			t.Errorf("%s nested 9000 deep = %.40q..., %.80v, want %.40q...", inside, got, err, want)
		}
	}
}

func name(i int) string { return "A" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"queue", nil},
		{"reqest_memory = 5\nqueue", []string{"a.sub:2: reqest_memory: unknown command, did you mean request_memory?"}},
		{"Exectuable = 5\nqueue", []string{"a.sub:2: Exectuable: unknown command, did you mean executable?"}},
		{"zzzzzzzzzzzz = 5\nqueue", []string{"a.sub:2: zzzzzzzzzzzz: unknown command, and no macro uses it"}},
		{"seed = 5\nargs = $(seed)\nqueue", nil},
		{"args = $(seed:1) $(sead)\nqueue", []string{"a.sub:2: $(sead): not defined, taken as empty"}},
		{"args = $(a)\nqueue 5\nqueue", []string{"a.sub:2: $(a): not defined, taken as empty"}},
		{"args = $ENV(NONE)\nqueue", []string{"a.sub:2: $ENV(NONE): not set in the environment, taken as empty"}},
		{"queue\nargs = x", []string{"a.sub:3: args: is after the last queue line and has no effect"}},
		{"process = 7\nargs = $(process)\nqueue", []string{"a.sub:2: process: is set for every job, this line has no effect"}},
		{"args = x\narguments = y\nqueue", []string{"a.sub:2: args: has no effect beside arguments"}},
		{"args = x\nrequest_gpus = 1\nqueue", nil},
		{"a0 = x\na1 = y\nb1 = z\nargs = $(a$(Process))\nqueue 2", []string{"a.sub:4: b1: unknown command, and no macro uses it"}},
		{"one_a = x\nargs = $($(w)_a)\nw = one\nqueue", nil},
		{"argumnets = x\nw = foo\nfoo = bar\nargs = $($(w))\nqueue", []string{"a.sub:2: argumnets: unknown command, did you mean arguments?"}},
		{"a0 = x\nargs = $(a$(Process))\nqueue\nqueue", []string{"a.sub:3: $(a1): not defined, taken as empty"}},
		{"w = x y\nargs = $(a$(w):$(w))\nqueue", []string{"a.sub:3: $(ax y): not a name, taken as it stands"}},
		{"queue 0", []string{"a.sub: all queue lines ask for 0 jobs"}},
		{"+Whatever = 1\nqueue", nil},
		{"args = $int(3) $(a\nqueue 2", []string{"a.sub:2: $int(): no function, taken as it stands, did you mean $INT()?"}},
		{"args = x$(a\nqueue 2", []string{"a.sub:2: $(a: no parenthesis closes it, taken as it stands"}},
		{"request_memroy = 5\nqueue", []string{"a.sub:2: request_memroy: taken for a resource of that name, did you mean request_memory?"}},
		{"Request_Gups = 1\nqueue", []string{"a.sub:2: Request_Gups: taken for a resource of that name, did you mean request_gpus?"}},
		{"request_mem = 5\nqueue", []string{"a.sub:2: request_mem: taken for a resource of that name, did you mean request_memory?"}},
		{"request_tpus = 1\nrequest_disk2 = 1\nrequest_licences = 1\nqueue", nil},
	} {
		_, warnings := parse(t, sleep+c.text)
		var got []string
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("warnings of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzParse checks that nothing panics, that what parses expands, and that
// what Expand gives is the same twice.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"queue", sleep + "queue 3", sleep + "args = $(Process)\nqueue 2\n", "A = $(A)$(A)\n",
		sleep + "args = \"a 'b c' \"\"\"\nenvironment = A=1;B=2\nrequest_memory = 3 GB\nqueue",
		sleep + "hold = $(x)\nmax_retries = 3\nretry_until = a ? b : 3\ncron_hour = */5, 1-3\nnotification = error\nqueue",
		"shell = ls | wc\ngetenv = A*, !B\nuniverse = local\nprio = 3 * $(Process)\nqueue 2", "universe = docker\ndocker_image = x\nparallel_slots = 2-5\nqueue",
		sleep + "requirements = Memory > 5 && (x =?= undefined)\n+Foo = {1, 2}\nqueue 2\n",
		sleep + "transfer_executable = no\nwhen_to_transfer_output = on_exit\nstream_output = $(Process)\nqueue",
		sleep + "a=\\\n#\n b\\\nqueue $(a:1)\n", "$(:$( = $$( \n@x @=\n[ ", sleep + "request_x = 1\nnice_user=1\nqueue",
		sleep + "a0=x\nb=$(a$(Process):$(b$(b)))\nargs=$($(b)$ENV(P$(c)))$(a$(b) $(a$(c$()))\nqueue 2", "\ufeff" + sleep + "kill_sig_timeout = 5\nqueue 99999999999999999999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, _, err := read(text, testOptions())
		if err != nil {
			if !strings.HasPrefix(err.Error(), "a.sub:") {
				t.Errorf("read(%q) = %v, want an error with the file", text, err)
			}
			return
		}
		if _, jobs := d.description.Queues(); jobs > 1000 {
			return
		}
		c, err := d.Expand(1)
		if err != nil {
			return
		}
		again, err := d.Expand(1)
		if err != nil || string(again.Ad.AppendLong(nil)) != string(c.Ad.AppendLong(nil)) || len(again.Runs) != len(c.Runs) {
			t.Errorf("Expand of %q twice = %d and %d runs, %v", text, len(c.Runs), len(again.Runs), err)
		}
	})
}
