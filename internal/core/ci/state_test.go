package ci

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/ciconfig"
)

func TestTally_sum(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		standings string
		want      State
	}{
		{"", Skipped},
		{"skipped", Skipped},
		{"ignored", Skipped},
		{"skipped ignored", Skipped},
		{"success", Success},
		{"success skipped", Success},
		{"success warned ignored", Success},
		{"warned", Success},
		{"created", Created},
		{"created ignored warned", Created},
		{"preparing", Preparing},
		{"canceled", Canceled},
		{"canceled success skipped", Canceled},
		{"pending", Pending},
		{"pending created skipped", Pending},
		{"pending success", Running},
		{"pending waiting_for_resource created", Pending},
		{"pending waiting_for_callback preparing", Pending},
		{"pending manual scheduled ignored", Pending},
		{"pending warned created", Pending},
		{"pending warned manual", Running},
		{"pending waiting_for_resource success", Running},
		{"pending waiting_for_resource running", Running},
		{"pending canceled", Running},
		{"waiting_for_resource created", WaitingForResource},
		{"running", Running},
		{"running failed", Running},
		{"success created", Running},
		{"waiting_for_resource success", WaitingForResource},
		{"waiting_for_callback success", WaitingForCallback},
		{"manual", Manual},
		{"manual success", Manual},
		{"manual created", Manual},
		{"scheduled success", Scheduled},
		{"manual scheduled", Manual},
		{"preparing success", Preparing},
		{"failed", Failed},
		{"failed success", Failed},
		{"failed canceled", Failed},
		{"failed skipped", Failed},
		{"failed created", Running},
		{"canceling success", Canceling},
		{"canceling failed", Canceling},
		{"canceling running", Running},
	} {
		got := tally{}
		for _, s := range strings.Fields(tt.standings) {
			got[standing(s)]++
		}
		if got := got.sum(); got != tt.want {
			t.Errorf("%q together: %s, want %s", tt.standings, got, tt.want)
		}
	}
}

func TestTally_sumOfNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		standings string
		want      State
	}{
		{"success", Success},
		{"success warned", Success},
		{"success skipped", Skipped},
		{"ignored", Skipped},
		{"running", Running},
		{"pending", Running},
		{"created success", Running},
		{"manual", Running},
		{"failed success", Failed},
		{"canceled", Canceled},
	} {
		got := tally{}
		for _, s := range strings.Fields(tt.standings) {
			got[standing(s)]++
		}
		if got := got.sumOfNeeds(); got != tt.want {
			t.Errorf("needs %q: %s, want %s", tt.standings, got, tt.want)
		}
	}
}

// steps reads jobs from lines "stage name state [when] [allow] [external] [needs:a,b?]"; a name with a question mark is optional.
func steps(t *testing.T, text string) *plan {
	t.Helper()
	p := &plan{byName: map[string]*step{}}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		st := &step{When: "on_success"}
		st.Kind, st.Name, st.State = JobKind, words[1], State(words[2])
		if _, err := fmt.Sscan(words[0], &st.StageIndex); err != nil {
			t.Fatal(err)
		}
		for _, word := range words[3:] {
			names, needs := strings.CutPrefix(word, "needs:")
			switch {
			case word == "allow":
				st.AllowFailure = true
			case word == "external":
				st.Kind, st.StageIndex = ExternalKind, externalStageIndex
			case needs:
				st.ByNeeds = true
				for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
					of, optional := strings.CutSuffix(name, "?")
					st.needs = append(st.needs, need{Name: of, Optional: optional})
				}
			default:
				st.When = word
			}
		}
		p.add(st)
	}
	return p
}

func (p *plan) text() string {
	out := make([]string, len(p.steps))
	for i, st := range p.steps {
		out[i] = st.Name + ":" + string(st.State)
	}
	return strings.Join(out, " ")
}

func TestPlan_run(t *testing.T) {
	t.Parallel()
	now := time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, jobs, want string }{
		{"the first stage begins", "0 a created\n0 b created\n1 c created", "a:pending b:pending c:created = pending"},
		{"a stage waits for the whole one before", "0 a success\n0 b running\n1 c created", "a:success b:running c:created = running"},
		{"the next stage begins", "0 a success\n0 b success\n1 c created", "a:success b:success c:pending = running"},
		{"failure skips the rest", "0 a failed\n1 b created\n2 c created", "a:failed b:skipped c:skipped = failed"},
		{"allowed failure skips nothing", "0 a failed allow\n1 b created", "a:failed b:pending = pending"},
		{"all done", "0 a success\n1 b failed allow", "a:success b:failed = success"},
		{"on_failure after success", "0 a success\n1 b created on_failure\n1 c created", "a:success b:skipped c:pending = running"},
		{"on_failure after failure", "0 a failed\n1 b created on_failure\n1 c created", "a:failed b:pending c:skipped = running"},
		{"on_failure after an allowed failure", "0 a failed allow\n1 b created on_failure", "a:failed b:skipped = success"},
		{"on_failure of a later stage", "0 a failed\n1 b created\n2 c created on_failure", "a:failed b:skipped c:pending = running"},
		{"always after failure", "0 a failed\n1 b created\n2 c created always", "a:failed b:skipped c:pending = running"},
		{"always after success", "0 a success\n1 b created always", "a:success b:pending = running"},
		{"always waits", "0 a running\n1 b created always", "a:running b:created = running"},
		{"always after cancellation", "0 a canceled\n1 b created always", "a:canceled b:skipped = canceled"},
		{"manual in the first stage blocks", "0 a created manual\n1 b created", "a:manual b:created = manual"},
		{"manual that may fail blocks nothing", "0 a created manual allow\n1 b created", "a:manual b:pending = pending"},
		{"only manual that may fail", "0 a created manual allow", "a:manual = skipped"},
		{"manual after failure", "0 a failed\n1 b created manual", "a:failed b:skipped = failed"},
		{"manual beside success", "0 a success\n1 b created manual", "a:success b:manual = manual"},
		{"a stage without work is passed", "0 a skipped\n1 b created", "a:skipped b:pending = pending"},
		{"delayed", "0 a created delayed\n1 b created", "a:scheduled b:created = scheduled"},
		{"delayed later", "0 a success\n1 b created delayed", "a:success b:scheduled = scheduled"},
		{"canceling holds the next stage", "0 a canceling\n1 b created", "a:canceling b:created = running"},
		{"canceled skips the next stage", "0 a canceled\n1 b created", "a:canceled b:skipped = canceled"},
		{"needs go before their stage", "0 a success\n0 slow running\n1 c created needs:a\n1 d created", "a:success slow:running c:pending d:created = running"},
		{"no needs at all", "0 a running\n1 b created needs:", "a:running b:pending = running"},
		{"a chain of needs", "0 a success\n1 b created needs:a\n2 c created needs:b", "a:success b:pending c:created = running"},
		{"a failed need", "0 a failed\n0 slow running\n1 b created needs:a\n2 c created needs:b", "a:failed slow:running b:skipped c:skipped = running"},
		{"a need that may fail", "0 a failed allow\n1 b created needs:a", "a:failed b:pending = pending"},
		{"a skipped need", "0 a skipped\n1 b created needs:a", "a:skipped b:skipped = skipped"},
		{"on_failure of a need", "0 a failed\n0 slow running\n1 b created on_failure needs:a", "a:failed slow:running b:pending = running"},
		{"always after a skipped need", "0 a failed\n1 b created\n2 c created always needs:b", "a:failed b:skipped c:pending = running"},
		{"an optional need that is not there", "0 a running\n1 b created needs:gone?", "a:running b:pending = running"},
		{"an optional need that is there", "0 a running\n1 b created needs:a?", "a:running b:created = running"},
		{"one of two optional needs", "0 a success\n1 b created needs:gone?,a?", "a:success b:pending = running"},
		{"a manual need that blocks", "0 a created manual\n1 b created needs:a", "a:manual b:created = manual"},
		{"a manual need that may fail", "0 a created manual allow\n1 b created needs:a", "a:manual b:skipped = skipped"},
		{"needs in the same stage", "0 a success\n0 b created needs:a\n0 c created needs:b", "a:success b:pending c:created = running"},
		{"a job before what it needs in the list", "0 b created needs:a\n0 a failed", "b:skipped a:failed = failed"},
		{"an external status counts", "0 a success\n9 lint failed external", "a:success lint:failed = failed"},
		{"an external status is not moved", "0 a running\n9 lint created external", "a:running lint:created = running"},
		{"an external status of the name of a need", "0 a running\n1 b created needs:a\n9 a success external", "a:running b:created a:success = running"},
	} {
		p := steps(t, tt.jobs)
		p.run(now)
		if got := p.text() + " = " + string(p.sum()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		for _, st := range p.steps {
			if st.entered && st.State == Pending && (st.QueuedAt == nil || !st.QueuedAt.Equal(now)) {
				t.Errorf("%s: %s is pending since %v, want %s", tt.name, st.Name, st.QueuedAt, now)
			}
		}
	}
}

func TestParseDotenv(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name, text, want string // "!" is a refusal
	}{
		{"plain", "A=1\nB=two words\n", "A=1;B=two words"},
		{"blank lines and comments", "\n# no\nA=1\r\n\n", "A=1"},
		{"quotes", "A=\"x y\"\nB='z'\nC=\"'\nD=\"", "A=x y;B=z;C=\"';D=\""},
		{"an equals sign in the value", "A=b=c", "A=b=c"},
		{"an empty value", "A=", "A="},
		{"no value", "A", "!"},
		{"a bad name", "A-B=1", "!"},
		{"no name", "=1", "!"},
		{"a long name", long + "=1", "!"},
		{"too many", strings.Repeat("A=1\n", maxDotenvVariables+1), "!"},
	} {
		vars, err := parseDotenv(tt.text)
		got := ""
		for i, v := range vars {
			if i > 0 {
				got += ";"
			}
			got += v.Key + "=" + v.Value
		}
		if err != nil {
			got = "!"
		}
		if got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestPushOptions(t *testing.T) {
	t.Parallel()
	skip, vars := pushOptions([]string{"ci.variable=A=1", `ci.variable="B=x y"`, "ci.variable=bad-name=1", "ci.variable=none", "merge_request.create"})
	if skip || len(vars) != 2 || vars[0] != (Variable{Key: "A", Value: "1"}) || vars[1] != (Variable{Key: "B", Value: "x y"}) {
		t.Errorf("got %v, %+v", skip, vars)
	}
	if skip, _ = pushOptions([]string{"ci.skip"}); !skip {
		t.Error("ci.skip is not heard")
	}
	many := make([]string, maxVariables+10)
	for i := range many {
		many[i] = fmt.Sprintf("ci.variable=V%d=1", i)
	}
	if _, vars = pushOptions(many); len(vars) != maxVariables {
		t.Errorf("%d variables, want %d", len(vars), maxVariables)
	}
}

func TestRequiredFeatures(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]ciconfig.Job{
		"":                          {Artifacts: &ciconfig.Artifacts{Paths: []string{"a"}}},
		"upload_multiple_artifacts": {Artifacts: &ciconfig.Artifacts{Reports: []ciconfig.Report{{Type: "junit", Format: "gzip", Paths: []string{"a.xml"}}}}},
		"artifacts_exclude":         {Artifacts: &ciconfig.Artifacts{Exclude: []string{"a"}}},
		"multi_build_steps":         {Release: &ciconfig.Release{}},
		"return_exit_code":          {AllowExitCodes: []int{1}},
		"fallback_cache_keys":       {Cache: []ciconfig.Cache{{}, {FallbackKeys: []string{"a"}}}},
	} {
		if got := strings.Join(requiredFeatures(&c), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
