package setting

// imports holds the settings of imports, exports, mirrors and packages.
type imports struct {
	ImportSources                                []string `setting:"import_sources" default:"[\"git\",\"gitlab_project\"]" effect:"imports of projects" doc:"Enabled import sources"`
	ProjectExportEnabled                         bool     `setting:"project_export_enabled" default:"true" effect:"exports of projects" doc:"Enable project exports"`
	BulkImportEnabled                            bool     `setting:"bulk_import_enabled" default:"false" effect:"direct transfers, from and to this server" doc:"Enable migration by direct transfer"`
	BulkImportMaxDownloadFileSize                int      `setting:"bulk_import_max_download_file_size" default:"5120" min:"0" effect:"direct transfers to this server" doc:"Maximum size of a file of a migration in MB; 0 is unlimited"`
	BulkImportConcurrentPipelineBatchLimit       int      `setting:"bulk_import_concurrent_pipeline_batch_limit" default:"25" min:"0" area:"workers for batches of migrations" doc:"Maximum batches of a migration at a time"`
	ConcurrentBitbucketImportJobsLimit           int      `setting:"concurrent_bitbucket_import_jobs_limit" default:"100" min:"0" later:"imports from other hosts" doc:"Maximum jobs of imports from Bitbucket at a time"`
	ConcurrentBitbucketServerImportJobsLimit     int      `setting:"concurrent_bitbucket_server_import_jobs_limit" default:"100" min:"0" later:"imports from other hosts" doc:"Maximum jobs of imports from Bitbucket Server at a time"`
	ConcurrentGitHubImportJobsLimit              int      `setting:"concurrent_github_import_jobs_limit" default:"1000" min:"0" later:"imports from other hosts" doc:"Maximum jobs of imports from GitHub at a time"`
	ConcurrentRelationBatchExportLimit           int      `setting:"concurrent_relation_batch_export_limit" default:"8" min:"0" area:"batches that are exported side by side" doc:"Maximum batches of exports at a time"`
	RelationExportBatchSize                      int      `setting:"relation_export_batch_size" default:"50" min:"0" area:"batches of another size than 1,000 rows" doc:"Rows of a batch of an export"`
	MaxExportSize                                int      `setting:"max_export_size" default:"0" min:"0" max:"1048576" effect:"exports of projects" doc:"Maximum size of an export in MB; 0 is unlimited"`
	MaxImportSize                                int      `setting:"max_import_size" default:"0" min:"0" max:"1048576" effect:"imports of projects" doc:"Maximum size of an import in MB; 0 is unlimited"`
	MaxImportRemoteFileSize                      int      `setting:"max_import_remote_file_size" default:"10240" min:"0" effect:"imports of projects from other servers" doc:"Maximum size of a remote import file in MB; 0 is unlimited"`
	AllowBypassPlaceholderConfirmation           bool     `setting:"allow_bypass_placeholder_confirmation" default:"false" area:"placeholder users" doc:"Administrators assign imported contributions without confirmation"`
	AllowContributionMappingToAdmins             bool     `setting:"allow_contribution_mapping_to_admins" default:"false" area:"placeholder users" doc:"Assign imported contributions to administrators"`
	AllowS3CompatibleStorageForOfflineTransfer   bool     `setting:"allow_s3_compatible_storage_for_offline_transfer" default:"false" area:"offline transfers" doc:"Export to storage that is compatible with S3"`
	MirrorAvailable                              bool     `setting:"mirror_available" default:"true" later:"mirrors" doc:"Projects may be mirrors"`
	MirrorCapacityThreshold                      int      `setting:"mirror_capacity_threshold" default:"50" min:"0" later:"mirrors" doc:"Mirrors that may wait before more are scheduled"`
	MirrorMaxCapacity                            int      `setting:"mirror_max_capacity" default:"100" min:"1" later:"mirrors" doc:"Maximum mirrors that are updated at a time"`
	MirrorMaxDelay                               int      `setting:"mirror_max_delay" default:"300" min:"31" later:"mirrors" doc:"Maximum minutes between updates of a mirror"`
	MavenPackageRequestsForwarding               bool     `setting:"maven_package_requests_forwarding" default:"false" effect:"requests for packages that are not there" doc:"Forward requests for unknown Maven packages"`
	NPMPackageRequestsForwarding                 bool     `setting:"npm_package_requests_forwarding" default:"false" effect:"requests for npm packages that are not here, which are sent to registry.npmjs.org" doc:"Forward requests for unknown npm packages"`
	PyPIPackageRequestsForwarding                bool     `setting:"pypi_package_requests_forwarding" default:"false" effect:"requests for packages that are not there" doc:"Forward requests for unknown PyPI packages"`
	PackageRegistryCleanupPoliciesWorkerCapacity int      `setting:"package_registry_cleanup_policies_worker_capacity" default:"2" min:"0" later:"cleanup policies of packages" doc:"Cleanup policies of packages that run at a time"`
	PackageRegistryAllowAnyoneToPullOption       bool     `setting:"package_registry_allow_anyone_to_pull_option" default:"true" effect:"packages of projects whose registry is public: without it, they are read as those of other projects" doc:"Projects may let anyone pull packages"`
	HelmMaxPackagesCount                         int      `setting:"helm_max_packages_count" default:"1000" min:"1" later:"packages of further types" doc:"Maximum charts in a Helm index"`
	NuGetSkipMetadataURLValidation               bool     `setting:"nuget_skip_metadata_url_validation" default:"false" later:"packages of further types" doc:"Do not validate URLs in the metadata of NuGet packages"`
}
