package authz

// Abilities on releases.
const (
	ReadRelease       Ability = "read_release"
	CreateRelease     Ability = "create_release"
	UpdateRelease     Ability = "update_release"
	DeleteRelease     Ability = "delete_release"
	ReadGroupReleases Ability = "read_group_releases"
)

// releaseRules are those of the abilities on releases. What of a release shows the code is for those who read it.
var releaseRules = map[Ability]Rule{
	ReadRelease:       {Anyone: true, Job: true},
	CreateRelease:     {Min: Developer, Write: true, Job: true},
	UpdateRelease:     {Min: Developer, Write: true, Job: true},
	DeleteRelease:     {Min: Developer, Write: true, Job: true},
	ReadGroupReleases: {Min: Guest},
}
