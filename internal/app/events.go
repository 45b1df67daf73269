package app

import "tenon/internal/base/event"

// subscriber is a package that reacts to events. A handler writes rows in the transaction
// of the event; what leaves the process is a job that it enqueues there.
type subscriber interface{ Subscribe(b *event.Bus) }

// react registers every reaction, those to one event in this order. The list of all is
// testdata/reactions.txt.
func (a *App) react() {
	c := a.core
	for _, s := range []subscriber{
		c.Sessions, c.GitImports,
		c.DeployKeys, c.BotTokens, c.Runners, c.Triggers, // they publish what becomes of each key and token
		c.Labels, c.Awards, c.Boards, c.Issues, c.MetricImages, c.Epics, c.SystemNotes, c.Events, c.Activity, c.Audit,
		c.Namespaces, c.Projects, c.PushRules, c.CI, c.Schedules, c.MergeRequests, c.Approvals, c.StatusChecks, c.Protections, c.Repos, c.Notes, c.Subscriptions, c.Todos, c.Notifications, c.Live,
	} {
		s.Subscribe(a.bus)
	}
}
