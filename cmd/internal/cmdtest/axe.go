package cmdtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// axe prints what axe-core finds in the page on standard input, a line each. Contrast is not computed: there is no layout.
const axe = `
const {JSDOM} = require("jsdom"), {readFileSync} = require("fs");
const {window} = new JSDOM(readFileSync(0, "utf8"), {runScripts: "outside-only"});
window.eval(readFileSync("node_modules/axe-core/axe.min.js", "utf8"));
window.axe.run(window.document, {rules: {"color-contrast": {enabled: false}}}).then(({passes, violations}) => {
  for (const v of violations) for (const n of v.nodes) console.log(v.id + ": " + v.help + ": " + n.html.slice(0, 200));
  if (passes.length < 10) console.log("only " + passes.length + " rules were checked");
});
`

// Accessible fails for a page of HTML in which axe-core finds a violation of its rules. FAIRSPOOL_AXE is a folder with
// node_modules of axe-core and jsdom; without it the test of the page is skipped.
func Accessible(t *testing.T, page string) {
	t.Helper()
	t.Run("axe", func(t *testing.T) {
		dir := os.Getenv("FAIRSPOOL_AXE")
		if dir == "" {
			t.Skip("SKIPPED, NOTHING IS TESTED: FAIRSPOOL_AXE names no folder with axe-core and jsdom")
		}
		c := exec.Command("node", "-e", axe)
		c.Dir = dir
		c.Stdin = strings.NewReader(page)
		if found, err := c.CombinedOutput(); err != nil || len(found) > 0 {
			t.Errorf("axe: %v\n%s", err, found)
		}
	})
}
