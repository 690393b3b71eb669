package negotiator

// Analysis is how far the slots of the pool are from taking the jobs of one
// autocluster.
type Analysis struct{}
