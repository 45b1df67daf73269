package app

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

//go:generate go test -count=1 -run ^(TestMatrix|TestMutations|TestFields|TestDocs|TestDocs_metrics|TestReactions|TestLists|TestPlans|TestWeb_pages|TestHookEvents)$ . -update

// update is set by "make gen".
var update = flag.Bool("update", false, "rewrite the golden files")

// column is one caller of the matrix.
type column struct {
	title string // five letters at most
	as    string // name of a token
	sudo  string
	way   string // to present the token
	token bool   // a kind of token: asked in private places and in the instance only

	placed bool // the token is of the place that is asked: see packageTokens
}

func columns() []column {
	return []column{
		{title: "-", as: ""},
		{title: "strng", as: "stranger"},
		{title: "extrn", as: "external"},
		{title: "minim", as: "minimal"},
		{title: "guest", as: "guest"},
		{title: "plann", as: "planner"},
		{title: "repor", as: "reporter"},
		{title: "devel", as: "developer"},
		{title: "maint", as: "maintainer"},
		{title: "owner", as: "owner"},
		{title: "admin", as: "admin"},
		{title: "audit", as: "auditor"},
		{title: "block", as: "blocked"},
		{title: "r_api", as: "read_api", token: true},
		{title: "r_usr", as: "read_user", token: true},
		{title: "r_rep", as: "read_repository", token: true},
		{title: "w_rep", as: "write_repository", token: true},
		{title: "s_rot", as: "self_rotate", token: true},
		{title: "imper", as: "impersonation", token: true},
		{title: "prj_t", as: "project token", token: true},
		{title: "grp_t", as: "group token", token: true},
		{title: "beare", as: "owner", way: bearer, token: true},
		{title: "query", as: "owner", way: "private_token", token: true},
		{title: "acc_t", as: "owner", way: "access_token", token: true},
		{title: "deplo", as: "deploy token", token: true},
		{title: "dep_h", as: "deploy token", way: deployToken, token: true},
		{title: "dep_r", as: readsPackages, way: deployToken, token: true, placed: true},
		{title: "dep_w", as: writesPackages, way: deployToken, token: true, placed: true},
		{title: "dep_o", as: "deploy token elsewhere", way: deployToken, token: true},
		{title: "job_t", as: ofJob, way: jobToken, token: true, placed: true},
		{title: "job_o", as: "job elsewhere", way: jobToken, token: true},
		{title: "expir", as: "expired", token: true},
		{title: "revok", as: "revoked", token: true},
		{title: "unkno", as: "unknown", token: true},
		{title: "su:gu", as: "admin", sudo: "guest", token: true},
		{title: "nosud", as: "admin without sudo", sudo: "guest", token: true},
	}
}

// asked reports whether the column has a cell in the row: kinds of tokens are the same everywhere.
func (c column) asked(r row) bool {
	return !c.token || slices.Contains([]string{"instance", "private"}, r.place.name)
}

const golden = "testdata/matrix.txt"

// challenged finds the registries whose clients send credentials only when they are asked for some: apt, pip and Maven.
var challenged = regexp.MustCompile(`/packages/(debian|pypi|maven)/`)

// TestMatrix asks every route as everybody, in every place, and compares the answers'
// status with a golden file, so that a change of a permission is a line in a diff. What
// holds for every row whatever the file says is checked by rules.
func TestMatrix(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	all := samples()
	text, known := w.matrix(t, w.kit().Routes(), all)
	for name := range all {
		if !known[name] {
			t.Errorf("there is a sample of %s, which is no route", name)
		}
	}
	w.noSecretsLogged()
	compareGolden(t, golden, text)
}

// matrix asks routes as everybody, in every place: the text has a line for each place of each
// route, known the routes.
func (w *world) matrix(t *testing.T, routes []api.Info, all map[string][]sample) (_ string, known map[string]bool) {
	t.Helper()
	w.packageTokens()
	var text strings.Builder
	fmt.Fprintf(&text, "%-12s", "# place")
	for _, c := range columns() {
		fmt.Fprintf(&text, "%-6s", c.title)
	}
	text.WriteString("\n")
	known = map[string]bool{}
	for _, route := range routes {
		known[key(route)] = true
		seen := w.watch()
		list := w.rows(route, all)
		if len(list) == 0 {
			t.Errorf("%s has no sample request: add one to samples", key(route))
		}
		title := ""
		open := map[string]map[string]int{} // by title, what was read of a project that is not archived
		for _, r := range list {
			if r.title() != title {
				title = r.title()
				fmt.Fprintf(&text, "\n%s\n", title)
			}
			line, got := w.line(t, r)
			text.WriteString(line)
			switch {
			case !reads(r.route):
			case r.place.name == "public":
				open[title] = got
			case r.place.name == "archived":
				for who, status := range open[title] {
					if good(status) && !good(got[who]) {
						t.Errorf("%s as %s: got %d where the project is archived, %d where it is not", title, who, got[who], status)
					}
				}
			}
		}
		compareNeeds(t, key(route), route.Needs, seen())
	}
	return text.String(), known
}

// TestMatrix_postgres asks what needs the database most on the other engine: the answers
// are those of the golden file.
func TestMatrix_postgres(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, dbtest.PostgresURL(t)))
	w.packageTokens()
	w.groups, w.projects = w.groups[:1], w.projects[:1]
	sections, all := sectionsOf(t, golden), samples()
	for _, route := range w.kit().Routes() {
		for _, r := range w.rows(route, all) {
			if line, _ := w.line(t, r); !strings.Contains(sections[r.title()], line) {
				t.Errorf("%s\n got %swant %s", r.title(), line, sections[r.title()])
			}
		}
	}
}

// sectionsOf reads a golden file whose parts stand apart: what is below each first line.
func sectionsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for section := range strings.SplitSeq(string(b), "\n\n") {
		title, lines, _ := strings.Cut(section, "\n")
		out[title] = lines + "\n"
	}
	return out
}

// watch notes which abilities are asked for until the function it returns is called.
func (w *world) watch() (seen func() map[authz.Ability]bool) {
	var mu sync.Mutex
	asked := map[authz.Ability]bool{}
	w.core.Policy.OnCheck = func(a authz.Ability) {
		mu.Lock()
		defer mu.Unlock()
		asked[a] = true
	}
	return func() map[authz.Ability]bool {
		w.core.Policy.OnCheck = nil
		return asked
	}
}

// compareNeeds holds what a route declares against what core required. What anybody may do
// who sees the thing, such as reading the project itself, goes without saying.
func compareNeeds(t *testing.T, route string, declared []authz.Ability, required map[authz.Ability]bool) {
	t.Helper()
	seen := func(a authz.Ability) bool {
		rule := authz.Rules[a]
		return rule.Anyone && rule.Feature == authz.NoFeature && !rule.Code
	}
	for _, a := range declared {
		if !required[a] && (len(declared) == 1 || !seen(a)) {
			t.Errorf("%s declares that it needs %s, which nothing behind it requires", route, a)
		}
	}
	for a := range required {
		if !seen(a) && !slices.Contains(declared, a) {
			t.Errorf("%s requires %s, which it does not declare with Needs", route, a)
		}
	}
}

// line asks one row as everybody.
func (w *world) line(t *testing.T, r row) (text string, got map[string]int) {
	t.Helper()
	q, missing := r.request()
	if missing != "" {
		t.Errorf("%s: no value for :%s; give it one in samples or in the world", r.title(), missing)
		return "", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %-10s", r.place.name)
	got = map[string]int{}
	for _, c := range columns() {
		if !c.asked(r) {
			continue
		}
		q.as, q.sudo, q.way = c.caller(r), c.sudo, c.way
		a := w.undone(q, r.before())
		got[c.title] = a.Code
		fmt.Fprintf(&b, "%-6d", a.Code)
		if makesSecret := strings.HasSuffix(r.route.Path, "_tokens") || strings.HasSuffix(r.route.Path, "/rotate"); !makesSecret {
			w.noSecrets(r.title(), a)
		}
		bad := a.Code == http.StatusBadRequest && c.title == "admin" && r.sample.status != a.Code
		bad = bad && !strings.HasSuffix(r.route.Path, "/promote")
		if a.Code >= 500 || bad && r.place.name != "archived" && r.place.name != "off" {
			t.Errorf("%s in %s as %s: got %d %s\n%s", r.title(), r.place.name, c.title, a.Code, a.Body, w.logs.last())
		}
	}
	for _, problem := range append(breaches(r, got), packageBreaches(r, got)...) {
		t.Errorf("%s in %s: %s", r.title(), r.place.name, problem)
	}
	return strings.TrimRight(b.String(), " ") + "\n", got
}

func good(status int) bool { return status >= 200 && status < 300 }

// breaches checks what must hold for every row.
func breaches(r row, got map[string]int) []string {
	var out []string
	want := func(column string, status ...int) {
		if s, asked := got[column]; asked && !slices.Contains(status, s) {
			out = append(out, fmt.Sprintf("%s got %d, want one of %v", column, s, status))
		}
	}
	for _, c := range []string{"expir", "revok", "unkno", "deplo"} {
		want(c, http.StatusUnauthorized)
	}
	audits := strings.Contains(r.route.Path, "/-/npm/v1/security/") // which read, by POST, with any token
	if audits {
		want("dep_h", http.StatusOK, http.StatusNotFound)
	} else if slices.Contains(r.route.Scopes, authz.ScopeWritePackages) { // the token has another scope
		want("dep_h", http.StatusForbidden)
	} else { // deploy tokens are for git and packages
		want("dep_h", http.StatusUnauthorized)
	}
	want("block", http.StatusForbidden)
	want("nosud", http.StatusForbidden)
	if got["su:gu"] != 0 && got["su:gu"] != got["guest"] {
		out = append(out, fmt.Sprintf("a guest by sudo got %d, the guest %d", got["su:gu"], got["guest"]))
	}
	if got["imper"] != 0 && got["imper"] != got["owner"] {
		out = append(out, fmt.Sprintf("an impersonation token got %d, its owner %d", got["imper"], got["owner"]))
	}
	for _, way := range []string{"beare", "query", "acc_t"} {
		if got[way] != 0 && got[way] != got["owner"] {
			out = append(out, fmt.Sprintf("the owner's token presented as %s got %d, in its header %d", way, got[way], got["owner"]))
		}
	}
	for _, bot := range []string{"prj_t", "grp_t"} {
		if good(got[bot]) && !good(got["maint"]) && r.place.name != "instance" && !strings.HasSuffix(r.route.Path, "/self/rotate") && !strings.HasSuffix(r.route.Path, "/reset_approvals") {
			out = append(out, fmt.Sprintf("the token %s got %d, a maintainer %d", bot, got[bot], got["maint"]))
		}
	}
	reads := reads(r.route) || audits
	if !r.route.Public {
		want("-", http.StatusUnauthorized)
	}
	for column, scope := range map[string]authz.Scope{
		"r_api": authz.ScopeReadAPI, "r_usr": authz.ScopeReadUser, "r_rep": authz.ScopeReadRepository,
		"w_rep": authz.ScopeWriteRepository, "s_rot": authz.ScopeSelfRotate,
	} {
		if _, asked := got[column]; !asked {
			continue
		}
		named := slices.Contains(r.route.Scopes, scope) && (reads || !strings.HasPrefix(string(scope), "read_"))
		if r.route.AnyScope || named || reads && scope == authz.ScopeReadAPI {
			want(column, got["owner"])
		} else {
			want(column, http.StatusForbidden)
		}
	}
	inPlace := r.place.name != "instance" && !strings.HasPrefix(r.route.Path, "/issues/") && !strings.HasPrefix(r.route.Path, "/namespaces/") &&
		r.route.Path != "/groups" && r.route.Path != "/projects" && !strings.HasPrefix(r.route.Path, "/feature_flags/unleash/") && // whose credential is not a user's
		!strings.HasPrefix(r.route.Path, "/runners/") && r.route.Path != "/user/runners" // which say 403 of what others have, and 400 of a place that is none
	hidden := []string{}
	switch r.place.name {
	case "private", "personal", "off":
		hidden = []string{"-", "strng", "extrn"}
		if !reads && inPlace && good(got["audit"]) {
			out = append(out, "an auditor wrote")
		}
	case "internal":
		hidden = []string{"-", "extrn"}
	}
	if inPlace {
		for _, c := range hidden {
			if c == "-" && !r.route.Public {
				continue
			}
			if c == "-" && challenged.MatchString(r.route.Path) {
				want(c, http.StatusUnauthorized)
				continue
			}
			want(c, http.StatusNotFound)
		}
	}
	ladder := []string{"guest", "repor", "devel", "maint", "owner", "admin"}
	for i := 1; i < len(ladder) && inPlace; i++ {
		low, high := ladder[i-1], ladder[i]
		own := r.sample.note == "guest's" && low == "guest" || r.sample.note == "reporter's" && low == "repor" || r.sample.note == "developer's" && low == "devel" ||
			strings.HasSuffix(r.route.Path, "merge_requests/:merge_request_iid") && low == "devel"
		if good(got[low]) && !good(got[high]) && got[high] != http.StatusNotModified && !own { // 304 is so already
			out = append(out, fmt.Sprintf("%s got %d and %s only %d", low, got[low], high, got[high]))
		}
	}
	switch {
	case r.sample.status != 0:
		if r.place.name != "archived" && r.place.name != "off" {
			want("admin", r.sample.status)
		}
	case r.place.name == "personal" && strings.HasSuffix(r.route.Path, "/promote"): // there is no group
		want("admin", http.StatusBadRequest, http.StatusForbidden)
	case r.place.name != "archived" && r.place.name != "off" && !good(got["admin"]):
		out = append(out, fmt.Sprintf("the administrator got %d: is the sample a good one?", got["admin"]))
	}
	return out
}

// compareGolden compares text with a file, or rewrites the file where -update is given.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (run make gen)", err)
	}
	want, got := strings.Split(string(b), "\n"), strings.Split(text, "\n")
	shown := 0
	for i := range max(len(want), len(got)) {
		var a, b string
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a == b {
			continue
		}
		if shown++; shown > 20 {
			t.Error("... and more")
			break
		}
		t.Errorf("%s:%d\n got %s\nwant %s", name, i+1, b, a)
	}
	if shown > 0 {
		t.Errorf("%s is stale: look at the differences and run make gen", name)
	}
}
