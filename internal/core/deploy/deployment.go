package deploy

import (
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// ID identifies a deployment.
type ID int64

// State is how far a deployment is.
type State string

// The states of a deployment.
const (
	Created  State = "created"
	Running  State = "running"
	Success  State = "success"
	Failed   State = "failed"
	Canceled State = "canceled"
	Skipped  State = "skipped"
	Blocked  State = "blocked" // its job waits for a user
)

// Complete reports whether a deployment has ended.
func (s State) Complete() bool {
	return slices.Contains([]State{Success, Failed, Canceled, Skipped}, s)
}

// Deployment is one row.
type Deployment struct {
	ID            ID            `db:"id"`
	IID           int64         `db:"iid"`
	ProjectID     project.ID    `db:"project_id"`
	EnvironmentID EnvironmentID `db:"environment_id"`
	UserID        *authz.UserID `db:"user_id"` // nil where the account was deleted
	JobID         *ci.StatusID  `db:"job_id"`  // nil where other systems deploy, and where the job was deleted
	ByJob         bool          `db:"by_job"`
	Ref           string        `db:"ref"` // short name
	Tag           bool          `db:"tag"`
	SHA           string        `db:"sha"`
	State         State         `db:"status"`
	Approved      bool          `db:"approved"` // by all that its environment asks for
	OnStop        *string       `db:"on_stop"`  // name of the job of its pipeline that stops the environment
	CreatedAt     db.Time       `db:"created_at"`
	UpdatedAt     db.Time       `db:"updated_at"`
	FinishedAt    *db.Time      `db:"finished_at"`

	in *Environment // as lists read it, with what deployments show of it; nil where it was not read
}

// About names it for events.
func (d Deployment) About() change.Subject {
	return change.Subject{Type: "Deployment", ID: int64(d.ID), IID: d.IID}
}

// DeploymentCreated is published when a deployment was made.
type DeploymentCreated struct {
	change.Of[Deployment]

	Environment Environment
	Project     *project.Project
}

// DeploymentUpdated is published when a deployment got another state.
type DeploymentUpdated struct {
	change.Of[Deployment]

	Environment Environment
	Project     *project.Project
}

// DeploymentDeleted is published when a deployment was deleted.
type DeploymentDeleted struct {
	change.Of[Deployment]

	Environment Environment
	Project     *project.Project
}

// Linked is published when merge requests were linked with a successful deployment that shipped them, and when one was made of an earlier job.
type Linked struct {
	authz.Stamp

	ProjectID  project.ID
	FinishedAt db.Time // of the deployment
}

// listRow is a deployment with what is shown of its environment.
type listRow struct {
	Deployment
	EnvironmentName    string  `db:"environment_name"`
	EnvironmentSlug    string  `db:"environment_slug"`
	EnvironmentURL     *string `db:"environment_url"`
	EnvironmentCreated db.Time `db:"environment_created_at"`
	EnvironmentUpdated db.Time `db:"environment_updated_at"`
}

// deployment is the deployment of the row with its environment.
func (r *listRow) deployment() Deployment {
	d := r.Deployment
	d.in = &Environment{
		ID: d.EnvironmentID, ProjectID: d.ProjectID, Name: r.EnvironmentName, Slug: r.EnvironmentSlug, ExternalURL: r.EnvironmentURL,
		CreatedAt: r.EnvironmentCreated, UpdatedAt: r.EnvironmentUpdated,
	}
	return d
}

const (
	listColumns = `, e.name AS environment_name, e.slug AS environment_slug, e.external_url AS environment_url,
		e.created_at AS environment_created_at, e.updated_at AS environment_updated_at`
	listTables = "deployments d JOIN environments e ON e.id = d.environment_id"
)

var columns = db.Columns[Deployment]("d")
