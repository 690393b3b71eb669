package jobad

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// universe is the surroundings that a job asks for.
type universe struct {
	number    pool.Universe
	docker    bool // vanilla with WantDocker
	container bool // vanilla with WantContainer
}

// contained reports whether the job runs in a container, where its executable may be.
func (u universe) contained() bool { return u.docker || u.container }

// universes are the names of universes, and their numbers.
var universes = map[string]universe{
	"standard": {number: pool.Standard}, "vanilla": {number: pool.Vanilla},
	"scheduler": {number: pool.Scheduler}, "grid": {number: pool.Grid}, "globus": {number: pool.Grid},
	"java": {number: pool.Java}, "parallel": {number: pool.Parallel}, "local": {number: pool.Local},
	"vm": {number: pool.VM}, "docker": {pool.Vanilla, true, false}, "container": {pool.Vanilla, false, true},
}

// universe returns the job's universe. A vanilla job with an image is one that runs
// in a container.
func (j *job) universe() (universe, error) {
	g, ok, err := j.command("universe")
	if err != nil {
		return universe{}, err
	}
	u := universe{number: pool.Vanilla}
	if ok {
		if u, ok = universeOf(unquoted(g.Text)); !ok {
			return u, j.refuse(g, "%q: no universe, want vanilla", submitfile.Shorten(g.Text))
		}
	}
	if u.number != pool.Vanilla || u.docker {
		return u, nil
	}
	_, docker, err := j.command("docker_image")
	if err != nil {
		return u, err
	}
	_, image, err := j.command("container_image")
	u.container = u.container || docker || image
	return u, err
}

// universeOf returns the universe of a name, or a number.
func universeOf(text string) (universe, bool) {
	if u, ok := universes[strings.ToLower(text)]; ok {
		return u, true
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return universe{}, false
	}
	for _, u := range universes {
		if u.number == pool.Universe(n) {
			return universe{number: u.number}, true
		}
	}
	return universe{}, false
}

// placement sets the universe, and what goes with it.
func (j *job) placement() error {
	u, err := j.universe()
	if err != nil {
		return err
	}
	if err := j.served(u); err != nil {
		return err
	}
	j.setExpr(pool.AttrJobUniverse, strconv.Itoa(int(u.number)))
	if err := j.hosts(u); err != nil {
		return err
	}
	return j.images(u)
}

// served refuses universes in which jobs would not run as they should, and warns of
// universes in which they will wait or run as in others.
func (j *job) served(u universe) error {
	g, ok, err := j.command("universe")
	if !ok || err != nil {
		return err
	}
	switch u.number {
	case pool.Grid:
		return j.refuse(g, "%s: jobs are not handed to other batch systems: leave it out to run the job here; see submit(5)", g.Text)
	case pool.VM:
		return j.refuse(g, "%s: virtual machines are not run; see submit(5)", g.Text)
	case pool.Standard:
		j.caution(g, "%s: runs as a vanilla job, with checkpoints only where the machine can take them", g.Text)
	case pool.Scheduler, pool.Local:
		j.caution(g, "%s: waits for a slot like any other job", g.Text)
	case pool.Java:
		j.caution(g, "%s: waits until a slot says HasJava", g.Text)
	}
	return nil
}

// hosts sets MinHosts and MaxHosts: a job runs on one slot.
func (j *job) hosts(u universe) error {
	parallel, err := j.boolean("wantparallelscheduling", false)
	if err != nil {
		return err
	}
	if parallel {
		j.setExpr("WantParallelScheduling", "true")
	}
	g, ok, err := j.command("machine_count")
	if err != nil {
		return err
	}
	parallel = parallel || u.number == pool.Parallel
	n := int64(1)
	if ok {
		if n, err = j.integer(g, true); err != nil {
			return err
		}
	}
	switch {
	case parallel && n != 1:
		return j.refuse(g, "%d: a job runs on one slot: a parallel job can only have 1; see submit(5)", n)
	case parallel && !ok:
		g, _, _ = j.command("universe")
		return j.refuse(g, "parallel: wants machine_count, which has to be 1 here")
	case ok && !parallel:
		j.setExpr("MachineCount", strconv.FormatInt(n, 10))
		if n > 1 {
			j.caution(g, "has a meaning only in the parallel universe; for several processors write request_cpus = %d", n)
		}
	}
	if u.number == pool.Parallel {
		j.setExpr("WantIOProxy", "true")
	}
	j.setExpr(pool.AttrMinHosts, "1")
	j.setExpr("MaxHosts", "1")
	return nil
}

// images sets which image the job's container is made of.
func (j *job) images(u universe) error {
	docker, hasDocker, err := j.command("docker_image")
	if err != nil {
		return err
	}
	image, hasImage, err := j.command("container_image")
	if err != nil {
		return err
	}
	g, _, _ := j.command("universe")
	switch {
	case !u.contained():
		return nil
	case hasDocker && hasImage:
		return j.refuse(image, "excludes docker_image")
	case u.docker && hasImage:
		return j.refuse(image, "the docker universe wants docker_image")
	case u.docker && !hasDocker:
		return j.refuse(g, "docker: wants docker_image, the image to run")
	case !hasDocker && !hasImage:
		return j.refuse(g, "container: wants container_image, the image to run")
	}
	named := docker
	if u.container {
		j.setExpr(pool.AttrWantContainer, "true")
	} else {
		j.setExpr(pool.AttrWantDocker, "true")
	}
	if hasDocker {
		j.setString(pool.AttrDockerImage, unquoted(docker.Text))
	} else {
		named = image
		t, err := j.transfers()
		if err != nil {
			return err
		}
		j.setString(pool.AttrContainerImage, t.image.name)
		j.setString("ContainerImageSource", t.image.source)
	}
	if u.container {
		wanted, _ := imageAttributes(named.Text, hasDocker)
		j.setExpr(wanted, "true")
	}
	return nil
}

// image is where a job's container image comes from.
type image struct {
	name   string // in the ad: that in the scratch directory, if it is copied there
	source string // the scheme of its URL, cedar for a path that is copied, local for one that is not
	copied bool
}

// sharedImages begins the paths of images that each machine has (HTCondor's
// CONTAINER_SHARED_FS).
const sharedImages = "/cvmfs"

// imageOf returns where an image comes from: a machine fetches one of a registry itself,
// all others are copied like inputs unless transfer is false.
func imageOf(text string, transfer bool) image {
	scheme, _, hasScheme := strings.Cut(text, ":")
	switch {
	case !transfer, strings.HasPrefix(text, sharedImages):
		return image{text, "local", false}
	case hasScheme && (scheme == "docker" || scheme == "oras"):
		return image{text, scheme, false}
	case !hasScheme:
		scheme = "cedar"
	}
	return image{path.Base(text), scheme, true}
}

// imageInput reads where the container image comes from, and adds it to the inputs if it
// is copied.
func (j *job) imageInput(t *transfers) error {
	u, err := j.universe()
	if err != nil || !u.container {
		return err
	}
	g, ok, err := j.command("container_image")
	if err != nil || !ok {
		return err
	}
	transfer, err := j.boolean("transfer_container", true)
	if err != nil {
		return err
	}
	name := unquoted(g.Text)
	if name == "" {
		return j.refuse(g, "an empty name: want the image to run")
	}
	if t.image = imageOf(name, transfer); t.image.copied {
		t.add(g, name)
	}
	return nil
}

// imageAttributes returns the attributes for the kind of an image, in the ads of jobs and of slots. Slots for Docker's
// registries also take archives of images.
func imageAttributes(image string, docker bool) (wanted, capability string) {
	image = strings.ToLower(unquoted(image))
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(image, e) })
	}
	switch {
	case docker, strings.HasPrefix(image, "docker:"), ends(".tar", ".tar.gz", ".tgz"):
		return "WantDockerImage", "HasDockerURL"
	case strings.HasPrefix(image, "oras:"), ends(".sif"):
		return "WantSIF", "HasSIF"
	}
	return "WantSandboxImage", "HasSandboxImage"
}

// inJava reports whether the job's program is java, which finds the class file and the jar
// files among the inputs.
func (j *job) inJava() (bool, error) {
	u, err := j.universe()
	if err != nil || u.number != pool.Java || j.overrides["cmd"] {
		return false, err
	}
	should, _, err := j.word("should_transfer_files", shouldTransfer, wantedTransfer)
	return should.Text != transferNo, err
}

// javaInputs adds the class file and the jar files to the inputs of a job in Java.
func (j *job) javaInputs(t *transfers) error {
	java, err := j.inJava()
	if err != nil || !java {
		return err
	}
	g, ok, err := j.command("executable")
	if err != nil || !ok {
		return err
	}
	p, err := j.programPath(g)
	if err != nil {
		return err
	}
	t.add(g, p.path)
	_, err = j.moreInputs(t, "jar_files")
	return err
}

// java sets the arguments of Java's virtual machine.
func (j *job) java() error {
	g, ok, err := j.command("java_vm_arguments")
	if !ok || err != nil {
		return err
	}
	raw, isNew, err := jobargs.Unquote(g.Text)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	if !isNew {
		j.setString("JavaVMArgs", strings.Join(jobargs.ParseV1(raw), " "))
		return nil
	}
	words, err := jobargs.ParseV2(raw)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	j.setString("JavaVMArguments", jobargs.FormatV2(words))
	return nil
}
