package project

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/starter"
	"tenon/internal/core/authz"
)

// Import is the job that fills the repository of a new project from another server; see
// Service.Source.
type Import struct {
	ProjectID ID     `json:"project_id"`
	URL       string `json:"url,omitempty"`    // without credentials
	Sealed    string `json:"sealed,omitempty"` // user name and password in the form of a URL, see ImportSecret
}

// Kind names the job.
func (Import) Kind() string { return "project_import" }

// ImportSecret is the place that the credentials of an import are sealed for.
func ImportSecret(id ID) string { return fmt.Sprintf("projects.import:%d", id) }

// ImportOf finds a project whose import the actor may follow. Its error is for those who administer the project.
func (s *Service) ImportOf(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadImport, p.Subject()); err != nil {
		return nil, err
	}
	return p, nil
}

// origin is where a new project comes from.
type origin struct {
	address string // without credentials, "" for nowhere
	user    *url.Userinfo

	file     *FromFile
	template *Project
	builtin  string // name of a built-in template, "" for none
}

// FillTemplate is the job that fills the repository of a new project from a built-in template.
type FillTemplate struct {
	ProjectID ID           `json:"project_id"`
	Template  string       `json:"template"`
	By        authz.UserID `json:"by"` // who made the project
}

// Kind names the job.
func (FillTemplate) Kind() string { return "project_template" }

// unknownTemplate refuses a template that is not there or that the actor may not read.
func unknownTemplate(what string) error {
	var f errs.Fields
	f.Add("template", fmt.Sprintf("'%s' is unknown or invalid", what))
	return f.Err()
}

// builtin returns the name of the built-in template that was asked for, "" where none was.
func builtin(in Input) (string, error) {
	if in.Template == "" {
		return "", nil
	}
	t, ok := starter.Project(in.Template)
	if !ok {
		return "", unknownTemplate(in.Template)
	}
	return t.Name, nil
}

// Templated says that a new project is to start with what another one holds.
type Templated struct {
	authz.Stamp

	ProjectID ID
	SourceID  ID
}

// template finds the project that a new one starts with, nil for none. One whose code
// the actor may not read is as unknown as one that is not there.
func (s *Service) template(ctx context.Context, as authz.Actor, in Input) (*Project, error) {
	if in.TemplateID == nil {
		return nil, nil
	}
	p, err := s.FindByID(ctx, as, *in.TemplateID)
	if err == nil {
		err = s.Policy.Require(ctx, as, authz.ReadCode, p.Subject())
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return nil, unknownTemplate(fmt.Sprint(*in.TemplateID))
	}
	return p, err
}

// checkImport looks at the address that a project is to be imported from. Where the
// instance imports nothing, that is Forbidden; an address that is none, or that may not
// be reached, is Unprocessable.
func (s *Service) checkImport(address string) (origin, error) {
	if address == "" {
		return origin{}, nil
	}
	if !slices.Contains(s.Settings.Current().ImportSources, "git") {
		return origin{}, errs.Denied("")
	}
	u, err := s.Outbound.CheckURL(address)
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return origin{}, errs.New(errs.Unprocessable, "Import url "+blocked.Error())
	}
	if err != nil {
		return origin{}, fmt.Errorf("check import: %w", err)
	}
	clean := *u
	clean.User, clean.Fragment, clean.RawFragment = nil, "", ""
	return origin{address: clean.String(), user: u.User}, nil
}

// scheduleImport schedules the import in the transaction that makes the project.
func (s *Service) scheduleImport(ctx context.Context, as authz.Actor, p *Project, from origin) error {
	if from.file != nil {
		return from.file.Begin(ctx, p)
	}
	if from.template != nil {
		return s.Bus.Publish(ctx, Templated{Stamp: as.Stamp(s.Now()), ProjectID: p.ID, SourceID: from.template.ID})
	}
	if from.builtin != "" {
		return s.Jobs.Enqueue(ctx, FillTemplate{ProjectID: p.ID, Template: from.builtin, By: as.UserID})
	}
	if from.address == "" {
		return nil
	}
	row := importRow{ProjectID: p.ID, UserID: as.UserID, URL: from.address}
	if from.user != nil {
		row.Sealed = s.Box.Seal(ImportSecret(p.ID), from.user.String())
	}
	return s.awaitTurn(ctx, row)
}

// ImportedFrom is the address that the project was imported from, without credentials;
// "" for none.
func (p *Project) ImportedFrom() string { return p.Settings().ImportURL }

// ImportType says what kind of import the project was made by, "" for none.
func (p *Project) ImportType() string {
	set := p.Settings()
	if set.ImportType == "" && set.ImportURL != "" {
		return "git"
	}
	return set.ImportType
}
