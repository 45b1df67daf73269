package authz

// Abilities on integrations of a project.
const (
	ReadIntegrations  Ability = "read_integrations"
	AdminIntegrations Ability = "admin_integrations"
)

// integrationRules are those of the abilities on integrations.
var integrationRules = map[Ability]Rule{
	ReadIntegrations:  {Min: Maintainer},
	AdminIntegrations: {Min: Maintainer, Write: true},
}
