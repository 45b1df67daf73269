package authz

// The abilities on feature flags.
const (
	ReadFeatureFlag         Ability = "read_feature_flag"
	AdminFeatureFlag        Ability = "admin_feature_flag"
	ReadFeatureFlagsClient  Ability = "read_feature_flags_client"
	AdminFeatureFlagsClient Ability = "admin_feature_flags_client"
)

// featureFlagRules are those of the abilities on feature flags.
var featureFlagRules = map[Ability]Rule{
	ReadFeatureFlag:         {Min: Developer},
	AdminFeatureFlag:        {Min: Developer, Write: true},
	ReadFeatureFlagsClient:  {Min: Maintainer},
	AdminFeatureFlagsClient: {Min: Maintainer, Write: true},
}
