package ci

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"tenon/internal/core/ciconfig"
)

// tokenClaims is what an ID token says of its job. Numbers and booleans are texts, as other systems expect them in conditions.
type tokenClaims struct {
	ID        string           `json:"jti"`
	Issuer    string           `json:"iss"`
	Subject   string           `json:"sub"`
	Audience  any              `json:"aud"` // text where it is one, else texts
	IssuedAt  *jwt.NumericDate `json:"iat"`
	NotBefore *jwt.NumericDate `json:"nbf"`
	Expiry    *jwt.NumericDate `json:"exp"`

	NamespaceID       string `json:"namespace_id"`
	NamespacePath     string `json:"namespace_path"`
	ProjectID         string `json:"project_id"`
	ProjectPath       string `json:"project_path"`
	ProjectVisibility string `json:"project_visibility"`
	UserID            string `json:"user_id,omitempty"`
	UserLogin         string `json:"user_login,omitempty"`
	UserEmail         string `json:"user_email,omitempty"`

	UserIdentities []userIdentity `json:"user_identities,omitempty"` // where the user wants them passed on

	PipelineID           string `json:"pipeline_id"`
	PipelineSource       string `json:"pipeline_source"`
	JobID                string `json:"job_id"`
	Ref                  string `json:"ref"`
	RefType              string `json:"ref_type"` // branch or tag
	RefPath              string `json:"ref_path"`
	RefProtected         string `json:"ref_protected"`
	RunnerID             int64  `json:"runner_id"`
	RunnerEnvironment    string `json:"runner_environment"`
	SHA                  string `json:"sha"`
	ConfigRefURI         string `json:"ci_config_ref_uri,omitempty"`
	ConfigSHA            string `json:"ci_config_sha,omitempty"`
	Environment          string `json:"environment,omitempty"`
	EnvironmentProtected string `json:"environment_protected,omitempty"`
	EnvironmentAction    string `json:"environment_action,omitempty"`
	DeploymentTier       string `json:"deployment_tier,omitempty"`
}

// userIdentity is an account of the user with another provider.
type userIdentity struct {
	Provider  string `json:"provider"`
	ExternUID string `json:"extern_uid"`
}

// TokenClaims lists the claims that an ID token may have.
func TokenClaims() []string {
	of := reflect.TypeFor[tokenClaims]()
	out := make([]string, of.NumField())
	for i := range out {
		out[i], _, _ = strings.Cut(of.Field(i).Tag.Get("json"), ",")
	}
	return out
}

const (
	// clockSkew is how far the clock of a system that verifies a token may be behind.
	clockSkew = 5 * time.Second

	// selfHosted is where the runners of every instance run that rents none out.
	selfHosted = "self-hosted"
)

// idTokens are the variables of a job that hold signed tokens. The claims come from facts, which nobody can set; the audiences may name
// variables of the project, too.
func (s *Service) idTokens(ctx context.Context, a *Assignment, facts, set list) (list, error) {
	if len(a.Config.IDTokens) == 0 {
		return nil, nil
	}
	claims := s.claims(a, facts)
	var err error
	if claims.UserIdentities, err = s.userIdentities(ctx, a.Job); err != nil {
		return nil, err
	}
	known := slices.Concat(facts, set).unmasked().lookup()
	var out list
	for _, t := range a.Config.IDTokens {
		own := *claims
		own.ID = rand.Text()
		audience := make([]string, len(t.Audience))
		for i, written := range t.Audience {
			audience[i] = ciconfig.Expand(written, known)
		}
		if own.Audience = any(audience); len(audience) == 1 {
			own.Audience = audience[0]
		}
		token, err := s.IDTokens.Sign(ctx, own)
		if err != nil {
			return nil, err
		}
		out.secret(t.Key, token)
	}
	return out, nil
}

// userIdentities are the accounts that the user of a job has with other providers, where their preferences let tokens tell them.
func (s *Service) userIdentities(ctx context.Context, j *Job) ([]userIdentity, error) {
	if j.AuthorID == nil {
		return nil, nil
	}
	passed, err := s.Accounts.PassedIdentities(ctx, *j.AuthorID)
	if err != nil {
		return nil, fmt.Errorf("identities of user: %w", err)
	}
	var out []userIdentity
	for _, i := range passed {
		out = append(out, userIdentity{i.Provider, i.ExternUID})
	}
	return out, nil
}

// claims are those of all tokens of a job, from the variables that the server predefines.
func (s *Service) claims(a *Assignment, facts list) *tokenClaims {
	now := s.Now()
	p, of := a.Project, a.Pipeline
	c := &tokenClaims{
		NamespaceID: strconv.FormatInt(int64(p.ParentID), 10), NamespacePath: p.FullPath[:strings.LastIndexByte(p.FullPath, '/')],
		ProjectID: strconv.FormatInt(int64(p.ID), 10), ProjectPath: p.FullPath, ProjectVisibility: p.Visibility.String(),
		UserID: facts.last("GITLAB_USER_ID"), UserLogin: facts.last("GITLAB_USER_LOGIN"), UserEmail: facts.last("GITLAB_USER_EMAIL"),
		PipelineID: strconv.FormatInt(int64(of.ID), 10), PipelineSource: string(of.Source), JobID: strconv.FormatInt(int64(a.Job.ID), 10),
		Ref: of.Ref, RefType: "branch", RefPath: "refs/heads/" + of.Ref, RefProtected: strconv.FormatBool(of.Protected),
		RunnerID: int64(a.Runner.ID), RunnerEnvironment: selfHosted, SHA: of.SHA,
	}
	switch {
	case of.Tag:
		c.RefType, c.RefPath = "tag", "refs/tags/"+of.Ref
	case strings.HasPrefix(of.Ref, "refs/"): // of a merge request
		c.Ref, c.RefPath = facts.last("CI_COMMIT_REF_NAME"), of.Ref
	}
	if path := configPath(p, s.Settings.Current().DefaultCIConfigPath); of.Source != ByParentPipeline && !strings.ContainsAny(path, "@:") {
		host := s.URLs.Root()
		if at, err := url.Parse(host); err == nil {
			host = at.Host + at.Path
		}
		c.ConfigRefURI, c.ConfigSHA = host+"/"+p.FullPath+"//"+path+"@"+c.RefPath, of.SHA
	}
	if e := a.Config.Environment; e != nil {
		c.Environment, c.EnvironmentProtected, c.EnvironmentAction, c.DeploymentTier = e.Name, "false", facts.last("CI_ENVIRONMENT_ACTION"), e.Tier
	}
	c.Issuer, c.Subject = s.URLs.Root(), c.subject(p.Settings().CIIDTokenSubClaimComponents)
	c.IssuedAt, c.NotBefore = jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(-clockSkew))
	c.Expiry = jwt.NewNumericDate(now.Add(time.Duration(a.Job.Timeout) * time.Second))
	return c
}

// subject joins the claims that a project wants in the subject of its tokens, as "project_path:group/name:ref_type:branch:ref:main".
// Names that are no such claims are left out.
func (c *tokenClaims) subject(components []string) string {
	values := map[string]string{
		"project_path": c.ProjectPath, "ref_type": c.RefType, "ref": c.Ref, "ref_path": c.RefPath, "ref_protected": c.RefProtected,
		"pipeline_source": c.PipelineSource, "environment_protected": c.EnvironmentProtected, "deployment_tier": c.DeploymentTier,
	}
	parts := make([]string, 0, 2*len(components))
	for _, name := range slices.Compact(slices.Clone(components)) {
		if value, ok := values[name]; ok {
			parts = append(parts, name, value)
		}
	}
	return strings.Join(parts, ":")
}
