package logging

import (
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/pattern"
)

// masked stands where a secret stood.
const masked = "[masked]"

// Sensitive reports whether a value under this key must not be shown. Words may be joined
// by underscores, hyphens, dots or capital letters: private_token, Private-Token, apiKey.
// What only describes a secret, such as token_id or password_expired, may be shown.
func Sensitive(key string) bool {
	k := strings.Map(joint, strings.ToLower(key)) // a line has a dozen keys; this leaves most as they are
	for _, suffix := range descriptive {
		if strings.HasSuffix(k, suffix) {
			return false
		}
	}
	return slices.ContainsFunc(sensitive, func(word string) bool { return strings.Contains(k, word) })
}

// joint turns what may join the words of a key into underscores.
func joint(c rune) rune {
	switch c {
	case '-', '.', '[':
		return '_'
	case ']':
		return -1
	}
	return c
}

var sensitive = []string{
	"token", "password", "passwd", "passphrase", "secret", "authorization", "cookie", "credential",
	"private_key", "privatekey", "api_key", "apikey", "signing_key", "otp",
}

var descriptive = []string{
	"_id", "_ids", "_name", "_names", "_type", "_kind", "_count", "_at", "_expired", "_enabled", "_length",
	"_scopes", "_prefix", "_url", "_file", "_path",
}

// rule masks one shape of secret. It runs only on texts that contain one of the hints
// in lower case, since most lines contain none.
type rule struct {
	hints   []string
	pattern func() *regexp.Regexp
	with    string
}

// words are the ends of names after which a value is secret, in texts such as
// "private_token=abc" and {"password": "abc"}.
const words = `[\w.\[\]%-]*(?:token|password|passwd|passphrase|secret|authorization|cookie|credential|private_key|api_key|apikey)s?(?:%5[BD]|[\[\]])*`

var wordHints = []string{"token", "passw", "passphrase", "secret", "authorization", "cookie", "credential", "private_key", "api_key", "apikey"}

var rules = []rule{
	{ // a private key, whole or cut short
		hints:   []string{"private key"},
		pattern: pattern.New(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
		with:    masked,
	},
	{ // who signs on in a URL: user, user:password, token
		hints:   []string{"@"},
		pattern: pattern.New(`(?i)\b([a-z][a-z0-9+.-]*://)[^/\s"'<>?#]*@`),
		with:    "${1}" + masked + "@",
	},
	{ // headers: "Authorization: Basic YTpi", "authorization":["Bearer abc"], Private-Token:[abc]
		hints:   []string{"authorization", "-token", "cookie"},
		pattern: pattern.New(`(?i)\b((?:proxy-)?authorization|[a-z-]*-token|(?:set-)?cookie)("?\s*[:=]\s*\[?"?)(?:(?:basic|bearer|token|digest)\s+)?[^\s"',\]}]+`),
		with:    "${1}${2}" + masked,
	},
	{ // "Bearer abc" and "Basic YTpi" wherever they stand
		hints:   []string{"bearer "},
		pattern: pattern.New(`(?i)\b(bearer)\s+[\w.~+/=-]{4,}`),
		with:    "${1} " + masked,
	},
	{
		hints:   []string{"basic "},
		pattern: pattern.New(`\b([Bb]asic)\s+(?:[A-Za-z0-9+/]{2,}=+|[A-Za-z0-9+/]*[A-Z0-9][A-Za-z0-9+/]{5,})`),
		with:    "${1} " + masked,
	},
	{ // JSON
		hints:   wordHints,
		pattern: pattern.New(`(?i)("` + words + `\\?"\s*:\s*\[?\s*\\?")(?:[^"\\]|\\[^"])*`),
		with:    "${1}" + masked,
	},
	{ // query strings, forms, flags, environment
		hints:   wordHints,
		pattern: pattern.New(`(?i)\b(` + words + `\s?=\s?)(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s&;"',]+)`),
		with:    "${1}" + masked,
	},
	{ // tokens that have a known prefix
		hints:   []string{"gl"},
		pattern: pattern.New(`\b(gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt))-[\w.=~+/-]+`),
		with:    "${1}-" + masked,
	},
	{
		hints:   []string{"gr1348941"},
		pattern: pattern.New(`\bGR1348941[\w-]+`),
		with:    masked,
	},
}

// Scrub masks what looks like a secret in a text: tokens known by their prefix, URLs with
// user and password, credentials in headers, query strings and JSON, private keys.
func Scrub(text string) string {
	if len(text) < 6 {
		return text
	}
	lower := strings.ToLower(text)
	for _, r := range rules {
		if slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			text = r.pattern().ReplaceAllString(text, r.with)
		}
	}
	return text
}
