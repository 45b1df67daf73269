package house

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"tenon/internal/core/setting"
)

// absentAreas are what this server does not have, and laterAreas what is still to come: the only reasons for which a
// setting is stored and not obeyed.
var (
	absentAreas = words(`LDAP; Geo; container registry; Auto DevOps; search engines; cloud clusters; spam filters; telemetry; feeds;
		web terminal; purchased storage; plans of namespaces; Pages; storage nodes of the reference; AsciiDoc; alerts;
		language server of editors; apps of Jira and Slack; incoming mail; diagram services; cloud development environments;
		code intelligence; monitoring; error tracking; placeholder users; offline transfers; workers for batches of migrations;
		batches that are exported side by side; batches of another size than 1,000 rows`)
	laterAreas = words("sign-on; OAuth; imports from other hosts; packages of further types; cleanup policies of packages; Terraform states; the CI/CD catalog; mirrors")
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.SplitSeq(list, ";") {
		out[strings.Join(strings.Fields(word), " ")] = true
	}
	return out
}

// TestSettings fails where a setting that claims an effect is read nowhere, and where one is only stored for another reason
// than the lists have.
func TestSettings(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, f := range source(t) {
		if f.test || f.dir() == "internal/core/setting" && path.Base(f.name) != "effect.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				read[s.Sel.Name] = true
			}
			return true
		})
	}
	for _, e := range setting.Table() {
		switch {
		case e.Effect != "":
			if !read[e.Field] {
				t.Errorf("%s is said to be in force in %s, and is read nowhere", e.Name, e.Effect)
			}
		case e.Area != "":
			if !absentAreas[e.Area] {
				t.Errorf("%s is stored, because there is no %s, which is not in the list", e.Name, e.Area)
			}
		case e.Later != "":
			if !laterAreas[e.Later] {
				t.Errorf("%s is stored, because there is no %s yet, which is not in the list", e.Name, e.Later)
			}
		}
	}
}
