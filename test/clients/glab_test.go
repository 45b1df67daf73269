package clients

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/program"
	"tenon/test/servertest"
)

// TestGlab_create lets glab open a merge request where the last commits of both branches have
// trailers: glab reads that of the target branch.
func TestGlab_create(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Glab"), InitializeWithReadme: new(true)})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	const signed = "\n\nSigned-off-by: Ann Author <ann@example.com>\nSigned-off-by: Ben <ben@example.com>"
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "Begin"+signed)
	s.git(t, work, "", "push", "-q", "origin", "HEAD")
	s.git(t, work, "", "switch", "-qc", "signed")
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "Mend the lock\n\nIt was broken."+signed)
	s.git(t, work, "", "push", "-q", "-u", "origin", "signed")

	address, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("git_protocol: http\ncheck_update: false\ntelemetry: false\nhost: %[1]s\nhosts:\n  %[1]s:\n    api_host: %[2]s\n    api_protocol: http\n    git_protocol: http\n    token: %[3]s\n",
		address.Hostname(), address.Host, servertest.RootToken)
	if err := os.WriteFile(filepath.Join(home, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "mr", "create", "--fill", "--yes", "--target-branch", "main")
	cmd.Dir = work
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GLAB_CONFIG_DIR=" + home, "GLAB_CHECK_UPDATE=false", "GLAB_SEND_TELEMETRY=false", "NO_PROMPT=true",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("glab mr create --fill: %v\n%s", err, out)
	}
	open := got(s.root.MergeRequests.GetMergeRequest(s.project.ID, 1, nil)).must(t)
	if open.Title != "Mend the lock" || !strings.Contains(open.Description, "It was broken.") || open.SourceBranch != "signed" || open.TargetBranch != "main" {
		t.Errorf("merge request: got %+v", open)
	}
}

// glab gives the program: that of the path, or the one packed beside the contract. The test
// is skipped where there is neither.
func glab(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("glab"); err == nil {
		return found
	}
	contract := os.Getenv("TENON_CONTRACT_DIR")
	packed := filepath.Join(contract, "..", "tools", "glab.xz")
	if _, err := os.Stat(packed); contract == "" || err != nil {
		t.Skip("glab: skipped (neither in the path nor beside the contract)")
	}
	content, err := exec.CommandContext(t.Context(), "xz", "--decompress", "--keep", "--stdout", packed).Output()
	if err != nil {
		t.Skipf("glab: skipped (%v)", err)
	}
	return program.Write(t, "glab", content)
}
