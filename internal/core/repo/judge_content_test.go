package repo_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/coretest"
	"tenon/internal/core/pushrule"
	"tenon/internal/core/repo"
)

// ruled gives the project of the world a push rule.
func (w *world) ruled(c pushrule.Changes) {
	w.T.Helper()
	at := w.as(w.owner).Place()
	_, err := w.rules.Update(w.T.Context(), w.owner, at, c)
	if errs.Is(err, errs.NotFound) {
		_, err = w.rules.Create(w.T.Context(), w.owner, at, c)
	}
	check(w.T, err)
}

// fastImport writes commits that no reference names and returns the tip of the branch x.
func (w *world) fastImport(stream string) gitstore.ObjectID {
	w.T.Helper()
	git := func(in string, args ...string) string {
		cmd := exec.CommandContext(w.T.Context(), "git", append([]string{"-C", w.open().Path(), "-c", "fastimport.unpackLimit=0"}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.T.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(stream, "fast-import", "--quiet")
	id, err := gitstore.ParseObjectID(git("", "rev-parse", "refs/heads/x"))
	check(w.T, err)
	git("", "update-ref", "-d", "refs/heads/x")
	return id
}

func commitOf(mark int, email, message, more string) string {
	return fmt.Sprintf("commit refs/heads/x\nmark :%d\nauthor A <%s> %d +0000\ncommitter C <c@x.org> %d +0000\ndata %d\n%s\n%s\n",
		mark, email, 1700000000+mark, 1700000000+mark, len(message), message, more)
}

func inline(path, content string) string {
	return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

func TestService_Judge_content(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		base := w.put("main", "a.exe", strings.Repeat("x", 3<<20))
		from := "from " + base.ID.String() + "\n"
		tip := w.fastImport(commitOf(1, "a@x.org", "One", from+inline("one", "1")) + commitOf(2, "a@y.org", "Two WIP", inline("secret.pem", "2")) +
			commitOf(3, "a@x.org", "Three", "D secret.pem\n"+inline("big", strings.Repeat("y", 2<<20))))
		again := w.fastImport(commitOf(1, "a@x.org", "Again", from+inline("b.txt", strings.Repeat("x", 3<<20))))
		merge := w.fastImport(commitOf(1, "a@x.org", "Side", from+inline("side", "1")) + "reset refs/heads/y\n" + from + "\n" +
			strings.Replace(commitOf(2, "a@x.org", "Other", inline("other", "1")), "refs/heads/x", "refs/heads/y", 1) +
			commitOf(3, "a@x.org", "Merge", "from :1\nmerge :2\n"+inline("evil.pem", "1")))
		s := func(v string) *string { return &v }
		yes, no, one := true, false, int64(1)
		push := func(source repo.Source, c repo.RefChange) error {
			return w.repos.Judge(t.Context(), w.developer, w.as(w.developer), source, w.open(), []repo.RefChange{c})
		}
		branch := func(id gitstore.ObjectID) repo.RefChange { return repo.RefChange{Ref: "refs/heads/topic", New: id} }
		if err := push(repo.ByPush, branch(tip)); err != nil {
			t.Errorf("without a rule: %v", err)
		}
		none := pushrule.Changes{
			MessageRegex: s(""), MessageNegative: s(""), BranchRegex: s(""), EmailRegex: s(""), FileRegex: s(""), MaxFileSize: new(int64),
			DenyDeleteTag: &no, MemberCheck: &no, PreventSecrets: &no, CommitterCheck: &no, CommitterName: &no, RejectUnsigned: &no, RejectWithoutDCO: &no,
		}
		for _, tt := range []struct {
			name string
			rule pushrule.Changes
			tip  gitstore.ObjectID
			want string
		}{
			{"nothing asked", pushrule.Changes{}, tip, ""},
			{"a message in the middle", pushrule.Changes{MessageRegex: s("^[A-Z][a-z]+$")}, tip, "Commit message does not follow the pattern '^[A-Z][a-z]+$'"},
			{"a forbidden word in the middle", pushrule.Changes{MessageNegative: s("WIP")}, tip, "Commit message contains the forbidden pattern 'WIP'"},
			{"an address in the middle", pushrule.Changes{EmailRegex: s("@x.org$")}, tip, "Author's email 'a@y.org' does not follow the pattern '@x.org$'"},
			{"commits that are there already", pushrule.Changes{EmailRegex: s("@x.org$")}, base.ID, ""},
			{"the name of a branch", pushrule.Changes{BranchRegex: s("^x/")}, base.ID, "Branch name 'topic' does not follow the pattern '^x/'"},
			{"a file that is gone in the end", pushrule.Changes{PreventSecrets: &yes}, tip, `File name secret.pem was prohibited by the pattern "\.(pem|key)$".`},
			{"a file that only a merge adds", pushrule.Changes{PreventSecrets: &yes}, merge, `File name evil.pem was prohibited by the pattern "\.(pem|key)$".`},
			{"a file that was there before the rule", pushrule.Changes{FileRegex: s("exe$")}, tip, ""},
			{"a pattern of files", pushrule.Changes{FileRegex: s("^one$")}, tip, `File name one was prohibited by the pattern "^one$".`},
			{"a large file that the repository has already", pushrule.Changes{MaxFileSize: &one}, again, ""},
			{"unsigned", pushrule.Changes{RejectUnsigned: &yes}, tip, "Commit must be signed with a GPG key"},
			{"not signed off", pushrule.Changes{RejectWithoutDCO: &yes}, tip, "Commit message must contain a DCO signoff"},
			{"nobody's address", pushrule.Changes{MemberCheck: &yes}, tip, "Author 'a@x.org' is not a member of team"},
			{
				"not the own address",
				pushrule.Changes{CommitterCheck: &yes},
				tip,
				"You cannot push commits for 'c@x.org'. You can only push commits if the committer email is one of your own verified emails.",
			},
			{"not the own name", pushrule.Changes{CommitterName: &yes}, tip, "Your git username is inconsistent with GitLab account name"},
		} {
			w.ruled(none)
			w.ruled(tt.rule)
			if err := push(repo.ByPush, branch(tt.tip)); tt.want == "" && err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if tt.want != "" {
				wants(t, err, errs.Forbidden, tt.want)
			}
		}
		w.ruled(none)
		w.ruled(pushrule.Changes{MemberCheck: &yes, CommitterCheck: &yes})
		for email, who := range map[string]int64{"a@x.org": int64(w.guest.UserID), "a@y.org": int64(w.guest.UserID), "c@x.org": int64(w.developer.UserID)} {
			w.Insert("emails", coretest.Row{"user_id": who, "email": email, "email_fold": email, "confirmed_at": w.Now()})
		}
		if err := push(repo.ByPush, branch(tip)); err != nil {
			t.Errorf("known people, own address: %v", err)
		}
		w.ruled(none)
		w.ruled(pushrule.Changes{RejectUnsigned: &yes, BranchRegex: s("^x/"), DenyDeleteTag: &yes})
		p := w.as(w.owner)
		if _, err := w.repos.CreateBranch(t.Context(), w.developer, p, "topic", "main"); err == nil || err.Error() != "Branch name 'topic' does not follow the pattern '^x/'" {
			t.Errorf("a branch of the API: %v", err)
		}
		if _, err := w.repos.CreateBranch(t.Context(), w.developer, p, "x/topic", "main"); err != nil {
			t.Errorf("a branch of the API that may be: %v", err)
		}
		content := "1"
		change := repo.CommitInput{Branch: "main", Message: "Unsigned", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "u", Content: &content}}}
		c, err := w.repos.Commit(t.Context(), w.owner, p, change)
		check(t, err) // the server's own commits need no signature, the default branch no pattern
		tag := repo.RefChange{Ref: "refs/tags/v1", Old: c.ID}
		if err := w.repos.Judge(t.Context(), w.owner, w.as(w.owner), repo.ByAPI, w.open(), []repo.RefChange{tag}); err != nil {
			t.Errorf("the API deletes a tag: %v", err)
		}
		wants(t, w.repos.Judge(t.Context(), w.owner, w.as(w.owner), repo.ByPush, w.open(), []repo.RefChange{tag}), errs.Forbidden, "You cannot delete a tag")
		content = strings.Repeat("z", 1<<20+1)
		w.ruled(pushrule.Changes{MaxFileSize: &one})
		_, err = w.repos.Commit(t.Context(), w.owner, w.as(w.owner), repo.CommitInput{Branch: "main", Message: "Large", Actions: []repo.Action{
			{Kind: repo.ActionCreate, Path: "big", Content: &content},
		}})
		wants(t, err, errs.Invalid, `File "big" is larger than the allowed size of 1 MB. Use Git LFS to manage this file.`)
		w.ruled(pushrule.Changes{MessageRegex: s("^JIRA")})
		change.Actions[0].Path = "v"
		_, err = w.repos.Commit(t.Context(), w.owner, w.as(w.owner), change)
		wants(t, err, errs.Invalid, "Commit message does not follow the pattern '^JIRA'")
	})
}

// However many commits are pushed, looking at them takes a handful of processes.
func TestService_Judge_processes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, false))
	base := w.put("main", "a", "1")
	s := func(v string) *string { return &v }
	yes, size := true, int64(1)
	w.ruled(pushrule.Changes{
		MessageRegex: s("^Commit"), MessageNegative: s("WIP"), EmailRegex: s("@x.org$"), FileRegex: s(`\.exe$`), PreventSecrets: &yes, MaxFileSize: &size,
	})
	started := map[int]int64{}
	for _, n := range []int{10, 10_000} {
		var stream strings.Builder
		for i := 1; i <= n; i++ {
			more := inline(fmt.Sprintf("d%d/f%d", i%50, i), fmt.Sprint(i))
			if i == 1 {
				more = "from " + base.ID.String() + "\n" + more
			}
			stream.WriteString(commitOf(i, "a@x.org", fmt.Sprintf("Commit %d", i), more))
		}
		tip := w.fastImport(stream.String())
		before := w.git.Started()
		check(t, w.repos.Judge(t.Context(), w.developer, w.as(w.developer), repo.ByPush, w.open(),
			[]repo.RefChange{{Ref: "refs/heads/many", New: tip}, {Ref: "refs/heads/more", New: tip}}))
		started[n] = w.git.Started() - before
	}
	if started[10_000] > 5 || started[10] > 5 { // two and those that read objects
		t.Errorf("processes for 10 and for 10,000 commits: %v", started)
	}
}
