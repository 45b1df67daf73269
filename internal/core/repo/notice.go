package repo

import (
	"strings"
	"sync"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// CreatedNotice is what people read whose push made a project.
func (s *Service) CreatedNotice(p *project.Project, remote string) []string {
	return []string{
		"", "The private project " + p.FullPath + " was successfully created.", "", "To configure the remote, run:",
		"  git remote add origin " + remote, "", "To view the project, visit:", "  " + s.URLs.Project(p.FullPath), "",
	}
}

// MovedNotice is what people read who used a path that the project had before.
func MovedNotice(old string, p *project.Project, remote string) []string {
	return []string{
		"", "Project '" + old + "' was moved to '" + p.FullPath + "'.", "", "Please update your Git remote:", "",
		"  git remote set-url origin " + remote, "",
	}
}

// Notify keeps lines for the person until the push that they are about to make: over
// HTTP, the request that finds a project is not the one that brings the push.
func (s *Service) Notify(as authz.Actor, p *project.Project, lines []string) {
	if as.SignedIn() {
		s.notices.leave(noticeKey{as.UserID, p.ID}, lines, s.Now())
	}
}

type noticeKey struct {
	user    authz.UserID
	project project.ID
}

type notice struct {
	lines []string
	at    time.Time
}

// What is remembered, and how long, is bounded: nothing but a message is lost.
const (
	maxNotices = 1000
	noticeLife = 10 * time.Minute
)

// notices are messages that wait for a push. The zero value is ready.
type notices struct {
	mu      sync.Mutex
	waiting map[noticeKey]notice
}

func (n *notices) leave(k noticeKey, lines []string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil || len(n.waiting) >= maxNotices {
		n.waiting = map[noticeKey]notice{}
	}
	n.waiting[k] = notice{lines, now}
}

// take returns the text for a key once, "" for none.
func (n *notices) take(k noticeKey, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, ok := n.waiting[k]
	delete(n.waiting, k)
	if !ok || now.Sub(found.at) > noticeLife {
		return ""
	}
	return strings.Join(found.lines, "\n") + "\n"
}
