package workload

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// attributes are the attributes of a job's ad.
type attributes interface {
	number(name string) int64 // rounded down; -1: the ad has no such number
	text(name string) string
}

// job returns the job in the ad of a job that has left the queue. The run time is the last attempt's.
func job(of attributes) Job {
	name := strconv.FormatInt(of.number(pool.AttrClusterID), 10) + "." + strconv.FormatInt(max(of.number(pool.AttrProcID), 0), 10)
	start, end := of.number(pool.AttrCurrentStartDate), of.number(pool.AttrCompletionDate)
	if start < 0 {
		start = of.number(pool.AttrJobStartDate)
	}
	j := Job{
		Name: name, Submit: of.number(pool.AttrQDate), Run: -1, Wait: -1, Cores: int(min(of.number(pool.AttrRequestCpus), mostCores+1)), Memory: of.number(pool.AttrRequestMemory),
		User: of.text(pool.AttrOwner), Group: of.text(pool.AttrAcctGroup),
	}
	if start > 0 && end >= start {
		j.Run = end - start
	}
	if first := of.number(pool.AttrJobStartDate); first >= j.Submit {
		j.Wait, j.Again = first-j.Submit, start-first
	}
	return j
}

// compareIDs compares names CLUSTER.PROC by their numbers.
func compareIDs(a, b string) int {
	numbers := func(name string) (id [2]int) {
		cluster, proc, _ := strings.Cut(name, ".")
		id[0], _ = strconv.Atoi(cluster)
		id[1], _ = strconv.Atoi(proc)
		return id
	}
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:])
}

// ad is a classad.Ad.
type ad struct{ *classad.Ad }

func (a ad) number(name string) int64 {
	n, ok := a.EvalNumber(&classad.Context{}, name)
	if !ok || math.IsNaN(n) || n < 0 {
		return -1
	}
	return int64(min(n, 1e15))
}

func (a ad) text(name string) string {
	s, _ := a.EvalString(&classad.Context{}, name)
	return s
}

// OfHistory reads the jobs that have left a pool's queue: history calls its argument for the ad of each of them, as long as that
// returns true.
func OfHistory(history func(each func(*classad.Ad) bool) error) (*Workload, error) {
	w := &reading{first: math.MaxInt64, ids: true, texts: map[string]string{}}
	var wrong error
	err := history(func(of *classad.Ad) bool {
		w.line++
		wrong = w.add(job(ad{of}))
		return wrong == nil
	})
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return w.done()
}

// object is an ad in JSON.
type object map[string]any

func (o object) number(name string) int64 {
	n, ok := o[name].(float64)
	if !ok || n < 0 {
		return -1
	}
	return int64(min(n, 1e15))
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// json reads the ads that condor_history -json prints: a list of them, or one after the other.
func (w *reading) json() error {
	w.ids = true
	d := json.NewDecoder(w.in)
	wrong := func(err error) error {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		w.line = len(w.Jobs) + 1
		return errors.New("job " + strconv.Itoa(w.line) + ": no JSON of an ad: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	head, err := w.in.Peek(1)
	if err != nil {
		return err
	}
	list := head[0] == '['
	if list {
		if _, err := d.Token(); err != nil {
			return wrong(err)
		}
	}
	for {
		if list && !d.More() {
			if _, err := d.Token(); err != nil {
				return wrong(err)
			}
			return nil
		}
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) && !list {
			return nil
		} else if err != nil {
			return wrong(err)
		}
		w.line = len(w.Jobs) + 1
		if err := w.add(job(o)); err != nil {
			return err
		}
	}
}
