package authz

import "strings"

// Level is an access level of the contract.
type Level int

// The levels a membership can give. NoAccess and AdminLevel stand in protection
// rules only.
const (
	NoAccess   Level = 0
	Minimal    Level = 5
	Guest      Level = 10
	Planner    Level = 15
	Reporter   Level = 20
	Developer  Level = 30
	Maintainer Level = 40
	Owner      Level = 50
	AdminLevel Level = 60
)

// LevelNamed returns the level whose name is a word, with _ for spaces and without regard to case.
func LevelNamed(word string) (Level, bool) {
	for _, l := range []Level{NoAccess, Minimal, Guest, Planner, Reporter, Developer, Maintainer, Owner, AdminLevel} {
		if strings.EqualFold(strings.ReplaceAll(l.Name(), " ", "_"), word) {
			return l, true
		}
	}
	return NoAccess, false
}

// Assignable reports whether a membership may carry the level.
func (l Level) Assignable() bool {
	switch l {
	case Minimal, Guest, Planner, Reporter, Developer, Maintainer, Owner:
		return true
	}
	return false
}

// Name returns the level's word in messages, "Maintainer".
func (l Level) Name() string {
	switch l {
	case Minimal:
		return "Minimal Access"
	case Guest:
		return "Guest"
	case Planner:
		return "Planner"
	case Reporter:
		return "Reporter"
	case Developer:
		return "Developer"
	case Maintainer:
		return "Maintainer"
	case Owner:
		return "Owner"
	case AdminLevel:
		return "Admin"
	}
	return "No access"
}

// Visibility says who sees a project or group without being a member.
type Visibility int

// The three visibility levels.
const (
	Private  Visibility = 0
	Internal Visibility = 10
	Public   Visibility = 20
)

// String returns the API's word for the visibility.
func (v Visibility) String() string {
	switch v {
	case Public:
		return "public"
	case Internal:
		return "internal"
	default:
		return "private"
	}
}

// ParseVisibility reads the API's word.
func ParseVisibility(word string) (Visibility, bool) {
	switch word {
	case "public":
		return Public, true
	case "internal":
		return Internal, true
	case "private":
		return Private, true
	}
	return Private, false
}

// Feature is a part of a project that can be switched off or kept to members.
type Feature int

// The features whose access a permission depends on; NoFeature depends on none.
const (
	NoFeature Feature = iota
	Issues
	MergeRequests
	Repository
	Wiki
	Builds
	Snippets
	Forking
)

// FeatureAccess says who may use a feature of a project they can see.
type FeatureAccess int

// The levels in the order of openness.
const (
	FeatureDisabled FeatureAccess = 0
	FeatureMembers  FeatureAccess = 10
	FeatureEnabled  FeatureAccess = 20
)

// String returns the API's word: disabled, private or enabled.
func (f FeatureAccess) String() string {
	switch f {
	case FeatureDisabled:
		return "disabled"
	case FeatureMembers:
		return "private"
	default:
		return "enabled"
	}
}

// admits reports whether an actor who sees the project with a level may use what has the access.
func (f FeatureAccess) admits(as Actor, level Level) bool {
	return f > FeatureDisabled && (f > FeatureMembers || level >= Guest || as.Admin || as.Auditor)
}

// Features holds the access of each feature of one project, by the columns that keep it.
type Features struct {
	IssuesAccess        FeatureAccess `db:"issues_access"`
	MergeRequestsAccess FeatureAccess `db:"merge_requests_access"`
	RepositoryAccess    FeatureAccess `db:"repository_access"`
	ForkingAccess       FeatureAccess `db:"forking_access"`
	WikiAccess          FeatureAccess `db:"wiki_access"`
	BuildsAccess        FeatureAccess `db:"builds_access"`
	SnippetsAccess      FeatureAccess `db:"snippets_access"`
}

// Of returns the access of a feature; NoFeature is disabled.
func (f Features) Of(feature Feature) FeatureAccess {
	if at := f.at(feature); at != nil {
		return *at
	}
	return FeatureDisabled
}

// Set changes the access of a feature.
func (f *Features) Set(feature Feature, access FeatureAccess) {
	if at := f.at(feature); at != nil {
		*at = access
	}
}

func (f *Features) at(feature Feature) *FeatureAccess {
	switch feature {
	case Issues:
		return &f.IssuesAccess
	case MergeRequests:
		return &f.MergeRequestsAccess
	case Repository:
		return &f.RepositoryAccess
	case Forking:
		return &f.ForkingAccess
	case Wiki:
		return &f.WikiAccess
	case Builds:
		return &f.BuildsAccess
	case Snippets:
		return &f.SnippetsAccess
	}
	return nil
}

// AllEnabled are the features of a new project.
func AllEnabled() Features {
	return Features{FeatureEnabled, FeatureEnabled, FeatureEnabled, FeatureEnabled, FeatureEnabled, FeatureEnabled, FeatureEnabled}
}
