package clients

import (
	"bytes"
	"context"
	"io"
	"net/http"
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

// runnerProgram returns the runner. The test is skipped where there is none.
func runnerProgram(t *testing.T) string {
	t.Helper()
	path, missing := program.Runner(t)
	if missing != "" {
		t.Skip("gitlab-runner: skipped (" + missing + ")")
	}
	return path
}

// machine is a computer with a runner.
type machine struct{ bin, home string }

// withRunner starts a server and the official runner, which takes all its jobs.
func withRunner(t *testing.T) *story {
	t.Helper()
	return withRunnerAt(t, t.TempDir())
}

// withRunnerAt is withRunner for a runner with a home and a server with more arguments.
func withRunnerAt(t *testing.T, home string, args ...string) *story {
	t.Helper()
	bin := runnerProgram(t)
	s := &story{server: servertest.Start(t, "", args...)}
	s.root = s.client(t, servertest.RootToken)
	made := got(s.root.Users.CreateUserRunner(&gitlab.CreateUserRunnerOptions{RunnerType: new("instance_type"), RunUntagged: new(true)})).must(t)
	machine{bin: bin, home: home}.runs(t, s.server.URL, made.Token)
	return s
}

// run returns what the runner prints, and whether it ended well.
func (m machine) run(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.bin, append(args, "--config", filepath.Join(m.home, "config.toml"))...)
	cmd.Dir, cmd.Env = m.home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// config is what the runner keeps.
func (m machine) config(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.home, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// must runs the runner and fails where it does not say what is expected.
func (m machine) must(t *testing.T, want string, args ...string) {
	t.Helper()
	if out, ok := m.run(t, args...); !ok || !strings.Contains(out, want) {
		t.Fatalf("gitlab-runner %s: %v, want %q in\n%s", strings.Join(args, " "), ok, want, out)
	}
}

// TestRunner lets the official runner register with the token of a project and with one that
// the API made, and verify, reset and unregister both.
func TestRunner(t *testing.T) {
	bin := runnerProgram(t)
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Runs")})).must(t)
	if !strings.HasPrefix(p.RunnersToken, "GR1348941") {
		t.Fatalf("runners_token: %q", p.RunnersToken)
	}
	for _, kind := range []string{"registered", "created"} {
		m := machine{bin: bin, home: t.TempDir()}
		register := []string{"register", "--non-interactive", "--url", s.server.URL, "--executor", "shell"}
		if kind == "registered" {
			register = append(register, "--registration-token", p.RunnersToken, "--description", "shed", "--tag-list", "a,b", "--maintenance-note", "Rack 7",
				"--maximum-timeout", "900", "--access-level", "ref_protected", "--run-untagged=false", "--locked")
		} else {
			made := got(s.root.Users.CreateUserRunner(&gitlab.CreateUserRunnerOptions{
				RunnerType: new("project_type"), ProjectID: new(p.ID), Description: new("shop"), TagList: new([]string{"c"}),
			})).must(t)
			if !strings.HasPrefix(made.Token, "glrt-") {
				t.Fatalf("token: %q", made.Token)
			}
			register = append(register, "--token", made.Token)
		}
		m.must(t, "Runner registered successfully", register...)
		list := got(s.root.Runners.ListProjectRunners(p.ID, &gitlab.ListProjectRunnersOptions{Type: new("project_type")})).must(t)
		if len(list) != 1 {
			t.Fatalf("%s: %d runners", kind, len(list))
		}
		r := got(s.root.Runners.GetRunnerDetails(list[0].ID)).must(t)
		if kind == "registered" && (r.Description != "shed" || strings.Join(r.TagList, " ") != "a b" || r.MaintenanceNote != "Rack 7" || r.MaximumTimeout != 900 ||
			r.AccessLevel != "ref_protected" || r.RunUntagged || !r.Locked || r.Name != "gitlab-runner" || r.Status != "never_contacted") {
			t.Errorf("registered: %+v", r)
		}
		m.must(t, "Verifying runner... is ", "verify") // alive, or valid where the API made it
		if r = got(s.root.Runners.GetRunnerDetails(r.ID)).must(t); r.Status != "online" || !r.Online || r.ContactedAt == nil {
			t.Errorf("%s, after it was verified: %+v", kind, r)
		}
		managers := got(s.root.Runners.ListRunnerManagers(r.ID)).must(t)
		if len(managers) == 0 || managers[0].SystemID == "" || managers[0].Status != "online" {
			t.Errorf("%s: managers %+v", kind, managers)
		}
		before := m.config(t)
		m.must(t, "", "reset-token", "--all-runners")
		if m.config(t) == before {
			t.Errorf("%s: the token is the same after it was reset", kind)
		}
		m.must(t, "Verifying runner... is ", "verify") // alive, or valid where the API made it
		m.must(t, "Unregistering runner", "unregister", "--all-runners")
		_, res, err := s.root.Runners.GetRunnerDetails(r.ID)
		if gone := res != nil && res.StatusCode == http.StatusNotFound; gone != (kind == "registered") {
			t.Errorf("%s, after it was unregistered: %v", kind, err)
		}
		if kind == "created" { // the machine is gone, the runner stays
			if _, err := s.root.Runners.RemoveRunner(r.ID); err != nil {
				t.Error(err)
			}
		}
	}
	m := machine{bin: bin, home: t.TempDir()}
	wrong := []string{"register", "--non-interactive", "--url", s.server.URL, "--executor", "shell", "--registration-token", "GR1348941wrong"}
	if out, ok := m.run(t, wrong...); ok {
		t.Errorf("register with a wrong token:\n%s", out)
	}
}

// TestClient_runners lets the Go client do all that it can with runners.
func TestClient_runners(t *testing.T) {
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	group := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Works"), Path: new("works")})).must(t)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Runs"), NamespaceID: new(group.ID)})).must(t)
	other := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Other")})).must(t)
	detailed := got(s.root.Groups.GetGroup(group.ID, nil)).must(t)
	whole := got(s.root.Runners.ResetInstanceRunnerRegistrationToken()).must(t) //nolint:staticcheck // deprecated, and what runners of this version use
	tokens := []string{*whole.Token, detailed.RunnersToken, p.RunnersToken}
	var ids []int64
	for i, kind := range []string{"instance_type", "group_type", "project_type"} {
		made := got(s.root.Runners.RegisterNewRunner(&gitlab.RegisterNewRunnerOptions{
			Token: new(tokens[i]), Description: new(kind), Info: &gitlab.RegisterNewRunnerInfoOptions{Name: new("gitlab-runner"), Version: new("16.0.2")},
			Paused: new(false), TagList: new([]string{"x", kind}),
		})).must(t)
		if _, err := s.root.Runners.VerifyRegisteredRunner(&gitlab.VerifyRegisteredRunnerOptions{Token: new(made.Token)}); err != nil {
			t.Error(err)
		}
		r := got(s.root.Runners.GetRunnerDetails(made.ID)).must(t)
		if r.RunnerType != kind || r.Version != "16.0.2" || !r.Online || r.Status != "online" || len(r.TagList) != 2 || (len(r.Groups) == 1) != (kind == "group_type") || //nolint:staticcheck // the version is what is tested
			(len(r.Projects) == 1) != (kind == "project_type") {
			t.Errorf("%s: %+v", kind, r)
		}
		ids = append(ids, made.ID)
	}
	all := got(s.root.Runners.ListAllRunners(&gitlab.ListRunnersOptions{Status: new("online"), TagList: new([]string{"x"})})).must(t)
	ofProject := got(s.root.Runners.ListProjectRunners(p.ID, nil)).must(t)
	ofGroup := got(s.root.Runners.ListGroupsRunners(group.ID, nil)).must(t)
	own := got(s.root.Runners.ListRunners(nil)).must(t)
	if len(all) != 3 || len(ofProject) != 3 || len(ofGroup) != 2 || len(own) != 2 {
		t.Errorf("%d of all, %d of the project, %d of the group, %d of the user", len(all), len(ofProject), len(ofGroup), len(own))
	}
	changed := got(s.root.Runners.UpdateRunnerDetails(ids[2], &gitlab.UpdateRunnerDetailsOptions{
		Description: new("other"), Paused: new(true), TagList: new([]string{"y"}), RunUntagged: new(false), Locked: new(false),
		AccessLevel: new("ref_protected"), MaximumTimeout: new(int64(1200)), MaintenanceNote: new("Rack 7"),
	})).must(t)
	if changed.Description != "other" || !changed.Paused || changed.Status != "paused" || changed.MaximumTimeout != 1200 || changed.AccessLevel != "ref_protected" || changed.MaintenanceNote != "Rack 7" {
		t.Errorf("update: %+v", changed)
	}
	got(s.root.Runners.EnableProjectRunner(other.ID, &gitlab.EnableProjectRunnerOptions{RunnerID: ids[2]})).must(t)
	if _, err := s.root.Runners.DisableProjectRunner(other.ID, ids[2]); err != nil {
		t.Error(err)
	}
	if _, err := s.root.Runners.DisableProjectRunner(p.ID, ids[2]); err == nil || !strings.Contains(err.Error(), "Only one project associated with the runner") {
		t.Errorf("the last project: %v", err)
	}
	next := got(s.root.Runners.ResetRunnerAuthenticationToken(ids[2])).must(t)
	if _, err := s.root.Runners.DeleteRegisteredRunner(&gitlab.DeleteRegisteredRunnerOptions{Token: next.Token}); err != nil {
		t.Error(err)
	}
	if _, err := s.root.Runners.DeleteRegisteredRunnerByID(ids[1]); err != nil {
		t.Error(err)
	}
	if _, err := s.root.Runners.RemoveRunner(ids[0]); err != nil {
		t.Error(err)
	}
	for what, reset := range map[string]func() (*gitlab.RunnerRegistrationToken, *gitlab.Response, error){
		"group": func() (*gitlab.RunnerRegistrationToken, *gitlab.Response, error) {
			return s.root.Runners.ResetGroupRunnerRegistrationToken(group.ID) //nolint:staticcheck // deprecated, and what runners of this version use
		},
		"project": func() (*gitlab.RunnerRegistrationToken, *gitlab.Response, error) {
			return s.root.Runners.ResetProjectRunnerRegistrationToken(p.ID) //nolint:staticcheck // deprecated, and what runners of this version use
		},
	} {
		fresh, _, err := reset()
		if err != nil || *fresh.Token == detailed.RunnersToken || *fresh.Token == p.RunnersToken {
			t.Errorf("reset of the %s: %+v, %v", what, fresh, err)
		}
	}
	s.inputs(t, p.ID, group.ID)
}

// inputs lets the client do all that it can with variables, trigger tokens and secure files.
func (s *story) inputs(t *testing.T, project, group int64) {
	t.Helper()
	v := got(s.root.ProjectVariables.CreateVariable(project, &gitlab.CreateProjectVariableOptions{
		Key: new("KEY"), Value: new("masked-value"), Masked: new(true), Protected: new(true), EnvironmentScope: new("production"), Description: new("d"),
	})).must(t)
	if v.Value != "masked-value" || !v.Masked || !v.Protected || v.EnvironmentScope != "production" || v.VariableType != gitlab.EnvVariableType || v.Description != "d" {
		t.Errorf("variable: %+v", v)
	}
	got(s.root.ProjectVariables.CreateVariable(project, &gitlab.CreateProjectVariableOptions{Key: new("KEY"), Value: new("other")})).must(t)
	if _, res, err := s.root.ProjectVariables.GetVariable(project, "KEY", nil); err == nil || res.StatusCode != http.StatusConflict {
		t.Errorf("two variables: %v", err)
	}
	in := &gitlab.VariableFilter{EnvironmentScope: "production"}
	v = got(s.root.ProjectVariables.UpdateVariable(project, "KEY", &gitlab.UpdateProjectVariableOptions{Value: new("changed-value"), Filter: in})).must(t)
	if v.Value != "changed-value" || v.EnvironmentScope != "production" {
		t.Errorf("updated variable: %+v", v)
	}
	if _, err := s.root.ProjectVariables.RemoveVariable(project, "KEY", &gitlab.RemoveProjectVariableOptions{Filter: in}); err != nil {
		t.Error(err)
	}
	if left := got(s.root.ProjectVariables.ListVariables(project, nil)).must(t); len(left) != 1 || left[0].EnvironmentScope != "*" {
		t.Errorf("variables: %+v", left)
	}
	got(s.root.GroupVariables.CreateVariable(group, &gitlab.CreateGroupVariableOptions{Key: new("OF_GROUP"), Value: new("x"), VariableType: new(gitlab.FileVariableType)})).must(t)
	of := got(s.root.GroupVariables.UpdateVariable(group, "OF_GROUP", &gitlab.UpdateGroupVariableOptions{Value: new("y"), Raw: new(true)})).must(t)
	if of.Value != "y" || !of.Raw || of.VariableType != gitlab.FileVariableType {
		t.Errorf("variable of a group: %+v", of)
	}
	if _, err := s.root.GroupVariables.RemoveVariable(group, "OF_GROUP", nil); err != nil {
		t.Error(err)
	}
	got(s.root.InstanceVariables.CreateVariable(&gitlab.CreateInstanceVariableOptions{Key: new("OF_ALL"), Value: new("x")})).must(t)
	got(s.root.InstanceVariables.UpdateVariable("OF_ALL", &gitlab.UpdateInstanceVariableOptions{Value: new("y")})).must(t)
	if _, err := s.root.InstanceVariables.RemoveVariable("OF_ALL"); err != nil {
		t.Error(err)
	}
	made := got(s.root.PipelineTriggers.AddPipelineTrigger(project, &gitlab.AddPipelineTriggerOptions{Description: new("nightly")})).must(t)
	if !strings.HasPrefix(made.Token, "glptt-") || made.Owner == nil || made.Owner.Username != "root" {
		t.Errorf("trigger: %+v", made)
	}
	made = got(s.root.PipelineTriggers.EditPipelineTrigger(project, made.ID, &gitlab.EditPipelineTriggerOptions{Description: new("weekly")})).must(t)
	if made.Description != "weekly" {
		t.Errorf("updated trigger: %+v", made)
	}
	if _, err := s.root.PipelineTriggers.DeletePipelineTrigger(project, made.ID); err != nil {
		t.Error(err)
	}
	f := got(s.root.SecureFiles.CreateSecureFile(project, bytes.NewReader([]byte("secret\x00")), &gitlab.CreateSecureFileOptions{Name: new("key.jks")})).must(t)
	f = got(s.root.SecureFiles.ShowSecureFileDetails(project, f.ID)).must(t)
	if f.Name != "key.jks" || f.ChecksumAlgorithm != "sha256" || len(f.Checksum) != 64 {
		t.Errorf("secure file: %+v", f)
	}
	from := got(s.root.SecureFiles.DownloadSecureFile(project, f.ID)).must(t)
	if b, err := io.ReadAll(from); err != nil || string(b) != "secret\x00" {
		t.Errorf("download: %q, %v", b, err)
	}
	if _, err := s.root.SecureFiles.RemoveSecureFile(project, f.ID); err != nil {
		t.Error(err)
	}
}

// TestGlab_variables lets glab work with CI/CD variables and secure files.
func TestGlab_variables(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Glab"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Works"), Path: new("works")})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	if err := os.WriteFile(filepath.Join(work, "key.jks"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL)
	for _, step := range []struct {
		line string   // arguments, cut at bars
		want []string // what it prints
	}{
		{"variable|set|KEY|value-of-key|--masked|--protected|--description|d", []string{"KEY"}},
		{"variable|get|KEY", []string{"value-of-key"}},
		{"variable|set|KEY|other-value|--scope|production", []string{"KEY"}},
		{"variable|get|KEY|--scope|production", []string{"other-value"}},
		{"variable|update|KEY|third-value|--scope|production", []string{"KEY"}},
		{"variable|list", []string{"KEY", "production"}},
		{"variable|export", []string{"KEY"}},
		{"variable|delete|KEY|--scope|production", []string{"KEY"}},
		{"variable|set|OF_GROUP|x|--group|works", []string{"OF_GROUP"}},
		{"variable|list|--group|works", []string{"OF_GROUP"}},
		{"variable|delete|OF_GROUP|--group|works", []string{"OF_GROUP"}},
		{"variable|list|--instance", nil},
		{"securefile|create|key.jks|key.jks", []string{"key.jks"}},
		{"securefile|list", []string{"key.jks"}},
		{"securefile|download|1|--path|copy.jks", nil},
		{"securefile|remove|1|-y", nil},
	} {
		out := shell.run(t, strings.Split(step.line, "|")...)
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("glab %s: want %q in\n%s", step.line, want, out)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(work, "copy.jks")); err != nil || string(b) != "content" {
		t.Errorf("download: %q, %v", b, err)
	}
}
