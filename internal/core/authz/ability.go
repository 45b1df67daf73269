package authz

// Ability names one thing an actor may do, spelled as in docs/permissions.md.
type Ability string

// Level is an access level of the contract (facts-3 §2.1).
type Level int

// The levels a membership can give; NoAccess only stands in protection rules.
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

// Visibility says who sees a project or group without being a member.
type Visibility int

// The three visibility levels (facts-3 §3).
const (
	Private  Visibility = 0
	Internal Visibility = 10
	Public   Visibility = 20
)

// String gives the API's word for the visibility.
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
