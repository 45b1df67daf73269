package authz

// Abilities on the instance itself.
const (
	ReadTopic       Ability = "read_topic"
	AdminTopics     Ability = "admin_topics"
	ReadAttributes  Ability = "read_custom_attributes"
	AdminAttributes Ability = "admin_custom_attributes"
	AdminSettings   Ability = "admin_application_settings"
	ReadUsage       Ability = "read_usage_of_instance"
	AdminLicense    Ability = "admin_license"
)
