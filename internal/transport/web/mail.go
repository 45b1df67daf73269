package web

import (
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/core/noteable"
)

// nouns are what mails are about.
var nouns = map[noteable.Kind]string{
	noteable.Issue: "issue", noteable.MergeRequest: "merge request", noteable.Epic: "epic",
	noteable.Snippet: "snippet", noteable.Commit: "commit",
}

// getUnsubscribe asks whether mail is to end: programs that look at the links of a mail must not
// end it. The page tells nothing of the thing, since the key lasts longer than permissions do.
func (x *visit) getUnsubscribe() (templ.Component, error) {
	x.w.Header().Set("Referrer-Policy", secretAddress)
	kind, err := x.Notifications.Unsubscription(x.args["key"])
	if err != nil {
		return nil, err
	}
	x.title("Unsubscribe")
	return unsubscribe(x.args["key"], nouns[kind]), nil
}

// postUnsubscribe ends mail, for a reader or for a mail program (RFC 8058).
func (x *visit) postUnsubscribe() (templ.Component, error) {
	x.w.Header().Set("Referrer-Policy", secretAddress)
	kind, err := x.Notifications.Unsubscription(x.args["key"])
	if err != nil {
		return nil, err
	}
	if err := x.Notifications.Unsubscribe(x.r.Context(), x.args["key"]); err != nil {
		return nil, err
	}
	x.title("Unsubscribed")
	return words(strings.Join([]string{"You get no more mail about this", nouns[kind], "unless you are mentioned."}, " ")), nil
}
