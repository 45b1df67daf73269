// Package externalauth asks the external authorization service of the instance which users reach projects with which classification
// label.
package externalauth

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

const (
	keep       = 6 * time.Hour // an answer is valid
	pause      = time.Second   // after a failure, in which the service is not asked
	maxAnswers = 20_000        // kept
	maxLabels  = 500           // of one user
	maxAsking  = 16            // requests to the service at a time
)

// What the service answers: 200 grants, 401 and 403 deny.
const (
	statusGranted      = 200
	statusUnauthorized = 401
	statusForbidden    = 403
)

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Settings *setting.Store
	Accounts *account.Service
	Outbound *safehttp.Dialer
	Now      func() time.Time
	Log      *slog.Logger
}

// Service is an authz.External. It is safe for concurrent use.
type Service struct {
	Deps

	asking chan struct{}

	mu      sync.Mutex
	of      string // URL of the service that answered
	answers map[authz.UserID]map[string]answer
	count   int
	paused  time.Time // until then the service is not asked
}

// answer is the answer of the service for a user and a label.
type answer struct {
	granted bool
	reason  string
	until   time.Time
}

// New builds the service.
func New(deps Deps) *Service {
	return &Service{Deps: deps, asking: make(chan struct{}, maxAsking), answers: map[authz.UserID]map[string]answer{}}
}

// url is that of the service, "" where the settings name none.
func url(set *setting.Settings) string {
	if !set.ExternalAuthorizationServiceEnabled || set.ExternalAuthorizationServiceURL == nil {
		return ""
	}
	return *set.ExternalAuthorizationServiceURL
}

// Asks reports whether the actor's access to projects is decided here. Administrators and auditors reach every project. Without a URL nobody is
// asked about, and only deploy tokens and keys are kept out, unless a setting lets them in.
func (s *Service) Asks(as authz.Actor) bool {
	set := s.Settings.Current()
	if !set.ExternalAuthorizationServiceEnabled || as.Admin || as.Auditor {
		return false
	}
	return url(set) != "" || as.Deploys() && !set.AllowDeployTokensAndKeysWithExternalAuthn
}

// Grants reports whether the actor may reach a project with these settings. Only users may, and the service says which; one that does not
// answer with 200 grants nothing. In a transaction the service is not asked: then what it did not grant before is denied.
func (s *Service) Grants(ctx context.Context, as authz.Actor, settings string) bool {
	if !as.SignedIn() {
		return false
	}
	granted, _ := s.look(ctx, as.UserID, s.label(settings))
	return granted
}

// Refuses says why the actor may not give a project this label, "" where it may.
func (s *Service) Refuses(ctx context.Context, as authz.Actor, label string) string {
	if !s.Asks(as) || as.Deploys() {
		return ""
	}
	if label == "" {
		label = s.fallback()
	}
	granted, reason := s.look(ctx, as.UserID, label)
	if !granted && reason == "" {
		reason = "Access to '" + label + "' not allowed"
	}
	return reason
}

// Granted returns the labels that the user is known to reach, and the label of projects without one.
func (s *Service) Granted(as authz.Actor) (labels []string, fallback string) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current(url(s.Settings.Current()))
	for label, a := range s.answers[as.UserID] {
		if a.granted && now.Before(a.until) && as.SignedIn() {
			labels = append(labels, label)
		}
	}
	return labels, s.fallback()
}

func (s *Service) fallback() string {
	if own := s.Settings.Current().ExternalAuthorizationServiceDefaultLabel; own != nil {
		return *own
	}
	return ""
}

// label is that of a project with these settings.
func (s *Service) label(settings string) string {
	var own map[string]any
	if settings != "" && settings != "{}" && json.Unmarshal([]byte(settings), &own) == nil {
		if label, ok := own[authz.LabelSetting].(string); ok && label != "" {
			return label
		}
	}
	return s.fallback()
}

// look returns the answer about a user and a label, after it asked for one where none is known.
func (s *Service) look(ctx context.Context, user authz.UserID, label string) (granted bool, reason string) {
	set := s.Settings.Current()
	if a, known := s.known(url(set), user, label); known || s.DB.InTransaction(ctx) {
		return a.granted, a.reason
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return false, ""
	}
	if a, known := s.known(url(set), user, label); known { // meanwhile
		return a.granted, a.reason
	}
	a, ok := s.ask(ctx, set, user, label)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.current(url(set)):
	case ok:
		s.put(user, label, a)
	case ctx.Err() == nil:
		s.paused = s.Now().Add(pause)
	}
	return a.granted, a.reason
}

// current drops the answers of another service; the caller holds mu. It reports whether this is the service of the settings.
func (s *Service) current(of string) bool {
	if of != url(s.Settings.Current()) {
		return false
	}
	if s.of != of {
		s.of, s.count, s.paused = of, 0, time.Time{}
		clear(s.answers)
	}
	return true
}

// known returns an answer that is valid still. While the service is not asked it denies everything else.
func (s *Service) known(of string, user authz.UserID, label string) (answer, bool) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current(of)
	if a, ok := s.answers[user][label]; ok && now.Before(a.until) {
		return a, true
	}
	return answer{}, now.Before(s.paused)
}

// put keeps an answer; the caller holds mu. Where there are too many, those of other users go.
func (s *Service) put(user authz.UserID, label string, a answer) {
	for other := range s.answers {
		if s.count < maxAnswers {
			break
		}
		s.count -= len(s.answers[other])
		delete(s.answers, other)
	}
	of := s.answers[user]
	if of == nil || len(of) >= maxLabels {
		s.count -= len(of)
		of = map[string]answer{}
		s.answers[user] = of
	}
	if _, ok := of[label]; !ok {
		s.count++
	}
	of[label] = a
}

// question is what the service is sent.
type question struct {
	User       string     `json:"user_identifier"`
	Label      string     `json:"project_classification_label"`
	Identities []identity `json:"identities"`
}

type identity struct {
	Provider  string `json:"provider"`
	ExternUID string `json:"extern_uid"`
}

// ask posts the question. ok says that the service decided, with one of the statuses that mean something.
func (s *Service) ask(ctx context.Context, set *setting.Settings, user authz.UserID, label string) (a answer, ok bool) {
	fail := func(err error) (answer, bool) {
		s.Log.WarnContext(ctx, "external authorization fails", "user_id", user, "label", label, "error", err)
		return answer{}, false
	}
	what, err := s.question(ctx, set, user, label)
	if err != nil {
		return fail(err)
	}
	timeout := time.Duration(set.ExternalAuthorizationServiceTimeout * float64(time.Second))
	status, body, err := s.Outbound.Ask(ctx, timeout, what)
	if err != nil {
		return fail(err)
	}
	switch status {
	case statusGranted:
		a.granted = true
	case statusUnauthorized, statusForbidden:
		var said struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(body, &said) == nil && len(said.Reason) <= maxReason {
			a.reason = said.Reason
		}
	default:
		return fail(&safehttp.StatusError{Status: status})
	}
	s.Log.InfoContext(ctx, "external authorization", "user_id", user, "label", label, "granted", a.granted)
	a.until = s.Now().Add(keep)
	return a, true
}

const maxReason = 1000

func (s *Service) question(ctx context.Context, set *setting.Settings, user authz.UserID, label string) (safehttp.Delivery, error) {
	what := safehttp.Delivery{URL: url(set), Header: map[string]string{"Content-Type": "application/json"}}
	users, err := s.Accounts.Load(ctx, []authz.UserID{user})
	if err != nil {
		return what, err
	}
	identities, err := s.Accounts.Identities(ctx, []authz.UserID{user})
	if err != nil {
		return what, err
	}
	q := question{Label: label, Identities: []identity{}}
	if u := users[user]; u != nil {
		q.User = u.Email
	}
	for _, own := range identities[user] {
		q.Identities = append(q.Identities, identity{own.Provider, own.ExternUID})
	}
	if what.Body, err = json.Marshal(q); err != nil {
		return what, err
	}
	what.Certificate, err = certificate(set)
	return what, err
}

// certificate is what this server shows the service, nil for none.
func certificate(set *setting.Settings) (*tls.Certificate, error) {
	cert, key, passphrase := set.ExternalAuthClientCert, set.ExternalAuthClientKey, ""
	if cert == nil || *cert == "" || key == nil {
		return nil, nil
	}
	if set.ExternalAuthClientKeyPass != nil {
		passphrase = *set.ExternalAuthClientKeyPass
	}
	pair, err := secret.KeyPair(*cert, *key, passphrase)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}
