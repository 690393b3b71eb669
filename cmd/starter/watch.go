package main

import (
	"errors"
	"os"
	"syscall"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// lookEvery is how often a supervisor looks whether the spool tells its job
// to leave.
const lookEvery = 500 * time.Millisecond

// leave is an order to end the job.
type leave struct {
	why   string         // what the ad says when the job has to run again
	sig   syscall.Signal // the job is sent this
	after time.Duration  // and SIGKILL so much later
}

// watch waits until the job has ended, and makes it do so when its claim is
// told to vacate or the supervisor itself is told to end.
func (s *supervisor) watch(p *launch.Process) operation.Ending {
	ended := make(chan launch.Ended, 1)
	go func() { ended <- p.Wait() }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var kill <-chan time.Time
	why := ""
	for {
		var order *leave
		select {
		case e := <-ended:
			return endingOf(e, why)
		case <-look.C:
			order = s.look()
		case sig := <-s.stop:
			order = s.told(sig)
		case <-kill:
			if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
				s.complain(err)
			}
		}
		if order == nil || kill != nil {
			continue
		}
		if err := p.Signal(order.sig); !errors.Is(err, os.ErrProcessDone) {
			s.complain(err)
			why, kill = order.why, time.After(order.after)
		}
	}
}

func (s *supervisor) complain(err error) {
	if err != nil {
		s.log.add(err)
	}
}

// endingOf returns how an attempt ends that was told to leave for the reason
// why; empty when it was not told, or its claim says what becomes of it.
func endingOf(e launch.Ended, why string) operation.Ending {
	return operation.Ending{
		Lost: why, Code: e.Code, Signal: e.Signal,
		Wall: e.Wall, UserCPU: e.UserCPU, SysCPU: e.SysCPU, MaxRSSKB: e.MaxRSSKB,
	}
}

// look returns the order that the spool has for the job, nil for none. When
// nothing has changed it costs next to nothing.
func (s *supervisor) look() *leave {
	var order *leave
	err := s.spool.View(func(v *spool.View) error {
		if v.Seq() == s.seen {
			return nil
		}
		s.seen = v.Seq()
		claim, ok := v.Claim(s.Job)
		switch {
		case !ok || claim.Attempt != s.Number:
			order = s.order(v, "its claim is gone")
			s.log.add(errors.New("its claim is gone: ending the job"))
		case claim.State == pool.Vacating:
			order = s.order(v, "")
		}
		return nil
	})
	s.complain(err)
	return order
}

// told returns the order that follows from a signal to the supervisor.
func (s *supervisor) told(sig os.Signal) *leave {
	why := "its supervisor was sent " + signalName(sig)
	order := &leave{why, syscall.SIGTERM, s.vacate}
	s.complain(s.spool.View(func(v *spool.View) error {
		order = s.order(v, why)
		return nil
	}))
	return order
}

// order words an order as the job's ad asks for.
func (s *supervisor) order(v *spool.View, why string) *leave {
	ad, ok := v.Job(s.Job)
	if !ok {
		return &leave{why, syscall.SIGTERM, s.vacate}
	}
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	removed := pool.Status(status) == pool.Removed
	return &leave{why, launch.KillSignal(ad, removed), launch.VacateTime(ad, s.vacate)}
}
