package setting

// pages holds the settings of pages, Markdown and mail.
type pages struct {
	HomePageURL                                *string  `setting:"home_page_url" default:"null" format:"url" effect:"the first page of visitors" doc:"URL of the first page of users who are not signed in"`
	AfterSignOutPath                           *string  `setting:"after_sign_out_path" default:"null" format:"url" effect:"the page after sign-out" doc:"URL of the page after sign-out"`
	AbuseNotificationEmail                     *string  `setting:"abuse_notification_email" default:"null" format:"email" alias:"admin_notification_email" area:"spam filters" doc:"Address of abuse reports"`
	HelpPageText                               *string  `setting:"help_page_text" default:"null" chars:"10000" effect:"the help page" doc:"Text on the help page, in Markdown"`
	HelpText                                   *string  `setting:"help_text" default:"null" chars:"10000" effect:"the help page" doc:"Text of the help"`
	HelpPageHideCommercialContent              bool     `setting:"help_page_hide_commercial_content" default:"false" area:"telemetry" doc:"Hide marketing on the help page"`
	HelpPageSupportURL                         *string  `setting:"help_page_support_url" default:"null" format:"url" effect:"the help page" doc:"URL of support on the help page"`
	HelpPageDocumentationBaseURL               *string  `setting:"help_page_documentation_base_url" default:"null" format:"url" effect:"the help page" doc:"URL of the documentation"`
	SecurityTxtContent                         *string  `setting:"security_txt_content" default:"null" chars:"2048" effect:"GET /.well-known/security.txt" doc:"Content of security.txt"`
	HideThirdPartyOffers                       bool     `setting:"hide_third_party_offers" default:"false" area:"telemetry" doc:"Hide offers of third parties"`
	HTMLEmailsEnabled                          bool     `setting:"html_emails_enabled" default:"true" effect:"mail" doc:"Send mail as HTML too"`
	EmailAuthorInBody                          bool     `setting:"email_author_in_body" default:"false" effect:"mail" doc:"Name the author in the body of mail"`
	EmailAdditionalText                        *string  `setting:"email_additional_text" default:"null" chars:"10000" effect:"mail" doc:"Text at the end of mail"`
	LocalMarkdownVersion                       int      `setting:"local_markdown_version" default:"0" min:"0" max:"65535" effect:"the cache of rendered Markdown" doc:"Number whose change renders Markdown anew"`
	AssetProxyEnabled                          bool     `setting:"asset_proxy_enabled" default:"false" needs:"asset_proxy_url,asset_proxy_secret_key" effect:"pictures, videos and sounds of other sites in Markdown" doc:"Fetch external images through a proxy"`
	AssetProxyURL                              *string  `setting:"asset_proxy_url" default:"null" format:"url" effect:"pictures, videos and sounds of other sites in Markdown" doc:"URL of the asset proxy"`
	AssetProxySecretKey                        *string  `setting:"asset_proxy_secret_key" default:"null" secret:"true" hidden:"true" effect:"pictures, videos and sounds of other sites in Markdown" doc:"Secret shared with the asset proxy; never returned"`
	AssetProxyAllowlist                        []string `setting:"asset_proxy_allowlist" default:"null" null:"true" alias:"asset_proxy_whitelist" split:"true" effect:"pictures, videos and sounds of other sites in Markdown" doc:"Domains whose images are not proxied"`
	PollingIntervalMultiplier                  float64  `setting:"polling_interval_multiplier" default:"1" effect:"pages of pipelines and jobs that are going on; 0 has browsers ask for no changes" doc:"Factor of the intervals in which pages ask for changes"`
	PerformanceBarAllowedGroupID               *int     `setting:"performance_bar_allowed_group_id" default:"null" min:"0" readonly:"true" area:"telemetry" doc:"Group whose members see the performance bar"`
	MaintenanceMode                            bool     `setting:"maintenance_mode" default:"false" effect:"all changes: REST, GraphQL, pages, pushes, Git LFS, requests of runners for jobs, and jobs of the server" doc:"Refuse all changes"`
	MaintenanceModeMessage                     *string  `setting:"maintenance_mode_message" default:"null" chars:"255" effect:"what is answered in maintenance mode" doc:"Message while maintenance mode is on"`
	PrometheusMetricsEnabled                   bool     `setting:"prometheus_metrics_enabled" default:"true" effect:"GET /-/metrics" doc:"Serve metrics"`
	MetricsMethodCallThreshold                 int      `setting:"metrics_method_call_threshold" default:"10" min:"0" area:"telemetry" doc:"Milliseconds from which method calls are measured"`
	DefaultSearchScope                         string   `setting:"default_search_scope" default:"system default" area:"search engines" doc:"Scope of searches that do not name one"`
	AnonymousSearchesAllowed                   bool     `setting:"anonymous_searches_allowed" default:"true" effect:"searches for projects and groups of the whole instance by users who are not signed in: REST, GraphQL and pages" doc:"Users who are not signed in may search"`
	IframeRenderingEnabled                     bool     `setting:"iframe_rendering_enabled" default:"false" effect:"pictures in Markdown whose address is a page of an allowed site" doc:"Show frames of allowed sites in Markdown"`
	IframeRenderingAllowlist                   []string `setting:"iframe_rendering_allowlist" default:"null" null:"true" effect:"pictures in Markdown whose address is a page of an allowed site" doc:"Sites whose frames are shown: hosts, perhaps with a port"`
	EnableLanguageServerRestrictions           bool     `setting:"enable_language_server_restrictions" default:"false" area:"language server of editors" doc:"Require a version of the language server of editors"`
	MinimumLanguageServerVersion               string   `setting:"minimum_language_server_version" default:"0.1.0" area:"language server of editors" doc:"Minimum version of the language server of editors"`
	EnabledExpandedLogging                     *string  `setting:"enabled_expanded_logging" default:"null" area:"telemetry" doc:"Expanded logging"`
	GitlabDedicatedInstance                    bool     `setting:"gitlab_dedicated_instance" default:"false" area:"telemetry" doc:"Mark the instance as a dedicated one"`
	GitlabEnvironmentToolkitInstance           bool     `setting:"gitlab_environment_toolkit_instance" default:"false" area:"telemetry" doc:"Mark the instance as made with a toolkit"`
	SidekiqJobLimiterMode                      string   `setting:"sidekiq_job_limiter_mode" default:"compress" options:"track,compress" effect:"arguments of jobs: compressed and bounded, or only logged" doc:"What is done with large jobs: compress or track"`
	SidekiqJobLimiterCompressionThresholdBytes int      `setting:"sidekiq_job_limiter_compression_threshold_bytes" default:"100000" min:"0" effect:"arguments of jobs in the mode compress" doc:"Size in bytes from which jobs are compressed"`
	SidekiqJobLimiterLimitBytes                int      `setting:"sidekiq_job_limiter_limit_bytes" default:"0" min:"0" effect:"arguments of jobs as they are stored; ones of up to 1 KiB are never refused" doc:"Maximum size of a job in bytes; 0 is unlimited"`
}
