package jobad

import (
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/pool"
)

// scheme returns the scheme of a URL as HTCondor tells plugins by it: what stands
// behind the last sign in it, as s3 in handle+s3://bucket. Empty: it is no URL.
func scheme(name string) string {
	text, _, ok := strings.Cut(name, "://")
	if !ok || text == "" || !letter(text[0]) {
		return ""
	}
	for i := range len(text) {
		if c := text[i]; !letter(c) && (c < '0' || c > '9') && strings.IndexByte("+-.", c) < 0 {
			return ""
		}
	}
	return text[strings.LastIndexAny(text, "+-.")+1:]
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isLocal tells whether a name is that of a file on this machine, as a path or as
// file:///path.
func isLocal(name string) bool { return scheme(name) == "" || strings.HasPrefix(name, "file:///") }

// schemes returns the kinds of URLs that the job's files come from or go to, in
// order and each once.
func (t *transfers) schemes() []string {
	var out []string
	var known map[string]bool
	add := func(name string) {
		s := scheme(name)
		if key := strings.ToLower(s); s != "" && !known[key] {
			if known == nil {
				known = map[string]bool{}
			}
			known[key] = true
			out = append(out, s)
		}
	}
	for _, name := range t.inputs {
		if !isLocal(name) {
			add(name)
		}
	}
	add(t.destination)
	for _, remap := range splitEscaped(t.remaps, ';') {
		if sides := splitEscaped(remap, '='); len(sides) > 1 {
			add(strings.TrimSpace(strings.Join(sides[1:], "=")))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return out
}

// transferClauses returns what a slot must be able to do with the job's files.
func (j *job) transferClauses() ([]clause, error) {
	t, err := j.transfers()
	if err != nil {
		return nil, err
	}
	if t.should == transferNo {
		return []clause{{"(TARGET.FileSystemDomain == MY.FileSystemDomain)", []string{pool.AttrFileSystemDomain}, true}}, nil
	}
	plugins, brings, err := j.command("transfer_plugins")
	if err != nil {
		return nil, err
	}
	schemes := slices.DeleteFunc(t.schemes(), func(s string) bool { return brings && contains(pluginSchemes(plugins.Text), s) })
	if !t.happens() && len(schemes) == 0 && !brings {
		return nil, nil
	}
	terms := []string{"TARGET.HasFileTransfer =!= false"}
	if brings {
		terms[0] = "TARGET.HasJobTransferPlugins"
	}
	encrypted, err := j.encrypts()
	if err != nil {
		return nil, err
	}
	if encrypted {
		terms = append(terms, "TARGET.HasPerFileEncryption =!= false")
	}
	for _, s := range schemes {
		terms = append(terms, "stringListIMember("+quoted(s)+",TARGET.HasFileTransferPluginMethods)")
	}
	return []clause{{text: "(" + strings.Join(terms, " && ") + ")", offers: []string{pool.AttrHasFileTransfer, "HasJobTransferPlugins"}}}, nil
}

// pluginSchemes returns the kinds of URLs of plugins that the job brings along, as
// in "tar = mytar; http, https = myhttp".
func pluginSchemes(text string) []string {
	var out []string
	for plugin := range strings.SplitSeq(text, ";") {
		names, _, ok := strings.Cut(plugin, "=")
		if ok {
			out = append(out, strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
	}
	return out
}

// encrypts tells whether the description says which files are to be encrypted on
// their way.
func (j *job) encrypts() (bool, error) {
	for _, command := range [...]string{
		"encrypt_input_files", "encrypt_output_files", "dont_encrypt_input_files", "dont_encrypt_output_files",
	} {
		if _, ok, err := j.command(command); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
