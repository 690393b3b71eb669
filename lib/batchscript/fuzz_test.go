package batchscript

import (
	"errors"
	"strings"
	"testing"

	"fairspool/lib/submitfile"
)

// FuzzRead checks that no script makes reading fail but with a place, that what a script means
// can be read by submitfile, and that a submit description is never taken for one.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"", "#!", "#!/bin/sh -e\n", "#SBATCH -J 'a b' --mem=4G -n2 # c\n", "#SBATCH --array=1-9:2%3,4 -o %x.%4a.%j%%\\\n",
		"#$ -pe smp 2- -t 1-3 -o $HOME/$JOB_NAME$TASK_ID/ -j y\n", "#PBS -lselect=2:ncpus=4+1,walltime=1:0 -J 0-1 -W depend=afterok:1\n",
		"#SBATCH --export=A=$$(x),ALL -d afterok:1:2 --begin=now+1day\n", "#PBS -v \"a='b,c'\",d -F \"x 'y\"\n", "#$ -l h_vmem=1e3G,h_rt=::\n#!\x00\r\n", "#SBATCH -ao=3 --=\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasPrefix(text, "#!") && Is(text+"\nexecutable = x\nqueue\n") {
			t.Errorf("a description behind %q is taken for a script", text)
		}
		s, _, err := Read(text, "job.sh", options())
		var placed *submitfile.Error
		if err != nil {
			if !errors.As(err, &placed) || placed.File == "" || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("Read(%q) = %v, want an error of one line with its place", text, err)
			}
			return
		}
		d, warnings, err := submitfile.Make(text, "job.sh", s.Lines, s.Queue, submitfile.Options{})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("Make(%v) of %q = %v, %v", s.Lines, text, err, warnings)
		}
		err = d.Walk(1, func(w submitfile.Warning) { t.Errorf("%q: %v", text, w) }, func(j *submitfile.Job) error {
			for _, l := range s.Lines {
				if _, _, err := j.Lookup(strings.ToLower(l.Name)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("what %q means: %v", text, err)
		}
	})
}
