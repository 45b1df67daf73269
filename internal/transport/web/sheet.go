package web

import (
	"time"

	"tenon/internal/core/broadcast"
	"tenon/internal/core/weburl"
)

//go:generate go run tenon/internal/tools/templ

// at makes addresses of pages relative to the root of the instance, so that a page leads on
// by whatever name and port the browser reached it.
var at weburl.Site

// tokenField is the field of forms that has the token against forgery.
const tokenField = "authenticity_token"

// sheet is what every page has around its body.
type sheet struct {
	Title     string // of the window
	Heading   string // of the page, "" for none
	Badge     string // beside the heading, such as a state
	BadgeKind string // good, bad or ""
	Crumbs    []link // where the page stands
	Tabs      []tab
	TabsOf    string   // what the tabs are of, for those who hear the page
	Notice    string   // what was just done
	Errors    []string // what is wrong with the form
	API       string   // URL of the thing in the API, "" for none

	Messages []broadcast.Message // of the administrators
	Brand    brand

	User     string // who is signed in with a session, "" for no user
	Token    string // of forms
	Return   string // path of this page, for after the sign-on
	Language string
	Style    string
	Icon     string

	DarkCode string // class of the colours of code in dark mode
}

// link is a title that leads somewhere.
type link struct{ Title, URL string }

// tab is one of several pages about one thing.
type tab struct {
	link
	Current bool
}

// tabs marks the current one of several.
func tabs(current string, links ...link) []tab {
	out := make([]tab, len(links))
	for i, l := range links {
		out[i] = tab{l, l.Title == current}
	}
	return out
}

// stamp is a time as pages show it.
type stamp time.Time

func (t stamp) exact() string { return time.Time(t).UTC().Format(time.RFC3339) }
func (t stamp) short() string { return time.Time(t).UTC().Format("2 Jan 2006 15:04 UTC") }
