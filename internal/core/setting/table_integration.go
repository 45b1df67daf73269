package setting

// integrations holds the settings of integrations and of services beside the server.
type integrations struct {
	AllowAllIntegrations                         bool            `setting:"allow_all_integrations" default:"true" effect:"integrations of projects and groups; those that are not allowed are not called, listed or set up, and act again when they are" doc:"Allow all integrations"`
	AllowedIntegrations                          []string        `setting:"allowed_integrations" default:"[]" effect:"integrations of projects and groups" doc:"Integrations that are allowed where not all are, such as emails_on_push"`
	JiraConnectApplicationKey                    *string         `setting:"jira_connect_application_key" default:"null" chars:"255" area:"apps of Jira and Slack" doc:"Key of the OAuth application of Jira"`
	JiraConnectAdditionalAudienceURL             *string         `setting:"jira_connect_additional_audience_url" default:"null" format:"url" area:"apps of Jira and Slack" doc:"Additional audience of tokens of Jira"`
	JiraConnectProxyURL                          *string         `setting:"jira_connect_proxy_url" default:"null" chars:"255" format:"url" area:"apps of Jira and Slack" doc:"URL of the proxy of Jira"`
	JiraConnectPublicKeyStorageEnabled           bool            `setting:"jira_connect_public_key_storage_enabled" default:"false" area:"apps of Jira and Slack" doc:"Keep public keys of Jira"`
	SlackAppEnabled                              bool            `setting:"slack_app_enabled" default:"false" with:"slack_app_id,slack_app_secret,slack_app_signing_secret,slack_app_verification_token" area:"apps of Jira and Slack" doc:"Enable the Slack app"`
	SlackAppID                                   *string         `setting:"slack_app_id" default:"null" area:"apps of Jira and Slack" doc:"Client ID of the Slack app"`
	SlackAppSecret                               *string         `setting:"slack_app_secret" default:"null" secret:"true" area:"apps of Jira and Slack" doc:"Client secret of the Slack app"`
	SlackAppSigningSecret                        *string         `setting:"slack_app_signing_secret" default:"null" secret:"true" area:"apps of Jira and Slack" doc:"Signing secret of the Slack app"`
	SlackAppVerificationToken                    *string         `setting:"slack_app_verification_token" default:"null" secret:"true" area:"apps of Jira and Slack" doc:"Verification token of the Slack app"`
	MailgunEventsEnabled                         bool            `setting:"mailgun_events_enabled" default:"false" with:"mailgun_signing_key" area:"incoming mail" doc:"Take events of Mailgun"`
	MailgunSigningKey                            *string         `setting:"mailgun_signing_key" default:"null" secret:"true" area:"incoming mail" doc:"Signing key of Mailgun"`
	PlantUMLEnabled                              bool            `setting:"plantuml_enabled" default:"false" with:"plantuml_url" needs:"plantuml_url" area:"diagram services" doc:"Render PlantUML diagrams"`
	PlantUMLURL                                  *string         `setting:"plantuml_url" default:"null" format:"url" area:"diagram services" doc:"URL of the PlantUML server"`
	KrokiEnabled                                 bool            `setting:"kroki_enabled" default:"false" with:"kroki_url" needs:"kroki_url" area:"diagram services" doc:"Render diagrams with Kroki"`
	KrokiURL                                     *string         `setting:"kroki_url" default:"null" format:"url" area:"diagram services" doc:"URL of the Kroki server"`
	KrokiFormats                                 map[string]bool `setting:"kroki_formats" default:"{\"blockdiag\":false,\"bpmn\":false,\"excalidraw\":false,\"mermaid\":false}" area:"diagram services" doc:"Formats that Kroki renders beside its own"`
	DiagramsnetEnabled                           bool            `setting:"diagramsnet_enabled" default:"true" with:"diagramsnet_url" needs:"diagramsnet_url" area:"diagram services" doc:"Edit diagrams with diagrams.net"`
	DiagramsnetURL                               string          `setting:"diagramsnet_url" default:"https://embed.diagrams.net" format:"url" area:"diagram services" doc:"URL of diagrams.net"`
	GitpodEnabled                                bool            `setting:"gitpod_enabled" default:"false" with:"gitpod_url" needs:"gitpod_url" area:"cloud development environments" doc:"Enable Gitpod"`
	GitpodURL                                    string          `setting:"gitpod_url" default:"https://gitpod.io/" format:"url" area:"cloud development environments" doc:"URL of Gitpod"`
	SourcegraphEnabled                           bool            `setting:"sourcegraph_enabled" default:"false" with:"sourcegraph_url" needs:"sourcegraph_url" area:"code intelligence" doc:"Enable Sourcegraph"`
	SourcegraphPublicOnly                        bool            `setting:"sourcegraph_public_only" default:"true" area:"code intelligence" doc:"Use Sourcegraph for public projects only"`
	SourcegraphURL                               *string         `setting:"sourcegraph_url" default:"null" format:"url" area:"code intelligence" doc:"URL of Sourcegraph"`
	GrafanaEnabled                               bool            `setting:"grafana_enabled" default:"false" area:"monitoring" doc:"Link to Grafana"`
	GrafanaURL                                   string          `setting:"grafana_url" default:"/-/grafana" area:"monitoring" doc:"Path or URL of Grafana"`
	ErrorTrackingEnabled                         bool            `setting:"error_tracking_enabled" default:"false" area:"error tracking" doc:"Enable error tracking"`
	ErrorTrackingAPIURL                          *string         `setting:"error_tracking_api_url" default:"null" format:"url" area:"error tracking" doc:"URL of the error tracking service"`
	OrganizationClusterAgentAuthorizationEnabled bool            `setting:"organization_cluster_agent_authorization_enabled" default:"false" area:"cloud clusters" doc:"Authorize cluster agents for organizations"`
	EKSIntegrationEnabled                        bool            `setting:"eks_integration_enabled" default:"false" with:"eks_account_id,eks_access_key_id,eks_secret_access_key" area:"cloud clusters" doc:"Create clusters at Amazon"`
	EKSAccountID                                 *string         `setting:"eks_account_id" default:"null" area:"cloud clusters" doc:"Account of Amazon"`
	EKSAccessKeyID                               *string         `setting:"eks_access_key_id" default:"null" area:"cloud clusters" doc:"Access key ID of Amazon"`
	EKSSecretAccessKey                           *string         `setting:"eks_secret_access_key" default:"null" secret:"true" hidden:"true" area:"cloud clusters" doc:"Secret access key of Amazon; never returned"`
}
