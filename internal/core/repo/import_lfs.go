package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

const (
	mediaLFS     = "application/vnd.git-lfs+json"
	lfsBatch     = 100       // objects asked for at a time
	maxLFSAnswer = 8 << 20   // bytes of an answer about them
	lfsExchange  = time.Hour // for one object
)

// importLFS brings the large objects that the pointers of an imported repository name,
// from the server that the repository came from. Every address that it gives is held
// against the rules for connections. What cannot be brought is no failure: the note says
// it, for whoever may administer the project.
func (s *Service) importLFS(ctx context.Context, p *project.Project, r *gitcmd.Repo, at *url.URL, authorization string) (note string, err error) {
	if !s.lfs.Enabled(p) {
		return "", nil
	}
	wanted, err := s.missingObjects(ctx, p, r)
	if err != nil || len(wanted) == 0 {
		return "", err
	}
	from := &lfsSource{
		at: at, authorization: authorization, check: s.Outbound.CheckURL, client: s.Outbound.Client(lfsExchange), left: s.MaxImport,
	}
	defer from.client.CloseIdleConnections()
	lost := 0
	for batch := range slices.Chunk(wanted, lfsBatch) {
		offers, err := from.ask(ctx, batch)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return fmt.Sprintf("%d large files of Git LFS were not brought: %s", len(wanted), lfsFailure(err)), nil
		}
		for _, o := range batch {
			err := from.fetch(ctx, offers[o.OID], o, func(content io.Reader) error { return s.lfs.Place(ctx, p.ID, o, content) })
			switch {
			case ctx.Err() != nil:
				return "", ctx.Err()
			case errors.Is(err, safehttp.ErrTooMuch):
				return "", err
			case err != nil:
				lost++
				s.log.Warn("large file of an import", "project_id", p.ID, "oid", o.OID, "error", err)
			}
		}
	}
	if lost > 0 {
		return fmt.Sprintf("%d of %d large files of Git LFS were not brought.", lost, len(wanted)), nil
	}
	return "", nil
}

// missingObjects lists what the pointers in the repository name and the project has not.
func (s *Service) missingObjects(ctx context.Context, p *project.Project, r *gitcmd.Repo) ([]lfs.Pointer, error) {
	named := map[string]lfs.Pointer{}
	err := r.SmallBlobs(ctx, leastPointer, mostPointer, func(content []byte) error {
		if o, ok := lfs.ParsePointer(content); ok {
			named[o.OID] = o
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what failed
	}
	oids := make([]string, 0, len(named))
	for oid := range named {
		oids = append(oids, oid)
	}
	slices.Sort(oids)
	has, err := s.lfs.Has(ctx, p.ID, oids)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what failed
	}
	var out []lfs.Pointer
	for _, oid := range oids {
		if _, there := has[oid]; !there {
			out = append(out, named[oid])
		}
	}
	return out, nil
}

// lfsSource is the server that large objects come from.
type lfsSource struct {
	at            *url.URL // of the repository
	authorization string   // header for that server alone, or ""
	check         func(address string) (*url.URL, error)
	client        *http.Client
	left          int64 // bytes that may still come
}

// offer is where an object can be fetched.
type offer struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

var errNoOffer = errors.New("the server does not have it")

// statusError is an answer other than the one hoped for.
type statusError int

// Error gives the number.
func (e statusError) Error() string { return fmt.Sprintf("the server answered %d", int(e)) }

// lfsFailure says in words that may be shown why no large files came.
func lfsFailure(err error) string {
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return "the address " + blocked.Error() + "."
	}
	if status, ok := errors.AsType[statusError](err); ok {
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return "the server does not let them be read."
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return "the server has no Git LFS."
		}
	}
	return "the server does not answer as one with Git LFS does."
}

// ask gives where the objects of a batch can be fetched, by their names.
func (l *lfsSource) ask(ctx context.Context, batch []lfs.Pointer) (map[string]offer, error) {
	type object struct {
		OID     string           `json:"oid"`
		Size    int64            `json:"size"`
		Actions map[string]offer `json:"actions,omitempty"`
	}
	body := struct {
		Operation string   `json:"operation"`
		Transfers []string `json:"transfers"`
		Objects   []object `json:"objects"`
	}{Operation: string(lfs.Download), Transfers: []string{"basic"}}
	for _, o := range batch {
		body.Objects = append(body.Objects, object{OID: o.OID, Size: o.Size})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	address := *l.at
	address.Path, address.RawPath, address.RawQuery = strings.TrimSuffix(strings.TrimSuffix(address.Path, "/"), ".git")+".git/info/lfs/objects/batch", "", ""
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", mediaLFS)
	request.Header.Set("Content-Type", mediaLFS)
	var answer struct {
		Objects []object `json:"objects"`
	}
	err = l.do(request, func(content io.Reader) error {
		return json.NewDecoder(io.LimitReader(content, maxLFSAnswer)).Decode(&answer)
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]offer, len(answer.Objects))
	for _, o := range answer.Objects {
		if to, ok := o.Actions[string(lfs.Download)]; ok {
			out[o.OID] = to
		}
	}
	return out, nil
}

// fetch reads an object from where it is offered.
func (l *lfsSource) fetch(ctx context.Context, from offer, o lfs.Pointer, take func(content io.Reader) error) error {
	if from.Href == "" {
		return errNoOffer
	}
	if o.Size > l.left {
		return safehttp.ErrTooMuch
	}
	l.left -= o.Size
	to, err := l.check(from.Href)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return err
	}
	for name, value := range from.Header {
		request.Header.Set(name, value)
	}
	return l.do(request, take)
}

// do sends a request, with the credentials where it goes to the server of the repository,
// and reads the answer.
func (l *lfsSource) do(request *http.Request, read func(content io.Reader) error) (err error) {
	if l.authorization != "" && request.Header.Get("Authorization") == "" && request.URL.Scheme == l.at.Scheme && request.URL.Host == l.at.Host {
		request.Header.Set("Authorization", l.authorization)
	}
	answer, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return statusError(answer.StatusCode)
	}
	if err := read(answer.Body); err != nil {
		if errs.Is(err, errs.Unprocessable) {
			return errors.New("what the server sent is not the object")
		}
		return err
	}
	return nil
}
