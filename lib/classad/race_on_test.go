//go:build race

package classad

// raceDetector: sync.Pool forgets at random under the race detector.
const raceDetector = true
