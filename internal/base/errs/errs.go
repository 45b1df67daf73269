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

// Kind says what sort of refusal an error is. Transports map it to a status.
type Kind int

// The kinds. The comment after each gives its REST status and frame.
const (
	Internal           Kind = iota // 500, text never shown
	Invalid                        // 400, bare message or field map
	BadRequest                     // 400, "400 Bad request - <Message>"
	Unauthorized                   // 401, "401 Unauthorized"
	Forbidden                      // 403, "403 Forbidden - <Message>"
	NotFound                       // 404, "404 <Message> Not Found"; without a message "404 Not found"
	NotAllowed                     // 405, bare message, default "405 Method Not Allowed"
	NotAcceptable                  // 406, bare message, default "406 Not Acceptable"
	Conflict                       // 409, bare message or list, default "409 Conflict"
	PreconditionFailed             // 412, "412 Precondition Failed"
	TooLarge                       // 413, "413 Request Entity Too Large"
	Unprocessable                  // 422, bare message or list
	TooMany                        // 429, {"message":{"error":<Message>}}
	NotModified                    // 304, no body
	Unavailable                    // 503, "503 Service Unavailable"
)

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
	Message string
	List    []string // shown as a JSON array of sentences
	Fields  []Field  // shown as a JSON object of arrays
	Bare    bool
	Err     error // the cause: logged, never shown
}

// Error gives the text for logs and for clients without structured bodies.
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

// Unwrap gives the cause.
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

// KindOf gives the kind of the first *Error in the chain, Internal where there is none.
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
