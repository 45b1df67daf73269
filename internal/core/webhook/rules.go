package webhook

import (
	"context"
	"net/textproto"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
)

// Bounds of what is stored.
const (
	maxURL         = 2048
	maxName        = 255
	maxDescription = 2048
	maxFilter      = 5000
	maxTemplate    = 4096
	maxToken       = 2048
	maxVariables   = 20
	maxHeaders     = 20
	maxKey         = 255
	maxValue       = 2048
)

// The codes of refusals.
const (
	CodeURL     errs.Code = "webhook_url_invalid"
	CodeFilter  errs.Code = "webhook_branch_filter_invalid"
	CodeHeaders errs.Code = "webhook_custom_headers_invalid"
)

func badURL() error { return errs.Coded(errs.Unprocessable, CodeURL, "Invalid url given") }
func badFilter() error {
	return errs.Coded(errs.Unprocessable, CodeFilter, "Invalid branch filter given")
}

func badHeaders() error {
	return errs.Coded(errs.Unprocessable, CodeHeaders, "Custom headers validation failed")
}

var (
	variableName = pattern.New(`^[A-Za-z]+[0-9]*(?:[._-][A-Za-z0-9]+)*$`)
	placeholder  = pattern.New(`\{([A-Za-z]+[0-9]*(?:[._-][A-Za-z0-9]+)*)\}`)
	headerName   = pattern.New(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// maskedUser replaces the user name and password in a URL that is shown.
const maskedUser = "*****:*****"

// splitURL takes the user name and password out of a URL, and returns it as it is shown.
func splitURL(text string) (shown, user string) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text, ""
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return text, ""
	}
	return scheme + "://" + maskedUser + rest[at:], rest[:at]
}

// fullURL is the URL that is called, with its user name, its password and the values of its variables. It returns false where a
// variable has no value.
func fullURL(shown string, in secrets) (string, bool) {
	if in.User != "" {
		shown = strings.Replace(shown, "://"+maskedUser+"@", "://"+in.User+"@", 1)
	}
	known := true
	full := placeholder().ReplaceAllStringFunc(shown, func(word string) string {
		value, ok := in.Variables[word[1:len(word)-1]]
		known = known && ok
		return value
	})
	return full, known
}

// server is the beginning of a URL up to its path, which is a secret of some receivers, without user name and password.
func server(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.ToLower(scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:])
}

// dialer is what calls of the hooks of a place go through.
func (s *Service) dialer(instance bool) *safehttp.Dialer {
	if instance {
		return s.System
	}
	return s.Outbound
}

// checkURL refuses a URL that cannot be called. Names are looked up, so it is called outside of transactions.
func (s *Service) checkURL(ctx context.Context, at authz.Place, shown string, in secrets) error {
	full, known := fullURL(shown, in)
	if !known || len(shown) > maxURL || len(full) > maxURL+maxVariables*maxValue {
		return badURL()
	}
	if err := s.dialer(at.IsInstance()).Reach(ctx, full); err != nil {
		return badURL()
	}
	return nil
}

// check refuses attributes that break a rule.
func (h *Hook) check() error {
	if !slices.Contains([]string{Wildcard, Regex, AllBranches}, h.Strategy) {
		return badFilter()
	}
	if h.BranchFilter != nil {
		if len([]rune(*h.BranchFilter)) > maxFilter || !validFilter(h.Strategy, *h.BranchFilter) {
			return badFilter()
		}
	}
	var f errs.Fields
	f.Length("name", h.Name, maxName)
	f.Length("description", h.Description, maxDescription)
	f.Length("custom_webhook_template", h.Template, maxTemplate)
	return unprocessable(f)
}

// unprocessable is the error of fields of a hook.
func unprocessable(f errs.Fields) error {
	if len(f) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Unprocessable, Fields: f}
}

// validFilter reports whether a text is a filter of branches.
func validFilter(strategy, text string) bool {
	if strategy == Regex {
		_, err := pattern.Compile(text)
		return err == nil
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?[\\", r) }) &&
		!strings.Contains(text, "..") && !strings.HasSuffix(text, "/")
}

// check refuses secrets that break a rule.
func (s secrets) check() error {
	var f errs.Fields
	f.Check(!strings.ContainsAny(s.Token, "\r\n"), "token", "is invalid")
	f.Length("token", &s.Token, maxToken)
	f.Check(len(s.Variables) <= maxVariables, "url_variables", "has more than 20 items")
	for key, value := range s.Variables {
		f.Check(validVariable(key, value), "url_variables", "must be a valid json schema")
	}
	if err := unprocessable(f); err != nil {
		return err
	}
	if len(s.Headers) > maxHeaders {
		return badHeaders()
	}
	for key, value := range s.Headers {
		if !validHeader(key, value) {
			return badHeaders()
		}
	}
	return nil
}

func validVariable(key, value string) bool {
	return len(key) <= maxKey && variableName().MatchString(key) && value != "" && len(value) <= maxValue
}

// validHeader reports whether a call may have a header.
func validHeader(key, value string) bool {
	return len(key) <= maxKey && headerName().MatchString(key) && value != "" && len(value) <= maxValue &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) && !reserved(key)
}

// reserved reports whether a header is of the connection, and not of what is sent.
func reserved(key string) bool {
	return slices.Contains([]string{"Connection", "Content-Length", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}, textproto.CanonicalMIMEHeaderKey(key))
}
