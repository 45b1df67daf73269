package repo_test

import (
	"testing"

	"tenon/internal/core/repo"
)

func TestSSHURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"git.example":      "git@git.example:g/p.git",
		"git.example:22":   "git@git.example:g/p.git",
		"git.example:2222": "ssh://git@git.example:2222/g/p.git",
		"::1":              "git@[::1]:g/p.git",
		"[::1]:22":         "git@[::1]:g/p.git",
		"[::1]:2222":       "ssh://git@[::1]:2222/g/p.git",
	} {
		if got := repo.SSHURL(address, "g/p"); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
