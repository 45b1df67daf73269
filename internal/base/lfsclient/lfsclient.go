// Package lfsclient fetches large objects from a server of Git LFS, through its batch
// interface over HTTP and the basic transfer.
package lfsclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"tenon/internal/base/safehttp"
)

const (
	media     = "application/vnd.git-lfs+json"
	download  = "download"
	maxAnswer = 8 << 20 // bytes of an answer about a batch
)

// Source is a server that large objects come from.
type Source struct {
	At            *url.URL // of the repository
	Authorization string   // header for that server alone, or ""
	Check         func(address string) (*url.URL, error)
	Client        *http.Client
	Left          int64         // bytes that may still come
	Pace          safehttp.Pace // at which each answer must come
}

// Object is a large object by the SHA-256 of its content, with its size in bytes.
type Object struct {
	OID  string
	Size int64
}

// Offer is where an object can be fetched.
type Offer struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// What keeps objects from coming. Beside them there are safehttp.ErrTooMuch for more bytes
// than may come, and safehttp.ErrTooSlow for less than Pace.
var (
	ErrNoOffer   = errors.New("the server does not have the object")
	ErrForbidden = errors.New("the server does not let the object be read")
	ErrNoLFS     = errors.New("the server has no Git LFS")
)

// Ask returns where the objects of a batch can be fetched, by their names.
func (s *Source) Ask(ctx context.Context, batch []Object) (map[string]Offer, error) {
	type object struct {
		OID     string           `json:"oid"`
		Size    int64            `json:"size"`
		Actions map[string]Offer `json:"actions,omitempty"`
	}
	body := struct {
		Operation string   `json:"operation"`
		Transfers []string `json:"transfers"`
		Objects   []object `json:"objects"`
	}{Operation: download, Transfers: []string{"basic"}}
	for _, o := range batch {
		body.Objects = append(body.Objects, object{OID: o.OID, Size: o.Size})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	address := *s.At
	address.Path, address.RawPath, address.RawQuery = strings.TrimSuffix(strings.TrimSuffix(address.Path, "/"), ".git")+".git/info/lfs/objects/batch", "", ""
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", media)
	request.Header.Set("Content-Type", media)
	var answer struct {
		Objects []object `json:"objects"`
	}
	err = s.do(request, func(content io.Reader) error {
		return json.NewDecoder(io.LimitReader(content, maxAnswer)).Decode(&answer)
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Offer, len(answer.Objects))
	for _, o := range answer.Objects {
		if to, ok := o.Actions[download]; ok {
			out[o.OID] = to
		}
	}
	return out, nil
}

// Fetch reads an object from where it is offered.
func (s *Source) Fetch(ctx context.Context, from Offer, o Object, take func(content io.Reader) error) error {
	if from.Href == "" {
		return ErrNoOffer
	}
	if o.Size > s.Left {
		return safehttp.ErrTooMuch
	}
	s.Left -= o.Size
	to, err := s.Check(from.Href)
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
	return s.do(request, take)
}

// do sends a request, with the credentials where it goes to the server of the repository,
// and reads the answer.
func (s *Source) do(request *http.Request, read func(content io.Reader) error) (err error) {
	if s.Authorization != "" && request.Header.Get("Authorization") == "" && request.URL.Scheme == s.At.Scheme && request.URL.Host == s.At.Host {
		request.Header.Set("Authorization", s.Authorization)
	}
	ctx, stop := context.WithCancel(request.Context())
	defer stop()
	answer, err := s.Client.Do(request.WithContext(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	switch answer.StatusCode {
	case http.StatusOK:
		return read(s.Pace.Reader(answer.Body, stop))
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return ErrNoLFS
	}
	return fmt.Errorf("the server answered %d", answer.StatusCode)
}
