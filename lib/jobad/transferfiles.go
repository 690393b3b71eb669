package jobad

import (
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// transferDoubts warns of what is accepted and cannot be done here.
func (j *job) transferDoubts(t *transfers) error {
	if urls := t.schemes(); len(urls) > 0 && j.warn != nil {
		g, err := j.urlCommand(t)
		if err != nil {
			return err
		}
		j.caution(g, "fairspool's starter copies files of this machine only: the job waits for a slot whose HasFileTransferPluginMethods has %s", strings.Join(urls, ", "))
	}
	if t.remaps != "" && !t.happens() {
		g, _, err := j.command("transfer_output_remaps")
		if err != nil {
			return err
		}
		j.caution(g, "has no effect: no files are transferred")
	}
	return j.noCopy()
}

// urlCommand returns the first command that names a URL.
func (j *job) urlCommand(t *transfers) (given, error) {
	for i, name := range t.inputs {
		if !isLocal(name) {
			return t.at(i), nil
		}
	}
	command := "transfer_output_remaps"
	if t.destination != "" {
		command = "output_destination"
	}
	g, _, err := j.command(command)
	return g, err
}

// noCopy warns who wants a copy of the executable kept: one that is changed
// before the job starts is not the one that was submitted.
func (j *job) noCopy() error {
	copies, err := j.boolean("copy_to_spool", false)
	if err != nil || !copies {
		return err
	}
	g, _, err := j.command("copy_to_spool")
	j.caution(g, "no copy is kept: the executable is run in its place, as it is when the job starts")
	return err
}

// standardTransfer sets what becomes of the standard files, as HTCondor writes
// it: Stream for a file that counts as transferred, else Transfer, false.
func (j *job) standardTransfer() error {
	for _, f := range [...]struct{ file, transfer, transferAttr, stream, streamAttr string }{
		{"input", "transfer_input", "TransferIn", "stream_input", "StreamIn"},
		{"output", "transfer_output", "TransferOut", "stream_output", "StreamOut"},
		{"error", "transfer_error", "TransferErr", "stream_error", "StreamErr"},
	} {
		g, ok, err := j.command(f.file)
		if err != nil {
			return err
		}
		transferred, err := j.boolean(f.transfer, true)
		if err != nil {
			return err
		}
		streamed, err := j.boolean(f.stream, false)
		if err != nil {
			return err
		}
		if !ok || unquotedPath(g.Text) == "/dev/null" || !transferred {
			j.setExpr(f.transferAttr, "false")
			continue
		}
		j.setBool(f.streamAttr, streamed)
	}
	return nil
}

// checkpoint sets what tools read of a job that says by its exit code that it has written
// a checkpoint: HTCondor's name for the code, and that files are stored then.
func (j *job) checkpoint() error {
	g, ok, err := j.command("checkpoint_exit_code")
	if err != nil {
		return err
	}
	if ok {
		n, err := j.integer(g, false)
		if err != nil {
			return err
		}
		j.setExpr(pool.AttrSuccessCkptCode, strconv.FormatInt(n, 10))
	}
	if ok || j.overrides[strings.ToLower(pool.AttrCheckpointExitCode)] || j.overrides[strings.ToLower(pool.AttrSuccessCkptCode)] {
		j.setExpr(pool.AttrWantFTOnCheckpoint, "true")
	}
	return nil
}

// setBool sets an attribute to a truth value.
func (j *job) setBool(attr string, yes bool) {
	if yes {
		j.setExpr(attr, "true")
	} else {
		j.setExpr(attr, "false")
	}
}

// otherTransfer sets what only the ad keeps.
func (j *job) otherTransfer(t *transfers) error {
	if t.destination != "" {
		j.setString(pool.AttrOutputDestination, t.destination)
	}
	for _, c := range [...]struct{ command, attr string }{
		{"output_directory", "OutputDirectory"}, {"transfer_plugins", "TransferPlugins"},
	} {
		if err := j.text(c.command, c.attr); err != nil {
			return err
		}
	}
	for _, c := range [...]struct{ command, attr string }{
		{"preserve_relative_paths", pool.AttrPreserveRelativePaths}, {"encrypt_execute_directory", "EncryptExecuteDirectory"},
	} {
		if err := j.flag(c.command, c.attr); err != nil {
			return err
		}
	}
	return j.lacking()
}

// lacking warns of abilities that fairspool's own starter does not have.
func (j *job) lacking() error {
	for _, c := range [...]struct{ command, offer string }{
		{"encrypt_execute_directory", "HasEncryptExecuteDirectory"}, {"transfer_plugins", "HasJobTransferPlugins"},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if no, isTruth := truth(g.Text); ok && !(isTruth && !no) {
			j.caution(g, "fairspool's starter has no such thing: the job waits for a slot with %s", c.offer)
		}
	}
	return nil
}

// flag sets an attribute to a command's truth, if it is given.
func (j *job) flag(command, attr string) error {
	_, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	yes, err := j.boolean(command, false)
	if err != nil {
		return err
	}
	j.setBool(attr, yes)
	return nil
}
