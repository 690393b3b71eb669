//go:build !race

package classad

const raceDetector = false
