package setting

// absent holds the settings of areas that this server does not have.
type absent struct {
	AkismetAPIKey                                     *string  `setting:"akismet_api_key" default:"null" secret:"true" area:"spam filters" doc:"API key of Akismet"`
	AkismetEnabled                                    bool     `setting:"akismet_enabled" default:"false" with:"akismet_api_key" area:"spam filters" doc:"Check spam with Akismet"`
	AllowPossibleSpam                                 bool     `setting:"allow_possible_spam" default:"false" area:"spam filters" doc:"Store what looks like spam"`
	InvisibleCaptchaEnabled                           bool     `setting:"invisible_captcha_enabled" default:"false" area:"spam filters" doc:"Hide a trap for spammers in the sign-up form"`
	RecaptchaEnabled                                  bool     `setting:"recaptcha_enabled" default:"false" with:"recaptcha_site_key,recaptcha_private_key" area:"spam filters" doc:"Ask for a reCAPTCHA"`
	RecaptchaPrivateKey                               *string  `setting:"recaptcha_private_key" default:"null" secret:"true" area:"spam filters" doc:"Private key of reCAPTCHA"`
	RecaptchaSiteKey                                  *string  `setting:"recaptcha_site_key" default:"null" area:"spam filters" doc:"Site key of reCAPTCHA"`
	LoginRecaptchaProtectionEnabled                   bool     `setting:"login_recaptcha_protection_enabled" default:"false" with:"recaptcha_site_key,recaptcha_private_key" area:"spam filters" doc:"Ask for a reCAPTCHA at sign-in"`
	SpamCheckAPIKey                                   *string  `setting:"spam_check_api_key" default:"null" chars:"2000" secret:"true" area:"spam filters" doc:"API key of the spam check service"`
	SpamCheckEndpointEnabled                          bool     `setting:"spam_check_endpoint_enabled" default:"false" with:"spam_check_endpoint_url" area:"spam filters" doc:"Check spam with an external service"`
	SpamCheckEndpointURL                              *string  `setting:"spam_check_endpoint_url" default:"null" format:"grpc" area:"spam filters" doc:"URL of the spam check service"`
	AutoDevopsDomain                                  *string  `setting:"auto_devops_domain" default:"null" area:"Auto DevOps" doc:"Base domain of Auto DevOps"`
	AutoDevopsEnabled                                 bool     `setting:"auto_devops_enabled" default:"true" area:"Auto DevOps" doc:"Enable Auto DevOps by default"`
	AutomaticPurchasedStorageAllocation               bool     `setting:"automatic_purchased_storage_allocation" default:"false" area:"purchased storage" doc:"Allocate purchased storage automatically"`
	EnforceNamespaceStorageLimit                      bool     `setting:"enforce_namespace_storage_limit" default:"false" area:"purchased storage" doc:"Enforce storage limits of namespaces"`
	CheckNamespacePlan                                bool     `setting:"check_namespace_plan" default:"false" area:"plans of namespaces" doc:"Offer features by the plan of a namespace"`
	ContainerExpirationPoliciesEnableHistoricEntries  bool     `setting:"container_expiration_policies_enable_historic_entries" default:"false" area:"container registry" doc:"Enable cleanup policies of old projects"`
	ContainerRegistryCleanupTagsServiceMaxListSize    int      `setting:"container_registry_cleanup_tags_service_max_list_size" default:"200" min:"0" area:"container registry" doc:"Maximum tags that a cleanup deletes"`
	ContainerRegistryDeleteTagsServiceTimeout         int      `setting:"container_registry_delete_tags_service_timeout" default:"250" min:"0" area:"container registry" doc:"Seconds to delete tags in a cleanup"`
	ContainerRegistryExpirationPoliciesCaching        bool     `setting:"container_registry_expiration_policies_caching" default:"true" area:"container registry" doc:"Cache during cleanups"`
	ContainerRegistryExpirationPoliciesWorkerCapacity int      `setting:"container_registry_expiration_policies_worker_capacity" default:"4" min:"0" area:"container registry" doc:"Cleanup policies that run at a time"`
	ContainerRegistryTokenExpireDelay                 int      `setting:"container_registry_token_expire_delay" default:"5" min:"1" area:"container registry" doc:"Minutes for which tokens of the container registry are valid"`
	ElasticsearchAWS                                  bool     `setting:"elasticsearch_aws" default:"false" with:"elasticsearch_aws_region" area:"search engines" doc:"Use a search engine at Amazon"`
	ElasticsearchAWSAccessKey                         *string  `setting:"elasticsearch_aws_access_key" default:"null" area:"search engines" doc:"Access key of the search engine"`
	ElasticsearchAWSRegion                            *string  `setting:"elasticsearch_aws_region" default:"us-east-1" area:"search engines" doc:"Region of the search engine"`
	ElasticsearchAWSSecretAccessKey                   *string  `setting:"elasticsearch_aws_secret_access_key" default:"null" secret:"true" area:"search engines" doc:"Secret access key of the search engine"`
	ElasticsearchIndexedFieldLengthLimit              int      `setting:"elasticsearch_indexed_field_length_limit" default:"0" min:"0" area:"search engines" doc:"Maximum characters of a field that are indexed; 0 is unlimited"`
	ElasticsearchIndexedFileSizeLimitKB               int      `setting:"elasticsearch_indexed_file_size_limit_kb" default:"1024" min:"0" area:"search engines" doc:"Maximum size of a file that is indexed in kB"`
	ElasticsearchIndexing                             bool     `setting:"elasticsearch_indexing" default:"false" with:"elasticsearch_url" area:"search engines" doc:"Index with a search engine"`
	ElasticsearchLimitIndexing                        bool     `setting:"elasticsearch_limit_indexing" default:"false" area:"search engines" doc:"Index the listed namespaces and projects only"`
	ElasticsearchMaxBulkConcurrency                   int      `setting:"elasticsearch_max_bulk_concurrency" default:"10" min:"1" area:"search engines" doc:"Maximum bulk requests at a time"`
	ElasticsearchMaxBulkSizeMB                        int      `setting:"elasticsearch_max_bulk_size_mb" default:"10" min:"1" area:"search engines" doc:"Maximum size of a bulk request in MB"`
	ElasticsearchNamespaceIDs                         []int64  `setting:"elasticsearch_namespace_ids" default:"[]" area:"search engines" doc:"Namespaces that are indexed"`
	ElasticsearchPassword                             *string  `setting:"elasticsearch_password" default:"null" chars:"255" secret:"true" area:"search engines" doc:"Password of the search engine"`
	ElasticsearchProjectIDs                           []int64  `setting:"elasticsearch_project_ids" default:"[]" area:"search engines" doc:"Projects that are indexed"`
	ElasticsearchSearch                               bool     `setting:"elasticsearch_search" default:"false" area:"search engines" doc:"Search with a search engine"`
	ElasticsearchURL                                  []string `setting:"elasticsearch_url" default:"[\"http://localhost:9200\"]" split:"true" area:"search engines" doc:"URLs of the search engine"`
	ElasticsearchUsername                             *string  `setting:"elasticsearch_username" default:"null" chars:"255" area:"search engines" doc:"Username of the search engine"`
	FlocEnabled                                       bool     `setting:"floc_enabled" default:"false" area:"telemetry" doc:"Take part in cohorts of browsers"`
	GeoNodeAllowedIPs                                 string   `setting:"geo_node_allowed_ips" default:"0.0.0.0/0, ::/0" chars:"255" format:"ranges" area:"Geo" doc:"IP addresses and ranges of secondary sites"`
	GeoStatusTimeout                                  int      `setting:"geo_status_timeout" default:"10" min:"1" area:"Geo" doc:"Seconds to wait for the status of a site"`
	MaxPagesSize                                      int      `setting:"max_pages_size" default:"100" min:"0" max:"1048575" area:"Pages" doc:"Maximum size of a site in MB; 0 is unlimited"`
	MaxPagesCustomDomainsPerProject                   int      `setting:"max_pages_custom_domains_per_project" default:"0" min:"0" area:"Pages" doc:"Maximum domains of a site; 0 is unlimited"`
	PagesDomainVerificationEnabled                    bool     `setting:"pages_domain_verification_enabled" default:"true" area:"Pages" doc:"Verify domains of sites"`
	PagesExtraDeploymentsDefaultExpirySeconds         int      `setting:"pages_extra_deployments_default_expiry_seconds" default:"86400" min:"0" area:"Pages" doc:"Seconds until extra deployments of a site expire"`
	PagesUniqueDomainDefaultEnabled                   bool     `setting:"pages_unique_domain_default_enabled" default:"true" area:"Pages" doc:"New sites have a domain of their own"`
	ForcePagesAccessControl                           bool     `setting:"force_pages_access_control" default:"false" area:"Pages" doc:"Sites are for members only"`
	TerminalMaxSessionTime                            int      `setting:"terminal_max_session_time" default:"0" min:"0" area:"web terminal" doc:"Maximum seconds of a session of the web terminal; 0 is unlimited"`
	UsagePingEnabled                                  bool     `setting:"usage_ping_enabled" default:"true" area:"telemetry" doc:"Send usage data"`
	UsagePingFeaturesEnabled                          bool     `setting:"usage_ping_features_enabled" default:"false" area:"telemetry" doc:"Enable features that need usage data"`
	UsagePingGenerationEnabled                        bool     `setting:"usage_ping_generation_enabled" default:"true" area:"telemetry" doc:"Generate usage data"`
	IncludeOptionalMetricsInServicePing               bool     `setting:"include_optional_metrics_in_service_ping" default:"true" area:"telemetry" doc:"Include optional metrics in usage data"`
	GitlabProductUsageDataEnabled                     bool     `setting:"gitlab_product_usage_data_enabled" default:"false" area:"telemetry" doc:"Send events of product usage"`
	VersionCheckEnabled                               bool     `setting:"version_check_enabled" default:"true" area:"telemetry" doc:"Ask for newer versions"`
	WhatsNewVariant                                   string   `setting:"whats_new_variant" default:"all_tiers" options:"all_tiers,current_tier,disabled" area:"telemetry" doc:"What is shown about new versions"`
	InProductMarketingEmailsEnabled                   bool     `setting:"in_product_marketing_emails_enabled" default:"true" area:"telemetry" doc:"Send marketing mail"`
	UseClickhouseForAnalytics                         bool     `setting:"use_clickhouse_for_analytics" default:"false" area:"telemetry" doc:"Use ClickHouse for analytics"`
	SnowplowAppID                                     *string  `setting:"snowplow_app_id" default:"null" area:"telemetry" doc:"Application ID of Snowplow"`
	SnowplowCollectorHostname                         *string  `setting:"snowplow_collector_hostname" default:"null" format:"hostname" area:"telemetry" doc:"Host of the Snowplow collector"`
	SnowplowCookieDomain                              *string  `setting:"snowplow_cookie_domain" default:"null" area:"telemetry" doc:"Cookie domain of Snowplow"`
	SnowplowDatabaseCollectorHostname                 *string  `setting:"snowplow_database_collector_hostname" default:"null" format:"hostname" area:"telemetry" doc:"Host of the Snowplow collector of database events"`
	SnowplowEnabled                                   bool     `setting:"snowplow_enabled" default:"false" with:"snowplow_collector_hostname" area:"telemetry" doc:"Track events with Snowplow"`
	SentryEnabled                                     bool     `setting:"sentry_enabled" default:"false" needs:"sentry_dsn,sentry_environment" area:"telemetry" doc:"Send errors to Sentry"`
	SentryDsn                                         *string  `setting:"sentry_dsn" default:"null" secret:"true" area:"telemetry" doc:"DSN of Sentry"`
	SentryClientsideDsn                               *string  `setting:"sentry_clientside_dsn" default:"null" area:"telemetry" doc:"DSN of Sentry for browsers"`
	SentryClientsideTracesSampleRate                  float64  `setting:"sentry_clientside_traces_sample_rate" default:"0" area:"telemetry" doc:"Share of traces that browsers send to Sentry"`
	SentryEnvironment                                 *string  `setting:"sentry_environment" default:"null" area:"telemetry" doc:"Environment of Sentry"`
}
