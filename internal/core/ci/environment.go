package ci

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/pattern"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

const (
	maxEnvironmentSlug = 24 // bytes
	slugSuffix         = 6  // bytes
)

// EnvironmentSlug returns the form of an environment's name that stands in host names and references. It is the name itself where that is one
// already; else it ends with a digest of the name, so that two names do not share it.
func EnvironmentSlug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	out := b.String()
	if out == "" || out[0] < 'a' {
		out = "env-" + strings.TrimPrefix(out, "-")
	}
	if out == name && len(out) <= maxEnvironmentSlug && !strings.HasSuffix(out, "-") {
		return out
	}
	out = strings.TrimSuffix(out[:min(len(out), maxEnvironmentSlug-slugSuffix-1)], "-")
	sum := sha256.Sum256([]byte(name))
	digest := new(big.Int).SetBytes(sum[:]).Text(36)
	return out + "-" + digest[len(digest)-slugSuffix:]
}

// tiers are the words in the name of an environment that tell its tier, in the order in which they are tried.
var tiers = []struct {
	name  string
	words func() *regexp.Regexp
}{
	{"development", pattern.New(`(?i)dev|review|trunk`)},
	{"testing", pattern.New(`(?i)test|tst|int|ac(ce|)pt|qa|qc|control|quality`)},
	{"staging", pattern.New(`(?i)st(a|)g|mod(e|)l|pre|demo|non`)},
	{"production", pattern.New(`(?i)pr(o|)d|live`)},
}

// EnvironmentTier returns the tier that the name of an environment suggests.
func EnvironmentTier(name string) string {
	for _, t := range tiers {
		if t.words().MatchString(name) {
			return t.name
		}
	}
	return "other"
}

// environmentFacts is what the variables of a job say of its environment.
type environmentFacts struct {
	ID          int64   `db:"id"`
	Slug        string  `db:"slug"`
	Tier        string  `db:"tier"`
	ExternalURL *string `db:"external_url"`
}

// environmentFacts reads the environment of a name, and guesses what is not known of one that is not there.
func (s *Service) environmentFacts(ctx context.Context, p *project.Project, name string) (environmentFacts, error) {
	list, err := db.Select[environmentFacts](ctx, s.DB, "SELECT e.id, e.slug, e.tier, e.external_url FROM environments e WHERE e.project_id = ? AND e.name = ? ORDER BY e.id", p.ID, name)
	if err != nil {
		return environmentFacts{}, fmt.Errorf("environment of job: %w", err)
	}
	if len(list) == 0 {
		return environmentFacts{Slug: EnvironmentSlug(name), Tier: EnvironmentTier(name)}, nil
	}
	return list[0], nil
}

// add makes the variables of a job that has the environment.
func (f environmentFacts) add(l *list, e *ciconfig.Environment) {
	l.text("CI_ENVIRONMENT_NAME", e.Name)
	l.add("CI_ENVIRONMENT_SLUG", f.Slug)
	action := e.Action
	if action == "" {
		action = "start"
	}
	l.add("CI_ENVIRONMENT_ACTION", action)
	tier := e.Tier
	if tier == "" {
		tier = f.Tier
	}
	l.add("CI_ENVIRONMENT_TIER", tier)
	if f.ID != 0 {
		l.number("CI_ENVIRONMENT_ID", f.ID)
	}
	switch {
	case e.URL != "":
		l.add("CI_ENVIRONMENT_URL", e.URL)
	case f.ExternalURL != nil:
		l.text("CI_ENVIRONMENT_URL", *f.ExternalURL)
	}
}

// EnvironmentURL returns the address of the environment that a job deployed to, with the variables that it had and those that it reported; "" for
// none. Variables that are masked have no value in it. It asks for no permission, and reads the repository.
func (s *Service) EnvironmentURL(ctx context.Context, p *project.Project, id StatusID) (string, error) {
	j, err := s.loadJob(ctx, id)
	if err != nil {
		return "", err
	}
	c, err := j.Config()
	if err != nil || c.Environment == nil || c.Environment.URL == "" {
		return "", err
	}
	found, err := s.loadPipelines(ctx, []PipelineID{j.PipelineID})
	if err != nil || found[j.PipelineID] == nil {
		return "", err
	}
	of := found[j.PipelineID]
	l, err := s.factsOf(ctx, j.AuthorID, p, of)
	if err != nil {
		return "", err
	}
	named := *c.Environment
	named.URL = ""
	facts, err := s.environmentFacts(ctx, p, named.Name)
	if err != nil {
		return "", err
	}
	l.number("CI_JOB_ID", int64(j.ID))
	l.text("CI_JOB_NAME", j.Name)
	l.text("CI_JOB_STAGE", j.Stage)
	facts.ExternalURL = nil
	facts.add(&l, &named)
	set, err := s.configured(ctx, p, named.Name, of.Protected)
	if err != nil {
		return "", err
	}
	own, err := s.pipelineVariables(ctx, of.ID)
	if err != nil {
		return "", err
	}
	reported, err := s.jobVariables(ctx, []StatusID{id}, true)
	if err != nil {
		return "", err
	}
	for _, v := range c.Variables {
		l = append(l, Variable{Key: v.Key, Value: v.Value, Public: true, Raw: v.Raw})
	}
	l = append(append(append(l, set...), own...), reported...)
	for i := range l {
		if l[i].Masked {
			l[i].Value = masked
		}
	}
	return strings.TrimSpace(ciconfig.Expand(c.Environment.URL, l.lookup())), nil
}
