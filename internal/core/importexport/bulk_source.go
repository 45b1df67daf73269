package importexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
)

// Bounds of asking a source.
const (
	sourceWithin = time.Minute
	maxSource    = 8 << 20 // bytes of an answer that is no file
	sourcePage   = 100
	maxPages     = 1000
	minVersion   = 14
)

// source is a server that a transfer comes from.
type sourceServer struct {
	s     *Service
	url   string // without a slash at its end
	token string
}

// statusError is an answer of a source that is no success.
type statusError struct {
	status int
	after  time.Duration // that the source asks to wait
	text   string        // the beginning of its answer
}

// Error names the status.
func (e *statusError) Error() string { return fmt.Sprintf("the source answered %d", e.status) }

// passing reports whether the same call may succeed later.
func (e *statusError) passing() bool { return e.status == 429 || e.status >= 500 }

// call sends a request and decodes what the source answers.
func (c *sourceServer) call(ctx context.Context, what safehttp.Delivery, into any) (safehttp.Answer, error) {
	what.URL = c.url + what.URL
	what.Header = map[string]string{"Content-Type": "application/json", "Accept": "application/json", "Authorization": "Bearer " + c.token}
	what.MaxAnswer = maxSource
	got, err := c.s.Outbound.Call(ctx, c.s.Waits.Answer, what)
	if err != nil {
		return got, err
	}
	if got.Status < 200 || got.Status > 299 {
		seconds, _ := strconv.Atoi(got.Header["Retry-After"])
		return got, &statusError{got.Status, time.Duration(min(max(seconds, 0), 3600)) * time.Second, string(got.Body[:min(len(got.Body), 500)])}
	}
	if into != nil && json.Unmarshal(got.Body, into) != nil {
		return got, errAnswer
	}
	return got, nil
}

// errAnswer says that a source answers something else than it was asked.
var errAnswer = errors.New("the source answered something else than JSON of the expected shape")

// get reads from the REST interface of the source.
func (c *sourceServer) get(ctx context.Context, path string, into any) (safehttp.Answer, error) {
	return c.call(ctx, safehttp.Delivery{Method: "GET", URL: "/api/v4/" + path}, into)
}

// pages reads all pages of a list, as many as the bound says.
func (c *sourceServer) pages(ctx context.Context, path string, add func(text json.RawMessage) error) error {
	next := "1"
	for range maxPages {
		var list []json.RawMessage
		got, err := c.get(ctx, fmt.Sprintf("%s?per_page=%d&page=%s", path, sourcePage, url.QueryEscape(next)), &list)
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := add(one); err != nil {
				return err
			}
		}
		if next = got.Header["X-Next-Page"]; next == "" {
			return nil
		}
	}
	return errEndless
}

var errEndless = errors.New("the list of the source does not end")

// graphql asks the GraphQL interface of the source.
func (c *sourceServer) graphql(ctx context.Context, query string, variables map[string]any, into any) error {
	body, err := json.Marshal(map[string]any{"query": query, "operationName": nil, "variables": variables})
	if err != nil {
		return fmt.Errorf("ask source: %w", err)
	}
	var got struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if _, err := c.call(ctx, safehttp.Delivery{Method: "POST", URL: "/api/graphql", Body: body}, &got); err != nil {
		return err
	}
	if len(got.Errors) > 0 {
		return fmt.Errorf("the source answered: %.200s", got.Errors[0].Message)
	}
	if json.Unmarshal(got.Data, into) != nil {
		return errAnswer
	}
	return nil
}

// sourcePaging is the part of a list that says whether it goes on.
type sourcePaging struct {
	Next    *string `json:"next_page"`
	HasNext bool    `json:"has_next_page"`
}

// at is the path of the interface for an entity.
func (c *sourceServer) at(e *Entity) string {
	name := "groups/"
	if e.Kind == projectEntity {
		name = "projects/"
	}
	if e.SourceID != nil {
		return name + strconv.FormatInt(*e.SourceID, 10)
	}
	return name + url.PathEscape(e.SourcePath)
}

// check looks at the version of a source and the scope of the token, and returns the version.
func (c *sourceServer) check(ctx context.Context) (string, error) {
	const unmet = "Check that the source instance base URL and the personal access token meet the necessary requirements."
	var version struct {
		Version string `json:"version"`
	}
	_, err := c.get(ctx, "version", &version)
	if refused, ok := errors.AsType[*statusError](err); ok && !refused.passing() {
		_, err = c.get(ctx, "metadata", &version)
	}
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return "", errs.New(errs.Unprocessable, "Invalid source URL. Enter only the base URL of the source GitLab instance: "+blocked.Error())
	}
	if err != nil {
		return "", errs.New(errs.Unprocessable, unmet)
	}
	if before(version.Version, minVersion, 0) {
		return "", errs.New(errs.Unprocessable, fmt.Sprintf("Unsupported GitLab version. The minimum supported version is '%d'.", minVersion))
	}
	if before(version.Version, 15, 5) {
		return version.Version, nil
	}
	var token struct {
		Scopes []string `json:"scopes"`
	}
	if _, err := c.get(ctx, "personal_access_tokens/self", &token); err != nil || !strings.Contains(" "+strings.Join(token.Scopes, " ")+" ", " api ") {
		return "", errs.New(errs.Unprocessable, unmet)
	}
	return version.Version, nil
}

// before reports whether a version is before another one.
func before(version string, major, minor int) bool {
	have, also := versionOf(version)
	return have < major || have == major && also < minor
}

// versionOf reads the first two numbers of a version.
func versionOf(text string) (major, minor int) {
	parts := strings.SplitN(text, ".", 3)
	major, _ = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}

// sourceGroup is a group at the source.
type sourceGroup struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Path       string `json:"path"`
	FullPath   string `json:"full_path"`
	Visibility string `json:"visibility"`
}

// number is the number in a global ID.
func (g *sourceGroup) number() int64 {
	n, _ := strconv.ParseInt(g.ID[strings.LastIndexByte(g.ID, '/')+1:], 10, 64)
	return n
}

// find reads an entity at the source; nil for none.
func (c *sourceServer) find(ctx context.Context, kind, path string) (*sourceGroup, error) {
	query := `query($full_path: ID!) { found: group(fullPath: $full_path) { id name path full_path: fullPath visibility } }`
	if kind == projectEntity {
		query = `query($full_path: ID!) { found: project(fullPath: $full_path) { id name path full_path: fullPath visibility } }`
	}
	var got struct {
		Found *sourceGroup `json:"found"`
	}
	err := c.graphql(ctx, query, map[string]any{"full_path": path}, &got)
	return got.Found, err
}

// relationFile is a file of a relation at the source.
type relationFile struct {
	relation string
	batch    int    // from 1, 0 for a relation without batches
	key      string // under which it is stored
}

// download stores a file of a relation.
func (c *sourceServer) download(ctx context.Context, e *Entity, f relationFile) error {
	query := url.Values{"relation": {f.relation}}
	if f.batch > 0 {
		query.Set("batched", "true")
		query.Set("batch_number", strconv.Itoa(f.batch))
	}
	what := safehttp.Delivery{
		Method: "GET", URL: c.url + "/api/v4/" + c.at(e) + "/export_relations/download?" + query.Encode(),
		Header: map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + c.token},
	}
	got, err := c.s.Outbound.Stream(ctx, longest, what, c.s.Waits.Pace)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	if got.Status != 200 {
		seconds, _ := strconv.Atoi(got.Header.Get("Retry-After"))
		return &statusError{status: got.Status, after: time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	}
	if kind := got.Header.Get("Content-Type"); kind != "application/gzip" && kind != "application/octet-stream" {
		return failure{"Invalid content type"}
	}
	limit := int64(c.s.Settings.Current().BulkImportMaxDownloadFileSize) << 20
	if limit > 0 && got.Length > limit {
		return failure{fmt.Sprintf("File size %d exceeds limit of %d", got.Length, limit)}
	}
	wanted := blob.Wanted{Limit: limit}
	if got.Length >= 0 {
		wanted.Size = &got.Length
	}
	from := &watched{from: got.Body}
	_, err = c.s.Objects.Put(ctx, f.key, from, wanted)
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return failure{fmt.Sprintf("The file exceeds the limit of %d bytes", limit)}
	case from.err != nil:
		return from.err
	case errors.Is(err, blob.ErrMismatch):
		return errors.New("the file has another length than the source said")
	}
	return err
}
