package classad_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"fairspool/lib/classad"
)

func ExampleMatch() {
	job, _ := classad.ParseAd(`[ RequestMemory = 512; Requirements = TARGET.Memory >= RequestMemory; Rank = Mips ]`)
	slot, _ := classad.ParseAd(`[ Memory = 2048; Mips = 900; Requirements = RequestMemory < Memory ]`)
	c := &classad.Context{Now: time.Unix(1_700_000_000, 0)}
	rank, _ := job.Lookup("Rank")
	fmt.Println(classad.Match(c, job, slot))
	fmt.Println(classad.Rank(c, rank, job, slot))
	// Output:
	// true
	// 900 true
}

func ExampleReader() {
	const ads = `Name = "slot1@c1"
Memory = 2048

Name = "slot1@c2"
Memory = (2048

Name = "slot1@c3"
`
	r := classad.NewReader(strings.NewReader(ads), "slots.ads")
	for range 3 {
		if ad, err := r.Next(); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(ad.Format(classad.StyleSpool))
		}
	}
	// Output:
	// [ Memory = 2048; Name = "slot1@c1" ]
	// slots.ads:5:15: expected an operator or ), found the end of the text
	// [ Name = "slot1@c3" ]
}

func ExampleExpr_Eval() {
	slot, _ := classad.ParseAd(`[ Start = KeyboardIdle > 15 * 60; KeyboardIdle = 1000 ]`)
	for _, text := range []string{"Start", "Start && NoSuchName", "NoSuchName ?: 5", `strcat("idle for ", KeyboardIdle)`} {
		e, err := classad.ParseExpr(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(e.Eval(nil, slot, nil))
	}
	// Output:
	// true
	// undefined
	// 5
	// "idle for 1000"
}

// One job against many slots.
func ExampleMatcher() {
	job, _ := classad.ParseAd(`[ RequestMemory = 512; Requirements = TARGET.Memory >= RequestMemory; Rank = TARGET.Memory ]`)
	m := classad.NewMatcher(nil, job)
	for _, memory := range []int64{256, 1024, 4096} {
		slot, _ := classad.ParseAd(`[ Requirements = TARGET.RequestMemory <= MY.Memory ]`)
		slot.SetInt("Memory", memory)
		ok, rank, _ := m.MatchRanks(slot)
		fmt.Println(memory, ok, rank)
	}
	// Output:
	// 256 false 0
	// 1024 true 1024
	// 4096 true 4096
}

// Why does nothing match?
func ExampleExplain() {
	job, _ := classad.ParseAd(`[ Requirements = TARGET.Arch == "X86_64" && TARGET.Memory >= 4096 ]`)
	slot, _ := classad.ParseAd(`[ Arch = "X86_64"; Memory = 2048; Requirements = START; START = TARGET.Owner == "alice" && true ]`)
	for _, side := range [][2]*classad.Ad{{job, slot}, {slot, job}} {
		for _, clause := range classad.Explain(nil, side[0], side[1], "Requirements") {
			fmt.Println(strings.Join(clause.Path, " > "), ":", clause.Expr, "is", clause.Value)
		}
	}
	// Output:
	// Requirements : TARGET.Arch == "X86_64" is true
	// Requirements : TARGET.Memory >= 4096 is false
	// Requirements > START : TARGET.Owner == "alice" is undefined
	// Requirements > START : true is true
}

// What a slot asks of one particular job.
func ExampleExpr_Specialize() {
	job, _ := classad.ParseAd(`[ RequestMemory = 512; Owner = "alice" ]`)
	start, _ := classad.ParseExpr(`TARGET.RequestMemory * 2 <= MY.Memory && stringListMember(TARGET.Owner, "alice, bob")`)
	fmt.Println(start.Specialize(nil, nil, job))
	// Output:
	// 1024 <= MY.Memory
}

func ExampleReferences() {
	job, _ := classad.ParseAd(`[ DiskUsage = 100; RequestDisk = DiskUsage * 2 ]`)
	e, _ := classad.ParseExpr(`TARGET.Disk >= RequestDisk && HasJava`)
	own, external := classad.References(e, job)
	fmt.Println(own, external)
	// Output:
	// [DiskUsage RequestDisk] [Disk HasJava]
}

func ExampleVaries() {
	for _, text := range []string{"time() - EnteredCurrentState > 3600", "random(10) < 5", "Memory > 1024"} {
		e, _ := classad.ParseExpr(text)
		clock, chance := classad.Varies(e, nil, nil)
		fmt.Println(clock, chance)
	}
	// Output:
	// true false
	// false true
	// false false
}

// Long form in, JSON out.
func ExampleWriter() {
	r := classad.NewReader(strings.NewReader("Name = \"slot1@c1\"\nRank = KFlops / 2\n\nName = \"slot1@c2\"\n"), "slots.ads")
	w := classad.NewWriter(os.Stdout, classad.FormJSON)
	for {
		ad, err := r.Next()
		if err != nil {
			break // io.EOF
		}
		if err := w.Write(ad); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [
	// {"Name":"slot1@c1","Rank":"\/Expr(KFlops / 2)\/"},
	// {"Name":"slot1@c2"}
	// ]
}

// One name looked up in many ads.
func ExampleAd_Get() {
	cpus := classad.NewName("Cpus")
	for _, text := range []string{`[ Cpus = 4 ]`, `[ cpus = DetectedCpus / 2 ]`, `[ Memory = 1 ]`} {
		ad, _ := classad.ParseAd(text)
		switch value, expr, ok := ad.Get(cpus); {
		case !ok:
			fmt.Println("none")
		case expr != nil:
			fmt.Println("the expression", expr)
		default:
			fmt.Println("the value", value)
		}
	}
	// Output:
	// the value 4
	// the expression DetectedCpus / 2
	// none
}
