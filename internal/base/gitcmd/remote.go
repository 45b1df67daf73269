package gitcmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/gitstore"
)

// Remote is a repository somewhere else that is read over HTTP.
type Remote struct {
	URL           string // http or https, without credentials
	Proxy         string // what all connections go through; git opens none by itself
	Authorization string // value of that header, "" for none

	Stall time.Duration // how long the server may send nothing; 1 minute where zero
}

// remoteConfig is what git may do to read from elsewhere; everything else stays forbidden.
func remoteConfig(m Remote) [][2]string {
	config := [][2]string{
		{"protocol.http.allow", "always"},
		{"protocol.https.allow", "always"},
		{"http.proxy", m.Proxy},
		{"http.proxyAuthMethod", "basic"},
		{"http.followRedirects", "false"},
		{"http.lowSpeedLimit", "1"},
		{"http.lowSpeedTime", strconv.Itoa(max(1, int(cmp.Or(m.Stall, time.Minute)/time.Second)))},
		{"credential.helper", ""},
		// Old histories have these mistakes, which do no harm.
		{"fetch.fsck.zeroPaddedFilemode", "ignore"},
		{"fetch.fsck.missingSpaceBeforeDate", "ignore"},
		{"fetch.fsck.badTimezone", "ignore"},
		{"fetch.fsck.missingEmail", "ignore"},
		{"fetch.fsck.zeroPaddedDate", "ignore"},
	}
	if m.Authorization != "" {
		config = append(config, [2]string{"http.extraHeader", "Authorization: " + m.Authorization})
	}
	return config
}

// configured is the environment that adds settings where, unlike among arguments, only
// the process itself sees them.
func (g *Git) configured(config [][2]string) []string {
	n := 0
	for _, v := range g.env {
		if text, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(text) // our own number
		}
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(n+len(config))}
	for i, kv := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n+i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n+i, kv[1]))
	}
	return env
}

// maxHead bounds the answer about HEAD.
const maxHead = 64 << 10

// RemoteHead returns the branch that HEAD of a remote names, "" where it names none.
func (r *Repo) RemoteHead(ctx context.Context, m Remote) (string, error) {
	out, err := r.git.output(ctx, call{
		repo: r, load: remote, env: r.git.configured(remoteConfig(m)), args: []string{"ls-remote", "--symref", "--", m.URL, "HEAD"},
	}, maxHead)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if ref, ok := strings.CutPrefix(line, "ref: "+gitstore.Branches); ok {
			name, _, _ := strings.Cut(ref, "\t")
			return name, nil
		}
	}
	return "", nil
}

// FetchAll makes the branches, tags and notes of the repository those of a remote. Other
// references stay where they are: they mean nothing here.
func (r *Repo) FetchAll(ctx context.Context, m Remote) error {
	defer r.Recycle()
	return r.git.run(ctx, call{
		repo: r, load: remote, env: r.git.configured(remoteConfig(m)),
		args: []string{
			"fetch", "--quiet", "--no-tags", "--prune", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
			"--", m.URL, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/notes/*:refs/notes/*",
		},
	})
}
