package setting

// outbound holds the settings of requests that the server makes.
type outbound struct {
	AllowLocalRequestsFromWebHooksAndServices bool     `setting:"allow_local_requests_from_web_hooks_and_services" default:"false" alias:"allow_local_requests_from_hooks_and_services" effect:"imports, webhooks, status checks and mirrors" doc:"Allow requests to the local network from webhooks and integrations"`
	AllowLocalRequestsFromSystemHooks         bool     `setting:"allow_local_requests_from_system_hooks" default:"true" effect:"hooks of the instance" doc:"Allow requests to the local network from system hooks"`
	OutboundLocalRequestsWhitelist            []string `setting:"outbound_local_requests_whitelist" default:"[]" raw:"outbound_local_requests_allowlist_raw" effect:"all requests that the server makes" doc:"Local addresses and domains that webhooks and integrations may access"`
	DNSRebindingProtectionEnabled             bool     `setting:"dns_rebinding_protection_enabled" default:"true" effect:"all requests that the server makes for users" doc:"Connect to the address that was checked"`
	DenyAllRequestsExceptAllowed              bool     `setting:"deny_all_requests_except_allowed" default:"false" effect:"all requests that the server makes for users" doc:"Only the addresses of outbound_local_requests_whitelist may be called"`
	MaxHTTPResponseSizeLimit                  int      `setting:"max_http_response_size_limit" default:"100" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum size of an HTTP response in MB; 0 is unlimited"`
	MaxHTTPDecompressedSize                   int      `setting:"max_http_decompressed_size" default:"100" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum size of a decompressed HTTP response in MB; 0 is unlimited"`
	MaxHTTPResponseCSVStructuralChars         int      `setting:"max_http_response_csv_structural_chars" default:"250000" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum separators of a CSV response; 0 is unlimited"`
	MaxHTTPResponseJSONDepth                  int      `setting:"max_http_response_json_depth" default:"32" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum depth of a JSON response; 0 is unlimited"`
	MaxHTTPResponseJSONStructuralChars        int      `setting:"max_http_response_json_structural_chars" default:"1000000" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum structural characters of a JSON response; 0 is unlimited"`
	MaxHTTPResponseXMLStructuralChars         int      `setting:"max_http_response_xml_structural_chars" default:"250000" min:"0" effect:"answers to requests that the server makes for users, but for Git data" doc:"Maximum structural characters of an XML response; 0 is unlimited"`
	MaxGitHubResponseSizeLimit                int      `setting:"max_github_response_size_limit" default:"8" min:"0" later:"imports from other hosts" doc:"Maximum size of a response of GitHub in MB; 0 is unlimited"`
	MaxGitHubResponseJSONValueCount           int      `setting:"max_github_response_json_value_count" default:"250000" min:"0" later:"imports from other hosts" doc:"Maximum values of a JSON response of GitHub; 0 is unlimited"`
	GloballyAllowedIPs                        string   `setting:"globally_allowed_ips" default:"" effect:"the address ranges of groups" doc:"IP addresses and ranges that no group shuts out"`
	WebhookLogSizeLimit                       int64    `setting:"webhook_log_size_limit" default:"1073741824" min:"0" effect:"logs of webhooks; one hook may have a sixteenth, and 0 is no limit" doc:"Maximum size of the logs of all webhooks in bytes"`
	SilentModeEnabled                         bool     `setting:"silent_mode_enabled" default:"false" effect:"mail and external status checks; what would have been sent is not sent later" doc:"Send no mail, status checks, webhooks or integrations"`
	SilentAdminExportsEnabled                 bool     `setting:"silent_admin_exports_enabled" default:"false" effect:"mail about exports" doc:"Send no mail about exports of administrators"`
}
