package graphql

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/transport/httpkit"
)

// The words of the interface.
const (
	messageInternal = "Internal server error"
	messageAway     = "Request timed out. Please try a less complex query or a smaller set of records."
	messageHidden   = "The resource that you are attempting to access does not exist or you don't have permission to perform this action"
	messageTooMany  = "This endpoint has been requested too many times. Try again later."
	messageToken    = "Invalid token"
	messageSchema   = "Sign in to ask about the schema"
	messageFull     = "The server has no room for the answer at the moment. Try again later."
	messageLarge    = "The answer is too large"
	messageBlocked  = "API not accessible for user"
)

// refusal is an answer with a status of its own and nothing run.
type refusal struct {
	status  int
	message string
}

// Error returns the message.
func (e *refusal) Error() string { return e.message }

func unprocessable(message string) error {
	return &refusal{http.StatusUnprocessableEntity, message}
}

// awayNote keeps the error of a database that went away in the middle of an answer, or of an answer that found no room.
type awayNote struct{ err error }

type awayKey struct{}

// argumentError says what is wrong with arguments that do not go together: it is at the top, also
// of a mutation.
type argumentError string

// Error returns the message.
func (e argumentError) Error() string { return string(e) }

// present returns the words for an error of a field. What is not for clients is logged.
func (h *Handler) present(ctx context.Context, err error) string {
	var e *errs.Error
	var argument argumentError
	switch {
	case errors.As(err, &argument):
		return short(argument.Error())
	case errors.Is(err, errs.ErrAway), errors.Is(err, budget.ErrFull):
		if note, ok := ctx.Value(awayKey{}).(*awayNote); ok {
			note.err = err
		}
		return messageAway
	case errors.As(err, new(*authz.ScopeError)):
		return messageHidden
	case !errors.As(err, &e) || e.Kind == errs.Internal:
		h.Log.ErrorContext(ctx, "field failed", "request_id", httpkit.Of(ctx).ID, "error", err)
		return messageInternal
	}
	switch e.Kind {
	case errs.NotFound, errs.Forbidden, errs.Unauthorized:
		return messageHidden
	case errs.TooMany:
		return messageTooMany
	}
	return short(strings.Join(sentences(e), ", "))
}

// maxSentence is how many bytes an error says of what was sent.
const maxSentence = 2000

// short cuts an error: one that quotes what was sent would be as long as that, under every alias again.
func short(text string) string {
	if len(text) <= maxSentence {
		return text
	}
	return strings.ToValidUTF8(text[:maxSentence], "") + "..."
}

// broken returns the sentences of an error that is about what was sent, nil for all others.
func broken(err error) []string {
	var e *errs.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Kind {
	case errs.Internal, errs.NotFound, errs.Forbidden, errs.Unauthorized, errs.TooMany, errs.Unavailable:
		return nil
	}
	out := slices.Clone(sentences(e))
	for i := range out {
		out[i] = short(out[i])
	}
	return out
}

// wordings are the words of the interface for errors with a code.
var wordings = map[errs.Code]string{
	issue.CodeStays: "At least one of the arguments fromListId, toListId, afterId or beforeId is required",
}

// sentences says what is wrong, one attribute after the other.
func sentences(e *errs.Error) []string {
	if words, ok := wordings[e.Code]; ok {
		return []string{words}
	}
	switch {
	case len(e.List) > 0:
		return e.List
	case len(e.Fields) == 0:
		return []string{e.Error()}
	}
	var out []string
	for _, f := range e.Fields {
		for _, m := range f.Messages {
			if f.Name == "base" || f.Name == "" {
				out = append(out, m)
			} else {
				out = append(out, human(f.Name)+" "+m)
			}
		}
	}
	return out
}

// human returns the name of an attribute as a sentence begins with it: target_branch is "Target
// branch".
func human(name string) string {
	name = strings.ReplaceAll(strings.TrimSuffix(name, "_id"), "_", " ")
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// hidden leaves out the error of what is not there for the caller: the field is null without an
// error then.
func hidden(err error) error {
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Forbidden, errs.Unauthorized:
		return nil
	}
	return err
}
