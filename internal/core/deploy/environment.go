package deploy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// EnvironmentID identifies an environment.
type EnvironmentID int64

// EnvironmentState is whether an environment is in use.
type EnvironmentState string

// The states of an environment.
const (
	Available EnvironmentState = "available"
	Stopping  EnvironmentState = "stopping" // the job that stops it runs
	Stopped   EnvironmentState = "stopped"
)

// Tier is what an environment is for.
type Tier string

// The tiers.
const (
	Production  Tier = "production"
	Staging     Tier = "staging"
	Testing     Tier = "testing"
	Development Tier = "development"
	Other       Tier = "other"
)

var allTiers = []Tier{Production, Staging, Testing, Development, Other}

// The settings of what stops an environment by itself.
const (
	StopAlways     = "always"
	StopWithAction = "with_action" // only one that a job stops
)

// Environment is one row.
type Environment struct {
	ID                  EnvironmentID    `db:"id"`
	ProjectID           project.ID       `db:"project_id"`
	Name                string           `db:"name" fold:"name_fold"`
	Slug                string           `db:"slug"`
	Folder              *string          `db:"environment_type"` // part of the name before the first slash
	Tier                Tier             `db:"tier"`
	State               EnvironmentState `db:"state"`
	ExternalURL         *string          `db:"external_url"`
	Description         *string          `db:"description"`
	KubernetesNamespace *string          `db:"kubernetes_namespace"`
	FluxResourcePath    *string          `db:"flux_resource_path"`
	AutoStopSetting     string           `db:"auto_stop_setting"`
	AutoStopAt          *db.Time         `db:"auto_stop_at"`
	AutoDeleteAt        *db.Time         `db:"auto_delete_at"`
	CreatedAt           db.Time          `db:"created_at"`
	UpdatedAt           db.Time          `db:"updated_at"`
}

// About names it for events.
func (e Environment) About() change.Subject {
	return change.Subject{Type: "Environment", ID: int64(e.ID), Title: e.Name}
}

// EnvironmentChanges are the attributes of an environment that a call sets; nil leaves one alone, and an empty text clears it.
type EnvironmentChanges struct {
	Name                *string
	Tier                *Tier
	ExternalURL         *string
	Description         *string
	KubernetesNamespace *string
	FluxResourcePath    *string
	AutoStopSetting     *string
}

// EnvironmentFilter selects from the environments of a project; the zero value selects all.
type EnvironmentFilter struct {
	Name   string
	Search string             // part of the name, in any case
	States []EnvironmentState // any of them; none is any
	page.Range
}

// EnvironmentCreated is published when an environment was made.
type EnvironmentCreated struct {
	change.Of[Environment]

	Project *project.Project
}

// EnvironmentUpdated is published when an environment was changed, also by a deployment.
type EnvironmentUpdated struct {
	change.Of[Environment]

	Project *project.Project
}

// EnvironmentDeleted is published when an environment was deleted, with its deployments.
type EnvironmentDeleted struct {
	change.Of[Environment]

	Project *project.Project
}

const (
	maxText        = 255    // characters
	maxDescription = 10_000 // characters
	maxNamespace   = 63
	leastSearch    = 3 // characters
	taken          = "has already been taken"
)

// newEnvironment makes the row of an environment that is not stored yet.
func newEnvironment(p *project.Project, name string, now db.Time) *Environment {
	e := &Environment{ProjectID: p.ID, State: Available, AutoStopSetting: StopAlways, CreatedAt: now, UpdatedAt: now, Tier: Tier(ci.EnvironmentTier(name))}
	return e.named(name)
}

// named gives the environment a name, with the folder that it is in. The slug stays.
func (e *Environment) named(name string) *Environment {
	e.Name, e.Folder = name, nil
	if folder, _, in := strings.Cut(name, "/"); in {
		e.Folder = &folder
	}
	if e.Slug == "" {
		e.Slug = ci.EnvironmentSlug(name)
	}
	return e
}

// apply writes the changes into e.
func (c *EnvironmentChanges) apply(e *Environment) {
	if c.Name != nil {
		e.named(*c.Name)
	}
	if c.Tier != nil {
		e.Tier = *c.Tier
	}
	for to, from := range map[**string]*string{
		&e.ExternalURL: c.ExternalURL, &e.Description: c.Description, &e.KubernetesNamespace: c.KubernetesNamespace, &e.FluxResourcePath: c.FluxResourcePath,
	} {
		if from != nil {
			*to = from
			if strings.TrimSpace(*from) == "" {
				*to = nil
			}
		}
	}
	if c.AutoStopSetting != nil {
		e.AutoStopSetting = *c.AutoStopSetting
	}
}

// check collects what is wrong with an environment as it will be stored.
func (e *Environment) check() error {
	var f errs.Fields
	f.Check(strings.TrimSpace(e.Name) != "", "name", "can't be blank")
	f.Length("name", &e.Name, maxText)
	f.Check(strings.TrimSpace(e.Name) == "" || ciconfig.EnvironmentName(e.Name), "name", ciconfig.EnvironmentNameText)
	if e.ExternalURL != nil {
		f.Length("external_url", e.ExternalURL, maxText)
		why := badURL(*e.ExternalURL)
		f.Check(why == "", "external_url", why)
	}
	f.Check(slices.Contains(allTiers, e.Tier), "tier", "is not included in the list")
	f.Check(slices.Contains([]string{StopAlways, StopWithAction}, e.AutoStopSetting), "auto_stop_setting", "is not included in the list")
	f.Length("description", e.Description, maxDescription)
	f.Length("kubernetes_namespace", e.KubernetesNamespace, maxNamespace)
	f.Length("flux_resource_path", e.FluxResourcePath, maxText)
	return f.Err()
}

// badURL says what is wrong with the address of an environment, which pages link to; "" for nothing.
func badURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil, !utf8.ValidString(address), strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' }):
		return "URI is invalid"
	case slices.Contains([]string{"javascript", "data", "vbscript"}, strings.ToLower(u.Scheme)):
		return fmt.Sprintf("%s scheme is not allowed", strings.ToLower(u.Scheme))
	case u.Scheme == "" || u.Host == "":
		return "URI is invalid"
	}
	return ""
}
