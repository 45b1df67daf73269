package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// remoteTimeout is how long one request to a server may take; a test of a hook takes 10 seconds.
	remoteTimeout = 30 * time.Second

	// maxAnswer is how many bytes of an answer are read: one has a body of at most 25 MB, escaped.
	maxAnswer = 160 << 20
)

// remote is a server that commands talk to over its REST interface, with the token of a user.
type remote struct {
	url   string
	token string
}

// define adds the flag that says where the server is.
func (r *remote) define(c *cobra.Command) {
	c.PersistentFlags().StringVar(&r.url, "url", "", "`URL` of the server (default http://127.0.0.1:8080) [$TENON_URL]")
}

// open finds out where the server is and which token to send.
func (r *remote) open() error {
	r.url = strings.TrimRight(cmp.Or(r.url, os.Getenv("TENON_URL"), "http://127.0.0.1:8080"), "/")
	if at, err := url.Parse(r.url); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return usageError{fmt.Errorf("%q is no URL of a server, such as https://code.example.com", r.url)}
	}
	if r.token = os.Getenv("TENON_TOKEN"); r.token == "" {
		return usageError{errors.New("set TENON_TOKEN to an access token with the scope api (a page of your profile, or tenon admin token create, makes one)")}
	}
	return nil
}

// refusal is an answer that refuses.
type refusal struct {
	status int
	text   string
}

// Error says what the server said, and what to do.
func (e *refusal) Error() string {
	hint := map[int]string{
		http.StatusUnauthorized:        "TENON_TOKEN is not valid on this server, or has ended: make another token with the scope api",
		http.StatusForbidden:           "the token needs the scope api, and its user has to be a Maintainer or Owner of the project",
		http.StatusNotFound:            "the project or hook does not exist, or the user of the token may not see it: tenon hooks list PROJECT lists hooks",
		http.StatusTooManyRequests:     "5 calls a minute are allowed: wait a minute",
		http.StatusServiceUnavailable:  "try again in a moment",
		http.StatusInternalServerError: "the log of the server says more",
	}[e.status]
	if hint != "" {
		hint = " (" + hint + ")"
	}
	return fmt.Sprintf("the server answered %d: %s%s", e.status, e.text, hint)
}

// call makes a request and decodes the answer into out, which may be nil.
func (r *remote) call(ctx context.Context, method, path string, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, r.url+"/api/v4"+path, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("PRIVATE-TOKEN", r.token)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the token is for this server
	a, err := client.Do(q)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("no answer from %s: %w (is it the right --url, and does the server run?)", r.url, err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", r.url, err)
	}
	if a.StatusCode >= http.StatusMultipleChoices {
		return nil, &refusal{a.StatusCode, saying(text)}
	}
	if out == nil {
		return a.Header, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("the answer of %s is not what a server of this kind sends (is it the right --url?): %w", r.url, err)
	}
	return a.Header, nil
}

// saying is the text of a refusal, in one line.
func saying(body []byte) string {
	var e struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
	}
	text := string(body)
	if json.Unmarshal(body, &e) == nil {
		var message string
		switch {
		case json.Unmarshal(e.Message, &message) == nil:
			text = message
		case len(e.Message) > 0:
			text = string(bytes.TrimSpace(e.Message))
		case e.Error != "":
			text = e.Error
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + " [...]"
	}
	return text
}

// pages reads all pages of a list, at most so many items.
func pages[T any](ctx context.Context, r *remote, path string, most int) ([]T, error) {
	var out []T
	for next := "1"; next != "" && len(out) < most; {
		var some []T
		header, err := r.call(ctx, http.MethodGet, path+"?per_page=100&page="+url.QueryEscape(next), &some)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		next = header.Get("X-Next-Page")
	}
	return out, nil
}
