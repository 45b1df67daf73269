package web

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/deploy"
)

func (x *visit) deploys() *deploy.Service { return core.Part[*deploy.Service](x.Services) }

// environmentRow is an environment with its last successful deployment, nil for none.
type environmentRow struct {
	deploy.Environment

	Last *deploy.View
}

// getEnvironments lists the environments of a project.
func (x *visit) getEnvironments() (templ.Component, error) {
	p, err := x.project("Environments")
	if err != nil {
		return nil, err
	}
	all := []string{"available", "stopped", "all"}
	state := x.state(all...)
	f := deploy.EnvironmentFilter{Range: x.part()}
	switch state {
	case "available":
		f.States = []deploy.EnvironmentState{deploy.Available, deploy.Stopping}
	case "stopped":
		f.States = []deploy.EnvironmentState{deploy.Stopped}
	}
	ctx := x.r.Context()
	list, err := x.deploys().Environments(ctx, x.as, p, f)
	if err != nil {
		return nil, err
	}
	last, err := x.deploys().LastOf(ctx, x.as, p, list.Items)
	if err != nil {
		return nil, err
	}
	views, err := x.deploys().Views(ctx, x.as, p, last)
	if err != nil {
		return nil, err
	}
	rows := make([]environmentRow, len(list.Items))
	for i, e := range list.Items {
		rows[i] = environmentRow{Environment: e}
		if j := slices.IndexFunc(views, func(v deploy.View) bool { return v.EnvironmentID == e.ID }); j >= 0 {
			rows[i].Last = &views[j]
		}
	}
	x.title("Environments")
	x.sheet.API += "/environments"
	older, newer := around(x, &list)
	return templ.Join(states(x.choose(at.Environments(p.FullPath), state, all...)), environmentList(p.FullPath, rows, older, newer)), nil
}

// getEnvironment shows an environment with its deployments.
func (x *visit) getEnvironment() (templ.Component, error) {
	p, err := x.project("Environments")
	if err != nil {
		return nil, err
	}
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	ctx := x.r.Context()
	e, err := x.deploys().FindEnvironment(ctx, x.as, p, deploy.EnvironmentID(id))
	if err != nil {
		return nil, err
	}
	list, err := x.deploys().List(ctx, x.as, p, deploy.Filter{EnvironmentID: e.ID, Desc: true, Range: x.part()})
	if err != nil {
		return nil, err
	}
	views, err := x.deploys().Views(ctx, x.as, p, list.Items)
	if err != nil {
		return nil, err
	}
	x.title(e.Name)
	x.sheet.Badge = string(e.State)
	if e.State == deploy.Available {
		x.sheet.BadgeKind = "good"
	}
	x.sheet.API += "/environments/" + itoa(id)
	text, err := x.text(ofProject(p), e.Description)
	if err != nil {
		return nil, err
	}
	older, newer := around(x, &page.Page[deploy.Deployment]{HasNext: list.HasNext, Total: list.Total})
	return templ.Join(environmentPage(e, text), deploymentList(p.FullPath, views, older, newer)), nil
}

// linked returns the address of an environment as pages link to it: "" where browsers would run it, or do not know it.
func linked(address *string) string {
	if address == nil {
		return ""
	}
	u, err := url.Parse(*address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ftp"}, u.Scheme) {
		return ""
	}
	return *address
}

// deploymentKind is how the state of a deployment is shown.
func deploymentKind(s deploy.State) string {
	switch s {
	case deploy.Success:
		return "good"
	case deploy.Failed:
		return "bad"
	}
	return ""
}
