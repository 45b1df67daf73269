package web

import (
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
)

// variableForm is what is in the form of a CI/CD variable.
type variableForm struct {
	Key, Value, Scope string
	Protected, Masked bool
}

func (x *visit) getProjectCI() (templ.Component, error) {
	p, err := x.project("CI/CD settings")
	if err != nil {
		return nil, err
	}
	return x.projectCIPage(p, variableForm{Scope: variable.AnyScope, Protected: x.Settings.Current().ProtectedCIVariables})
}

func (x *visit) projectCIPage(p *project.Project, f variableForm) (templ.Component, error) {
	list, err := x.Variables.List(x.r.Context(), x.as, p.Place(), variable.ListFilter{Range: page.Range{Limit: perPage, Uncounted: true}})
	if err != nil {
		return nil, err
	}
	x.title("CI/CD settings")
	x.sheet.API += "/variables"
	form := signFirst(x.here(), "to create a variable")
	if x.as.Session != 0 {
		form = newVariable(&x.sheet, p.FullPath, f)
	}
	return templ.Join(projectRunners(p.SharedRunnersEnabled), x.ownText(x.Settings.Current().SharedRunnersText), projectVariables(list.Items), form), nil
}

func (x *visit) postProjectVariable() (templ.Component, error) {
	p, err := x.project("CI/CD settings")
	if err != nil {
		return nil, err
	}
	f := variableForm{
		Key: x.field("key"), Value: strings.ReplaceAll(x.field("secret_value"), "\r\n", "\n"), Scope: x.field("environment_scope"),
		Protected: x.field("protected") == "1", Masked: x.field("masked") == "1",
	}
	_, err = x.Variables.Create(x.r.Context(), x.as, p.Place(), variable.Input{Key: f.Key, Value: f.Value, Scope: f.Scope, Protected: f.Protected, Masked: f.Masked})
	switch {
	case err == nil:
		return x.goTo(withNotice(at.ProjectCI(p.FullPath), "variable_created"))
	case x.wrong(err):
		return x.projectCIPage(p, f)
	}
	return nil, err
}
