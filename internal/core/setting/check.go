package setting

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/pattern"
	"tenon/internal/core/ciconfig"
)

// problem says what is wrong with a value of the setting by itself, "" for nothing.
func (e *Entry) problem(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return e.number(v.Int())
	case reflect.String:
		return e.text(v.String())
	case reflect.Slice:
		return e.list(v)
	case reflect.Map:
		text, err := json.Marshal(v.Interface())
		if err != nil || len(text) > mostHash {
			return "is too long (maximum is " + strconv.Itoa(mostHash) + " characters)"
		}
	}
	return ""
}

// mostHash is how many bytes a hash has at most as JSON.
const mostHash = 10_000

func (e *Entry) number(n int64) string {
	problem := ""
	switch {
	case e.options != nil && !slices.Contains(e.options, strconv.FormatInt(n, 10)):
		return "is not included in the list"
	case e.min != nil && n < *e.min && *e.min == 1:
		problem = "must be greater than 0"
	case e.min != nil && n < *e.min:
		problem = fmt.Sprintf("must be greater than or equal to %d", *e.min)
	case e.max != nil && n > *e.max:
		most := *e.max
		if e.megabytes {
			most >>= 20
		}
		problem = fmt.Sprintf("must be less than or equal to %d", most)
	}
	if problem != "" && e.wrong != "" {
		return e.wrong
	}
	return problem
}

func (e *Entry) text(s string) string {
	switch {
	case utf8.RuneCountInString(s) > e.chars:
		return fmt.Sprintf("is too long (maximum is %d characters)", e.chars)
	case e.options != nil && !slices.Contains(e.options, s):
		return "is not included in the list"
	case e.format == "":
		return ""
	}
	return formats[e.format](s)
}

func (e *Entry) list(v reflect.Value) string {
	if v.Len() > e.entries {
		return fmt.Sprintf("is too long (maximum is %d entries)", e.entries)
	}
	for i := range v.Len() {
		if one := v.Index(i); one.Kind() == reflect.String && utf8.RuneCountInString(one.String()) > entryChars {
			return fmt.Sprintf("is too long (maximum is %d characters)", entryChars)
		}
	}
	return ""
}

var hostname = pattern.New(`\A(?i)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\z`)

// formats say what is wrong with a text, by the name in the table.
var formats = map[string]func(string) string{
	"url":      schemed("http", "https"),
	"grpc":     schemed("grpc", "tls"),
	"hostname": func(s string) string { return invalid(s == "" || len(s) <= 253 && hostname().MatchString(s)) },
	"email": func(s string) string {
		a, err := mail.ParseAddress(s)
		return invalid(s == "" || err == nil && a.Address == s)
	},
	"duration": func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "can't be blank"
		}
		if _, ok := ciconfig.ParseDuration(s); !ok {
			return "is not a correct duration"
		}
		return ""
	},
	"regexp": func(s string) string {
		if _, err := regexp.Compile(s); err != nil {
			return "is not a valid regular expression"
		}
		return ""
	},
	"ranges": func(s string) string {
		for entry := range strings.SplitSeq(s, ",") {
			entry = strings.TrimSpace(entry)
			_, asRange := netip.ParsePrefix(entry)
			if _, asAddress := netip.ParseAddr(entry); entry != "" && asRange != nil && asAddress != nil {
				return "is invalid"
			}
		}
		return ""
	},
	"certificate": func(s string) string {
		block, _ := pem.Decode([]byte(s))
		if block == nil {
			return invalid(s == "")
		}
		_, err := x509.ParseCertificate(block.Bytes)
		return invalid(err == nil)
	},
}

func invalid(ok bool) string {
	if ok {
		return ""
	}
	return "is invalid"
}

// schemed holds an absolute URL with one of the schemes; no text is valid too.
func schemed(schemes ...string) func(string) string {
	return func(s string) string {
		u, err := url.Parse(s)
		return invalid(s == "" || err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme))
	}
}
