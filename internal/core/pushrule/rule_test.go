package pushrule

import (
	"math"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/gitstore"
)

func TestTerms_validate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		terms Terms
		want  string
	}{
		{"nothing", Terms{}, ""},
		{"all patterns", Terms{MessageRegex: `^\w+`, MessageNegative: "(?i)wip", BranchRegex: "^(a|b)/", EmailRegex: "@x$", FileRegex: `\.exe$`}, ""},
		{"no expression", Terms{EmailRegex: "("}, "author_email_regex not valid RE2 syntax: missing closing ): `(`"},
		{"a look ahead, which RE2 has not", Terms{BranchRegex: "(?!x)"}, "branch_name_regex not valid RE2 syntax: invalid or unsupported Perl syntax: `(?!`"},
		{"too long", Terms{FileRegex: strings.Repeat("é", 512)}, "file_name_regex is too long (maximum is 511 characters)"},
		{"long but allowed", Terms{MessageNegative: strings.Repeat("é", 1000)}, ""},
		{"too many steps", Terms{MessageRegex: "a{1000}b{1000}c{1000}"}, "commit_message_regex not valid RE2 syntax: expression too large"},
		{"classes of many characters", Terms{MessageRegex: `^(\p{L}|\p{N}){1,200}$`, BranchRegex: `^\p{Lu}\P{L}+(?i)\w*$`}, ""},
		{"many classes of many characters", Terms{MessageNegative: strings.Repeat(`\pL`, 600)}, "commit_message_negative_regex not valid RE2 syntax: expression too large"},
		{"classes that are repeated too often", Terms{MessageRegex: `(\p{L}{100}){10}`}, "commit_message_regex not valid RE2 syntax: expression too large"},
		{"a size below zero", Terms{MaxFileSize: -1}, "max_file_size must be greater than or equal to 0"},
	} {
		got := ""
		if err := tt.terms.validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The time of a pattern on a text grows with the text, not with its square or worse.
func TestChecks_linear(t *testing.T) {
	t.Parallel()
	c, err := (&Terms{MessageRegex: `^(a+)+$`, MessageNegative: `(x+x+)+y`}).ready()
	if err != nil {
		t.Fatal(err)
	}
	took := func(n int) time.Duration {
		commit := &gitstore.Commit{Message: strings.Repeat("a", n/2) + strings.Repeat("x", n/2) + "!"}
		begin := time.Now()
		if got := c.Commit(commit, People{}, true); got != "Commit message does not follow the pattern '^(a+)+$'" {
			t.Errorf("got %q", got)
		}
		return time.Since(begin)
	}
	took(100)
	// Backtracking would take years here.
	t.Logf("%v for 600 letters, %v for 60,000", took(600), took(60_000))
}

func TestChecks(t *testing.T) {
	t.Parallel()
	commit := func(author, committer, message string) *gitstore.Commit {
		return &gitstore.Commit{
			Author: gitstore.Signature{Name: "A", Email: author}, Committer: gitstore.Signature{Name: "Carla", Email: committer}, Message: message,
		}
	}
	plain := commit("a@x.org", "C@x.org", "Fix it\n\nSigned-off-by: A <a@x.org>\n")
	signed := *plain
	signed.Signed = "-----BEGIN"
	who := People{Name: "CARLA", Own: map[string]bool{"c@x.org": true}, Known: map[string]bool{"a@x.org": true, "c@x.org": true}}
	for _, tt := range []struct {
		name   string
		terms  Terms
		commit *gitstore.Commit
		who    People
		want   string
	}{
		{"no terms", Terms{}, plain, People{}, ""},
		{"a message that matches on its second line", Terms{MessageRegex: "^Signed"}, plain, who, ""},
		{"a message that does not match", Terms{MessageRegex: `JIRA-\d+`}, plain, who, `Commit message does not follow the pattern 'JIRA-\d+'`},
		{"a forbidden word", Terms{MessageNegative: "it$"}, plain, who, "Commit message contains the forbidden pattern 'it$'"},
		{"an author of elsewhere", Terms{EmailRegex: "@x.org$"}, commit("a@y.org", "c@x.org", ""), who, "Author's email 'a@y.org' does not follow the pattern '@x.org$'"},
		{"a committer of elsewhere", Terms{EmailRegex: "@x.org$"}, commit("a@x.org", "c@y.org", ""), who, "Committer's email 'c@y.org' does not follow the pattern '@x.org$'"},
		{"an own address in other letters", Terms{CommitterCheck: true}, plain, who, ""},
		{
			"an address of somebody else",
			Terms{CommitterCheck: true},
			commit("a@x.org", "d@x.org", ""), who,
			"You cannot push commits for 'd@x.org'. You can only push commits if the committer email is one of your own verified emails.",
		},
		{"the own name in other letters", Terms{CommitterName: true}, plain, who, ""},
		{"another name", Terms{CommitterName: true}, plain, People{Name: "Carl"}, "Your git username is inconsistent with GitLab account name"},
		{"unsigned", Terms{RejectUnsigned: true}, plain, who, "Commit must be signed with a GPG key"},
		{"signed", Terms{RejectUnsigned: true}, &signed, who, ""},
		{"signed off", Terms{RejectWithoutDCO: true}, plain, who, ""},
		{"not signed off", Terms{RejectWithoutDCO: true}, commit("", "", "x Signed-off-by: A\nSigned-off-by:  \n"), who, "Commit message must contain a DCO signoff"},
		{"members", Terms{MemberCheck: true}, plain, who, ""},
		{"an author who is nobody", Terms{MemberCheck: true}, commit("n@x.org", "c@x.org", ""), who, "Author 'n@x.org' is not a member of team"},
		{"a committer who is nobody", Terms{MemberCheck: true}, commit("a@x.org", "n@x.org", ""), who, "Committer 'n@x.org' is not a member of team"},
	} {
		c, err := tt.terms.ready()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Commit(tt.commit, tt.who, true); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if asks := tt.terms != (Terms{}); c.Commits() != asks {
			t.Errorf("%s: looks at commits: %t", tt.name, c.Commits())
		}
	}
	c, err := (&Terms{RejectUnsigned: true, BranchRegex: "^x/", FileRegex: `\.exe$`, PreventSecrets: true, MaxFileSize: 2}).ready()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Commit(plain, who, false); got != "" {
		t.Errorf("a commit that the server makes must be signed: %q", got)
	}
	for name, want := range map[string]string{"x/a": "", "y": "Branch name 'y' does not follow the pattern '^x/'"} {
		if got := c.Branch(name); got != want {
			t.Errorf("branch %s: got %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{
		".aws/credentials", "aws/credentials", "home/aws/credentials", "id_rsa", ".id_rsa", "ssh/id_rsa", ".ssh/personal_rsa", "config/server_rsa",
		"a/id_dsa", ".ssh/personal_dsa", "config/server_ed25519", "id_ed25519", "id_ecdsa", ".ssh/id_ecdsa_sk", "config/server_ecdsa",
		"a.pem", "b/c.key", ".bash_history", "x.history", "d/.history", "setup.exe",
	} {
		if got := c.File(name); !strings.HasPrefix(got, "File name "+name+" was prohibited by the pattern \"") {
			t.Errorf("%s may be pushed: %q", name, got)
		}
	}
	for _, name := range []string{"id_rsa.pub", "keyboard.go", "my_id_rsa_test", "history.md", "aws/credentials.md", "personal_rsa", "exe"} {
		if got := c.File(name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, large := range []int64{1 << 43, 1 << 44, math.MaxInt64} { // whose number of bytes does not fit
		if got := (&Checks{Terms: Terms{MaxFileSize: large}}).TooLarge("a", 100<<20); got != "" {
			t.Errorf("100 MB of %d: %q", large, got)
		}
	}
	if got := (&Checks{Terms: Terms{MaxFileSize: 1}}).TooLarge("a", math.MaxInt64); got == "" {
		t.Error("the largest file is small enough")
	}
	if got := c.TooLarge("a", 0); got != "" {
		t.Errorf("an empty file: %q", got)
	}
	if got := c.TooLarge("a", 2<<20); got != "" {
		t.Errorf("2 MB: %q", got)
	}
	if got := c.TooLarge("a", 2<<20+1); got != `File "a" is larger than the allowed size of 2 MB. Use Git LFS to manage this file.` {
		t.Errorf("more than 2 MB: %q", got)
	}
}
