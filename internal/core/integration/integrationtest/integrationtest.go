// Package integrationtest gives tests settings that each kind of integrations takes.
package integrationtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"

	"tenon/internal/core/integration/kind"
)

// Secret begins the value of each sealed setting but for keys in a format of their own.
const Secret = "planted_secret_of_"

// privateKey is a key in PEM.
var privateKey = sync.OnceValue(func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// Values are settings that a kind takes, all of them where it is asked for more than those that are required.
func Values(k *kind.Kind, all bool) kind.Values {
	out := kind.Values{}
	for _, s := range k.Settings {
		if s.Required || all {
			out[s.Name] = Value(k, &s)
		}
	}
	if k.Slug == "jira" {
		out["username"] = "builder" // with the usual way to sign on
	}
	return out
}

// Value is a value that a setting takes.
func Value(k *kind.Kind, s *kind.Setting) any {
	switch s.Type {
	case kind.Bool:
		return true
	case kind.Int:
		return max(s.Min, 1)
	case kind.Texts:
		return []string{"A", "B"}
	}
	name := strings.ReplaceAll(k.Slug+"_"+s.Name, "-", "_")
	switch {
	case k.Slug == "discord":
		if s.Name == "webhook" || strings.HasSuffix(s.Name, "_channel") {
			return "https://discord.com/api/webhooks/" + Secret + name
		}
	case s.Name == "app_store_private_key":
		return privateKey()
	case s.Name == "service_account_key":
		return fmt.Sprintf(`{"private_key":%q}`, Secret+name)
	}
	if text, ok := texts[s.Name]; ok {
		return text
	}
	switch {
	case s.URL && s.Sealed():
		return "https://hooks.example.com/" + Secret + name
	case s.URL:
		return "https://" + k.Slug + ".example.com/" + s.Name + "/:id"
	case s.Sealed():
		return Secret + name
	case s.Values != nil:
		return s.Values[0]
	case s.Host:
		return "sub"
	}
	return "a text"
}

// texts are values of settings with a format of their own.
var texts = map[string]string{
	"app_store_issuer_id": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "app_store_key_id": "ABC1", "package_name": "com.example.app",
	"confluence_url": "https://example.atlassian.net/wiki", "workspace_url": "https://linear.app/example", "room": "123",
	"default_irc_uri": "irc://irc.example.com:6697/", "recipients": "irc://irc.example.com/dev", "datadog_tags": "team:shop\nregion:eu",
	"jira_issue_regex": "[A-Z]+-\\d+", "jira_issue_transition_id": "1, 2", "username": "builder",
}
