package jobad

// kept is something that is worked out from commands: once for all procs of a
// queue line if it is the same for all, else for every one anew.
type kept[T any] struct {
	value T
	known bool
}

// get returns it. A part may use it beside others: what varies is never kept.
func (k *kept[T]) get(j *job, work func() (T, error)) (T, error) {
	if k.known {
		return k.value, nil
	}
	var v T
	varies, err := j.Varying(func() (err error) { v, err = work(); return err })
	if err == nil && !varies {
		k.value, k.known = v, true
	}
	return v, err
}
