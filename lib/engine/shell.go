package engine

import "strings"

// Quoted returns a word as a shell takes it.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Below returns a path that does not begin with a slash as one below the working directory: a home, where shells of engines begin.
func Below(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "./" + path
}
