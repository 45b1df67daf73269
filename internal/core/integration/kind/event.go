package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// Event is what an integration is told of. Texts that users have written are cut to some thousand characters.
type Event struct {
	Flag   string // such as push_events
	Kind   string // as the body names it, such as push
	Action string // such as open
	At     time.Time

	Incident bool // of an event of an issue

	Author  Person
	Project Project
	Ref     Ref    // of pushes and pipelines
	Before  string // of pushes
	After   string // of pushes; the commit of a pipeline
	Status  string // of a pipeline
	Number  int64  // of a pipeline
	URL     string // of what the event is about
	Source  Ref    // of a merge request: the branch that is to be merged
	Commits []Commit

	Comments bool // the integration may comment on what it names
	Message  Message
	Body     []byte // as hooks get it
}

// Person is who did something.
type Person struct {
	ID                     int64 // of who pushed; 0 where it is not known
	Name, Username, Avatar string
}

// Project is where it happened.
type Project struct {
	Name     string // with its group, as "group / project"
	Path     string
	URL      string
	Avatar   string
	Instance string // URL of this server
}

// Ref is a branch or tag.
type Ref struct {
	Name      string
	Tag       bool
	Default   bool // the default branch
	Protected bool
	Created   bool
	Deleted   bool
}

// Commit is a commit of a push.
type Commit struct{ ID, Title, Message, URL, Author, Email string }

// Message is what chats show of an event.
type Message struct {
	Text   Line   // one sentence
	Title  Line   // of the attachment; empty for none
	Lines  []Line // of the attachment
	Fields []Field
	Color  string // such as #345, or good, warning or danger
	Thread string // what the messages of one thread have in common
}

// Field is a name with a text.
type Field struct {
	Name string
	Text Line
}

// Request is one call of another server.
type Request struct {
	Method   string // POST where ""
	URL      string
	Header   map[string]string
	Body     []byte
	User     string // of HTTP Basic; "" for none
	Password string
	Insecure bool // certificates are not verified
}

// Caller calls other servers, within the rules of the instance.
type Caller interface {
	// Call returns the status and the beginning of an answer. It is an error where there is none.
	Call(ctx context.Context, r Request) (status int, answer []byte, err error)

	// Say connects to a host, writes a text and reads no answer.
	Say(ctx context.Context, host string, port int64, text []byte) error
}

// StatusError says that a server refused a call.
type StatusError struct{ Status int }

// Error returns the status.
func (e *StatusError) Error() string { return fmt.Sprintf("the server answered %d", e.Status) }

// Passing reports whether the same call may succeed later.
func (e *StatusError) Passing() bool { return e.Status == tooMany || e.Status >= failed }

// Statuses of answers.
const (
	refused    = 400 // this and above
	badRequest = 400
	tooMany    = 429
	failed     = 500 // this and above
)

// deliver makes a call whose answer does not count.
func deliver(ctx context.Context, c Caller, r Request) error {
	status, _, err := c.Call(ctx, r)
	if err == nil && status >= refused {
		err = &StatusError{status}
	}
	return err
}

// jsonTo is a call with a JSON body.
func jsonTo(address string, body any) Request {
	text, _ := json.Marshal(body) // texts, numbers and lists of them
	return Request{URL: address, Body: text, Header: map[string]string{"Content-Type": "application/json"}}
}

// formTo is a call with the fields of a form.
func formTo(address string, fields url.Values) Request {
	return Request{URL: address, Body: []byte(fields.Encode()), Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
}

// hook is a call with the body of a webhook.
func hook(address string, e *Event) Request {
	return Request{URL: address, Body: e.Body, Header: map[string]string{"Content-Type": "application/json", "X-Gitlab-Event": "Service Hook"}}
}
