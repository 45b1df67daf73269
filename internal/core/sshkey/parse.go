package sshkey

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // read to be refused or measured, never to sign or verify
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/errs"
	"tenon/internal/core/setting"
)

// Bounds of what is taken for a key.
const (
	maxText = 5000 // characters
	minRSA  = 1024 // bits; fewer are not verified any more
	maxRSA  = 8192 // bits; more would only make signing on slow
)

var errNoKey = errors.New("not a public key")

// technology is a family of keys that the settings restrict together.
type technology struct {
	name     string // as messages have it
	formats  []string
	restrict func(s *setting.Settings) int // least bits, 0 for any, -1 for none at all
}

// technologies are the families in the order of messages.
func technologies() []technology {
	return []technology{
		{"RSA", []string{ssh.KeyAlgoRSA}, func(s *setting.Settings) int { return s.RSAKeyRestriction }},
		{"DSA", []string{"ssh-dss"}, func(s *setting.Settings) int { return s.DSAKeyRestriction }},
		{
			"ECDSA",
			[]string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
			func(s *setting.Settings) int { return s.ECDSAKeyRestriction },
		},
		{"ED25519", []string{ssh.KeyAlgoED25519}, func(s *setting.Settings) int { return s.ED25519KeyRestriction }},
		{"ECDSA_SK", []string{ssh.KeyAlgoSKECDSA256}, func(s *setting.Settings) int { return s.ECDSASKKeyRestriction }},
		{"ED25519_SK", []string{ssh.KeyAlgoSKED25519}, func(s *setting.Settings) int { return s.ED25519SKKeyRestriction }},
	}
}

// parsed is a key that was read.
type parsed struct {
	key     ssh.PublicKey
	comment string
}

// parse reads one line of an authorized_keys file that has no options: algorithm,
// base64 and perhaps a comment. Certificates and algorithms of no family are refused.
func parse(text string) (parsed, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\r\n\x00") || !utf8.ValidString(text) {
		return parsed{}, errNoKey
	}
	format, rest, _ := strings.Cut(text, " ")
	encoded, comment, _ := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
	if _, known := familyOf(format); !known {
		return parsed{}, errNoKey
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return parsed{}, errNoKey
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil || key.Type() != format || !bytes.Equal(key.Marshal(), blob) {
		return parsed{}, errNoKey
	}
	return parsed{key, strings.TrimSpace(comment)}, nil
}

// familyOf finds the family of a format.
func familyOf(format string) (technology, bool) {
	for _, t := range technologies() {
		for _, f := range t.formats {
			if f == format {
				return t, true
			}
		}
	}
	return technology{}, false
}

// line returns the key without a comment.
func (p parsed) line() string {
	return p.key.Type() + " " + base64.StdEncoding.EncodeToString(p.key.Marshal())
}

// bits is the size that restrictions are about.
func (p parsed) bits() int {
	holder, ok := p.key.(ssh.CryptoPublicKey)
	if !ok {
		return 256 // keys on a token
	}
	switch key := holder.CryptoPublicKey().(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *dsa.PublicKey:
		return key.P.BitLen()
	case *ecdsa.PublicKey:
		return key.Curve.Params().BitSize
	default:
		return 256
	}
}

// check refuses a key that the settings do not allow, or that is known to the world.
func (p parsed) check(f *errs.Fields, s *setting.Settings) {
	family, _ := familyOf(p.key.Type())
	least := family.restrict(s)
	if least < 0 {
		f.Add("key", "type is forbidden. Must be "+allowed(s))
		return
	}
	most := 0
	if family.name == "RSA" {
		least, most = max(least, minRSA), maxRSA
	}
	bits := p.bits()
	f.Check(bits >= least, "key", "must be at least "+strconv.Itoa(least)+" bits")
	f.Check(most == 0 || bits <= most, "key", "must be at most "+strconv.Itoa(most)+" bits")
	f.Check(!compromised(ssh.FingerprintLegacyMD5(p.key)), "key", "cannot be used because it belongs to a compromised private key. "+
		"Stop using this key and generate a new one.")
}

// allowed lists the families that may be used, as a sentence ends.
func allowed(s *setting.Settings) string {
	var names []string
	for _, t := range technologies() {
		if t.restrict(s) >= 0 {
			names = append(names, t.name)
		}
	}
	switch n := len(names); n {
	case 0:
		return "none"
	case 1:
		return names[0]
	case 2:
		return names[0] + " or " + names[1]
	default:
		return strings.Join(names[:n-1], ", ") + ", or " + names[n-1]
	}
}

// compromised knows keys whose private half everybody has: they come with a product.
func compromised(md5 string) bool {
	return md5 == "dd:3b:b8:2e:85:04:06:e9:ab:ff:a8:0a:c0:04:6e:d6" // the insecure key of Vagrant
}

// readFingerprint tells a SHA256 fingerprint from an MD5 one and returns the stored form
// and its column; ok is false for anything else.
func readFingerprint(text string) (column, value string, ok bool) {
	if len(text) > 7 && strings.EqualFold(text[:7], "SHA256:") {
		digest, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(text[7:], "="))
		if err != nil || len(digest) != 32 {
			return "", "", false
		}
		return "fingerprint_sha256", "SHA256:" + base64.RawStdEncoding.EncodeToString(digest), true
	}
	pairs := strings.Split(text, ":")
	for _, pair := range pairs {
		if len(pair) != 2 || strings.Trim(pair, "0123456789abcdefABCDEF") != "" {
			return "", "", false
		}
	}
	return "fingerprint_md5", strings.ToLower(text), len(pairs) == 16
}

// CommentOf returns the comment of a key as ssh-keygen writes it, "" where it has none or is
// no key.
func CommentOf(text string) string {
	p, err := parse(text)
	if err != nil {
		return ""
	}
	return p.comment
}
