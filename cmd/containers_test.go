package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestContainersOfPilots runs jobs in containers on a machine at the other end of a link: one whose image travels with it, and one
// whose image the machine has.
func TestContainersOfPilots(t *testing.T) {
	t.Parallel()
	busybox, err := testenv.Bubblewrap()
	if err != nil {
		t.Skipf("SKIPPED, NOTHING IS TESTED: %v", err)
	}
	program, err := os.ReadFile(busybox)
	testenv.OK(t, err)
	f := newFarmHere(t, "", "", "n1")
	// The machine says itself what its containers may do.
	write(t, f.path("machine.toml"), "CONTAINER_RUNTIMES = [\"bwrap\"]\nCONTAINER_ROOT = true\n")
	testenv.WriteProgram(t, f.path("starter"), []byte("#!/bin/sh\nFAIRSPOOL_CONFIG='"+f.path("machine.toml")+"' exec '"+filepath.Join(f.bin, "starter")+"' \"$@\"\n"))
	write(t, f.path("fairspool.toml"), strings.Replace(f.config, filepath.Join(f.bin, "starter"), f.path("starter"), 1))
	testenv.Until(t, "the slots of the pilot are known", func() bool {
		f.links()
		return strings.Contains(f.run("slots", "list", "-long"), "HasSandboxImage = true")
	})
	testenv.WriteProgram(t, f.path("job"), []byte("#!/bin/sh\nread -r image </lib/release\necho $image in $PWD $HOME >$1\n"))
	for _, job := range [][2]string{{"travels", ""}, {"stays", "transfer_container = false\n"}} {
		image, more := job[0], job[1]
		for _, dir := range []string{"bin", "lib"} {
			testenv.OK(t, os.MkdirAll(f.path(image+"/"+dir), 0o755))
		}
		testenv.WriteProgram(t, f.path(image+"/bin/sh"), program)
		write(t, f.path(image+"/lib/release"), image+"\n")
		write(t, f.path("job.sub"), fmt.Sprintf("container_image = %s\n%sexecutable = job\narguments = of.%s\ntransfer_output_files = of.%s\nrequirements = Machine != \"head\"\nqueue\n",
			f.path(image), more, image, image))
		f.run("submit", "job.sub")
	}
	f.cron()
	if !testenv.Await(func() bool { return f.queued() == 0 }) {
		f.Fatalf("jobs are left: %s", f.run("qstat", "-j"))
	}
	f.stop()
	if got := f.run("qstat", "-history", "-af", "ExitCode"); got != "0\n0\n" {
		t.Errorf("the jobs have ended with %q, want success", got)
	}
	for _, image := range []string{"travels", "stays"} {
		if got, err := os.ReadFile(f.path("of." + image)); string(got) != image+" in /srv /srv\n" {
			t.Errorf("a job whose image %s says %q (%v)", image, got, err)
		}
	}
	f.clean()
}
