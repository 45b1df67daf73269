package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func (x *visit) getHome() (templ.Component, error) {
	set := x.Settings.Current()
	if to := set.HomePageURL; to != nil && *to != "" && !x.as.SignedIn() {
		if set.RootMovedPermanentlyRedirection {
			return x.redirect(http.StatusMovedPermanently, *to)
		}
		return x.goTo(*to)
	}
	f := project.Filter{OrderBy: "last_activity_at", Part: true, Membership: x.as.SignedIn(), Range: page.Range{Limit: perPage, Uncounted: true}}
	list, err := x.Projects.List(x.r.Context(), x.as, f)
	if err != nil {
		return nil, err
	}
	x.title("Projects")
	x.sheet.API = x.URLs.API("openapi.json")
	if x.as.Session != 0 {
		x.sheet.User = x.as.Username
	}
	return home(&x.sheet, list.Items), nil
}

func (x *visit) getExplore() (templ.Component, error) {
	search := x.query("search")
	if len(search) > 255 {
		return nil, errs.Bad("The search is too long")
	}
	list, err := x.Projects.List(x.r.Context(), x.as, project.Filter{OrderBy: "last_activity_at", Search: search, SearchNamespaces: true, Range: x.part()})
	if errs.Is(err, errs.Unauthorized) && x.as.Session == 0 {
		return x.goTo(at.SignIn(x.here()))
	}
	if err != nil {
		return nil, err
	}
	x.title("All projects")
	x.sheet.API = x.URLs.API("projects")
	older, newer := around(x, &list)
	return explore(&x.sheet, search, list.Items, older, newer), nil
}

// getPlace is the page of a project, a group or a user.
func (x *visit) getPlace() (templ.Component, error) {
	path, ctx := strings.Trim(x.args["place"], "/"), x.r.Context()
	path, bare := strings.CutSuffix(path, ".git")
	if strings.Contains(path, "/") {
		p, err := x.Projects.Find(ctx, x.as, path)
		switch {
		case err == nil && bare:
			return x.goTo(at.Project(p.FullPath))
		case err == nil:
			x.in = p.Subject()
			return x.getProject(p)
		}
		if _, moved := errors.AsType[*project.Moved](err); moved || !errs.Is(err, errs.NotFound) {
			return nil, err
		}
	}
	g, err := x.Namespaces.Find(ctx, x.as, path)
	if err == nil {
		return x.groupPage(g)
	}
	if strings.Contains(path, "/") || !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	return x.userPage(path)
}

func (x *visit) getGroup() (templ.Component, error) {
	g, err := x.Namespaces.Find(x.r.Context(), x.as, x.args["group"])
	if err != nil {
		return nil, err
	}
	return x.groupPage(g)
}

// group begins a page of the group that the path names.
func (x *visit) group(current string) (*namespace.Group, error) {
	g, err := x.Namespaces.Find(x.r.Context(), x.as, x.args["group"])
	if err != nil {
		return nil, err
	}
	x.groupHead(g, current)
	return g, nil
}

// groupHead begins a page of a group.
func (x *visit) groupHead(g *namespace.Group, current string) {
	x.in = g.Subject()
	x.title(g.Name)
	x.sheet.Title, x.sheet.Badge = g.FullName, g.Visibility.String()
	x.sheet.Crumbs = crumbs(g.FullPath, g.FullName, false)
	x.sheet.TabsOf = "Group"
	x.sheet.Tabs = tabs(current,
		link{"Group", at.Group(g.FullPath)}, link{"Issues", at.GroupIssues(g.FullPath)}, link{"Milestones", at.GroupMilestones(g.FullPath)},
		link{"Iterations", at.Iterations(g.FullPath)}, link{"Epics", at.Epics(g.FullPath)}, link{"Packages", at.GroupPackages(g.FullPath)},
		link{"Wiki", at.GroupWiki(g.FullPath)}, link{"Members", at.GroupMembers(g.FullPath)},
	)
	x.sheet.API = x.URLs.API("groups", itoa(int64(g.ID)))
}

func (x *visit) groupPage(g *namespace.Group) (templ.Component, error) {
	subgroups, err := x.Namespaces.List(x.r.Context(), x.as, namespace.GroupFilter{Parent: &g.ID, Range: page.Range{Limit: 100, Uncounted: true}})
	if err != nil {
		return nil, err
	}
	list, err := x.Projects.List(x.r.Context(), x.as, project.Filter{Parent: &g.ID, OrderBy: "last_activity_at", Range: x.part()})
	if err != nil {
		return nil, err
	}
	x.groupHead(g, "Group")
	older, newer := around(x, &list)
	return group(g, x.description(ofGroup(g), g.Description), subgroups.Items, list.Items, older, newer), nil
}

func (x *visit) getGroupMembers() (templ.Component, error) {
	g, err := x.group("Members")
	if err != nil {
		return nil, err
	}
	x.sheet.API += "/members"
	return x.membersOf(g.Place())
}

func (x *visit) getProjectMembers() (templ.Component, error) {
	p, err := x.project("Members")
	if err != nil {
		return nil, err
	}
	x.title("Members")
	x.sheet.API += "/members"
	return x.membersOf(p.Place())
}

func (x *visit) membersOf(p authz.Place) (templ.Component, error) {
	list, err := x.Namespaces.Members(x.r.Context(), x.as, p, namespace.MemberFilter{Inherited: true, Range: x.part()})
	if err != nil {
		return nil, err
	}
	var ids []userID
	for _, m := range list.Items {
		ids = append(ids, m.UserID)
	}
	who, err := x.people(x.r.Context(), ids...)
	if err != nil {
		return nil, err
	}
	older, newer := around(x, &list)
	return templ.Join(x.guidelines("Guidelines", x.Appearance.Current().MemberGuidelines), members(list.Items, who, older, newer)), nil
}

func (x *visit) userPage(name string) (templ.Component, error) {
	ctx := x.r.Context()
	u, err := x.Accounts.ByUsername(ctx, x.as, name)
	if err != nil {
		return nil, err
	}
	views, err := x.Accounts.Views(ctx, x.as, []*account.User{u}, account.ViewOptions{})
	if err != nil {
		return nil, err
	}
	list := page.Page[*project.Project]{}
	if u.NamespaceID != nil {
		if list, err = x.Projects.List(ctx, x.as, project.Filter{Parent: u.NamespaceID, OrderBy: "last_activity_at", Range: page.Range{Limit: perPage, Uncounted: true}}); err != nil {
			return nil, err
		}
	}
	year, err := x.calendar(u.ID)
	if err != nil {
		return nil, err
	}
	x.title(u.Name)
	x.sheet.API = x.URLs.API("users", itoa(int64(u.ID)))
	return user(&views[0], year, list.Items), nil
}

// helpPages are the pages of the documentation that answers name, by path.
var helpPages = map[string]struct {
	Title string
	Lines []string
}{
	"topics/git/troubleshooting_git.md": {"Git: HTTP Basic: Access denied", []string{
		"git over HTTP takes a username with a password, or any name with an access token of the scope read_repository or write_repository.",
		"Make a token in your settings under Access tokens, and give it to git where it asks for the password.",
		"A token that is revoked or expired, or of another scope, is refused, and so is a password where this server wants tokens.",
	}},
}

func (x *visit) getHelp() (templ.Component, error) {
	x.title("Help")
	x.sheet.API = x.URLs.API("openapi.json")
	set := x.Settings.Current()
	var list []link
	if to := set.HelpPageSupportURL; to != nil && *to != "" {
		list = append(list, link{"Get help", *to})
	}
	if to := set.HelpPageDocumentationBaseURL; to != nil && *to != "" {
		list = append(list, link{"Documentation", *to})
	}
	for path, p := range helpPages {
		list = append(list, link{p.Title, at.Help(path)})
	}
	return templ.Join(x.ownText(set.HelpText), x.ownText(set.HelpPageText), words(
		"This server speaks GitLab's REST interface, version 4, and git over HTTP and SSH. The description of the interface is linked below.",
	), helpIndex(list)), nil
}

func (x *visit) getHelpPage() (templ.Component, error) {
	p, ok := helpPages[x.args["page"]]
	if !ok {
		return nil, errs.Missing("")
	}
	x.title(p.Title)
	x.sheet.Crumbs = []link{{"Help", at.Help("")}}
	return words(p.Lines...), nil
}
