package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// seed is what a server for tests begins with, as the TOML file has it.
type seed struct {
	Token    string `toml:"token"`    // of root; made where absent
	Password string `toml:"password"` // likewise

	Users    []seedUser    `toml:"users"`
	Groups   []seedGroup   `toml:"groups"` // a group before its subgroups
	Projects []seedProject `toml:"projects"`
}

type seedUser struct {
	Username string   `toml:"username"`
	Name     string   `toml:"name"`     // the username where absent
	Email    string   `toml:"email"`    // <username>@example.com where absent
	Token    string   `toml:"token"`    // with every scope; made where absent
	Password string   `toml:"password"` // made where absent
	Admin    bool     `toml:"admin"`
	External bool     `toml:"external"`
	Keys     []string `toml:"keys"` // public SSH keys
}

type seedGroup struct {
	Path        string            `toml:"path"` // full path
	Name        string            `toml:"name"` // the last part of the path where absent
	Visibility  string            `toml:"visibility"`
	Description string            `toml:"description"`
	Members     map[string]string `toml:"members"` // role by username
}

type seedProject struct {
	seedGroup
	Branch string            `toml:"default_branch"` // main where absent
	Files  map[string]string `toml:"files"`          // text by path; without any the repository is empty
}

// readSeed refuses keys that it does not know, with the line.
func readSeed(text []byte) (*seed, error) {
	s := &seed{}
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(s)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("seed: unknown key:\n%s", unknown.String())
	case errors.As(err, &wrong):
		row, column := wrong.Position()
		return nil, fmt.Errorf("seed: line %d, column %d: %w", row, column, err)
	case err != nil:
		return nil, fmt.Errorf("seed: %w", err)
	}
	return s, nil
}

// seed makes what a seed says, as the administrator, and returns the users with what they
// sign on with.
func (a *App) seed(ctx context.Context, s *seed) ([]DevUser, error) {
	root, err := a.core.Accounts.ActorFor(ctx, "root")
	if err != nil {
		return nil, fmt.Errorf("find root: %w", err)
	}
	users := make([]DevUser, len(s.Users))
	for i, u := range s.Users {
		if users[i], err = a.seedUser(ctx, root, u); err != nil {
			return nil, fmt.Errorf("seed: user %q: %w", u.Username, err)
		}
	}
	for _, g := range s.Groups {
		if err := a.seedGroup(ctx, root, g); err != nil {
			return nil, fmt.Errorf("seed: group %q: %w", g.Path, err)
		}
	}
	for _, p := range s.Projects {
		if err := a.seedProject(ctx, root, p); err != nil {
			return nil, fmt.Errorf("seed: project %q: %w", p.Path, err)
		}
	}
	return users, nil
}

func (a *App) seedUser(ctx context.Context, root authz.Actor, u seedUser) (DevUser, error) {
	out := DevUser{Username: u.Username, Password: u.Password}
	if out.Password == "" {
		out.Password = rand.Text()
	}
	in := account.Input{
		Username: u.Username, Name: u.Name, Email: u.Email, Password: out.Password,
		Admin: u.Admin, External: &u.External, SkipConfirmation: true,
	}
	if in.Name == "" {
		in.Name = u.Username
	}
	if in.Email == "" {
		in.Email = u.Username + "@example.com"
	}
	made, err := a.core.Accounts.Create(ctx, root, in)
	if err != nil {
		return out, err
	}
	if _, out.Token, err = a.core.Tokens.Create(ctx, root, made.ID, token.Input{Name: "seed", Scopes: authz.AllScopes(), Secret: u.Token}); err != nil {
		return out, fmt.Errorf("token: %w", err)
	}
	for _, key := range u.Keys {
		if _, err := a.core.Keys.CreateFor(ctx, root, made.ID, sshkey.Input{Title: "seed", Key: key}); err != nil {
			return out, fmt.Errorf("key: %w", err)
		}
	}
	return out, nil
}

// visibility reads the word of a seed; nil is what the server takes by itself.
func (g seedGroup) visibility() (*authz.Visibility, error) {
	if g.Visibility == "" {
		return nil, nil
	}
	v, ok := authz.ParseVisibility(g.Visibility)
	if !ok {
		return nil, fmt.Errorf("visibility %q: write private, internal or public", g.Visibility)
	}
	return &v, nil
}

// split returns the path of the place that g is in, "" for none, the last part and the name.
func (g seedGroup) split() (parent, last, name string) {
	parent, last = path.Split(g.Path)
	if name = g.Name; name == "" {
		name = last
	}
	return strings.TrimSuffix(parent, "/"), last, name
}

func (a *App) seedGroup(ctx context.Context, root authz.Actor, g seedGroup) error {
	visibility, err := g.visibility()
	if err != nil {
		return err
	}
	above, last, name := g.split()
	in := namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: &name, Path: &last, Visibility: visibility}}
	in.Description = &g.Description
	if above != "" {
		parent, err := a.core.Namespaces.Find(ctx, root, above)
		if err != nil {
			return fmt.Errorf("group %q (list it before its subgroups): %w", above, err)
		}
		in.ParentID = &parent.ID
	}
	made, err := a.core.Namespaces.Create(ctx, root, in)
	if err != nil {
		return err
	}
	return a.seedMembers(ctx, root, made.Place(), g.Members)
}

func (a *App) seedMembers(ctx context.Context, root authz.Actor, place authz.Place, members map[string]string) error {
	for _, username := range slices.Sorted(maps.Keys(members)) {
		role := members[username]
		level, ok := seedLevels()[role]
		if !ok {
			return fmt.Errorf("member %q: role %q: write %s", username, role, strings.Join(slices.Sorted(maps.Keys(seedLevels())), ", "))
		}
		if _, err := a.core.Namespaces.Add(ctx, root, place, namespace.MemberInput{Username: username, Level: level}); err != nil {
			return fmt.Errorf("member %q: %w", username, err)
		}
	}
	return nil
}

func seedLevels() map[string]authz.Level {
	return map[string]authz.Level{
		"guest": authz.Guest, "planner": authz.Planner, "reporter": authz.Reporter,
		"developer": authz.Developer, "maintainer": authz.Maintainer, "owner": authz.Owner,
	}
}

// seedProject makes a project in a group, or in the personal namespace of the user that
// the path names, as that user.
func (a *App) seedProject(ctx context.Context, root authz.Actor, p seedProject) error {
	visibility, err := p.visibility()
	if err != nil {
		return err
	}
	above, last, name := p.split()
	if above == "" {
		return errors.New("write the path of its group or user before the name, as in root/app")
	}
	place, err := a.core.Namespaces.FindNamespace(ctx, root, above)
	if err != nil {
		return fmt.Errorf("%q: %w", above, err)
	}
	as, in := root, project.Input{Changes: project.Changes{Visibility: visibility}}
	in.Name, in.Path, in.Description = &name, &last, &p.Description
	if place.Kind == namespace.UserKind {
		if as, err = a.core.Accounts.ActorFor(ctx, above); err != nil {
			return fmt.Errorf("%q: %w", above, err)
		}
	} else {
		in.NamespaceID = &place.ID
	}
	if p.Branch == "" {
		p.Branch = a.core.Settings.Current().Branch()
	} else {
		in.DefaultBranch = &p.Branch
	}
	made, err := a.core.Projects.Create(ctx, as, in)
	if err != nil {
		return err
	}
	if err := a.seedMembers(ctx, root, made.Place(), p.Members); err != nil || len(p.Files) == 0 {
		return err
	}
	commit := repo.CommitInput{Branch: p.Branch, Message: "Initial commit"}
	for _, at := range slices.Sorted(maps.Keys(p.Files)) {
		text := p.Files[at]
		commit.Actions = append(commit.Actions, repo.Action{Kind: repo.ActionCreate, Path: at, Content: &text})
	}
	_, err = a.core.Repos.Commit(ctx, as, made, commit)
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return nil
}
