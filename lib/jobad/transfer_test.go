package jobad

import (
	"strings"
	"testing"
)

func TestTransfer(t *testing.T) {
	o := bare()
	o.FileSystemDomain = "here"
	for _, c := range []struct{ text, name, want string }{
		// whether and when
		{"", "ShouldTransferFiles", `"IF_NEEDED"`}, {"", "WhenToTransferOutput", `"ON_EXIT"`}, {"", "FileSystemDomain", `"here"`},
		{"should_transfer_files = if_needed", "ShouldTransferFiles", `"IF_NEEDED"`}, {"should_transfer_files = Yes", "ShouldTransferFiles", `"YES"`},
		{"ShouldTransferFiles = True", "ShouldTransferFiles", `"YES"`}, {"should_transfer_files = Auto", "ShouldTransferFiles", `"IF_NEEDED"`},
		{"should_transfer_files = yes", "FileSystemDomain", "-"}, {"should_transfer_files = NEVER", "ShouldTransferFiles", `"NO"`},
		{"should_transfer_files = NO", "WhenToTransferOutput", "-"}, {"should_transfer_files = NO\nwhen_to_transfer_output = never", "WhenToTransferOutput", "-"},
		{"WhenToTransferOutput = on_exit", "WhenToTransferOutput", `"ON_EXIT"`}, {"when_to_transfer_output = ONSUCCESS", "WhenToTransferOutput", `"ON_SUCCESS"`},
		{"when_to_transfer_output = ON_EXIT_OR_EVICT", "ShouldTransferFiles", `"YES"`},
		{"when_to_transfer_output = ON_EXIT_OR_EVICT", "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`},

		// lists
		{"transfer_input_files = a, b b ,c/,", "TransferInput", `"a,b b,c/"`}, {"transfer_input_files = \"\"", "TransferInput", "-"},
		{"TransferInputFiles = a", "TransferInput", `"a"`}, {`transfer_input_files = "a, b"`, "TransferInput", `"a,b"`},
		{"transfer_output_files = x , y", "TransferOutput", `"x,y"`}, {`transfer_output_files = ""`, "TransferOutput", `""`},
		{"transfer_output_files =", "TransferOutput", "-"}, {"", "TransferOutput", "-"},
		{"transfer_input_files = a\npublic_input_files = b, c", "TransferInput", `"a,b,c"`}, {"public_input_files = b, c", "PublicInputFiles", `"b,c"`},
		{`transfer_output_remaps = "a = b; c = d"`, "TransferOutputRemaps", `"a = b; c = d"`}, {"transfer_output_remaps = a=b", "TransferOutputRemaps", `"a=b"`},

		// the program and the standard files
		{"transfer_executable = no", "TransferExecutable", "false"}, {"transfer_executable = no\n+Cmd = \"/x\"", "TransferExecutable", "false"}, {"transfer_executable = True", "TransferExecutable", "-"}, {"", "TransferExecutable", "-"},
		{"", "TransferIn", "false"}, {"", "StreamOut", "-"}, {"output = o", "StreamOut", "false"}, {"output = o", "TransferOut", "-"},
		{"output = o\nstream_output = true", "StreamOut", "true"}, {"output = o\ntransfer_output = false", "TransferOut", "false"},
		{"error = e\nstream_error = t\ntransfer_error = true", "StreamErr", "true"}, {"input = i", "StreamIn", "false"},
		{"input = /dev/null\nstream_input = true", "TransferIn", "false"},

		// the rest
		{"preserve_relative_paths = true", "PreserveRelativePaths", "true"}, {"encrypt_execute_directory = True", "EncryptExecuteDirectory", "true"},
		{"encrypt_input_files = a.dat, b.dat", "EncryptInputFiles", `"a.dat, b.dat"`}, {"output_destination = s3://x", "OutputDestination", `"s3://x"`},
		{"max_transfer_input_mb = 10 * 2", "MaxTransferInputMB", "10 * 2"}, {"transfer_checkpoint_files = a", "TransferCheckpoint", `"a"`},
		{"transfer_plugins = tar=mytar", "TransferPlugins", `"tar=mytar"`}, {"output_directory = /out", "OutputDirectory", `"/out"`},

		// requirements
		{"", "Requirements", "true"}, {"should_transfer_files = if_needed", "Requirements", "true"}, {`transfer_output_files = ""`, "Requirements", "true"},
		{"should_transfer_files = yes", "Requirements", "(TARGET.HasFileTransfer =!= false)"}, {"transfer_input_files = a", "Requirements", "(TARGET.HasFileTransfer =!= false)"},
		{"transfer_output_files = a", "Requirements", "(TARGET.HasFileTransfer =!= false)"},
		{"transfer_input_files = a\nrequirements = HasFileTransfer", "Requirements", "(HasFileTransfer)"},
		{"should_transfer_files = no", "Requirements", "((TARGET.FileSystemDomain == MY.FileSystemDomain) =!= false)"},
		{"should_transfer_files = no\nrequirements = FileSystemDomain == \"x\"", "Requirements", `(FileSystemDomain == "x")`},
		{"transfer_input_files = a\nencrypt_input_files = a", "Requirements", "(TARGET.HasFileTransfer =!= false && TARGET.HasPerFileEncryption =!= false)"},
		{"transfer_input_files = FTP://foo/bar", "Requirements", `(TARGET.HasFileTransfer =!= false && stringListIMember("FTP",TARGET.HasFileTransferPluginMethods))`},
		{"transfer_input_files = HTTPS://b, a, http://c, Http://d, key+s3://e, file:///f", "Requirements",
			`(TARGET.HasFileTransfer =!= false && stringListIMember("http",TARGET.HasFileTransferPluginMethods) && stringListIMember("HTTPS",TARGET.HasFileTransferPluginMethods) && stringListIMember("s3",TARGET.HasFileTransferPluginMethods))`},
		{"transfer_input_files = HTTPS://b, http://c", "WantTransferPluginMethods", `"http,HTTPS"`},
		{"output_destination = url://x", "Requirements", `(TARGET.HasFileTransfer =!= false && stringListIMember("url",TARGET.HasFileTransferPluginMethods))`},
		{`transfer_output_remaps = "a = osdf://b?c=d"` + "\ntransfer_output_files = a", "Requirements", `(TARGET.HasFileTransfer =!= false && stringListIMember("osdf",TARGET.HasFileTransferPluginMethods))`},
		{"transfer_plugins = http, https=p\ntransfer_input_files = http://a, ftp://b", "Requirements", `(TARGET.HasJobTransferPlugins && stringListIMember("ftp",TARGET.HasFileTransferPluginMethods))`},
	} {
		if got := attribute(t, c.text, c.name, o); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func TestTransferMistakes(t *testing.T) {
	const waits = "fairspool's starter copies files of this machine only: the job waits for a slot whose HasFileTransferPluginMethods has "
	for _, c := range []struct{ text, want string }{
		{"should_transfer_files = maybe", `a.sub:2: should_transfer_files: "maybe": want one of YES, NO, IF_NEEDED`},
		{"when_to_transfer_output = sometimes", `a.sub:2: when_to_transfer_output: "sometimes": want one of ON_EXIT, ON_EXIT_OR_EVICT, ON_SUCCESS`},
		{"should_transfer_files = NO\ntransfer_input_files = a", "a.sub:3: transfer_input_files: excludes should_transfer_files = NO, by which no files are transferred"},
		{"should_transfer_files = NO\ntransfer_output_files = a", "a.sub:3: transfer_output_files: excludes should_transfer_files = NO, by which no files are transferred"},
		{"should_transfer_files = NO\nwhen_to_transfer_output = ON_EXIT", "a.sub:3: when_to_transfer_output: ON_EXIT: excludes should_transfer_files = NO, by which no files are transferred"},
		{"should_transfer_files = YES\nwhen_to_transfer_output = NEVER", `a.sub:3: when_to_transfer_output: NEVER: is ON_EXIT beside should_transfer_files = YES; write transfer_output_files = "" for no output`},
		{"should_transfer_files = IF_NEEDED\nwhen_to_transfer_output = NEVER", "a.sub:3: when_to_transfer_output: NEVER: wants should_transfer_files = NO beside it"},
		{"when_to_transfer_output = NEVER", "a.sub:2: when_to_transfer_output: NEVER: wants should_transfer_files = NO beside it"},
		{"should_transfer_files = IF_NEEDED\nwhen_to_transfer_output = ON_EXIT_OR_EVICT", "a.sub:3: when_to_transfer_output: ON_EXIT_OR_EVICT: wants should_transfer_files = YES, since IF_NEEDED may leave the files where they are"},
		{"output_destination = /data", `a.sub:2: output_destination: "/data": want a URL`},
		{`transfer_output_remaps = "a = b; c"` + "\ntransfer_output_files = a", `a.sub:2: transfer_output_remaps: "c": want "NAME = NEWNAME; NAME = NEWNAME"`},
		{`transfer_output_remaps = "a = b"`, "a.sub:2: transfer_output_remaps: has no effect: no files are transferred"},
		{"copy_to_spool = true", "a.sub:2: copy_to_spool: no copy is kept: the executable is run in its place, as it is when the job starts"},
		{"copy_to_spool = false", ""}, {"transfer_input_files = file:///a", ""},
		{"transfer_input_files = http://a, ftp://b", "a.sub:2: transfer_input_files: " + waits + "ftp, http"},
		{"public_input_files = http://a", "a.sub:2: public_input_files: " + waits + "http"},
		{"output_destination = url://a", "a.sub:2: output_destination: " + waits + "url"},
		{"encrypt_execute_directory = true", "a.sub:2: encrypt_execute_directory: fairspool's starter has no such thing: the job waits for a slot with HasEncryptExecuteDirectory"},
		{"encrypt_execute_directory = false", ""},
		{"transfer_plugins = tar=mytar", "a.sub:2: transfer_plugins: fairspool's starter has no such thing: the job waits for a slot with HasJobTransferPlugins"},
		{"requirements = a\n+Requirements = b", "a.sub:2: requirements: has no effect beside +Requirements"},
	} {
		if got := said(sleep+c.text+"\nqueue\n", bare()); got != c.want {
			t.Errorf("read(%q) said %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzTransferLists(f *testing.F) {
	for _, text := range []string{"a, b", `""`, "http://a", "x+y://", "a\\=b = c; d", "=;", "file:///", "a=b://c;", `"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n\r\x00") || strings.HasSuffix(text, `\`) {
			return
		}
		for _, command := range []string{"transfer_input_files", "transfer_output_files", "transfer_output_remaps", "output_destination", "transfer_plugins", "request_memory", "retry_request_memory", "require_gpus"} {
			j, _, err := read(sleep+"request_gpus = 1\n"+command+" = "+text+"\nqueue\n", bare())
			if err != nil {
				continue
			}
			if _, err := j.Expand(1); err != nil && !strings.HasPrefix(err.Error(), "a.sub:") {
				t.Errorf("Expand of %s = %q: %v, want an error with the file", command, text, err)
			}
		}
	})
}
