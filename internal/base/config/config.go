// Package config gathers what an operator sets: defaults, a TOML file, the environment and
// flags, each above the one before, checked as a whole so that every problem is reported at once.
package config

import (
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/logging"
)

// masked stands where a secret is not shown.
const masked = "[masked]"

// Secret is a text that prints as a mask. Convert it to string where it is needed.
type Secret string

// String returns the mask, or "" where nothing is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString returns the mask for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns the mask, for JSON and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the mask to loggers.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Config is the effective configuration. Load fills every field.
type Config struct {
	Data string // absolute path of the data folder
	HTTP string // host:port to listen on; port 0 lets the kernel choose
	SSH  string // host:port, or "" for no SSH

	// SSHExternal is where users reach git over SSH, a host and perhaps a port; "" means the
	// host of the external URL and the port listened on. It has no effect where SSH is "".
	SSHExternal string

	// Database is "sqlite:<path>" or a postgres:// URL, which may hold a password: print
	// it with [Config.Print] only.
	Database string

	// ExternalURL is where users reach the server, without a slash at the end; nil means
	// http:// and the address listened on.
	ExternalURL *url.URL

	Root       Root
	RateLimits bool // whether the rate limits apply; measurements switch them off
	Git        Git
	Mail       Mail
	Features   Features

	// NoAnonymousIntrospection keeps the types of GraphQL from callers who are not signed in.
	NoAnonymousIntrospection bool

	MetricsFrom []netip.Prefix // addresses that may read /-/metrics; others learn nothing of it

	// TrustedProxies may say by X-Forwarded-For where a request comes from; no other client may.
	TrustedProxies []netip.Prefix

	Log Log

	// OTLP is the collector of OpenTelemetry that traces go to; nil sends none.
	OTLP *url.URL

	sources map[string]string // by key: where the value comes from, for Print
}

// Root says what the first administrator gets at the first start of an empty data folder;
// what is empty is made up and printed once.
type Root struct {
	Password Secret
	Token    Secret // any text of 20 or more characters
}

// Git bounds what clones and fetches may take.
type Git struct {
	Fetches           int // worked on at a time
	FetchesPerAddress int // likewise, of those who are not signed in, by address
	PackCache         int // megabytes of answers kept for those who ask the same
	ImportSize        int // megabytes that the import of one project may bring
}

// Features are parts of the interface that can be switched off. The zero value has all of them.
type Features struct {
	NoDebian         bool     // the server has no Debian distributions
	NoRemoteImport   bool     // of archives by their URL
	NoRemoteImportS3 bool     // of archives in buckets
	S3               *url.URL // where buckets are; nil is Amazon's
}

// Log says what is logged and how.
type Log struct {
	Level  slog.Level
	Format logging.Format
}

// settings returns the table of everything that can be set, in the order of Print:
// keys without a table first, as TOML wants.
func settings() []setting {
	return slices.Concat(general(), ofTraffic(), ofRoot(), ofGit(), ofFeatures(), ofLog(), ofMail())
}

func general() []setting {
	return []setting{
		{
			key: "data", env: "TENON_DATA", flag: "data", fallback: "./tenon-data",
			set: func(c *Config, v string) string { return setData(&c.Data, v) },
			get: func(c *Config) string { return c.Data },
		}, {
			key: "http", env: "TENON_HTTP", flag: "http", fallback: "127.0.0.1:8080",
			set: func(c *Config, v string) string { return setAddress(&c.HTTP, v) },
			get: func(c *Config) string { return c.HTTP },
		}, {
			key: "ssh", env: "TENON_SSH", flag: "ssh", fallback: "127.0.0.1:2222",
			set: func(c *Config, v string) string {
				if v == "off" || v == "" {
					c.SSH = ""
					return ""
				}
				return setAddress(&c.SSH, v)
			},
			get: func(c *Config) string {
				if c.SSH == "" {
					return "off"
				}
				return c.SSH
			},
		}, {
			key: "ssh_external", env: "TENON_SSH_EXTERNAL", flag: "ssh-external",
			set: func(c *Config, v string) string { return setHost(&c.SSHExternal, v) },
			get: func(c *Config) string { return c.SSHExternal },
		}, {
			key: "database_url", env: "TENON_DATABASE_URL", flag: "database", show: maskURL,
			set: func(c *Config, v string) string { return setDatabase(&c.Database, v) },
			get: func(c *Config) string { return c.Database },
		}, {
			key: "external_url", env: "TENON_EXTERNAL_URL", flag: "external-url", show: maskURL,
			set: func(c *Config, v string) string { return setExternal(&c.ExternalURL, v) },
			get: func(c *Config) string {
				if c.ExternalURL == nil {
					return ""
				}
				return c.ExternalURL.String()
			},
		},
	}
}

// ofTraffic is what limits requests, where they come from, and what counts them.
func ofTraffic() []setting {
	return []setting{
		{
			key: "rate_limits", env: "TENON_RATE_LIMITS", flag: "rate-limits", fallback: "on",
			set: func(c *Config, v string) string { return setSwitch(&c.RateLimits, v) },
			get: func(c *Config) string {
				if c.RateLimits {
					return "on"
				}
				return "off"
			},
		}, {
			key: "anonymous_introspection", env: "TENON_ANONYMOUS_INTROSPECTION", flag: "anonymous-introspection", fallback: "on",
			set: func(c *Config, v string) string { return setUnless(&c.NoAnonymousIntrospection, v) },
			get: func(c *Config) string { return unless(c.NoAnonymousIntrospection) },
		}, {
			key: "metrics_from", env: "TENON_METRICS_FROM", flag: "metrics-from", fallback: "127.0.0.0/8,::1/128",
			set: func(c *Config, v string) string { return setPrefixes(&c.MetricsFrom, v) },
			get: func(c *Config) string { return joined(c.MetricsFrom) },
		}, {
			key: "trusted_proxies", env: "TENON_TRUSTED_PROXIES", flag: "trusted-proxies",
			set: func(c *Config, v string) string { return setPrefixes(&c.TrustedProxies, v) },
			get: func(c *Config) string { return joined(c.TrustedProxies) },
		}, {
			key: "otlp_endpoint", env: "TENON_OTLP_ENDPOINT", flag: "otlp-endpoint", show: maskURL,
			set: func(c *Config, v string) string { return setCollector(&c.OTLP, v) },
			get: func(c *Config) string {
				if c.OTLP == nil {
					return ""
				}
				return c.OTLP.String()
			},
		},
	}
}

func ofRoot() []setting {
	return []setting{
		{
			key: "root.password", env: "TENON_ROOT_PASSWORD", show: maskAll,
			set: func(c *Config, v string) string { return setPassword(&c.Root.Password, v) },
			get: func(c *Config) string { return string(c.Root.Password) },
		}, {
			key: "root.token", env: "TENON_ROOT_TOKEN", show: maskAll,
			set: func(c *Config, v string) string { return setToken(&c.Root.Token, v) },
			get: func(c *Config) string { return string(c.Root.Token) },
		},
	}
}

func ofGit() []setting {
	return []setting{
		{
			key: "git.fetches", env: "TENON_GIT_FETCHES", flag: "git-fetches", fallback: "32",
			set: func(c *Config, v string) string { return setNumber(&c.Git.Fetches, v) },
			get: func(c *Config) string { return strconv.Itoa(c.Git.Fetches) },
		}, {
			key: "git.fetches_per_address", env: "TENON_GIT_FETCHES_PER_ADDRESS", flag: "git-fetches-per-address", fallback: "16",
			set: func(c *Config, v string) string { return setNumber(&c.Git.FetchesPerAddress, v) },
			get: func(c *Config) string { return strconv.Itoa(c.Git.FetchesPerAddress) },
		}, {
			key: "git.pack_cache_mb", env: "TENON_GIT_PACK_CACHE_MB", flag: "git-pack-cache-mb", fallback: "2048",
			set: func(c *Config, v string) string { return setNumber(&c.Git.PackCache, v) },
			get: func(c *Config) string { return strconv.Itoa(c.Git.PackCache) },
		}, {
			key: "git.import_size_mb", env: "TENON_GIT_IMPORT_SIZE_MB", flag: "git-import-size-mb", fallback: "20480",
			set: func(c *Config, v string) string { return setNumber(&c.Git.ImportSize, v) },
			get: func(c *Config) string { return strconv.Itoa(c.Git.ImportSize) },
		},
	}
}

func ofFeatures() []setting {
	return []setting{
		{
			key: "features.remote_import", env: "TENON_FEATURES_REMOTE_IMPORT", fallback: "on",
			set: func(c *Config, v string) string { return setUnless(&c.Features.NoRemoteImport, v) },
			get: func(c *Config) string { return unless(c.Features.NoRemoteImport) },
		}, {
			key: "features.remote_import_s3", env: "TENON_FEATURES_REMOTE_IMPORT_S3", fallback: "on",
			set: func(c *Config, v string) string { return setUnless(&c.Features.NoRemoteImportS3, v) },
			get: func(c *Config) string { return unless(c.Features.NoRemoteImportS3) },
		}, {
			key: "features.s3_endpoint", env: "TENON_FEATURES_S3_ENDPOINT",
			set: func(c *Config, v string) string { return setStore(&c.Features.S3, v) },
			get: func(c *Config) string {
				if c.Features.S3 == nil {
					return ""
				}
				return c.Features.S3.String()
			},
		}, {
			key: "features.debian", env: "TENON_FEATURES_DEBIAN", fallback: "on",
			set: func(c *Config, v string) string { return setUnless(&c.Features.NoDebian, v) },
			get: func(c *Config) string { return unless(c.Features.NoDebian) },
		},
	}
}

func ofLog() []setting {
	return []setting{
		{
			key: "log.level", env: "TENON_LOG_LEVEL", flag: "log-level", fallback: "info",
			set: func(c *Config, v string) string {
				level, err := logging.ParseLevel(v)
				if err != nil {
					return "write debug, info, warn or error"
				}
				c.Log.Level = level
				return ""
			},
			get: func(c *Config) string { return levelName(c.Log.Level) },
		}, {
			key: "log.format", env: "TENON_LOG_FORMAT", flag: "log-format", fallback: "json",
			set: func(c *Config, v string) string {
				format, err := logging.ParseFormat(v)
				if err != nil {
					return "write json or text"
				}
				c.Log.Format = format
				return ""
			},
			get: func(c *Config) string { return string(c.Log.Format) },
		},
	}
}

func joined(list []netip.Prefix) string {
	text := make([]string, len(list))
	for i, p := range list {
		text[i] = p.String()
	}
	return strings.Join(text, ",")
}

// complete fills in what depends on other values and checks what concerns two at once.
func (c *Config) complete() (problems []Problem) {
	if c.Database == "" && c.Data != "" {
		c.Database = "sqlite:" + filepath.Join(c.Data, "tenon.db")
	}
	if c.HTTP != "" && c.HTTP == c.SSH && port(c.HTTP) != "0" {
		problems = append(problems, Problem{Key: "ssh", Value: c.SSH, Source: c.sources["ssh"], Advice: "choose another port than http has, or off"})
	}
	return append(problems, c.completeMail()...)
}
