package jobad

import (
	"slices"
	"strings"

	"fairspool/lib/submitfile"
)

// transfer sets what a description says of file transfer without naming a
// file. A job runs where it was submitted and works on the files in their
// places, so that all of this is true of it already: its output is there when
// it ends, and while it runs. Commands that name files are refused.
func (j *job) transfer() error {
	for _, c := range [...]struct {
		command, attr string
		values        []string
	}{
		{"should_transfer_files", "ShouldTransferFiles", []string{"YES", "NO", "IF_NEEDED"}},
		{"when_to_transfer_output", "WhenToTransferOutput", []string{"ON_EXIT", "ON_EXIT_OR_EVICT", "ON_SUCCESS"}},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		value := strings.ToUpper(g.Text)
		if !slices.Contains(c.values, value) {
			return j.refuse(g, "%q: want one of %s", submitfile.Shorten(g.Text), strings.Join(c.values, ", "))
		}
		j.setString(c.attr, value)
	}
	for _, c := range [...]struct{ command, attr string }{
		{"transfer_executable", "TransferExecutable"}, {"transfer_input", "TransferIn"},
		{"transfer_output", "TransferOut"}, {"transfer_error", "TransferErr"},
		{"stream_input", "StreamIn"}, {"stream_output", "StreamOut"}, {"stream_error", "StreamErr"},
	} {
		if err := j.flag(c.command, c.attr); err != nil {
			return err
		}
	}
	return j.noCopy()
}

// truth sets an attribute to a command's truth, if it is given.
func (j *job) flag(command, attr string) error {
	_, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	yes, err := j.boolean(command, false)
	if err != nil {
		return err
	}
	text := "false"
	if yes {
		text = "true"
	}
	j.setExpr(attr, text)
	return nil
}

// noCopy refuses to keep a copy of the executable, without which one that is
// changed before the job starts is not the one that was submitted.
func (j *job) noCopy() error {
	copies, err := j.boolean("copy_to_spool", false)
	if err != nil || !copies {
		return err
	}
	g, _, _ := j.command("copy_to_spool")
	return j.refuse(g, "%s: the executable is run in its place, no copy is kept", g.Text)
}
