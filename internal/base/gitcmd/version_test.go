package gitcmd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/test/program"
)

// A git that is missing or too old is refused with the version that is needed.
func TestNew_version(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2.38.4": "is git 2.38.4, which is too old: install git 2.39 or newer", "1.99.0": "too old", "soon": "too old",
		"2.39.0": "", "2.100": "", "3.0.1": "", "2.50.1 (Apple Git-155)": "",
	} {
		binary := program.Write(t, "git", []byte("#!/bin/sh\necho git version '"+version+"'\n"))
		g, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir(), Binary: binary})
		switch {
		case want == "" && err != nil:
			t.Errorf("git %s: got %v, want that it is taken", version, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("git %s: got %v, want %q", version, err, want)
		}
		if g != nil {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir(), Binary: filepath.Join(t.TempDir(), "git")})
	if err == nil || !strings.Contains(err.Error(), "install git 2.39 or newer") {
		t.Errorf("no git: got %v, want the version that is needed", err)
	}
}
