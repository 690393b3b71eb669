package classad_test

import (
	"fmt"
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
			fmt.Println(ad.Format(classad.Spool))
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
