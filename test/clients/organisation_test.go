package clients

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
	"golang.org/x/crypto/ssh"

	"tenon/test/servertest"
)

// organisation is what the steps of TestOrganisation have in common: people with their
// clients, groups three deep and a project in each.
type organisation struct {
	*story
	id       map[string]int64
	as       map[string]*gitlab.Client
	groups   []*gitlab.Group // the company, a department in it, a team in that
	partners *gitlab.Group
	projects []*gitlab.Project // of the company, the department and the team
}

// TestOrganisation manages an organisation with the real client, as its administrator and
// its people, and reads everything back, on both engines.
func TestOrganisation(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		o := &organisation{
			story: &story{server: servertest.Start(t, database), began: time.Now().Add(-time.Second)},
			id:    map[string]int64{}, as: map[string]*gitlab.Client{},
		}
		o.root = o.client(t, servertest.RootToken)
		for _, step := range []struct {
			name string
			run  func(t *testing.T)
		}{
			{"people", o.people},
			{"addresses", o.addresses},
			{"keys", o.keys},
			{"status and followers", o.social},
			{"groups", o.tree},
			{"members", o.staff},
			{"shares", o.sharing},
			{"requests and invitations", o.requests},
			{"personal tokens", o.personalTokens},
			{"tokens of places", o.placeTokens},
			{"deploy tokens and keys", o.deploying},
			{"seats", o.seats},
			{"transfer", o.moving},
			{"states", o.states},
			{"departure", o.departure},
		} {
			if !t.Run(step.name, step.run) {
				t.Fatalf("the story ends at %q", step.name)
			}
		}
	})
}

func (o *organisation) people(t *testing.T) {
	for _, name := range []string{"olga", "mike", "dana", "rita", "gus", "paul"} {
		u := got(o.root.Users.CreateUser(&gitlab.CreateUserOptions{
			Username: &name, Name: new(strings.ToUpper(name[:1]) + name[1:]), Email: new(name + "@example.com"),
			Password: new("battery staple 4711"), SkipConfirmation: new(true),
		})).must(t)
		token := got(o.root.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{Name: new("work"), Scopes: &[]string{"api"}})).must(t)
		o.id[name], o.as[name] = u.ID, o.client(t, token.Token)
	}
	changed := got(o.root.Users.ModifyUser(o.id["mike"], &gitlab.ModifyUserOptions{
		Name: new("Mike Manager"), Bio: new("Manages."), Organization: new("Example"), JobTitle: new("Manager"), Location: new("Bern"),
		External: new(false), CanCreateGroup: new(false), ProjectsLimit: new(int64(3)), Note: new("since 2020"), Provider: new("saml"), ExternUID: new("mike-1"),
	})).must(t)
	read := got(o.root.Users.GetUser(o.id["mike"], nil)).must(t)
	for _, u := range []*gitlab.User{changed, read} {
		if u.Name != "Mike Manager" || u.Bio != "Manages." || u.JobTitle != "Manager" || u.ProjectsLimit != 3 || u.CanCreateGroup || u.Note != "since 2020" ||
			len(u.Identities) != 1 || *u.Identities[0] != (gitlab.UserIdentity{Provider: "saml", ExternUID: "mike-1"}) {
			t.Errorf("changed user: got %+v", u)
		}
	}
	if found := got(o.root.Users.ListUsers(&gitlab.ListUsersOptions{Provider: new("saml"), ExternalUID: new("mike-1")})).must(t); len(found) != 1 || found[0].ID != o.id["mike"] {
		t.Errorf("by identity: got %+v", found)
	}
	done(o.root.Users.DeleteUserIdentity(o.id["mike"], "saml")).must(t)
	if u := got(o.root.Users.GetUser(o.id["mike"], nil)).must(t); len(u.Identities) != 0 {
		t.Errorf("identities: got %+v, want none", u.Identities)
	}
	got(o.as["mike"].Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("x"), Path: new("xx")})).refused(t, 403, "")

	attribute := gitlab.CustomAttribute{Key: "floor", Value: "3"}
	got(o.root.CustomAttribute.SetCustomUserAttribute(o.id["mike"], attribute)).must(t)
	same(t, "attributes", got(o.root.CustomAttribute.ListCustomUserAttributes(o.id["mike"])).must(t), []gitlab.CustomAttribute{attribute})
}

func (o *organisation) addresses(t *testing.T) {
	olga := o.as["olga"]
	own := got(olga.Users.AddEmail(&gitlab.AddEmailOptions{Email: new("olga@home.example")})).must(t)
	if own.Email != "olga@home.example" || own.ConfirmedAt != nil { // naming an address proves nothing
		t.Errorf("own address: got %+v, want it unproved", own)
	}
	given := got(o.root.Users.AddEmailForUser(o.id["olga"], &gitlab.AddEmailOptions{Email: new("olga@work.example"), SkipConfirmation: new(true)})).must(t)
	o.recent(t, "confirmed_at", given.ConfirmedAt)
	mine := got(olga.Users.ListEmails()).must(t)
	theirs := got(o.root.Users.ListEmailsForUser(o.id["olga"], nil)).must(t)
	same(t, "addresses", mine, theirs)
	if len(mine) != 2 {
		t.Errorf("addresses: got %+v, want both", mine)
	}
	got(o.as["mike"].Users.AddEmail(&gitlab.AddEmailOptions{Email: new("olga@work.example")})).refused(t, 400, "has already been taken")
	shown := got(o.root.Users.ModifyUser(o.id["olga"], &gitlab.ModifyUserOptions{PublicEmail: new("olga@work.example"), CommitEmail: new("_private")})).must(t)
	whole, _ := raw[struct {
		CommitEmail string `json:"commit_email"`
	}](t, o.root, http.MethodGet, "users/"+number(o.id["olga"]), nil)
	if shown.PublicEmail != "olga@work.example" || !strings.Contains(whole.CommitEmail, "-olga@users.noreply.") {
		t.Errorf("shown addresses: got %q and %q", shown.PublicEmail, whole.CommitEmail)
	}
	if found := got(o.as["rita"].Users.ListUsers(&gitlab.ListUsersOptions{Search: new("olga@work.example")})).must(t); len(found) != 1 {
		t.Errorf("by public address: got %+v", found)
	}
	done(olga.Users.DeleteEmail(own.ID)).must(t)
	done(o.root.Users.DeleteEmailForUser(o.id["olga"], own.ID)).refused(t, 404, "")
}

// publicKey makes an SSH key.
func publicKey(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func (o *organisation) keys(t *testing.T) {
	dana, text := o.as["dana"], publicKey(t)
	expires := gitlab.ISOTime(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	key := got(dana.Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("laptop"), Key: &text, ExpiresAt: &expires, UsageType: new("auth")})).must(t)
	if !strings.HasPrefix(key.Key, text) || key.Title != "laptop" || key.UsageType != "auth" || key.ExpiresAt == nil || !key.ExpiresAt.Equal(time.Time(expires)) {
		t.Errorf("key: got %+v", key)
	}
	got(o.as["rita"].Users.AddSSHKey(&gitlab.AddSSHKeyOptions{Title: new("mine"), Key: &text})).refused(t, 400, "has already been taken")
	same(t, "one key", got(dana.Users.GetSSHKey(key.ID)).must(t), key)
	same(t, "own keys", got(dana.Users.ListSSHKeys(nil)).must(t), []*gitlab.SSHKey{key})
	same(t, "a user's keys", got(o.as["rita"].Users.ListSSHKeysForUser("dana", nil)).must(t), []*gitlab.SSHKey{key})
	same(t, "a user's key", got(o.root.Users.GetSSHKeyForUser(o.id["dana"], key.ID)).must(t), key)
	if found := got(o.root.Keys.GetKeyWithUser(key.ID)).must(t); found.User.ID != o.id["dana"] || found.Title != "laptop" {
		t.Errorf("key by number: got %+v", found)
	}
	parsed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, fingerprint := range []string{ssh.FingerprintSHA256(parsed), ssh.FingerprintLegacyMD5(parsed)} {
		if found := got(o.root.Keys.GetKeyByFingerprint(&gitlab.GetKeyByFingerprintOptions{Fingerprint: fingerprint})).must(t); found.ID != key.ID || found.User.Username != "dana" {
			t.Errorf("key %s: got %+v", fingerprint, found)
		}
	}
	other := got(o.root.Users.AddSSHKeyForUser(o.id["dana"], &gitlab.AddSSHKeyOptions{Title: new("desk"), Key: new(publicKey(t))})).must(t)
	done(o.root.Users.DeleteSSHKeyForUser(o.id["dana"], other.ID)).must(t)
	got(dana.Users.GetSSHKey(other.ID)).refused(t, 404, "")

	armored := servertest.GPGKey(t, "Dana", "dana@example.com")
	pgp := got(dana.Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: &armored})).must(t)
	o.recent(t, "created_at", pgp.CreatedAt)
	same(t, "own GPG keys", got(dana.Users.ListGPGKeys()).must(t), []*gitlab.GPGKey{pgp})
	same(t, "a user's GPG keys", got(o.root.Users.ListGPGKeysForUser(o.id["dana"])).must(t), []*gitlab.GPGKey{pgp})
	got(o.as["rita"].Users.AddGPGKey(&gitlab.AddGPGKeyOptions{Key: &armored})).refused(t, 400, "has already been taken")
}

// raw sends a request that the client has no method for, and decodes the answer.
func raw[T any](t *testing.T, c *gitlab.Client, method, path string, body any) (T, int) {
	t.Helper()
	var out T
	req, err := c.NewRequest(method, path, body, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req, &out)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out, res.StatusCode
}

func (o *organisation) social(t *testing.T) {
	rita := o.as["rita"]
	busy := gitlab.Busy
	set := got(rita.Users.SetUserStatus(&gitlab.UserStatusOptions{
		Emoji: new("coffee"), Message: new("Back at *nine*"), Availability: &busy, ClearStatusAfter: new(gitlab.ClearStatusAfter30Minutes),
	})).must(t)
	if set.Emoji != "coffee" || set.Message != "Back at *nine*" || set.Availability != gitlab.Busy || set.ClearStatusAt == nil || !strings.Contains(set.MessageHTML, "nine") {
		t.Errorf("status: got %+v", set)
	}
	same(t, "own status", got(rita.Users.CurrentUserStatus()).must(t), set)
	same(t, "status by number", got(o.as["gus"].Users.GetUserStatus(o.id["rita"])).must(t), set)
	same(t, "status by name", got(o.as["gus"].Users.GetUserStatus("rita")).must(t), set)

	follow := "users/" + number(o.id["dana"])
	if u, status := raw[gitlab.BasicUser](t, rita, http.MethodPost, follow+"/follow", nil); status != 201 || u.Username != "dana" {
		t.Errorf("follow: got %d %+v", status, u)
	}
	if list, _ := raw[[]gitlab.BasicUser](t, o.as["gus"], http.MethodGet, follow+"/followers", nil); len(list) != 1 || list[0].ID != o.id["rita"] {
		t.Errorf("followers: got %+v", list)
	}
	if seen := got(rita.Users.GetUser(o.id["dana"], nil)).must(t); seen.Username != "dana" {
		t.Errorf("dana: got %+v", seen)
	}
	if u, status := raw[gitlab.BasicUser](t, rita, http.MethodPost, follow+"/unfollow", nil); status != 201 || u.ID != o.id["dana"] {
		t.Errorf("unfollow: got %d %+v", status, u)
	}
	if list, _ := raw[[]gitlab.BasicUser](t, rita, http.MethodGet, "users/"+number(o.id["rita"])+"/following", nil); len(list) != 0 {
		t.Errorf("following: got %+v, want nobody", list)
	}
}

func (o *organisation) states(t *testing.T) {
	gus := o.as["gus"]
	users := o.root.Users
	state := func(want string) {
		t.Helper()
		if u := got(users.GetUser(o.id["gus"], nil)).must(t); u.State != want {
			t.Errorf("state: got %s, want %s", u.State, want)
		}
	}
	for _, step := range []struct {
		name   string
		take   func(int64, ...gitlab.RequestOptionFunc) (*gitlab.Response, error)
		state  string
		served bool
	}{
		{"block", users.BlockUser, "blocked", false},
		{"unblock", users.UnblockUser, "active", true},
		{"ban", users.BanUser, "banned", false},
		{"unban", users.UnbanUser, "active", true},
	} {
		done(step.take(o.id["gus"])).must(t)
		state(step.state)
		if answer := got(gus.Users.CurrentUser()); step.served {
			answer.must(t)
		} else {
			answer.refused(t, 403, "")
		}
	}
	if blocked := got(users.ListUsers(&gitlab.ListUsersOptions{Blocked: new(true), WithoutProjectBots: new(true)})).must(t); len(blocked) != 0 {
		t.Errorf("blocked users: got %+v, want none", blocked)
	}
	for what, call := range map[string]func() (*gitlab.Response, error){ // the client has its own words for a 403
		"deactivation of somebody who called just now": func() (*gitlab.Response, error) { return users.DeactivateUser(o.id["gus"]) },
		"block of oneself": func() (*gitlab.Response, error) { return users.BlockUser(1) },
	} {
		if res, err := call(); err == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v, want 403", what, err)
		}
	}
	done(users.ActivateUser(o.id["gus"])).must(t)
}

func (o *organisation) departure(t *testing.T) {
	// The only owner of a group stays until another user owns it.
	done(o.root.Users.DeleteUser(o.id["olga"])).refused(t, 409, "sole-owner of a group")
	done(o.root.Users.DeleteUser(o.id["gus"])).must(t)
	if _, res, err := o.as["gus"].Users.CurrentUser(); err == nil || res.StatusCode != 401 && res.StatusCode != 403 {
		t.Errorf("gus afterwards: got %v, want 401 or 403", err)
	}
	all := got(o.root.GroupMembers.GetGroupMember(o.groups[0].ID, o.id["olga"])).must(t)
	if all.AccessLevel != gitlab.OwnerPermissions {
		t.Errorf("olga: got %d", all.AccessLevel)
	}
	names := []string{}
	for _, u := range got(o.root.Users.ListUsers(&gitlab.ListUsersOptions{Active: new(true), WithoutProjectBots: new(true), OrderBy: new("username"), Sort: new("asc")})).must(t) {
		names = append(names, u.Username)
	}
	if want := []string{"dana", "mike", "olga", "paul", "rita", "root"}; !slices.Equal(names, want) {
		t.Errorf("who is left: got %v, want %v", names, want)
	}
}
