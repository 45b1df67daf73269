package ci_test

import (
	"encoding/json"
	"slices"
	"testing"

	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

func TestAssignment_Caches(t *testing.T) {
	t.Parallel()
	full := ciconfig.Cache{Key: "k", Policy: "pull", When: "always", FallbackKeys: []string{"a", "b"}}
	shared := full
	shared.Unprotect = true
	for _, tt := range []struct {
		name, settings string
		protected      bool
		of             ciconfig.Cache
		want           string
	}{
		{"nothing said", `{}`, false, ciconfig.Cache{}, `{"key":"default-non_protected","policy":"pull-push","when":"on_success"}`},
		{"protected", `{}`, true, full, `{"key":"k-protected","policy":"pull","when":"always","fallback_keys":["a-protected","b-protected"]}`},
		{"not protected", `{}`, false, full, `{"key":"k-non_protected","policy":"pull","when":"always","fallback_keys":["a-non_protected","b-non_protected"]}`},
		{"unprotect", `{}`, true, shared, `{"key":"k","policy":"pull","when":"always","unprotect":true,"fallback_keys":["a","b"]}`},
		{"not separated", `{"ci_separated_caches":false}`, true, full, `{"key":"k","policy":"pull","when":"always","fallback_keys":["a","b"]}`},
	} {
		config := &ciconfig.Job{Cache: []ciconfig.Cache{tt.of}}
		a := &ci.Assignment{Config: config, Pipeline: &ci.Pipeline{Protected: tt.protected}, Project: &project.Project{OtherSettings: project.OtherSettings{SettingsJSON: tt.settings}}}
		got, err := json.Marshal(a.Caches()[0])
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
		if config.Cache[0].Key != tt.of.Key || !slices.Equal(config.Cache[0].FallbackKeys, tt.of.FallbackKeys) {
			t.Errorf("%s: the configuration changed to %+v", tt.name, config.Cache[0])
		}
	}
}

func TestAssignment_Fetches(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]bool{`{}`: true, `{"build_git_strategy":"fetch"}`: true, `{"build_git_strategy":"clone"}`: false} {
		if got := (&ci.Assignment{Project: &project.Project{OtherSettings: project.OtherSettings{SettingsJSON: settings}}}).Fetches(); got != want {
			t.Errorf("%s: got %v, want %v", settings, got, want)
		}
	}
}

func TestTokenPrefixes(t *testing.T) {
	t.Parallel()
	got := ci.TokenPrefixes("corp-")
	for _, want := range []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "corp-"} {
		if !slices.Contains(got, want) {
			t.Errorf("runners are not told of %s: %v", want, got)
		}
	}
	if got := ci.TokenPrefixes(""); slices.Contains(got, "") {
		t.Errorf("runners would mask everything: %q", got)
	}
}
