package authz

// The abilities on environments and deployments.
const (
	ReadEnvironment        Ability = "read_environment"
	ReadPrivateEnvironment Ability = "read_environment_of_private_jobs"
	CreateEnvironment      Ability = "create_environment"
	UpdateEnvironment      Ability = "update_environment"
	StopEnvironment        Ability = "stop_environment"
	DestroyEnvironment     Ability = "destroy_environment"
	CreateDeployment       Ability = "create_deployment"
	UpdateDeployment       Ability = "update_deployment"
	DestroyDeployment      Ability = "destroy_deployment"
	ReadFreezePeriod       Ability = "read_freeze_period"
	AdminFreezePeriod      Ability = "admin_freeze_period"
	ApproveDeployment      Ability = "approve_deployment"
	RunDeployment          Ability = "run_deployment"

	ReadProtectedEnvironment       Ability = "read_protected_environment"
	AdminProtectedEnvironment      Ability = "admin_protected_environment"
	ReadGroupProtectedEnvironment  Ability = "read_group_protected_environment"
	AdminGroupProtectedEnvironment Ability = "admin_group_protected_environment"
)

// deployRules are those of the abilities on environments and deployments.
var deployRules = map[Ability]Rule{
	ReadEnvironment:        {SignedIn: true, Feature: Builds},
	ReadPrivateEnvironment: {Min: Reporter, Feature: Builds},
	CreateEnvironment:      {Min: Developer, Feature: Builds, Write: true},
	UpdateEnvironment:      {Min: Developer, Feature: Builds, Write: true},
	StopEnvironment:        {Min: Developer, Feature: Builds, Write: true},
	DestroyEnvironment:     {Min: Developer, Feature: Builds, Write: true},
	CreateDeployment:       {Min: Developer, Feature: Builds, Write: true},
	UpdateDeployment:       {Min: Developer, Feature: Builds, Write: true},
	DestroyDeployment:      {Min: Maintainer, Feature: Builds, Write: true},
	ReadFreezePeriod:       {Min: Reporter, Feature: Builds},
	AdminFreezePeriod:      {Min: Maintainer, Feature: Builds, Write: true},
	ApproveDeployment:      {Min: Reporter, Feature: Builds, Write: true}, // the rules of the environment decide further
	RunDeployment:          {Min: Reporter, Feature: Builds, Write: true}, // to play and retry jobs of a protected environment whose rules name the actor

	ReadProtectedEnvironment:       {Min: Maintainer},
	AdminProtectedEnvironment:      {Min: Maintainer, Write: true},
	ReadGroupProtectedEnvironment:  {Min: Owner},
	AdminGroupProtectedEnvironment: {Min: Owner, Write: true},
}
