package web

import (
	"strings"

	"github.com/a-h/templ"
)

// getUnsubscribe asks whether mail is to end: programs that look at the links of a mail must not
// end it. The page tells nothing of the thing, since the key lasts longer than permissions do.
func (x *visit) getUnsubscribe() (templ.Component, error) {
	x.w.Header().Set("Referrer-Policy", secretAddress)
	kind, err := x.Notifications.Unsubscription(x.args["key"])
	if err != nil {
		return nil, err
	}
	x.title("Unsubscribe")
	return unsubscribe(x.args["key"], x.Kinds.Of(kind).Noun), nil
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
	return words(strings.Join([]string{"You get no more mail about this", x.Kinds.Of(kind).Noun, "unless you are mentioned."}, " ")), nil
}
