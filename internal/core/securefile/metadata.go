package securefile

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"path"
	"strings"

	"tenon/internal/base/db"
)

// Certificate is what a certificate says of itself.
type Certificate struct {
	ID        string            `json:"id"` // serial number, in decimal
	Issuer    map[string]string `json:"issuer"`
	Subject   map[string]string `json:"subject"`
	ExpiresAt string            `json:"expires_at"`
}

// describe reads what the content of a certificate says; other files say nothing.
func (f *File) describe(content []byte) {
	switch strings.ToLower(path.Ext(f.Name)) {
	case ".cer", ".crt", ".pem":
	default:
		return
	}
	if block, _ := pem.Decode(content); block != nil && block.Type == "CERTIFICATE" {
		content = block.Bytes
	}
	c, err := x509.ParseCertificate(content)
	if err != nil {
		return
	}
	m := Certificate{ID: c.SerialNumber.String(), Issuer: map[string]string{}, Subject: map[string]string{}, ExpiresAt: c.NotAfter.UTC().Format("2006-01-02T15:04:05.000Z")}
	for _, name := range []struct {
		to                    map[string]string
		common                string
		country, org, orgUnit []string
	}{
		{m.Issuer, c.Issuer.CommonName, c.Issuer.Country, c.Issuer.Organization, c.Issuer.OrganizationalUnit},
		{m.Subject, c.Subject.CommonName, c.Subject.Country, c.Subject.Organization, c.Subject.OrganizationalUnit},
	} {
		for key, value := range map[string]string{
			"CN": name.common, "C": strings.Join(name.country, ", "), "O": strings.Join(name.org, ", "), "OU": strings.Join(name.orgUnit, ", "),
		} {
			if value = strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), ""); value != "" {
				name.to[key] = value
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil || len(text) > maxMetadata {
		return
	}
	stored, at := string(text), db.At(c.NotAfter)
	f.MetadataJSON, f.ExpiresAt = &stored, &at
}

const maxMetadata = 8192 // bytes

// Metadata is what the certificate says, nil for other files.
func (f *File) Metadata() *Certificate {
	if f.MetadataJSON == nil {
		return nil
	}
	var m Certificate
	if json.Unmarshal([]byte(*f.MetadataJSON), &m) != nil {
		return nil
	}
	return &m
}
