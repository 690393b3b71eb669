package lazydfa

import (
	"fmt"
	"math/rand"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fairspool/internal/testenv"
)

// randomText returns n letters a and b.
func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ab"[r.Intn(2)]
	}
	return string(b)
}

// heap returns how many bytes live; what package sync keeps for later goes at the second collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestCacheIsBounded(t *testing.T) {
	for _, pattern := range []string{`(a|b)*a(a|b){20}c`, `[a-c]*a[a-c]{14}x|` + everyByte()} {
		re := regexp.MustCompile(pattern)
		r := rand.New(rand.NewSource(1))
		before := heap()
		m, err := Compile(pattern)
		testenv.OK(t, err)
		for range 100 {
			text := randomText(r, 1000) + "c"
			if got, want := m.Match(text), re.MatchString(text); got != want {
				t.Fatalf("Match(%.20q, %q) = %v, want %v", pattern, text, got, want)
			}
		}
		if !m.builder.full.Load() {
			t.Errorf("Match(%.20q) has a cache that is not full after 100000 bytes", pattern)
		}
		states, bytes := cached(m)
		if bytes > maxCache || bytes < maxCache/4 {
			t.Errorf("Match(%.20q) has a cache of %d bytes when full, want up to %d", pattern, bytes, maxCache)
		}
		// Besides the cache there is what package regexp keeps.
		if grown := heap() - before; grown > 2*maxCache {
			t.Errorf("Match(%.20q): the heap has grown by %d bytes, want at most %d", pattern, grown, 2*maxCache)
		}
		for range 20 {
			m.Match(randomText(r, 1000))
		}
		if more, larger := cached(m); more != states || larger != bytes {
			t.Errorf("Match(%.20q): a full cache grew from %d to %d states, from %d to %d bytes", pattern, states, more, bytes, larger)
		}
	}
}

// cached counts the states of m, and the bytes of their keys and of the table.
func cached(m *Matcher) (states, bytes int) {
	for _, key := range m.builder.keys {
		bytes += len(key)
	}
	return len(m.builder.keys), bytes + 4*len(*m.table.Load())
}

// everyByte is a pattern that has each byte in a class of its own.
func everyByte() string {
	var pattern strings.Builder
	for b := range 256 {
		fmt.Fprintf(&pattern, `\x%02x+`, b)
	}
	return pattern.String()
}

// TestWarmMatchesOnlyRead has a matcher that can neither build nor ask package
// regexp any more.
func TestWarmMatchesOnlyRead(t *testing.T) {
	m, err := Compile(`(a|b)*a(a|b){8}c`)
	testenv.OK(t, err)
	text := randomText(rand.New(rand.NewSource(1)), 1000) + "aaaaaaaaac"
	m.Match(text)
	m.builder.full.Store(true)
	m.pattern = "("
	if !m.Match(text) {
		t.Errorf("Match(%q) = false once warm, want true", text)
	}
}

func TestLongProgram(t *testing.T) {
	pattern := "^(" + strings.Repeat("[ab]c?", 10) + "){500}$"
	m, err := Compile(pattern)
	testenv.OK(t, err)
	text := strings.Repeat("abc", 2500)
	if m.start != unbuilt || !m.Match(text) || m.Match(text+"a") {
		t.Errorf("Match of a long program: start %d, %v, %v, want %d, true, false", m.start, m.Match(text), m.Match(text+"a"), unbuilt)
	}
}

// TestManyClasses has a program that tells all bytes apart.
func TestManyClasses(t *testing.T) {
	text := make([]byte, 256)
	for b := range text {
		text[b] = byte(b)
	}
	m, err := Compile(everyByte())
	testenv.OK(t, err)
	if m.end != 256 {
		t.Errorf("%d classes, want 256", m.end)
	}
	text = append(text, text...)
	if !m.Match(string(text)) || m.Match(string(text[1:300])) {
		t.Errorf("Match = %v, %v, want true, false", m.Match(string(text)), m.Match(string(text[1:300])))
	}
}

func TestClassesAreFew(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    uint32
	}{
		{`(?s).+`, 1}, {`.+`, 2}, {`(?i)[a-z]+0`, 3}, {`(?i)x+y+`, 3}, {`[^a]+`, 2}, {`(?i)k+|s+`, 3}, {`\b.`, 3}, {`(?m)^a`, 3}, {`^a`, 2}, {`\w+a`, 3}, {`a+|b+|[ab]c+`, 4},
	} {
		m, err := Compile(c.pattern)
		testenv.OK(t, err)
		if m.end != c.want {
			t.Errorf("Compile(%q) has %d classes, want %d", c.pattern, m.end, c.want)
		}
	}
}

// TestEarlyAnswers looks at how much of a text is read.
func TestEarlyAnswers(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		states        int
		want          bool
	}{
		{`^ab`, "b" + strings.Repeat("a", 100), 1, false},
		{`^a{50}`, "aaab" + strings.Repeat("a", 100), 4, false},
		{`(?i)ab`, "abbababa", 2, true},
		{`a+$b`, "aaaaaaa", 2, false},
	} {
		m, err := Compile(c.pattern)
		testenv.OK(t, err)
		if got := m.Match(c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.text, got, c.want)
		}
		if got := len(m.builder.keys); got != c.states {
			t.Errorf("Match(%q, %q) built %d states, want %d", c.pattern, c.text, got, c.states)
		}
	}
}

func TestConcurrentMatches(t *testing.T) {
	for _, c := range []struct {
		pattern string
		cache   int
	}{{`(a|b)*a(a|b){8}c`, maxCache}, {`(a|b)*a(a|b){8}c`, 5000}, {`(?m)\ba*b*$`, maxCache}} {
		m, err := compile(c.pattern, c.cache)
		testenv.OK(t, err)
		re := regexp.MustCompile(c.pattern)
		var all sync.WaitGroup
		for seed := range 8 {
			all.Go(func() {
				r := rand.New(rand.NewSource(int64(seed)))
				for range 100 {
					text := randomText(r, 30) + " c\n\xe9"[:r.Intn(4)]
					if got, want := m.Match(text), re.MatchString(Widen(text)); got != want {
						t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, text, got, want)
					}
				}
			})
		}
		all.Wait()
	}
}

func TestWarmMatchesDoNotAllocate(t *testing.T) {
	for _, c := range benchmarks {
		m, err := Compile(c.pattern)
		testenv.OK(t, err)
		m.Match(c.text)
		if got := testing.AllocsPerRun(100, func() { m.Match(c.text) }); got != 0 {
			t.Errorf("Match(%q, %q) allocates %v times, want 0", c.pattern, c.text, got)
		}
	}
	// Bytes from 0x80 on need no copy of the text.
	m, err := Compile(`(?i)[à-ÿ]+$`)
	testenv.OK(t, err)
	m.Match("caf\xe9 \xc9")
	if got := testing.AllocsPerRun(100, func() { m.Match("caf\xe9 \xc9") }); got != 0 {
		t.Errorf("Match of Latin-1 allocates %v times, want 0", got)
	}
}
