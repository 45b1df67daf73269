package authz

// The abilities on exports and imports.
const (
	ExportProject   Ability = "export_project"
	ExportGroup     Ability = "export_group"
	ImportProjects  Ability = "import_projects"      // anywhere
	ImportIntoGroup Ability = "import_projects_into" // a group

	TransferDirectly Ability = "transfer_directly" // from other servers
)

// importRules are those of the abilities on exports and imports.
var importRules = map[Ability]Rule{
	ExportProject:   {Min: Maintainer, Change: true},
	ExportGroup:     {Min: Owner, Change: true},
	ImportProjects:  {SignedIn: true},
	ImportIntoGroup: {Min: Maintainer},

	TransferDirectly: {SignedIn: true},
}
