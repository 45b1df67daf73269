package signature_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/spool"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/signature"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/weburl"
)

// world is a project with a repository beside which there is a work tree, and people.
type world struct {
	*coretest.World
	signatures *signature.Service
	ssh        *sshkey.Service
	pgp        *gpgkey.Service
	id         project.ID
	bare, work string
	keys       string // folder of SSH keys

	dave, mary, guest authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newWorld(t, d)) })
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d), keys: t.TempDir(), work: t.TempDir()}
	git, err := gitcmd.New(t.Context(), gitcmd.Config{Root: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, git.Close()) })
	archives, err := spool.New(spool.Config{Dir: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, archives.Close()) })
	settings := setting.New(d, w.Now)
	accounts := account.New(account.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
	})
	rules := protection.New(protection.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now})
	rules.Connect(alonetest.Protections())
	repos := repo.New(repo.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Git: git, Settings: settings, Projects: w.Projects, Accounts: accounts,
		Protections: rules,
		Archives:    archives, Log: slog.New(slog.DiscardHandler), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""),
	})
	repos.Connect(alonetest.Repos())
	w.ssh = sshkey.New(sshkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Accounts: accounts, Now: w.Now})
	w.pgp = gpgkey.New(gpgkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Now: w.Now})
	w.signatures = signature.New(signature.Deps{Accounts: accounts, Repos: repos, SSHKeys: w.ssh, PGPKeys: w.pgp, Now: w.Now})
	w.dave, w.mary, w.guest = w.User("dave"), w.User("mary"), w.User("gus")
	w.id = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
	w.Join(w.id, w.dave, authz.Developer)
	w.Join(w.id, w.guest, authz.Guest)
	p := w.Find(w.dave, w.id)
	check(t, repos.Create(t.Context(), p, project.CreateOptions{DefaultBranch: "main"}))
	r, err := repos.Open(t.Context(), p)
	check(t, err)
	w.bare = r.Path()
	w.git(w.work, nil, "init", "-q", "-b", "main")
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// git runs the real git and returns what it prints.
func (w *world) git(dir string, in []byte, args ...string) string {
	w.T.Helper()
	return w.run(dir, in, "git", args...)
}

func (w *world) run(dir string, in []byte, name string, args ...string) string {
	w.T.Helper()
	cmd := exec.CommandContext(w.T.Context(), name, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	at := w.Now().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Dave",
		"GIT_AUTHOR_EMAIL=dave@example.com", "GIT_COMMITTER_NAME=Dave", "GIT_COMMITTER_EMAIL=dave@example.com",
		"GIT_COMMITTER_DATE="+at, "GIT_AUTHOR_DATE="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.T.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// take brings all branches and tags of the work tree into the repository.
func (w *world) take() {
	w.T.Helper()
	w.git(w.bare, nil, "fetch", "-q", w.work, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
}

// sshKey makes a key with ssh-keygen and returns the name of its file.
func (w *world) sshKey(name string) string {
	w.T.Helper()
	file := filepath.Join(w.keys, name)
	w.run(w.keys, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	return file
}

// adds gives a user an SSH key.
func (w *world) adds(as authz.Actor, file string, in sshkey.Input) *sshkey.Key {
	w.T.Helper()
	public, err := os.ReadFile(file + ".pub")
	check(w.T, err)
	in.Title, in.Key = "signing", string(public)
	k, err := w.ssh.Create(w.T.Context(), as, in)
	check(w.T, err)
	return k
}

// signs makes a commit on a branch of its own with git commit -S and an SSH key.
func (w *world) signs(file, email, branch string) {
	w.T.Helper()
	w.git(w.work, nil, "checkout", "-q", "--orphan", branch)
	w.run(w.work, nil, "env", "GIT_COMMITTER_EMAIL="+email, "git", "-c", "gpg.format=ssh", "-c", "user.signingkey="+file,
		"commit", "-q", "-S", "--allow-empty", "-m", "Sign "+branch)
	w.take()
}

// commit writes a commit with these signatures and returns its id.
func (w *world) commit(payload []byte, signatures ...string) string {
	w.T.Helper()
	head, message, _ := bytes.Cut(payload, []byte("\n\n"))
	head = bytes.Clone(head)
	for _, s := range signatures {
		head = append(append(head, "\ngpgsig "...), strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n ")...)
	}
	content := append(append(head, "\n\n"...), message...)
	return w.git(w.bare, content, "hash-object", "-t", "commit", "-w", "--stdin")
}

// payload is an unsigned commit of a user.
func (w *world) payload(email string) []byte {
	w.T.Helper()
	tree := w.git(w.bare, nil, "hash-object", "-t", "tree", "-w", "--stdin")
	who := "Dave <" + email + "> " + strconv.FormatInt(w.Now().Unix(), 10) + " +0000"
	return []byte("tree " + tree + "\nauthor " + who + "\ncommitter " + who + "\n\nSigned\n")
}

// entity makes an OpenPGP key with a signing subkey.
func (w *world) entity(emails ...string) *openpgp.Entity {
	w.T.Helper()
	config := &packet.Config{Time: w.Now, Algorithm: packet.PubKeyAlgoEdDSA}
	e, err := openpgp.NewEntity("Dave Key", "", emails[0], config)
	check(w.T, err)
	for _, more := range emails[1:] {
		check(w.T, e.AddUserId("Dave Key", "", more, config))
	}
	check(w.T, e.AddSigningSubkey(config))
	return e
}

func armored(t *testing.T, e *openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	out, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	check(t, err)
	check(t, e.Serialize(out))
	check(t, out.Close())
	return b.String()
}

// sign makes a detached signature, with the signing subkey.
func (w *world) sign(e *openpgp.Entity, payload []byte) string {
	w.T.Helper()
	var b bytes.Buffer
	check(w.T, openpgp.ArmoredDetachSign(&b, e, bytes.NewReader(payload), &packet.Config{Time: w.Now}))
	return b.String()
}

// of asks for the signature of a commit and compares kind and status.
func (w *world) of(t *testing.T, ref string, kind signature.Kind, status signature.Status) *signature.Signature {
	t.Helper()
	sig, err := w.signatures.OfCommit(context.Background(), w.dave, w.Find(w.dave, w.id), ref)
	if err != nil {
		t.Fatalf("signature of %s: %v", ref, err)
	}
	if sig.Kind != kind || sig.Status != status {
		t.Errorf("signature of %s: got %s %s, want %s %s", ref, sig.Kind, sig.Status, kind, status)
	}
	return sig
}
