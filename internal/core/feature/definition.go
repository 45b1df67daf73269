package feature

// Definition is a feature that the server asks about.
type Definition struct {
	Name           string `json:"name"`
	Type           string `json:"type"`
	Group          string `json:"group"`
	DefaultEnabled bool   `json:"default_enabled"` // where no gate was set
}

// ChangelogLimit bounds the commits that a section of a changelog may read.
const ChangelogLimit = "changelog_commits_limitation"

// definitions are the features of this release by name.
var definitions = []Definition{
	{Name: ChangelogLimit, Type: "development", Group: "group::source code", DefaultEnabled: true},
}

// Define returns the definition of a feature, nil where it has none.
func Define(name string) *Definition {
	for i := range definitions {
		if definitions[i].Name == name {
			return &definitions[i]
		}
	}
	return nil
}
