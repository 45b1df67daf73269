package gitcmd

import "context"

// FetchBundle makes the branches, tags, notes and heads of merge requests of the repository those of a bundle, a file of git. Objects are
// checked; other references of the bundle are left aside.
func (r *Repo) FetchBundle(ctx context.Context, file string) error {
	defer r.Recycle()
	config := append(remoteConfig(Remote{}), [2]string{"protocol.file.allow", "always"}, [2]string{"protocol.http.allow", "never"}, [2]string{"protocol.https.allow", "never"})
	return r.git.run(ctx, call{
		repo: r, load: remote, env: r.git.configured(config),
		args: []string{
			"fetch", "--quiet", "--no-tags", "--prune", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "--", file,
			"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/notes/*:refs/notes/*", "+refs/merge-requests/*/head:refs/merge-requests/*/head",
		},
	})
}
