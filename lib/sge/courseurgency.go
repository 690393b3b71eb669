package sge

// UrgencyCourse is what a job's urgency comes from: RRContr is the sum of what Requests add,
// WTContr is WeightWaitingTime * Waited, DLContr is WeightDeadline / FreeTime, and NUrg is
// (Urg - Least) / (Greatest - Least).
type UrgencyCourse struct {
	Requests          []RequestCourse // the one for SlotsComplex first
	WeightWaitingTime float64         // of a second
	Waited            float64         // seconds since it was submitted, 0 and more
	Deadline          int64           // Unix seconds; 0: none
	WeightDeadline    float64         // times seconds
	FreeTime          float64         // seconds until the deadline, at least 1; 0 without one
	Passed            bool            // the deadline has passed
	// Least and Greatest are the urgencies of the least and the most urgent job that wait or
	// run; Greatest is never below 0.
	Least, Greatest float64
	Equal           bool // all are equally urgent: NUrg is 0.5
	// NoUrgency says that nobody's was computed, as it decides nothing and is not shown: NUrg
	// is 0.5, and Urg and what it is made of are 0.
	NoUrgency bool
}

// RequestCourse is what one request adds to RRContr: Urgency * Slots * Amount, or, for types
// without amounts, Urgency.
type RequestCourse struct {
	Name    string  // of the complex
	Text    string  `json:",omitempty"` // what was asked for, as the job has it
	Urgency float64 // of one of it
	Fixed   bool    `json:",omitempty"` // its type has no amounts
	Slots   int64   `json:",omitempty"` // the assumed slot allocation; 0 for types without amounts
	Amount  float64 // of each slot; 1 for types without amounts
	Adds    float64
}

// urgencyCourse has what a job's urgency comes from.
func (r *Ranking) urgencyCourse(j *Job) UrgencyCourse {
	c, now, g := r.config, r.urgent.now, r.urgent
	u := UrgencyCourse{
		WeightWaitingTime: c.WeightWaitingTime,
		Waited:            since(j.Submitted, now, 0),
		Deadline:          j.Deadline,
		WeightDeadline:    c.WeightDeadline,
		Least:             g.least,
		Greatest:          g.greatest,
		Equal:             g.greatest-g.least < negligible,
		NoUrgency:         g.none,
	}
	if j.Deadline != 0 {
		u.FreeTime, u.Passed = since(now, j.Deadline, 1), j.Deadline <= now
	}
	if g.slots != 0 {
		u.Requests = append(u.Requests, RequestCourse{Name: SlotsComplex, Urgency: g.slots, Slots: j.Slots, Amount: j.CPUs, Adds: slotsAdd(j, g.slots)})
	}
	for _, request := range j.Requests {
		if of, ok := c.requestCourse(request, j.Slots); ok {
			u.Requests = append(u.Requests, of)
		}
	}
	return u
}

// requestCourse has what one request adds; false if its complex is not there.
func (c *Config) requestCourse(r Request, slots int64) (RequestCourse, bool) {
	if r.Complex < 0 || r.Complex >= len(c.Complexes) {
		return RequestCourse{}, false
	}
	x := &c.Complexes[r.Complex]
	of := RequestCourse{Name: x.Name, Text: r.Text, Urgency: x.Urgency, Slots: slots, Amount: r.Amount, Adds: c.Contribution(r, slots)}
	if x.Type >= String {
		of.Fixed, of.Slots, of.Amount = true, 0, 1
	}
	return of, true
}
