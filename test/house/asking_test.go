package house

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// unasked are the methods of the core that transports call although they ask for no permission,
// each with the reason why the caller may have what they give or do. A method that is not here
// asks the policy, selects by what the actor may see, or decides by the actor itself.
var unasked = map[string]string{
	// What every caller may see, beside a thing that it was given.
	"account.Service.ByIDs":              "names, avatars and public addresses of users are shown beside whatever they did",
	"account.Service.Summary":            "formats a user that was read for the caller",
	"account.Service.AvatarURL":          "formats a user that was read for the caller",
	"account.Service.Gravatar":           "makes an address of one that the caller gave",
	"namespace.Service.Names":            "names of groups are shown beside the rules that name them",
	"sshkey.Service.Titles":              "titles of deploy keys are shown beside the rules that name them",
	"award.Service.ForTargets":           "counts the thumbs of things that were read for the caller",
	"label.Service.ForNoteables":         "gives labels for things that are shown where the caller may read them",
	"project.Service.Parents":            "gives what projects stand in that were read for the caller",
	"deploykey.Service.Grants":           "gives what keys open that were read for the caller",
	"noteable.Kinds.Of":                  "says what there is, for whoever",
	"noteable.Kinds.Where":               "says what there is, for whoever",
	"note.Service.Views":                 "shows notes that were read for the caller",
	"reference.Service.Description":      "formats a text that was read for the caller",
	"reference.Service.FrameSites":       "is a setting that every reader of a text with frames may know",
	"reference.Service.AssetRoot":        "is a setting that every reader of a text with pictures may know",
	"timelog.Service.HumanPtr":           "formats a time that was read for the caller",
	"mergerequest.Service.Rebasing":      "looks at a request that was read for the caller",
	"mergerequest.Service.Contributors":  "gives users who wrote commits of requests that were read for the caller",
	"mergerequest.Service.RebasingOf":    "looks at requests that were read for the caller",
	"mergerequest.Service.MergingOf":     "looks at requests that were read for the caller",
	"mergerequest.Service.Strategies":    "tells of requests that were read for the caller",
	"approval.Service.States":            "tells of requests that were read for the caller",
	"notify.Service.Address":             "gives the address of a setting that was read for the caller",
	"repo.Service.CreatedNotice":         "words of a push that was let in",
	"repo.Service.Large":                 "opens what a file points to that was read for the caller",
	"namespace.Service.Closed":           "says how git reaches a repository that was found for the caller",
	"repo.Service.Remote":                "asks when it is fetched from or pushed to",
	"wiki.Service.MaxAttachment":         "is a setting that every caller may know",
	"wiki.Service.MaxContent":            "is a setting that every caller may know",
	"snippet.Service.MaxBytes":           "is a setting that every caller may know",
	"upload.Service.MaxSize":             "is a setting that every caller may know",
	"packages.Service.MaxGeneric":        "is a setting that every caller may know",
	"packages.Service.MaxDebian":         "is a constant that every caller may know",
	"pypi.Service.MaxFile":               "is a setting that every caller may know",
	"maven.Service.MaxFile":              "is a setting that every caller may know",
	"packages.Service.PipelineViews":     "adds who started pipelines that were read for the caller",
	"packages.Service.Versions":          "lists other versions of a package that was read for the caller",
	"packages.Service.Tags":              "gives tags of packages that were read for the caller",
	"npm.Service.Forwards":               "is a setting that every caller may know",
	"npm.Service.MaxFile":                "is a setting that every caller may know",
	"npm.Service.MaxDocument":            "is a constant that every caller may know",
	"token.Service.NeedsExpiry":          "is a setting that every caller may know",
	"account.Service.MayDeleteOwn":       "is a setting that every caller may know",
	"setting.Store.Current":              "is what the server works by",
	"setting.Store.Writable":             "is whether anything is changed at all",
	"appearance.Service.Read":            "looks at a picture that the caller sent",
	"appearance.Service.OpenImage":       "pictures that the sign-in page shows to anybody",
	"avatar.Service.Read":                "looks at a picture that the caller sent",
	"idtoken.Service.Keys":               "public keys, which everybody needs who verifies tokens",
	"upload.Service.OpenByLink":          "the secret in the link is the permission",
	"account.Service.ByAddresses":        "names users beside commits with their addresses, which were read for the caller",
	"approval.Service.CommittersApprove": "is a setting of projects that were read for the caller",

	// What the bearer of a job's token does with that job alone.
	"ci.Service.HoldAny": "the token of a job is the permission",
	"ci.Service.Append":  "takes a job that its token gave",
	"ci.Service.Finish":  "takes a job that its token gave",
	"ci.Service.Store":   "takes a job that its token gave",
	"ci.Service.Watched": "says how often a log is sent",
	"ci.Service.Course":  "looks at a pipeline that was read for the caller",
	"ci.Service.NeedsOf": "tells of jobs that were read for the caller",
	"ci.Service.TagsOf":  "tells of jobs that were read for the caller",

	// What finds out who the caller is.
	"account.Service.ActorFor":              "names the user that a list is about; the list asks",
	"account.Service.LinkedUser":            "the secret of the link is the permission",
	"account.Service.StandIn":               "whether the caller may act for others is asked before",
	"account.Service.UseLink":               "the secret of the link is the permission",
	"notify.Service.Unsubscription":         "the key of the link is the permission",
	"lfs.Service.Redeem":                    "the token is the permission",
	"lfs.Service.Token":                     "writes down a grant that was asked for",
	"lfs.Service.Has":                       "is called with a grant for the project",
	"sshkey.Service.Recognize":              "the key is the permission",
	"sshkey.Service.SignOn":                 "the key is the permission",
	"session.Service.Authenticate":          "the session is the permission",
	"token.Service.Authenticate":            "the token is the permission",
	"token.Service.AuthenticateDeployToken": "the token is the permission",
	"token.Service.AuthenticateDeploy":      "the token is the permission",
	"token.Service.RevokeReused":            "the token that was used twice is the permission",
	"runner.Service.Register":               "the registration token is the permission",
	"runner.Service.Unregister":             "the authentication token is the permission",
	"runner.Service.Verify":                 "the authentication token is the permission",
	"runner.Service.ResetOwnToken":          "the authentication token is the permission",
	"runner.Service.DeleteManager":          "the authentication token is the permission",

	// Counters of what callers ask.
	"limit.Service.GitBanned": "counts by address", "limit.Service.GitFailed": "counts by address", "limit.Service.RefuseGit": "counts by address",
}

// TestTransports_ask looks that every method of the core that a transport calls decides for which caller
// it acts, or is in unasked.
func TestTransports_ask(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	called := map[string]string{}
	for _, f := range source(t) {
		if f.test || f.generated || !strings.HasPrefix(f.dir(), "internal/transport/") {
			continue
		}
		of := services(f.ast)
		maps.Copy(of, g.fields["core.Services"])
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if service := of[last(s.X)]; service != "" && !strings.HasPrefix(service, "weburl.") && g.funcs[service+"."+s.Sel.Name] != nil {
				called[service+"."+s.Sel.Name] = f.fset.Position(n.Pos()).String()
			}
			return true
		})
	}
	if len(called) < 300 {
		t.Errorf("transports call %d methods of the core: the test looks in the wrong place", len(called))
	}
	for _, name := range slices.Sorted(maps.Keys(called)) {
		switch asks := g.asks(name, map[string]bool{}); {
		case !asks && unasked[name] == "":
			t.Errorf("%s: %s asks for no permission: let it ask, or say in unasked why it need not", called[name], name)
		case asks && unasked[name] != "":
			t.Errorf("%s asks for permission: take it out of unasked", name)
		}
	}
	for name := range unasked {
		if called[name] == "" {
			t.Errorf("no transport calls %s: take it out of unasked", name)
		}
	}
}

// TestActors_asked looks that a method of the core that takes an actor asks what it may, or says
// that it does not: then the actor is who did it, in events, and its callers have asked.
func TestActors_asked(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	for _, name := range slices.Sorted(maps.Keys(g.funcs)) {
		d := g.funcs[name]
		if d.Recv == nil || !d.Name.IsExported() || strings.HasPrefix(name, "authz.") || !ast.IsExported(strings.Split(name, ".")[1]) {
			continue
		}
		pkg, _, _ := strings.Cut(name, ".")
		takes := slices.ContainsFunc(d.Type.Params.List, func(p *ast.Field) bool { return typeName(pkg, p.Type) == "authz.Actor" })
		if takes && !g.asks(name, map[string]bool{}) && !strings.Contains(strings.Join(strings.Fields(d.Doc.Text()), " "), "asks for no permission") {
			t.Errorf("%s takes an actor and asks for no permission: ask, or say so in its comment", name)
		}
	}
}

// graph knows which function of the core calls which, as far as the source tells.
type graph struct {
	funcs  map[string]*ast.FuncDecl     // by "package.Type.Method" or "package.Func"
	fields map[string]map[string]string // types of fields, by "package.Type"
}

// services are the types of fields and variables of a file that are services of the core: those that a
// transport gets by core.Part.
func services(file *ast.File) map[string]string {
	out := map[string]string{}
	typed := func(e ast.Expr) string {
		if name := typeName("", e); strings.HasSuffix(name, ".Service") {
			return name
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				if of := typed(n.Type); of != "" {
					out[name.Name] = of
				}
			}
		case *ast.AssignStmt:
			if len(n.Rhs) != 1 {
				return true
			}
			call, ok := n.Rhs[0].(*ast.CallExpr)
			if !ok {
				return true
			}
			part, ok := call.Fun.(*ast.IndexExpr)
			name, named := n.Lhs[0].(*ast.Ident)
			if ok && named && typed(part.Index) != "" {
				out[name.Name] = typed(part.Index)
			}
		}
		return true
	})
	return out
}

func newGraph(t *testing.T) *graph {
	t.Helper()
	g := &graph{funcs: map[string]*ast.FuncDecl{}, fields: map[string]map[string]string{}}
	for _, f := range source(t) {
		if f.test || kit(f.dir()) || !strings.HasPrefix(f.dir(), "internal/core") {
			continue
		}
		pkg := f.ast.Name.Name
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := pkg + "." + d.Name.Name
				if d.Recv != nil {
					name = typeName(pkg, d.Recv.List[0].Type) + "." + d.Name.Name
				}
				g.funcs[name] = d
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						g.structure(pkg, s)
					}
				}
			}
		}
	}
	return g
}

func (g *graph) structure(pkg string, s *ast.TypeSpec) {
	of, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	fields := map[string]string{}
	for _, f := range of.Fields.List {
		name := typeName(pkg, f.Type)
		for _, n := range f.Names {
			fields[n.Name] = name
		}
		if len(f.Names) == 0 {
			fields[name[strings.LastIndexByte(name, '.')+1:]] = name
		}
	}
	g.fields[pkg+"."+s.Name.Name] = fields
}

// field returns the type of a field of a type, also of one that it embeds.
func (g *graph) field(of, name string) string {
	if found := g.fields[of][name]; found != "" {
		return found
	}
	for embedded, at := range g.fields[of] {
		if embedded == "Deps" {
			return g.fields[at][name]
		}
	}
	return ""
}

// typeName returns the name of a type with its package, "" for one that has none.
func typeName(pkg string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(pkg, e.X)
	case *ast.Ident:
		return pkg + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	case *ast.IndexExpr:
		return typeName(pkg, e.X)
	}
	return ""
}

// ofActor are the parts of an actor that a permission depends on.
var ofActor = map[string]bool{"UserID": true, "Admin": true, "Auditor": true, "SignedIn": true, "External": true, "DeployKey": true, "Session": true}

// asks reports whether a function, or one that it calls, asks for permission.
func (g *graph) asks(name string, seen map[string]bool) bool {
	d := g.funcs[name]
	if d == nil || d.Body == nil || seen[name] {
		return false
	}
	seen[name] = true
	pkg, _, _ := strings.Cut(name, ".")
	vars := map[string]string{} // types of the receiver and the parameters
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, p := range list.List {
			for _, n := range p.Names {
				vars[n.Name] = typeName(pkg, p.Type)
			}
		}
	}
	if strings.HasPrefix(name, "authz.Policy.") {
		return true
	}
	var typeOf func(e ast.Expr) string
	typeOf = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return vars[e.Name]
		case *ast.SelectorExpr:
			return g.field(typeOf(e.X), e.Sel.Name)
		}
		return ""
	}
	found := false
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && vars[x.Name] == "authz.Actor" && ofActor[n.Sel.Name] {
				found = true
			}
		case *ast.CallExpr:
			callee := ""
			fun := n.Fun
			if x, ok := fun.(*ast.IndexExpr); ok { // with a type
				fun = x.X
			}
			switch f := fun.(type) {
			case *ast.Ident:
				callee = pkg + "." + f.Name
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok && typeOf(x) == "" {
					callee = x.Name + "." + f.Sel.Name // a function of a package
				} else {
					callee = typeOf(f.X) + "." + f.Sel.Name
				}
				if f.Sel.Name == "Require" {
					found = true
				}
			}
			found = found || g.asks(callee, seen)
			for _, a := range n.Args {
				if x, ok := a.(*ast.Ident); ok && vars[x.Name] == "authz.Actor" && !found {
					found = g.anyAsks(pkg, callee, seen) // of a value whose type is not told
				}
			}
		}
		return !found
	})
	return found
}

// anyAsks reports whether a method of the package that has the name of a callee asks.
func (g *graph) anyAsks(pkg, callee string, seen map[string]bool) bool {
	name := callee[strings.LastIndexByte(callee, '.'):]
	for candidate := range g.funcs {
		if strings.HasPrefix(candidate, pkg+".") && strings.HasSuffix(candidate, name) && g.asks(candidate, seen) {
			return true
		}
	}
	return false
}
