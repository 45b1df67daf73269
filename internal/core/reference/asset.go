package reference

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"net/url"
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/core/setting"
)

// assetProxy serves pictures, videos and sounds of other sites, so that those sites do not learn who reads a text. The zero
// value is none. It is comparable: texts are kept by it.
type assetProxy struct {
	root    string // without a trailing slash
	secret  string
	allowed string // hosts that are not proxied, with a space after each
	host    string // of the instance, which is not proxied either
}

// assets is the proxy that the settings name.
func (s *Service) assets() assetProxy {
	set := s.Settings.Current()
	if !set.AssetProxyEnabled || set.AssetProxyURL == nil || set.AssetProxySecretKey == nil {
		return assetProxy{}
	}
	return newAssetProxy(set, s.URLs.Host())
}

func newAssetProxy(set *setting.Settings, host string) assetProxy {
	return assetProxy{
		root: strings.TrimRight(*set.AssetProxyURL, "/"), secret: *set.AssetProxySecretKey,
		allowed: strings.ToLower(strings.Join(set.AssetProxyAllowlist, " ")), host: strings.ToLower(host),
	}
}

// AssetRoot is the URL below which external pictures, videos and sounds are proxied, without a trailing slash; "" where they are not.
func (s *Service) AssetRoot() string { return s.assets().root }

// Assets returns rendered HTML whose external pictures, videos and sounds come from the asset proxy, where there is one.
func (s *Service) Assets(rendered string) string { return s.assets().html(rendered) }

func (p assetProxy) html(rendered string) string {
	if p.root == "" {
		return rendered
	}
	return markdown.Sources(rendered, p.address)
}

// address returns the URL of the proxy for an external address; others stay as they are. The path is a signature and the address, both in hex.
func (p assetProxy) address(address string) string {
	if p.root == "" {
		return address
	}
	full := address
	if strings.HasPrefix(full, "//") {
		full = "https:" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || p.allows(strings.ToLower(u.Hostname())) {
		return address
	}
	sign := hmac.New(sha1.New, []byte(p.secret))
	sign.Write([]byte(full))
	return p.root + "/" + hex.EncodeToString(sign.Sum(nil)) + "/" + hex.EncodeToString([]byte(full))
}

// allows reports whether a host is not proxied. An entry that begins with "*." stands for all hosts below a domain.
func (p assetProxy) allows(host string) bool {
	if host == p.host {
		return true
	}
	for entry := range strings.FieldsSeq(p.allowed) {
		if domain, ok := strings.CutPrefix(entry, "*"); ok && strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain) || entry == host {
			return true
		}
	}
	return false
}
