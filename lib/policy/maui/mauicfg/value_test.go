package mauicfg

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestInt(t *testing.T) {
	for _, x := range []struct {
		value string
		want  int64
		note  string // after the value; "-": it is none
	}{
		{"10", 10, ""}, {"-10", -10, ""}, {"+10", 10, ""}, {"0", 0, ""}, {"-0", 0, ""},
		{"0x10", 16, "read as 16"}, {"0X1f", 31, "read as 31"}, {"010", 8, "read as 8"}, {"-010", -8, "read as -8"},
		{"0x", 0, `read as 0; "x" does not count`}, {"08", 0, `read as 0; "8" does not count`}, {"0b1", 0, `read as 0; "b1" does not count`},
		{"1.9", 1, `read as 1; ".9" does not count`}, {"1e3", 1, `read as 1; "e3" does not count`}, {"1_000", 1, `read as 1; "_000" does not count`},
		{"10,000", 10, `read as 10; ",000" does not count`}, {"100,", 100, ""},
		{"5 6", 5, "read as 5; what stands behind it does not count"},
		{"9223372036854775807", math.MaxInt64, ""}, {"-9223372036854775808", math.MinInt64, ""},
		{"9223372036854775808", math.MaxInt64, "too large; read as 9223372036854775807"},
		{"-99999999999999999999", math.MinInt64, "too large; read as -9223372036854775808"},
		{"abc", 0, "-"}, {"", 0, "-"}, {"-", 0, "-"}, {`"4"`, 0, "-"}, {"%", 0, "-"},
	} {
		n, note, ok := Int(x.value)
		want, wantNote := x.note != "-", fmt.Sprintf("%q: %s", x.value, x.note)
		switch x.note {
		case "":
			wantNote = ""
		case "-":
			wantNote = fmt.Sprintf("%q: want a whole number", x.value)
		}
		if n != x.want || note != wantNote || ok != want {
			t.Errorf("Int(%q) = %d, %q, %v, want %d, %q, %v", x.value, n, note, ok, x.want, wantNote, want)
		}
	}
}

func TestReal(t *testing.T) {
	for value, want := range map[string]string{
		"10": "10  true", "10.5": "10.5  true", "-.5": "-0.5  true", "5.": "5  true", "1e3": "1000  true", "1e": "1 e true", "1e+": "1 e+ true",
		"10.0-": "10 - true", "10%": "10 % true", "1,5": "1 ,5 true", "": "0  false", ".": "0 . false", "x": "0 x false", "inf": "0 inf false", "nan": "0 nan false", "1e999": "+Inf  false",
	} {
		x, rest, ok := Real(value)
		if got := fmt.Sprint(x, " ", rest, " ", ok); got != want {
			t.Errorf("Real(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestBool(t *testing.T) {
	for value, want := range map[string]bool{"TRUE": true, "True": true, "true": true, "ON": true, "On": true, "yes": true, "1": true,
		"FALSE": false, "off": false, "No": false, "0": false} {
		if got, note := Bool(value); got != want || note != "" {
			t.Errorf("Bool(%q) = %v, %q, want %v", value, got, note, want)
		}
	}
	for _, value := range []string{"tRUE", "2", "", "TRUE!"} {
		if got, note := Bool(value); got || !strings.Contains(note, "read as FALSE") {
			t.Errorf("Bool(%q) = %v, %q, want false with a note", value, got, note)
		}
	}
}

func TestTime(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "1:30": 90 * time.Minute, "00:10:00": 10 * time.Minute, "168:00:00": 168 * time.Hour,
		"1:00:00:00": 24 * time.Hour, "0:90:90": 90*time.Minute + 90*time.Second, "INFINITY": Endless, "infinity": Endless,
		"9007199254740991:0:0": Endless, "999999999999": Endless,
	} {
		d, note, ok := Time(value)
		told := strings.Count(value, ":") == 1 || strings.HasPrefix(value, "9") && value != "90"
		if d != want || !ok || (note != "") != told {
			t.Errorf("Time(%q) = %v, %q, %v, want %v", value, d, note, ok, want)
		}
	}
	for _, value := range []string{"", ":", "1:2:3:4:5", "-5", "1:-5:0", "12:00:00_Jan", "1.5", "0x10", "99999999999999999999"} {
		if d, note, ok := Time(value); ok || d != 0 || !strings.Contains(note, "want seconds") {
			t.Errorf("Time(%q) = %v, %q, %v, want none", value, d, note, ok)
		}
	}
}

func TestListAndPair(t *testing.T) {
	for value, want := range map[string]string{"a,b:c": "a b c", "a": "a", ",": "", "": "", "a::b,": "a b"} {
		if got := strings.Join(List(value), " "); got != want {
			t.Errorf("List(%q) = %s, want %s", value, got, want)
		}
	}
	for value, want := range map[string]string{"5,10": "5 10", "5": "5 5", "5,": "5 5", "": " ", "1,2,3": "1 2,3"} {
		if soft, hard := Pair(value); soft+" "+hard != want {
			t.Errorf("Pair(%q) = %s %s, want %s", value, soft, hard, want)
		}
	}
}
