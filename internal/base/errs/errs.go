// Package errs defines the one error type whose text a client may read.
//
// Core packages return *Error for everything a caller can do something about
// and wrap the rest with %w. A transport owns one table from Kind to its own
// status codes; an error that is no *Error is shown as an internal failure and
// logged.
package errs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrAway is in the chain of an error whose cause passes by itself: the database is away,
// or another program has it locked. A transport says so, tells the client to come again
// after RetryAfter, and logs the error; it is no *Error.
var ErrAway = errors.New("database is not available")

// RetryAfter is how long a client waits before it asks again after ErrAway.
const RetryAfter = 10 * time.Second

// Kind says what sort of refusal an error is. A transport has a table from kinds to its statuses.
type Kind int

// The kinds.
const (
	Internal           Kind = iota // a failure of ours, text never shown
	Invalid                        // what was sent breaks a rule: a sentence, or messages by field
	BadRequest                     // what was sent makes no sense
	Unauthorized                   // no credentials, or invalid ones
	Forbidden                      // the caller sees it and may not do this
	NotFound                       // absent or hidden; the message names the thing
	NotAllowed                     // the state of the thing does not allow this
	NotAcceptable                  // there is no such form of it
	Conflict                       // something else is there, or happens, already
	PreconditionFailed             // a condition that the caller set does not hold
	TooLarge                       // more than may be sent
	Unprocessable                  // understood, and cannot be done
	TooMany                        // too often
	NotModified                    // it is so already
	Unavailable                    // off, or away for now
)

// Code names what happened where transports word it otherwise than the rest of its kind. The
// package that makes the error declares the code.
type Code string

// Field is one entry of a validation map: an attribute and what is wrong with it.
type Field struct {
	Name     string
	Messages []string
}

// Error is a refusal a client may read.
//
// Exactly one of Message, List and Fields is normally set; which of them a kind
// uses is said at the kind. Bare makes a transport print Message as it stands,
// without the frame of the kind.
type Error struct {
	Kind    Kind
	Code    Code // "" for most
	Message string
	List    []string // shown as a JSON array of sentences
	Fields  []Field  // shown as a JSON object of arrays
	Bare    bool
	Detail  string // more about what is wrong, shown beside the message; "" for nothing more
	Err     error  // the cause: logged, never shown
}

// Error returns the text for logs and for clients without structured bodies.
func (e *Error) Error() string {
	switch {
	case len(e.List) > 0:
		return strings.Join(e.List, ", ")
	case len(e.Fields) > 0:
		parts := make([]string, 0, len(e.Fields))
		for _, f := range e.Fields {
			parts = append(parts, f.Name+" "+strings.Join(f.Messages, ", "))
		}
		return strings.Join(parts, ", ")
	case e.Kind == NotFound && !e.Bare && e.Message != "":
		return e.Message + " not found"
	case e.Message != "":
		return e.Message
	default:
		return e.Kind.String()
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var names = [...]string{
	"internal error", "invalid", "bad request", "unauthorized", "forbidden", "not found", "not allowed",
	"not acceptable", "conflict", "precondition failed", "too large", "unprocessable", "too many requests",
	"not modified", "unavailable",
}

// String names the kind in plain words.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(names) {
		return names[Internal]
	}
	return names[k]
}

// New makes an error of a kind; message may be "" for the kind's standard text.
func New(kind Kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// Missing reports that a thing is absent or hidden: thing is its public name, such as
// "Project", or "" where the reference answers the bare "404 Not found".
func Missing(thing string) *Error { return &Error{Kind: NotFound, Message: thing} }

// Denied reports that the actor sees the subject but may not do this; reason may be "".
func Denied(reason string) *Error { return &Error{Kind: Forbidden, Message: reason} }

// Bad reports a refused request with the reason after the frame "400 Bad request - ".
func Bad(reason string) *Error { return &Error{Kind: BadRequest, Message: reason} }

// Plain reports a refused request whose message stands without a frame (400).
func Plain(message string) *Error { return &Error{Kind: Invalid, Message: message} }

// Coded makes an error of a kind with a code; message may be "".
func Coded(kind Kind, code Code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Broken makes an Invalid error with a code and one message for an attribute.
func Broken(code Code, attribute, message string) *Error {
	return &Error{Kind: Invalid, Code: code, Fields: []Field{{attribute, []string{message}}}}
}

// Sentences is an error of a kind whose body is a list of sentences.
func Sentences(kind Kind, list ...string) *Error { return &Error{Kind: kind, List: list} }

// Wrap puts words before an error that only the log shows: "doing: ...". An Error that a
// client may read stays as it is, and so does nil.
func Wrap(err error, doing string) error {
	if err == nil || KindOf(err) != Internal {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// KindOf returns the kind of the first *Error in the chain, Internal where there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Is reports whether err carries an *Error of this kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
