package authz

import "maps"

// Abilities on the instance itself.
const (
	ReadTopic       Ability = "read_topic"
	AdminTopics     Ability = "admin_topics"
	ReadAttributes  Ability = "read_custom_attributes"
	AdminAttributes Ability = "admin_custom_attributes"
	AdminSettings   Ability = "admin_application_settings"
	ReadUsage       Ability = "read_usage_of_instance"
	AdminLicense    Ability = "admin_license"
	ReadFeatures    Ability = "read_features"
	AdminFeatures   Ability = "admin_features"
	ReadBroadcasts  Ability = "read_broadcast_messages"
	AdminBroadcasts Ability = "admin_broadcast_messages"
	ReadAppearance  Ability = "read_appearance"
	AdminAppearance Ability = "admin_appearance"
	ReadQueues      Ability = "read_queue_metrics"
	ReadPlanLimits  Ability = "read_plan_limits"
	AdminPlanLimits Ability = "admin_plan_limits"

	ReadServiceAccounts  Ability = "read_service_accounts"
	AdminServiceAccounts Ability = "admin_service_accounts"
)

// instanceRules are those of the abilities on the instance itself.
var instanceRules = map[Ability]Rule{
	ReadTopic:       {Anyone: true},
	AdminTopics:     {Min: adminsOnly, Write: true},
	ReadAttributes:  {Min: adminsOnly},
	AdminAttributes: {Min: adminsOnly, Write: true},
	AdminSettings:   {Min: adminsOnly, Write: true},
	ReadUsage:       {Min: adminsOnly},
	AdminLicense:    {Min: adminsOnly, Write: true},
	ReadFeatures:    {Min: adminsOnly},
	AdminFeatures:   {Min: adminsOnly, Write: true},
	ReadBroadcasts:  {Anyone: true},
	AdminBroadcasts: {Min: adminsOnly, Write: true},
	ReadAppearance:  {Min: adminsOnly},
	AdminAppearance: {Min: adminsOnly, Write: true},
	ReadQueues:      {Min: adminsOnly},
	ReadPlanLimits:  {Min: adminsOnly},
	AdminPlanLimits: {Min: adminsOnly, Write: true},

	ReadServiceAccounts:  {Min: adminsOnly},
	AdminServiceAccounts: {Min: adminsOnly, Write: true},
}

// union joins parts of the permission table.
func union(parts ...map[Ability]Rule) map[Ability]Rule {
	out := map[Ability]Rule{}
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out
}
