package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
)

// routesAlone returns the REST interface with nothing behind it, which is enough to describe it.
func routesAlone() *api.Kit {
	return api.New(api.Config{Title: "Tenon", Version: rest.Level}, (&rest.Server{Services: core.Described()}).Routes())
}

// TestDocs holds the pages that come from the code against the code; "make gen" writes them.
func TestDocs(t *testing.T) {
	t.Parallel()
	kit := routesAlone()
	for name, text := range map[string]string{
		"../../docs/openapi.json":    openAPIText(t),
		"../../docs/api-status.md":   statusText(kit),
		"../../docs/permissions.md":  permissionsText(kit),
		"../../docs/settings.md":     settingsText(),
		"../../docs/limits.md":       limitsText(t),
		"../../docs/integrations.md": integrationsText(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareGolden(t, name, text)
		})
	}
}

func openAPIText(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	document, err := OpenAPI("3.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&b, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

const generated = "<!-- Written by \"make gen\" from the code. Do not edit. -->\n\n"

func statusText(kit *api.Kit) string {
	var b strings.Builder
	b.WriteString("# State of the API\n\n" + generated)
	fmt.Fprintf(&b, "Tenon speaks version 4 of the interface at the level of %s. Paths stand below `%s`.\n\n", rest.Level, api.Prefix)
	routes := kit.Routes()
	fmt.Fprintf(&b, "## What is there\n\n%d endpoints. Those marked public answer without a token.\n\n| Endpoint | What it does | |\n|---|---|---|\n", len(routes))
	slices.SortStableFunc(routes, func(a, b api.Info) int { return cmp.Compare(a.Path, b.Path) })
	for _, r := range routes {
		var marks []string
		if r.Public {
			marks = append(marks, "public")
		}
		if r.Deprecated {
			marks = append(marks, "deprecated")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key(r), r.Doc, strings.Join(marks, ", "))
	}
	b.WriteString("\n## What is there but empty\n\n" +
		"These fields stand in every answer with the value that says \"none\", until the work that brings their data is done.\n")
	with := map[string][]string{}
	for _, f := range kit.Later() {
		with[f.With] = append(with[f.With], "`"+f.Entity+"."+f.Field+"`")
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		fmt.Fprintf(&b, "\n- %s: %s", name, strings.Join(with[name], ", "))
	}
	b.WriteString("\n\n## What no endpoint sets\n\n" +
		"`Issue.start_date` is always null: the interface has no parameter for it, and nothing else of this server sets one.\n")
	return b.String()
}

func permissionsText(kit *api.Kit) string {
	var b strings.Builder
	b.WriteString("# Permissions\n\n" + generated +
		"Who may do a thing with what they can see. What they cannot see answers 404. Administrators may do everything that the\n" +
		"state of a project permits; auditors read everything and write no more than their memberships allow.\n\n" +
		"## Abilities\n\n| Ability | Who | Only where | |\n|---|---|---|---|\n")
	features := map[authz.Feature]string{
		authz.Issues: "issues", authz.MergeRequests: "merge requests", authz.Repository: "repository", authz.Wiki: "wiki",
		authz.Builds: "builds", authz.Snippets: "snippets", authz.Forking: "forking",
	}
	for _, a := range slices.Sorted(maps.Keys(authz.Rules)) {
		r := authz.Rules[a]
		var only, notes []string
		if f, ok := features[r.Feature]; ok {
			only = append(only, "the caller has the feature "+f)
		}
		if r.Code {
			only = append(only, "the caller sees code")
		}
		switch {
		case r.Write:
			notes = append(notes, "writes: not in what is archived or marked for deletion")
		case r.Change:
			notes = append(notes, "writes: also in what is archived or marked for deletion")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", a, who(r), strings.Join(only, ", "), strings.Join(notes, ", "))
	}
	b.WriteString("\n## What each endpoint asks for\n\nA token needs the scope `api`, or `read_api` where it only reads, or one of those named here.\n\n" +
		"| Endpoint | Abilities | Further scopes |\n|---|---|---|\n")
	routes := kit.Routes()
	slices.SortStableFunc(routes, func(a, b api.Info) int { return cmp.Compare(a.Path, b.Path) })
	for _, r := range routes {
		scopes := quoted(r.Scopes)
		if r.AnyScope {
			scopes = "any"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key(r), quoted(r.Needs), scopes)
	}
	return b.String()
}

// who says in words which callers a rule lets in.
func who(r authz.Rule) string {
	var out []string
	switch {
	case r.Anyone:
		out = append(out, "anyone")
	case r.SignedIn:
		out = append(out, "signed-in users")
	case r.Min > authz.Owner:
		out = append(out, "administrators")
	case r.Min != 0:
		out = append(out, r.Min.Name()+" and above")
	}
	if r.Also != 0 {
		out = append(out, r.Also.Name())
	}
	if r.Own {
		out = append(out, "its author or assignee")
	}
	if r.Deploy {
		out = append(out, "deploy keys and tokens")
	}
	if r.Person {
		out = append(out, "no bots")
	}
	return strings.Join(out, "; ")
}

func quoted[T ~string](names []T) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "`" + string(n) + "`"
	}
	return strings.Join(out, ", ")
}
