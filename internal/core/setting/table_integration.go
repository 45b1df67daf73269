package setting

// integrations holds the settings of integrations and of services beside the server.
type integrations struct {
	AllowAllIntegrations                         bool            `setting:"allow_all_integrations" default:"true" later:"integrations" doc:"Allow all integrations"`
	AllowedIntegrations                          []string        `setting:"allowed_integrations" default:"[]" later:"integrations" doc:"Integrations that are allowed where not all are"`
	JiraConnectApplicationKey                    *string         `setting:"jira_connect_application_key" default:"null" chars:"255" later:"integrations" doc:"Key of the OAuth application of Jira"`
	JiraConnectAdditionalAudienceURL             *string         `setting:"jira_connect_additional_audience_url" default:"null" format:"url" later:"integrations" doc:"Additional audience of tokens of Jira"`
	JiraConnectProxyURL                          *string         `setting:"jira_connect_proxy_url" default:"null" chars:"255" format:"url" later:"integrations" doc:"URL of the proxy of Jira"`
	JiraConnectPublicKeyStorageEnabled           bool            `setting:"jira_connect_public_key_storage_enabled" default:"false" later:"integrations" doc:"Keep public keys of Jira"`
	SlackAppEnabled                              bool            `setting:"slack_app_enabled" default:"false" with:"slack_app_id,slack_app_secret,slack_app_signing_secret,slack_app_verification_token" later:"integrations" doc:"Enable the Slack app"`
	SlackAppID                                   *string         `setting:"slack_app_id" default:"null" later:"integrations" doc:"Client ID of the Slack app"`
	SlackAppSecret                               *string         `setting:"slack_app_secret" default:"null" secret:"true" later:"integrations" doc:"Client secret of the Slack app"`
	SlackAppSigningSecret                        *string         `setting:"slack_app_signing_secret" default:"null" secret:"true" later:"integrations" doc:"Signing secret of the Slack app"`
	SlackAppVerificationToken                    *string         `setting:"slack_app_verification_token" default:"null" secret:"true" later:"integrations" doc:"Verification token of the Slack app"`
	MailgunEventsEnabled                         bool            `setting:"mailgun_events_enabled" default:"false" with:"mailgun_signing_key" later:"integrations" doc:"Take events of Mailgun"`
	MailgunSigningKey                            *string         `setting:"mailgun_signing_key" default:"null" secret:"true" later:"integrations" doc:"Signing key of Mailgun"`
	PlantUMLEnabled                              bool            `setting:"plantuml_enabled" default:"false" with:"plantuml_url" needs:"plantuml_url" later:"integrations" doc:"Render PlantUML diagrams"`
	PlantUMLURL                                  *string         `setting:"plantuml_url" default:"null" format:"url" later:"integrations" doc:"URL of the PlantUML server"`
	KrokiEnabled                                 bool            `setting:"kroki_enabled" default:"false" with:"kroki_url" needs:"kroki_url" later:"integrations" doc:"Render diagrams with Kroki"`
	KrokiURL                                     *string         `setting:"kroki_url" default:"null" format:"url" later:"integrations" doc:"URL of the Kroki server"`
	KrokiFormats                                 map[string]bool `setting:"kroki_formats" default:"{\"blockdiag\":false,\"bpmn\":false,\"excalidraw\":false,\"mermaid\":false}" later:"integrations" doc:"Formats that Kroki renders beside its own"`
	DiagramsnetEnabled                           bool            `setting:"diagramsnet_enabled" default:"true" with:"diagramsnet_url" needs:"diagramsnet_url" later:"integrations" doc:"Edit diagrams with diagrams.net"`
	DiagramsnetURL                               string          `setting:"diagramsnet_url" default:"https://embed.diagrams.net" format:"url" later:"integrations" doc:"URL of diagrams.net"`
	GitpodEnabled                                bool            `setting:"gitpod_enabled" default:"false" with:"gitpod_url" needs:"gitpod_url" later:"integrations" doc:"Enable Gitpod"`
	GitpodURL                                    string          `setting:"gitpod_url" default:"https://gitpod.io/" format:"url" later:"integrations" doc:"URL of Gitpod"`
	SourcegraphEnabled                           bool            `setting:"sourcegraph_enabled" default:"false" with:"sourcegraph_url" needs:"sourcegraph_url" later:"integrations" doc:"Enable Sourcegraph"`
	SourcegraphPublicOnly                        bool            `setting:"sourcegraph_public_only" default:"true" later:"integrations" doc:"Use Sourcegraph for public projects only"`
	SourcegraphURL                               *string         `setting:"sourcegraph_url" default:"null" format:"url" later:"integrations" doc:"URL of Sourcegraph"`
	GrafanaEnabled                               bool            `setting:"grafana_enabled" default:"false" later:"integrations" doc:"Link to Grafana"`
	GrafanaURL                                   string          `setting:"grafana_url" default:"/-/grafana" later:"integrations" doc:"Path or URL of Grafana"`
	ErrorTrackingEnabled                         bool            `setting:"error_tracking_enabled" default:"false" later:"integrations" doc:"Enable error tracking"`
	ErrorTrackingAPIURL                          *string         `setting:"error_tracking_api_url" default:"null" format:"url" later:"integrations" doc:"URL of the error tracking service"`
	OrganizationClusterAgentAuthorizationEnabled bool            `setting:"organization_cluster_agent_authorization_enabled" default:"false" area:"cloud clusters" doc:"Authorize cluster agents for organizations"`
	EKSIntegrationEnabled                        bool            `setting:"eks_integration_enabled" default:"false" with:"eks_account_id,eks_access_key_id,eks_secret_access_key" area:"cloud clusters" doc:"Create clusters at Amazon"`
	EKSAccountID                                 *string         `setting:"eks_account_id" default:"null" area:"cloud clusters" doc:"Account of Amazon"`
	EKSAccessKeyID                               *string         `setting:"eks_access_key_id" default:"null" area:"cloud clusters" doc:"Access key ID of Amazon"`
	EKSSecretAccessKey                           *string         `setting:"eks_secret_access_key" default:"null" secret:"true" hidden:"true" area:"cloud clusters" doc:"Secret access key of Amazon; never returned"`
}
