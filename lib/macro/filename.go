package macro

import "strings"

// Filename is $F with letters behind it: parts of a file name. Quotes around the name
// are taken off first.
//
//	f  a relative name is put behind dir, unless that is empty
//	p  the directory with the slash behind it
//	d  the last part of the directory with the slash behind it, dd the last two, ...
//	n  the name without directory and extension
//	x  the extension with its dot
//	b  without the slash when the result is a directory, without the dot when it is an extension
//	u  slashes for backslashes
//	w  backslashes for slashes
//	q  double quotes around the result, with a single quotes
//
// Without p, d, n and x the result is the whole name. The order of the letters does not
// count nor does their case, d counts before p, and x brings the name along with a
// directory, as HTCondor has it.
func Filename(letters, name, dir string) string {
	letters = strings.ToLower(letters)
	has := func(letter string) bool { return strings.Contains(letters, letter) }
	name = unquoted(name)
	if has("u") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	if has("f") {
		name = absolute(name, dir)
	}
	text := name
	if strings.ContainsAny(letters, "pdnx") {
		text = nameParts(letters, name)
	}
	if has("w") {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	switch {
	case has("q") && has("a"):
		return "'" + text + "'"
	case has("q"):
		return `"` + text + `"`
	}
	return text
}

// Dirname is $DIRNAME: the directory with the slash behind it, empty for a bare name.
func Dirname(name string) string { return Filename("p", name, "") }

// Basename is $BASENAME: the name without its directory, and without the suffix if it
// ends with it.
func Basename(name, suffix string) string {
	return strings.TrimSuffix(Filename("nx", name, ""), suffix)
}

func nameParts(letters, name string) string {
	dir, base, extension := splitName(name)
	if n := strings.Count(letters, "d"); n > 0 {
		dir = lastParts(dir, n)
	} else if !strings.Contains(letters, "p") {
		dir = ""
	}
	n, x := strings.Contains(letters, "n"), strings.Contains(letters, "x")
	switch b := strings.Contains(letters, "b"); {
	case n && x, x && dir != "":
		return dir + base + extension
	case n:
		return dir + base
	case x && b:
		return strings.TrimPrefix(extension, ".")
	case x:
		return extension
	case b:
		return strings.TrimSuffix(dir, "/")
	}
	return dir
}

// splitName takes a name apart into directory, name and extension. A dot at the
// beginning of the name begins no extension.
func splitName(name string) (dir, base, extension string) {
	slash := strings.LastIndexByte(name, '/') + 1
	dir, base = name[:slash], name[slash:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		base, extension = base[:dot], base[dot:]
	}
	return dir, base, extension
}

// lastParts returns the last n parts of a directory that ends with a slash.
func lastParts(dir string, n int) string {
	start := len(dir)
	for ; n > 0 && start > 0; n-- {
		start = strings.LastIndexByte(dir[:start-1], '/') + 1
	}
	return dir[start:]
}

func absolute(name, dir string) string {
	if dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(name, "./")
}

// unquoted returns the text without the quotes that stand at both its ends.
func unquoted(text string) string {
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}
