package core

import (
	"net/mail"

	"tenon/internal/core/badge"
	"tenon/internal/core/changelog"
	"tenon/internal/core/deploy"
	"tenon/internal/core/feature"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/importexport"
	"tenon/internal/core/noteable"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/maven"
	"tenon/internal/core/packages/npm"
	"tenon/internal/core/packages/pypi"
	"tenon/internal/core/release"
	"tenon/internal/core/stats"
	"tenon/internal/core/tree"
	"tenon/internal/core/usage"
	"tenon/internal/core/webhook"
)

// Subject builds the service of a subject that no other service needs. What the service does
// beside answering calls, and whether users talk about what it has, is found by the interfaces
// that it implements; transports find it with Part.
//
// It is also called without any dependency, for documents that are made without a database.
type Subject func(b *Build) any

// Build is what a Subject takes the dependencies of its service from.
type Build struct {
	Deps
	*Services

	check *check
}

// Need returns the dependencies of a service as they are, and has New fail where one is missing.
func Need[D any](b *Build, deps D) D { return need(b.check, deps) }

// address is the one that stands for the server in what it signs.
func (b *Build) address() string {
	if a, err := mail.ParseAddress(b.Mail.ReplyTo); err == nil {
		return a.Address
	}
	return "noreply@" + b.URLs.Host()
}

// subjects are those of the product, in the order in which they react to an event.
var subjects = []Subject{
	func(b *Build) any {
		return feature.New(Need(b, feature.Deps{DB: b.DB, Policy: b.Policy, Bus: b.Bus, Now: b.Now}))
	},
	func(b *Build) any {
		return featureflag.New(Need(b, featureflag.Deps{DB: b.DB, Policy: b.Policy, Bus: b.Bus, Now: b.Now}))
	},
	func(b *Build) any {
		return badge.New(Need(b, badge.Deps{DB: b.DB, Policy: b.Policy, Now: b.Now, Host: b.URLs.Host(), Tip: b.Repos.Tip}))
	},
	func(b *Build) any {
		return release.New(Need(b, release.Deps{
			DB: b.DB, Policy: b.Policy, Bus: b.Bus, Accounts: b.Accounts, Projects: b.Projects, Protections: b.Protections, Repos: b.Repos,
			Milestones: b.Milestones, Jobs: b.Jobs, URLs: b.URLs, Log: b.Log, Now: b.Now,
		}))
	},
	func(b *Build) any {
		return changelog.New(Need(b, changelog.Deps{
			DB: b.DB, Policy: b.Policy, Accounts: b.Accounts, Namespaces: b.Namespaces, Repos: b.Repos, MergeRequests: b.MergeRequests, Limits: b.Limits, Now: b.Now,
			Features: Part[*feature.Service](b.Services),
		}))
	},
	func(b *Build) any {
		return deploy.New(Need(b, deploy.Deps{
			DB: b.DB, Policy: b.Policy, Bus: b.Bus, Accounts: b.Accounts, Namespaces: b.Namespaces, Projects: b.Projects, Repos: b.Repos, CI: b.CI,
			Protections: b.Protections, Jobs: b.Jobs, Now: b.Now, Log: b.Log,
		}))
	},
	func(b *Build) any {
		return packages.New(Need(b, packages.Deps{
			DB: b.DB, Policy: b.Policy, Bus: b.Bus, Accounts: b.Accounts, Projects: b.Projects, CI: b.CI, Quota: b.Quota, Plans: b.Plans, Objects: b.Objects,
			Box: b.Box, Jobs: b.Jobs, Mailer: b.Notifications, Settings: b.Settings, Now: b.Now, Log: b.Log, NoDebian: b.NoDebian, KeyBits: b.SigningKeyBits, Email: b.address(),
		}))
	},
	func(b *Build) any {
		return pypi.New(Need(b, pypi.Deps{DB: b.DB, Packages: Part[*packages.Service](b.Services), Plans: b.Plans, Settings: b.Settings}))
	},
	func(b *Build) any {
		return maven.New(Need(b, maven.Deps{
			DB: b.DB, Packages: Part[*packages.Service](b.Services), Projects: b.Projects, Plans: b.Plans, Settings: b.Settings, Jobs: b.Jobs, Now: b.Now, Log: b.Log,
		}))
	},
	func(b *Build) any {
		return npm.New(Need(b, npm.Deps{DB: b.DB, Packages: Part[*packages.Service](b.Services), Plans: b.Plans, Settings: b.Settings, URLs: b.URLs, Now: b.Now}))
	},
	func(b *Build) any {
		return stats.New(Need(b, stats.Deps{DB: b.DB, Policy: b.Policy, Now: b.Now}))
	},
	func(b *Build) any {
		return webhook.New(Need(b, webhook.Deps{
			DB: b.DB, Policy: b.Policy, Bus: b.Bus, Settings: b.Settings, Limits: b.Limits, Outbound: b.outbound(), System: b.systemOutbound(), Box: b.Box,
			Samples: b.Payloads, Warner: b.Notifications, URLs: b.URLs, Jobs: b.Jobs, Log: b.Log, Now: b.Now,
		}))
	},
	func(b *Build) any {
		return importexport.New(Need(b, importexport.Deps{
			DB: b.DB, Policy: b.Policy, Accounts: b.Accounts, Namespaces: b.Namespaces, Projects: b.Projects, Settings: b.Settings, Limits: b.Limits, Objects: b.Objects,
			Outbound: b.outbound(), Remote: b.Deps.Remote, Box: b.Box, Jobs: b.Jobs, Mailer: b.Notifications, URLs: b.URLs, Scratch: b.Scratch, Revision: b.Revision, Log: b.Log, Now: b.Now,
			Providers: func() []tree.Provider { return parts[tree.Provider](b.Services) },
			Carriers:  func() []tree.Carrier { return parts[tree.Carrier](b.Services) },
			Takers:    func() []tree.Taker { return parts[tree.Taker](b.Services) },
		}))
	},
	func(b *Build) any {
		return usage.New(Need(b, usage.Deps{DB: b.DB, Policy: b.Policy, Queues: b.Queues, Now: b.Now}))
	},
}

// add builds the services of all subjects.
func (s *Services) add(b *Build, more []Subject) {
	for _, subject := range append(subjects[:len(subjects):len(subjects)], more...) {
		s.Add(subject(b))
	}
}

// Add adds the service of a subject.
func (s *Services) Add(service any) {
	s.subjects = append(s.subjects, service)
	if things, ok := service.(noteable.Provider); ok {
		s.Kinds.Add(things)
	}
}

// Part returns the service of a subject by its type, the zero value where there is none.
func Part[S any](s *Services) S {
	for _, service := range s.subjects {
		if found, ok := service.(S); ok {
			return found
		}
	}
	var none S
	return none
}
