package config

import "testing"

func TestLoad_sshExternal(t *testing.T) {
	t.Parallel()
	for v, ok := range map[string]bool{
		"git.example.com": true, "git.example.com:2222": true, "git_server:22": true, "192.0.2.7": true, "::1": true, "[::1]:2222": true,
		"ssh://git.example.com": false, "git@git.example.com": false, "git.example.com:0": false, "git.example.com:70000": false,
		"git.example.com:": false, "a b": false, "-oProxyCommand=x": false, "git.example.com/x": false, ":22": false,
	} {
		c, err := Load(Sources{Environ: []string{"TENON_SSH_EXTERNAL=" + v}})
		switch {
		case ok && (err != nil || c.SSHExternal != v):
			t.Errorf("%q: got %v, want that it is taken", v, err)
		case !ok && err == nil:
			t.Errorf("%q: taken, want a problem", v)
		}
	}
}
