package kind

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func appleAppStore() *Kind {
	return &Kind{
		ProjectsOnly: true,
		Slug:         "apple-app-store", Title: "Apple App Store Connect", Class: Variables,
		Does: "Jobs of protected branches and tags get variables for the App Store Connect API",
		Settings: []Setting{
			{Name: "app_store_issuer_id", Required: true, Chars: 255, Doc: "Issuer ID of the App Store Connect API"},
			{Name: "app_store_key_id", Required: true, Chars: 255, Doc: "Key ID of the App Store Connect API"},
			{Name: "app_store_private_key_file_name", Chars: 255, Doc: "Name of the file of the private key"},
			{Name: "app_store_private_key", Required: true, Secret: true, Chars: maxKey, Doc: "Private key of the App Store Connect API, as PEM"},
		},
		Check: func(v Values, f *errs.Fields) {
			f.Check(appleIssuer().MatchString(v.Text("app_store_issuer_id")), "app_store_issuer_id", "is invalid")
			f.Check(appleKey().MatchString(v.Text("app_store_key_id")), "app_store_key_id", "is invalid")
			f.Check(privateKey(v.Text("app_store_private_key")), "app_store_private_key", "is invalid")
		},
		Jobs: func(v Values) []Variable {
			key := base64.StdEncoding.EncodeToString([]byte(v.Text("app_store_private_key")))
			const prefix = "APP_STORE_CONNECT_API_KEY_"
			return []Variable{
				{Key: prefix + "ISSUER_ID", Value: v.Text("app_store_issuer_id"), Protected: true},
				{Key: prefix + "KEY", Value: key, Masked: true, Protected: true},
				{Key: prefix + "KEY_ID", Value: v.Text("app_store_key_id"), Protected: true},
				{Key: prefix + "IS_KEY_CONTENT_BASE64", Value: "true", Protected: true},
			}
		},
	}
}

var (
	appleIssuer = pattern.New(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
	appleKey    = pattern.New(`^[0-9A-Z]{1,64}$`)
)

// privateKey reports whether a text is a private key in PEM.
func privateKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return true
	}
	_, err := x509.ParseECPrivateKey(block.Bytes)
	return err == nil
}
