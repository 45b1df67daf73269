package httpkit

import (
	"errors"
	"net/http"
	"strings"
)

// Presentation says how a credential came.
type Presentation int

// The ways a credential can come.
const (
	PrivateToken Presentation = iota // header PRIVATE-TOKEN, parameter private_token
	Bearer                           // Authorization: Bearer, parameters access_token and bearer_token
	JobToken                         // header JOB-TOKEN, parameter job_token
	DeployToken                      // header Deploy-Token
	Basic                            // user and password of HTTP Basic, on routes that take them
)

// Credential is what a caller presented.
type Credential struct {
	How     Presentation
	Name    string // of Basic
	Secret  string
	Route   string // pattern of what it is presented for: some routes alone take tokens of jobs
	Address string // where the request came from

	Packages bool // presented for a route of packages, which takes tokens of jobs and deploy tokens
}

// SecretParams are the parameters that carry credentials.
var SecretParams = []string{"private_token", "access_token", "bearer_token", "job_token"}

// ErrTwoTokens is the refusal of a bearer token in the header beside another in the parameters.
var ErrTwoTokens = errors.New("a bearer token in the header and another in the parameters")

// Find finds the credential in the headers and the parameters of a request; param gives the
// text of a parameter, "" where there is none. It is false where nothing was presented.
func Find(h http.Header, param func(name string) string) (Credential, bool, error) {
	bearer := bearerToken(h.Get("Authorization"))
	access := param("access_token")
	if access == "" {
		access = param("bearer_token")
	}
	if bearer != "" && access != "" {
		return Credential{}, false, ErrTwoTokens
	}
	for _, c := range []Credential{
		{How: Bearer, Secret: bearer},
		{How: Bearer, Secret: access},
		{How: PrivateToken, Secret: param("private_token")},
		{How: PrivateToken, Secret: h.Get("Private-Token")},
		{How: JobToken, Secret: h.Get("Job-Token")},
		{How: JobToken, Secret: param("job_token")},
		{How: DeployToken, Secret: h.Get("Deploy-Token")},
	} {
		if c.Secret != "" {
			return c, true, nil
		}
	}
	return Credential{}, false, nil
}

// bearerToken returns the token of an Authorization header, "" where it has none.
func bearerToken(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
