package scripts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// get returns the body of a page.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req) //nolint:forbidigo // a test client without needs
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// Every metric that the dashboard asks for is exported by a running server, and what happened is
// counted.
func TestMetrics(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		t.Parallel()
		s := servertest.Start(t, database, "--rate-limits", "on")
		makeProject(t, s, "shop")
		at := strings.Replace(s.URL, "http://", "http://root:"+servertest.RootToken+"@", 1) + "/root/shop.git"
		folder := t.TempDir()
		for _, args := range [][]string{
			{"clone", "-q", at, folder}, {"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "more"}, {"-C", folder, "push", "-q"},
		} {
			if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
				t.Fatalf("git %q: %v\n%s", args, err, out)
			}
		}
		for status := 0; status != http.StatusTooManyRequests; {
			status, _ = get(t, s.URL+"/api/v4/projects?search=shop")
		}
		page := ""
		counted := []string{
			`tenon_git_request_duration_seconds_count{result="ok",service="git-upload-pack",transport="http"} [1-9]`,
			`tenon_git_request_duration_seconds_count{result="ok",service="git-receive-pack",transport="http"} [1-9]`,
			`tenon_git_request_duration_seconds_count{result="ok",service="git-upload-pack",transport="ssh"} 0`,
			`tenon_git_bytes_total{direction="in",service="git-receive-pack",transport="http"} [1-9]`,
			`tenon_git_bytes_total{direction="out",service="git-upload-pack",transport="http"} [1-9]`,
			`tenon_jobs{kind="reconcile",state="running"} [0-9]`,
			`tenon_job_duration_seconds_count{kind="[a-z_]+",outcome="done"} [1-9]`,
			`tenon_sql_duration_seconds_count{kind="read"} [1-9]`,
			`tenon_sql_duration_seconds_count{kind="write"} [1-9]`,
			`tenon_database_size_bytes [1-9]`, `tenon_disk_free_bytes [1-9]`, `tenon_disk_used_bytes [1-9]`,
			`tenon_cache_misses_total{cache="packs"} [1-9]`, `tenon_cache_hits_total{cache="git_objects"} [0-9]`, `tenon_cache_bytes{cache="packs"} [0-9]`,
			`tenon_cache_misses_total{cache="tokens"} [1-9]`, `tenon_cache_hits_total{cache="git_refs"} [0-9]`,
			`tenon_http_requests_in_flight 1`,
		}
		for _, want := range counted { // a job may take a while
			line := regexp.MustCompile("(?m)^" + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want))
			for end := time.Now().Add(20 * time.Second); !line.MatchString(page); {
				if time.Now().After(end) {
					t.Fatalf("no line %s in\n%s", want, page)
				}
				_, page = get(t, s.URL+"/-/metrics")
			}
		}
		for _, name := range dashboardNames(t) {
			base := name
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, end)
			}
			if !strings.Contains(page, "# TYPE "+name+" ") && !strings.Contains(page, "# TYPE "+base+" histogram") {
				t.Errorf("the dashboard asks for %s, which is not exported", name)
			}
		}
	})
}

// dashboardNames returns the names of the metrics that the dashboard asks for.
func dashboardNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\b(?:tenon|go|process)_[a-z0-9_]+`)
	var all []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			found := name.FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: %s asks for no metric", p.Title, fmt.Sprintf("%q", target.Expr))
			}
			all = append(all, found...)
		}
	}
	if len(all) < 20 {
		t.Errorf("the dashboard asks for %d metrics, want a whole board", len(all))
	}
	return all
}
