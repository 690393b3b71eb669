package workload

import (
	"strconv"
	"strings"
	"time"
)

// Fields of a line of the Standard Workload Format, from 0.
const (
	swfNumber = iota
	swfSubmit
	swfWait
	swfRun
	swfCores
	swfCPU
	swfMemory // KB, of each core
	swfAsked
	swfLimit
	swfAskedMemory
	swfStatus
	swfUser
	swfGroup
	swfProgram
	swfQueue
	swfPartition
	swfAfter
	swfThink
	swfFields
)

// swf reads the Standard Workload Format, 2.2. Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
func (w *reading) swf() error {
	before := int64(0)
	return w.each(func(line string) error {
		text := strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(text, ";"); ok {
			key, value, _ := strings.Cut(comment, ":")
			if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && strings.TrimSpace(key) == "UnixStartTime" && n > 0 {
				w.Start = time.Unix(n, 0).UTC()
			}
			return nil
		}
		fields := strings.Fields(text)
		if len(fields) == 0 {
			return nil
		}
		if len(fields) < swfFields {
			return w.wrong("want %d numbers, as in the Standard Workload Format, and there are %d", swfFields, len(fields))
		}
		number := func(i int) int64 {
			x, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || x != x {
				return -2
			}
			return int64(min(max(x, -1), 1e15))
		}
		for i := range swfFields {
			if number(i) == -2 {
				return w.wrong("field %d is no number: %.40q", i+1, fields[i])
			}
		}
		submit := number(swfSubmit)
		if submit < before {
			return w.wrong("job %s was submitted %d seconds before the job above it", fields[swfNumber], before-submit)
		}
		before = submit
		j := Job{Name: fields[swfNumber], Submit: submit, Wait: number(swfWait), Run: number(swfRun), Limit: number(swfLimit)}
		cores := number(swfCores)
		if cores <= 0 {
			cores = number(swfAsked)
		}
		j.Cores = int(min(cores, mostCores+1))
		memory := number(swfAskedMemory)
		if memory <= 0 {
			memory = number(swfMemory)
		}
		if memory > 0 {
			j.Memory = (min(memory, mostMemory)*min(max(cores, 1), mostCores) + 1023) >> 10
		}
		if n := number(swfUser); n >= 0 {
			j.User = "u" + strconv.FormatInt(n, 10)
		}
		if n := number(swfGroup); n >= 0 {
			j.Group = "g" + strconv.FormatInt(n, 10)
		}
		if !w.Start.IsZero() {
			j.Submit += w.Start.Unix()
		}
		return w.add(j)
	})
}
