package noteable

import (
	"context"

	"tenon/internal/core/authz"
)

// Mailed is implemented by noteables that mails are about.
type Mailed interface {
	// MailContent reads what mails say about a noteable, nil where it or its place is gone. It asks for no permission: who may read
	// the noteable is asked for each reader.
	MailContent(ctx context.Context, ref Ref) (*MailContent, error)
}

// MailContent is what mails say about a noteable, as it is when they are sent.
type MailContent struct {
	Place        authz.Place
	Number       int64 // that texts and headers have; 0 for a snippet and a commit
	URL          string
	Title        string
	Description  string
	State        string
	Due          string // day that it is due on, YYYY-MM-DD; "" for none
	Confidential bool
	Assignees    []authz.UserID
	Reviewers    []authz.UserID
	Committers   []authz.UserID // who wrote and committed a commit
	Labels       []Labeled
}

// Labeled is a label of a noteable.
type Labeled struct {
	ID    int64
	Title string
}
