package userlog

import "os"

// Append writes events to the log at path in one write behind what the file
// already holds. A missing file is made with mode 0644, a missing folder is
// an error. Errors are *fs.PathError and name the path. Without events
// nothing happens to the file.
func Append(path string, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	var b []byte
	for _, e := range events {
		b = e.AppendTo(b)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
