package authz

// The abilities on packages and Debian distributions.
const (
	ReadPackage             Ability = "read_package"
	ReadPrivatePackage      Ability = "read_package_of_members"
	CreatePackage           Ability = "create_package"
	DestroyPackage          Ability = "destroy_package"
	ReadPackageRule         Ability = "read_package_protection_rule"
	AdminPackageRule        Ability = "admin_package_protection_rule"
	ReadGroupPackage        Ability = "read_group_package"
	ReadPrivateGroupPackage Ability = "read_group_package_of_members"
	CreateGroupPackage      Ability = "create_group_package"
	DestroyGroupPackage     Ability = "destroy_group_package"
)

// packageRules are those of the abilities on packages. What is for members is so in private projects and groups, and where the registry is
// for members alone.
var packageRules = map[Ability]Rule{
	ReadPackage:             {Anyone: true, Deploy: true, Job: true},
	ReadPrivatePackage:      {Min: Reporter, Deploy: true, Job: true},
	CreatePackage:           {Min: Developer, Write: true, Deploy: true, Token: ScopeWritePackages, Job: true},
	DestroyPackage:          {Min: Maintainer, Write: true, Job: true},
	ReadPackageRule:         {Min: Maintainer},
	AdminPackageRule:        {Min: Maintainer, Write: true},
	ReadGroupPackage:        {Anyone: true, Deploy: true, Job: true},
	ReadPrivateGroupPackage: {Min: Reporter, Deploy: true, Job: true},
	CreateGroupPackage:      {Min: Developer, Write: true, Deploy: true, Token: ScopeWritePackages},
	DestroyGroupPackage:     {Min: Maintainer, Write: true},
}
