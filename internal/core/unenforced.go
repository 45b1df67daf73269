package core

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// Unenforced is an attribute that promises a restriction and that nothing obeys yet, because its area is missing. It is stored,
// since clients send it.
type Unenforced struct {
	Of     string // project, group or user
	Name   string // as in the API
	Reason string

	query string // counts the rows that ask for it
}

const (
	noSecondFactors = "there are no second factors"
	noMinutes       = "compute minutes are not counted"
	noArea          = "the server has no such area yet"
)

// unenforced lists them all.
var unenforced = []Unenforced{
	{"group", "require_two_factor_authentication", noSecondFactors, "SELECT COUNT(*) FROM groups WHERE require_two_factor_authentication"},
	{"group", "two_factor_grace_period", noSecondFactors, ""},
	{"group", "shared_runners_minutes_limit", noMinutes, settingsWith("groups", "shared_runners_minutes_limit", "")},
	{"group", "extra_shared_runners_minutes_limit", noMinutes, ""},
	{"user", "shared_runners_minutes_limit", noMinutes, "SELECT COUNT(*) FROM users WHERE shared_runners_minutes_limit > 0"},
	{"user", "extra_shared_runners_minutes_limit", noMinutes, ""},
	{"project", "prevent_merge_without_jira_issue", "there is no Jira integration", settingsWith("projects", "prevent_merge_without_jira_issue", "true")},
	{"project", "pages_access_level", noArea, ""},
	{"project", "analytics_access_level", noArea, ""},
	{"project", "container_registry_access_level", noArea, ""},
	{"project", "security_and_compliance_access_level", noArea, ""},
	{"project", "infrastructure_access_level", noArea, ""},
	{"project", "monitor_access_level", noArea, ""},
	{"project", "model_experiments_access_level", noArea, ""},
	{"project", "model_registry_access_level", noArea, ""},
	{"project", "requirements_access_level", noArea, ""},
}

// settingsWith counts the rows of a table whose settings name one, with a value that is not null.
func settingsWith(table, name, value string) string {
	query := "SELECT COUNT(*) FROM " + table + ` WHERE settings LIKE '%"` + name + `":` + value + "%'"
	if value == "" {
		query += ` AND settings NOT LIKE '%"` + name + `":null%'`
	}
	return query
}

// AllUnenforced lists the attributes that promise a restriction and are not obeyed.
func AllUnenforced() []Unenforced { return append([]Unenforced(nil), unenforced...) }

// UnenforcedUse is how many projects, groups or users ask for a restriction that is not obeyed.
type UnenforcedUse struct {
	Of     string `json:"of"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// UnenforcedUses counts who asks for restrictions that are not obeyed, and leaves out what no row asks for. It is for the
// operator of the server, and asks for no permission.
func UnenforcedUses(ctx context.Context, d *db.DB) ([]UnenforcedUse, error) {
	var out []UnenforcedUse
	for _, u := range unenforced {
		if u.query == "" {
			continue
		}
		n, err := db.Get[int64](ctx, d, u.query)
		if err != nil {
			return nil, fmt.Errorf("count %s of %ss: %w", u.Name, u.Of, err)
		}
		if n > 0 {
			out = append(out, UnenforcedUse{u.Of, u.Name, u.Reason, n})
		}
	}
	return out, nil
}
