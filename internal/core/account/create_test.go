package account_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/token"
)

func TestService_EnsureRoot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, err := h.Current(t.Context(), h.Root)
		if err != nil {
			t.Fatal(err)
		}
		if u.ID != 1 || u.Username != "root" || u.Name != "Administrator" || u.Email != "admin@example.com" || !u.Admin {
			t.Errorf("got %+v, want user 1, root", u)
		}
		if u.NamespaceID == nil || *u.NamespaceID != 1 {
			t.Errorf("got namespace %v, want 1", u.NamespaceID)
		}
		if u.ConfirmedAt == nil || u.CreatedByID != nil {
			t.Errorf("got confirmed %v, created by %v, want a time and nobody", u.ConfirmedAt, u.CreatedByID)
		}
		if got, want := h.Root.Scopes.String(), authz.AllScopes().String(); got != want {
			t.Errorf("got scopes %q, want %q", got, want)
		}
		made, err := h.Tokens.EnsureRoot(t.Context(), token.RootInput{Password: "another", Token: "another-token-of-20-letters"})
		if err != nil || made {
			t.Errorf("second time: got %v, %v, want false", made, err)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), "another-token-of-20-letters"); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("got %v, want the second token unknown", err)
		}
		if as, err := h.AuthenticatePassword(t.Context(), "ROOT", "root's own password", ""); err != nil || !as.Admin {
			t.Errorf("password: got %+v, %v, want root", as, err)
		}
	})
}

func TestService_EnsureRoot_refused(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	for name, in := range map[string]token.RootInput{
		"no password":    {Token: accounttest.RootToken},
		"short token":    {Password: "p", Token: "nineteen-letters-19"},
		"token with gap": {Password: "p", Token: "twenty letters and more"},
	} {
		if _, err := h.Tokens.EnsureRoot(t.Context(), in); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, err := h.Create(t.Context(), h.Root, account.Input{
			Email: "  Mona@Example.COM ", Username: "Mona.Lisa", Name: " Mona Lisa ", Password: "gioconda-1503",
			Details: account.Details{Bio: "smiles", JobTitle: "model", Organization: "Louvre", Location: new("Paris")},
			Admin:   true, External: new(true), ProjectsLimit: new(int64(3)), CanCreateGroup: new(false),
			Provider: "github", ExternUID: "77",
		})
		if err != nil {
			t.Fatal(err)
		}
		if u.Email != "mona@example.com" || u.Username != "Mona.Lisa" || u.Name != "Mona Lisa" {
			t.Errorf("got %q %q %q, want trimmed texts and a folded address", u.Email, u.Username, u.Name)
		}
		if u.State != account.Active || u.Type != account.Human || !u.Admin || !u.External || u.CanCreateGroup || u.ProjectsLimit != 3 {
			t.Errorf("got %+v, want what was asked for", u)
		}
		if got, want := u.WorkInformation(), "model at Louvre"; got != want {
			t.Errorf("got work information %q, want %q", got, want)
		}
		if u.CreatedByID == nil || *u.CreatedByID != h.Root.UserID || u.ConfirmedAt == nil || u.NamespaceID == nil {
			t.Errorf("got created by %v, confirmed %v, namespace %v", u.CreatedByID, u.ConfirmedAt, u.NamespaceID)
		}
		path, err := db.Get[string](t.Context(), d, `SELECT r.path FROM routes r JOIN members m ON m.namespace_id = r.namespace_id
			WHERE r.namespace_id = ? AND m.user_id = ? AND m.access_level = 50`, *u.NamespaceID, u.ID)
		if err != nil || path != "Mona.Lisa" {
			t.Errorf("got route %q, %v, want the username with its owner", path, err)
		}
		ids, err := h.Identities(t.Context(), []authz.UserID{u.ID})
		if err != nil || len(ids[u.ID]) != 1 || ids[u.ID][0].ExternUID != "77" {
			t.Errorf("got identities %v, %v, want github 77", ids, err)
		}
		if as, err := h.AuthenticatePassword(t.Context(), "MONA@example.com", "gioconda-1503", ""); err != nil || as.UserID != u.ID {
			t.Errorf("got %+v, %v, want to sign on by address", as, err)
		}
		if got, want := u.CommitAddress(h.CommitHost()), "mona@example.com"; got != want {
			t.Errorf("got commit address %q, want %q", got, want)
		}
		if got, want := u.PrivateAddress(h.CommitHost()), "2-Mona.Lisa@users.noreply.tenon.example"; got != want {
			t.Errorf("got private address %q, want %q", got, want)
		}
		got, _ := h.Events()[len(h.Events())-1].(account.UserCreated)
		if diff := cmp.Diff(*u, *got.Row()); diff != "" || got.By.UserID != h.Root.UserID || !got.At.Equal(h.Now()) {
			t.Errorf("event by %d at %s, user (-found +published):\n%s", got.By.UserID, got.At, diff)
		}
	})
}

func TestService_Create_defaults(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, _ := h.User("plain")
		if u.Admin || u.Auditor || u.External || u.PrivateProfile || !u.CanCreateGroup || u.ProjectsLimit != 100000 || u.ThemeID != 1 || u.ColorSchemeID != 1 {
			t.Errorf("got %+v, want the settings' defaults", u)
		}
		if _, err := h.AuthenticatePassword(t.Context(), "plain", "", ""); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("got %v, want no password to fit a random one", err)
		}
	})
}

func TestService_Create_invalid(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	const common = "must not contain commonly used combinations of words and letters"
	for _, c := range []struct {
		name   string
		change func(*account.Input)
		want   string
	}{
		{"blank address", func(in *account.Input) { in.Email = " " }, "email can't be blank"},
		{"two at signs", func(in *account.Input) { in.Email = "a@b@c.example" }, "email is invalid"},
		{"no domain", func(in *account.Input) { in.Email = "someone@" }, "email is invalid"},
		{"display name", func(in *account.Input) { in.Email = "Me <me@example.com>" }, "email is invalid"},
		{"line break", func(in *account.Input) { in.Email = "me@example.com\nbcc:x@example.com" }, "email is invalid"},
		{"blank name", func(in *account.Input) { in.Name = "" }, "name can't be blank"},
		{"long name", func(in *account.Input) { in.Name = strings.Repeat("n", 256) }, "name is too long (maximum is 255 characters)"},
		{"no password", func(in *account.Input) { in.Password = "" }, "password can't be blank"},
		{"short password", func(in *account.Input) { in.Password = "x9!kd" }, "password is too short (minimum is 8 characters)"},
		{"long password", func(in *account.Input) { in.Password = strings.Repeat("xq7", 50) }, "password is too long (maximum is 128 characters)"},
		{"common password", func(in *account.Input) { in.Password = "Password123" }, "password " + common},
		{"username as password", func(in *account.Input) { in.Password = "xx-NEWCOMER-xx" }, "password " + common},
		{"reserved name", func(in *account.Input) { in.Username = "Admin" }, "username Admin is a reserved name"},
		{"server's prefix", func(in *account.Input) { in.Username = "duo-fan" }, "username duo-fan is a reserved name"},
		{"leading dash", func(in *account.Input) { in.Username = "-rf" }, "username " + account.PathMessage},
		{"traversal", func(in *account.Input) { in.Username = "../etc" }, "username " + account.PathMessage},
		{"repository's end", func(in *account.Input) { in.Username = "some.GIT" }, "username " + account.PathMessage},
		{"slash", func(in *account.Input) { in.Username = "a/b" }, "username " + account.PathMessage},
		{"other script", func(in *account.Input) { in.Username = "жук" }, "username " + account.PathMessage},
		{"file's end", func(in *account.Input) { in.Username = "me.png" }, "username ending with a reserved file extension is not allowed."},
		{"one letter", func(in *account.Input) { in.Username = "q" }, "username is too short (minimum is 2 characters)"},
		{"group's path", func(in *account.Input) { in.Username = "Flock" }, "base A user, alias, or group already exists with that username."},
		{"long bio", func(in *account.Input) { in.Bio = strings.Repeat("ü", 256) }, "bio is too long (maximum is 255 characters)"},
		{"script as website", func(in *account.Input) { in.WebsiteURL = "javascript:alert(1)" }, "website_url is blocked: Only allowed schemes are http, https"},
		{"no projects", func(in *account.Input) { in.ProjectsLimit = new(int64(-1)) }, "projects_limit must be greater than or equal to 0"},
		{"no such theme", func(in *account.Input) { in.ThemeID = new(int64(99)) }, "theme_id 99 is not a valid theme"},
		{"two at once", func(in *account.Input) { in.Name = ""; in.Password = "" }, "name can't be blank, password can't be blank"},
	} {
		in := account.Input{Email: "new@example.com", Username: "newcomer", Name: "Nova", Password: "zebra-crossing-42"}
		if c.name == "group's path" {
			entry := namespace.Entry{Kind: namespace.GroupKind, Path: "flock", Name: "Flock", Visibility: authz.Public}
			if _, err := h.Namespaces.Plant(t.Context(), entry); err != nil {
				t.Fatal(err)
			}
		}
		c.change(&in)
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Create(t.Context(), h.Root, in)
			accounttest.WantError(t, err, errs.Invalid, c.want)
		})
	}
	if n, err := db.Get[int](t.Context(), h.DB, "SELECT COUNT(*) FROM users"); err != nil || n != 1 {
		t.Errorf("got %d users, %v, want root alone", n, err)
	}
}

func TestService_Create_conflict(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		h.User("first")
		for _, c := range []struct{ name, email, username, want string }{
			{"address", "FIRST@example.com", "second", "Email has already been taken"},
			{"username", "second@example.com", "FIRST", "Username has already been taken"},
			{"both", "first@example.com", "first", "Email has already been taken"},
			{"invalid too", "first@example.com", "-", "Email has already been taken"},
		} {
			_, err := h.Create(t.Context(), h.Root, account.Input{
				Email: c.email, Username: c.username, Name: "x", ForceRandomPassword: true,
			})
			t.Run(c.name, func(t *testing.T) { accounttest.WantError(t, err, errs.Conflict, c.want) })
		}
	})
}

func TestService_Create_race(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		var wg sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			wg.Go(func() {
				_, results[i] = h.Create(t.Context(), h.Root, account.Input{
					Email: "twin@example.com", Username: "twin", Name: "Twin", ForceRandomPassword: true,
				})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			accounttest.WantError(t, err, errs.Conflict, "Email has already been taken")
		}
		if won != 1 {
			t.Errorf("got %d winners, want 1", won)
		}
		for table, want := range map[string]int{"users": 2, "emails": 2, "namespaces": 2, "routes": 2} {
			if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM "+table); err != nil || n != want {
				t.Errorf("%s: got %d rows, %v, want %d", table, n, err, want)
			}
		}
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	_, plain := h.User("plain")
	_, auditor := h.User("auditor", func(in *account.Input) { in.Auditor = true })
	in := account.Input{Email: "x@example.com", Username: "xx", Name: "x", ForceRandomPassword: true}
	_, err := h.Create(t.Context(), authz.Actor{}, in)
	accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
	for _, as := range []authz.Actor{plain, auditor} {
		_, err = h.Create(t.Context(), as, in)
		accounttest.WantError(t, err, errs.Forbidden, "forbidden")
	}
}
