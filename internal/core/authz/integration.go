package authz

// Abilities on integrations of a project, and on hooks.
const (
	ReadIntegrations  Ability = "read_integrations"
	AdminIntegrations Ability = "admin_integrations"

	ReadHooks        Ability = "read_web_hooks"
	AdminHooks       Ability = "admin_web_hooks"
	ReadGroupHooks   Ability = "read_group_web_hooks"
	AdminGroupHooks  Ability = "admin_group_web_hooks"
	ReadSystemHooks  Ability = "read_system_hooks"
	AdminSystemHooks Ability = "admin_system_hooks"
)

// integrationRules are those of the abilities on integrations and hooks.
var integrationRules = map[Ability]Rule{
	ReadIntegrations:  {Min: Maintainer},
	AdminIntegrations: {Min: Maintainer, Write: true},

	ReadHooks:        {Min: Maintainer},
	AdminHooks:       {Min: Maintainer, Write: true},
	ReadGroupHooks:   {Min: Owner},
	AdminGroupHooks:  {Min: Owner, Write: true},
	ReadSystemHooks:  {Min: adminsOnly},
	AdminSystemHooks: {Min: adminsOnly, Write: true},
}
