package main

import (
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/jobad"
	"fairspool/spool"
)

// cluster is a description's jobs, in the queue or on the way to it: those that
// are there from the beginning.
type cluster struct {
	id  int // 0: there were no jobs to submit
	all int // jobs, with those that appear later
	jobad.Cluster
}

// put makes the description's jobs a cluster of the queue.
func (s *submission) put(d *jobad.Jobs) (cluster, error) {
	sp, err := s.Spool()
	if err != nil {
		return cluster{}, err
	}
	if s.Has("owner") {
		if err := mayActForOthers(s.Call); err != nil {
			return cluster{}, err
		}
	}
	d.SetDomain(sp.Domain())
	p := s.Progress("making jobs")
	defer p.End()
	d.Progress = p.Step
	k := cluster{all: d.Count()}
	err = sp.Update(func(tx *spool.Tx) (err error) {
		tx.Op("submit", s.operation()...)
		if err := s.lookForKey(tx); err != nil {
			return err
		}
		if k.id, k.Cluster, err = operation.Submit(tx, d, s.owner); err != nil {
			return err
		}
		if err := s.permit(d, k.Cluster); err != nil || !s.Has("strict") {
			return err
		}
		p.End()
		s.warnOfPlaces(k)
		return s.strict()
	})
	return k, err
}

// serve makes this machine a slot for the first jobs of a pool that was never given one.
// Later jobs do not look for slots, which would read the spool: a cycle does that.
func (s *submission) serve(k cluster) {
	if k.id != 1 {
		return
	}
	sp, err := s.Spool()
	if err == nil {
		err = machine.Serve(s.Call, sp)
	}
	if err == nil {
		err = s.warnOfNoSlots(sp)
	}
	if err != nil {
		s.Warn("warning: the jobs are in the queue, but this machine could not be made a slot: %v", err)
	}
}

// warnOfNoSlots tells an administrator that the machine's own pool has no slots yet, which
// Serve does not change.
func (s *submission) warnOfNoSlots(sp *spool.Spool) error {
	if who, err := s.Caller(); err != nil || !who.Admin || s.OwnTime() || s.Private(sp.Dir()) {
		return err
	}
	return sp.View(func(v *spool.View) error {
		if !operation.EverGiven(v) {
			s.Warn("warning: the pool has no slots, so no job starts: slots detect -partitionable makes this machine one")
		}
		return nil
	})
}

// operation is what the journal tells of the command line.
func (s *submission) operation() []string {
	var words []string
	for _, flag := range []string{"owner", "unique", "file"} {
		if s.Has(flag) {
			words = append(words, "-"+flag, s.Value(flag))
		}
	}
	words = append(words, s.Args...)
	if s.CommandLine != nil {
		words = append(words, s.CommandLine[0])
	}
	return words
}

// logSubmitted writes event 000 of every job to its log, all events of a log
// at once. The jobs are in the queue by now, so what goes wrong is a warning.
func (s *submission) logSubmitted(k cluster) {
	if k.id == 0 {
		return
	}
	host, err := s.Hostname()
	if err != nil {
		s.warn("%v", err)
		return
	}
	var log joblog.Events
	log.Submitted(k.id, k.Cluster, host)
	log.Write(s.Call)
}
