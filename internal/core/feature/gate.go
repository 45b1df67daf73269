package feature

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a feature whose gates were set.
type ID int64

// Feature has the gates of a feature. It is enabled for an actor that one of them lets through.
type Feature struct {
	ID        ID              `db:"id"`
	Name      string          `db:"name"`
	Enabled   bool            `db:"enabled"`              // for all
	Actors    db.List[string] `db:"actors"`               // such as User:1
	Groups    db.List[string] `db:"actor_groups"`         // such as administrators
	OfActors  int64           `db:"percentage_of_actors"` // of all actors, always the same ones
	OfTime    int64           `db:"percentage_of_time"`   // of all questions
	CreatedAt db.Time         `db:"created_at"`
	UpdatedAt db.Time         `db:"updated_at"`
}

// About is the feature as the subject of an event.
func (f Feature) About() change.Subject {
	return change.Subject{Type: "Feature::FlipperFeature", ID: int64(f.ID), Title: f.Name}
}

// States of a feature.
const (
	On          = "on"
	Off         = "off"
	Conditional = "conditional"
)

// State says for whom the feature is enabled: all, none, or some.
func (f *Feature) State() string {
	switch {
	case f.Enabled || f.OfTime == whole:
		return On
	case len(f.Actors)+len(f.Groups) > 0 || f.OfActors > 0 || f.OfTime > 0:
		return Conditional
	}
	return Off
}

const whole = 100 // percent

// Administrators is the group of the actors who are administrators, the only one.
const Administrators = "administrators"

// Actor is who or what a feature may be enabled for; the zero value is none.
type Actor struct {
	id     string // such as User:1
	groups []string
}

// By is the user of a request.
func By(as authz.Actor) Actor {
	var a Actor
	if as.SignedIn() {
		a.id = actorID("User", int64(as.UserID))
	}
	if as.Admin {
		a.groups = []string{Administrators}
	}
	return a
}

// In is a group or project.
func In(at authz.Place) Actor {
	if at.Group {
		return Actor{id: actorID("Group", at.ID)}
	}
	return Actor{id: actorID("Project", at.ID)}
}

func actorID(kind string, id int64) string { return kind + ":" + strconv.FormatInt(id, 10) }

// open reports whether a gate lets one of the actors through.
func (f *Feature) open(actors []Actor) bool {
	if f.Enabled || f.OfTime > rand.Int64N(whole) {
		return true
	}
	return slices.ContainsFunc(actors, func(a Actor) bool {
		return a.id != "" && (slices.Contains(f.Actors, a.id) || f.share(a.id) < f.OfActors) ||
			slices.ContainsFunc(a.groups, func(name string) bool { return slices.Contains(f.Groups, name) })
	})
}

// share is a number below 100 that an actor has for a feature.
func (f *Feature) share(actor string) int64 {
	return int64(crc32.ChecksumIEEE([]byte(f.Name+"\n"+actor)) % whole)
}

// Gates are what a call sets of a feature.
type Gates struct {
	Value string // true, false, or a percentage
	Key   string // what a percentage is of: percentage_of_actors, or percentage_of_time, also where it is ""

	// For these alone, where there are any. Each may name several, separated by commas: users by
	// username, all others by path.
	FeatureGroups, Users, Groups, Namespaces, Projects, Repositories string
}

// targeted reports whether the gates are for some actors.
func (g *Gates) targeted() bool {
	return g.FeatureGroups+g.Users+g.Groups+g.Namespaces+g.Projects+g.Repositories != ""
}

func names(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
