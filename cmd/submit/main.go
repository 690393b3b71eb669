// Submit: put jobs into the queue.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/submit"
)

func main() { cmdline.Main(submit.Command()) }
