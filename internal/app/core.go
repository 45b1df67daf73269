package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/account"
	"tenon/internal/core/activity"
	"tenon/internal/core/attribute"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
	"tenon/internal/core/avatar"
	"tenon/internal/core/award"
	"tenon/internal/core/badge"
	"tenon/internal/core/changelog"
	"tenon/internal/core/ci"
	"tenon/internal/core/deploykey"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/signature"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/systemnote"
	"tenon/internal/core/upload"
)

// core builds the product, from what depends on nothing upwards.
func (a *App) core() error {
	host, err := a.host()
	if err != nil {
		return err
	}
	a.bus = &event.Bus{}
	a.policy = authz.New(a.db, a.now)
	a.settings = setting.New(a.db, a.now)
	if a.config.RateLimits {
		a.limits = limit.New(a.settings, a.now, a.metrics.Limited)
	}
	a.attributes = &attribute.Service{DB: a.db, Policy: a.policy, Now: a.now}
	a.namespaces = namespace.New(namespace.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Settings: a.settings, Now: a.now,
	})
	a.accounts = account.New(account.Config{
		DB: a.db, Policy: a.policy, Bus: a.bus, Settings: a.settings, Places: a.namespaces,
		Hasher: secret.NewHasher(), Now: a.now, Log: a.log, Host: host, BaseURL: a.baseURL,
		Enqueue: func(ctx context.Context, args job.Args) error { return a.jobs.Enqueue(ctx, args) },
	})
	a.keys = sshkey.New(sshkey.Config{
		DB: a.db, Policy: a.policy, Bus: a.bus, Settings: a.settings, Accounts: a.accounts, Now: a.now, Log: a.log,
	})
	a.gpgKeys = gpgkey.New(gpgkey.Config{DB: a.db, Policy: a.policy, Bus: a.bus, Accounts: a.accounts, Now: a.now})
	a.botTokens = &accesstoken.Service{
		DB: a.db, Policy: a.policy, Bus: a.bus, Accounts: a.accounts, Namespaces: a.namespaces, Now: a.now,
	}
	a.projects = project.New(project.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Namespaces: a.namespaces, Settings: a.settings, Now: a.now,
		Enqueue: func(ctx context.Context, args job.Args) error { return a.jobs.Enqueue(ctx, args) },
	})
	a.deployKeys = &deploykey.Service{
		DB: a.db, Policy: a.policy, Bus: a.bus, Keys: a.keys, Projects: a.projects, Now: a.now,
	}
	a.lfs = lfs.New(lfs.Deps{
		DB: a.db, Policy: a.policy, Settings: a.settings, Accounts: a.accounts, Keys: a.keys, Objects: a.objects, Signer: a.box.Signer(),
		Log: a.log, Now: a.now,
	})
	a.avatars = avatar.New(avatar.Deps{
		DB: a.db, Policy: a.policy, Accounts: a.accounts, Namespaces: a.namespaces, Projects: a.projects, Objects: a.objects, Log: a.log,
		Now: a.now,
	})
	a.uploads = upload.New(upload.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Settings: a.settings, Projects: a.projects, Objects: a.objects, Log: a.log, Now: a.now,
	})
	a.repos = repo.New(repo.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Git: a.git, Settings: a.settings, Projects: a.projects,
		Accounts: a.accounts, Keys: a.deployKeys, LFS: a.lfs, Archives: a.archives, Packs: a.packs, Fetches: repo.FetchLimits{
			Running: a.config.Git.Fetches, PerAddress: a.config.Git.FetchesPerAddress,
		}, Log: a.log, Now: a.now, BaseURL: a.baseURL,
	})
	if err := errors.Join(
		a.metrics.Counter("tenon_git_fetch_requests_total", "Requests of git clients that fetch.", func() uint64 { n, _ := a.repos.FetchCounts(); return n }),
		a.metrics.Counter("tenon_git_fetch_runs_total", "Of those, the ones that git worked on; the others had the same answer.",
			func() uint64 { _, n := a.repos.FetchCounts(); return n }),
	); err != nil {
		return fmt.Errorf("count fetches: %w", err)
	}
	a.signatures = signature.New(signature.Deps{Accounts: a.accounts, Repos: a.repos, SSHKeys: a.keys, PGPKeys: a.gpgKeys, Now: a.now})
	a.projects.Repositories, a.projects.Heads = a.repos, a.repos
	a.badges = &badge.Service{DB: a.db, Policy: a.policy, Now: a.now, Host: host, Tip: a.repos.Tip}
	a.labels = label.New(a.db, a.policy, a.bus, a.now)
	a.issues = issue.New(a.db, a.policy, a.bus, a.labels, a.now)
	a.requests = mergerequest.New(mergerequest.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Accounts: a.accounts, Projects: a.projects, Repos: a.repos,
		Labels: a.labels, Settings: a.settings, Log: a.log, Now: a.now, BaseURL: a.baseURL,
	})
	a.requests.Enqueue = func(ctx context.Context, args job.Args, options ...job.Option) error {
		return a.jobs.Enqueue(ctx, args, options...)
	}
	a.repos.Enqueue = func(ctx context.Context, args job.Args, options ...job.Option) error {
		return a.jobs.Enqueue(ctx, args, options...)
	}
	a.repos.Hint, a.repos.Collaborates, a.repos.Options = a.requests.PushHint, a.requests.Collaborations, a.requests.PushOptions
	a.repos.Requested = a.requests.Requested
	outbound := &safehttp.Dialer{Rules: func() safehttp.Rules {
		set := a.settings.Current()
		return safehttp.Rules{Local: set.AllowLocalRequestsFromWebHooksAndServices, Allowed: set.OutboundLocalRequestsWhitelist}
	}}
	a.projects.Outbound, a.projects.Box = outbound, a.box
	a.repos.Outbound, a.repos.Box, a.repos.MaxImport = outbound, a.box, int64(a.config.Git.ImportSize)<<20
	a.checks = &ci.Service{DB: a.db, Policy: a.policy, Bus: a.bus, Repos: a.repos, Now: a.now}
	a.changelogs = changelog.New(changelog.Deps{
		DB: a.db, Policy: a.policy, Accounts: a.accounts, Namespaces: a.namespaces, Repos: a.repos, Requests: a.requests, Now: a.now,
	})
	a.awards = award.New(a.db, a.policy, a.bus, a.now)
	a.notes = note.New(note.Deps{
		DB: a.db, Policy: a.policy, Bus: a.bus, Awards: a.awards, Now: a.now,
		Things: map[noteable.Kind]note.Noteables{
			noteable.Issue: a.issues, noteable.MergeRequest: a.requests,
			noteable.Commit: &note.Commits{DB: a.db, Repos: a.repos},
		},
	})
	a.systemNotes = systemnote.New(a.notes, a.accounts, a.now)
	a.activity = activity.New(a.db, a.now)
	a.audit = audit.New(a.db, a.now)
	// Projects go first, so that what stands in them needs no other end.
	a.accounts.Executors = []account.Executor{
		a.projects.Depart, a.namespaces.Depart, a.issues.Depart, a.requests.Depart, a.notes.Depart, a.awards.Depart, a.activity.Depart,
	}
	return nil
}

// host is the name that clients reach the server by, without a port.
func (a *App) host() (string, error) {
	u, err := url.Parse(a.baseURL)
	if err != nil {
		return "", fmt.Errorf("external URL %q: %w", a.baseURL, err)
	}
	return u.Hostname(), nil
}
