package authz

// The abilities on imports of projects.
const (
	ImportProjects  Ability = "import_projects"      // anywhere
	ImportIntoGroup Ability = "import_projects_into" // a group
)

// importRules are those of the abilities on imports of projects.
var importRules = map[Ability]Rule{
	ImportProjects:  {SignedIn: true},
	ImportIntoGroup: {Min: Maintainer},
}
