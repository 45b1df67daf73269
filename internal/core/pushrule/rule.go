// Package pushrule holds what the commits that are pushed to a project must look like.
package pushrule

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ID identifies a rule.
type ID int64

// Rule is the rule of a project or of a group, whose new projects get a copy of it. An
// empty pattern, a zero size and a flag that is not set ask for nothing.
type Rule struct {
	ID        ID                 `db:"id"`
	ProjectID *project.ID        `db:"project_id"`
	GroupID   *authz.NamespaceID `db:"group_id"`
	Terms
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// Terms are what a rule asks for.
type Terms struct {
	MessageRegex     string `db:"commit_message_regex"`
	MessageNegative  string `db:"commit_message_negative_regex"`
	BranchRegex      string `db:"branch_name_regex"`
	EmailRegex       string `db:"author_email_regex"`
	FileRegex        string `db:"file_name_regex"` // of names that are refused
	MaxFileSize      int64  `db:"max_file_size"`   // MB
	DenyDeleteTag    bool   `db:"deny_delete_tag"` // by git; the API may
	MemberCheck      bool   `db:"member_check"`
	PreventSecrets   bool   `db:"prevent_secrets"`
	CommitterCheck   bool   `db:"commit_committer_check"`
	CommitterName    bool   `db:"commit_committer_name_check"`
	RejectUnsigned   bool   `db:"reject_unsigned_commits"`
	RejectWithoutDCO bool   `db:"reject_non_dco_commits"`
}

// Changes are those of Create and Update; nil leaves alone.
type Changes struct {
	MessageRegex     *string
	MessageNegative  *string
	BranchRegex      *string
	EmailRegex       *string
	FileRegex        *string
	MaxFileSize      *int64
	DenyDeleteTag    *bool
	MemberCheck      *bool
	PreventSecrets   *bool
	CommitterCheck   *bool
	CommitterName    *bool
	RejectUnsigned   *bool
	RejectWithoutDCO *bool
}

const (
	maxPattern         = 511 // characters
	maxNegativePattern = 2047
)

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (t *Terms) apply(c Changes) {
	set(&t.MessageRegex, c.MessageRegex)
	set(&t.MessageNegative, c.MessageNegative)
	set(&t.BranchRegex, c.BranchRegex)
	set(&t.EmailRegex, c.EmailRegex)
	set(&t.FileRegex, c.FileRegex)
	set(&t.MaxFileSize, c.MaxFileSize)
	set(&t.DenyDeleteTag, c.DenyDeleteTag)
	set(&t.MemberCheck, c.MemberCheck)
	set(&t.PreventSecrets, c.PreventSecrets)
	set(&t.CommitterCheck, c.CommitterCheck)
	set(&t.CommitterName, c.CommitterName)
	set(&t.RejectUnsigned, c.RejectUnsigned)
	set(&t.RejectWithoutDCO, c.RejectWithoutDCO)
}

// validate holds the patterns against the limits.
func (t *Terms) validate() error {
	var fields []errs.Field
	for _, p := range []struct {
		name, text string
		most       int
	}{
		{"commit_message_regex", t.MessageRegex, maxPattern},
		{"commit_message_negative_regex", t.MessageNegative, maxNegativePattern},
		{"branch_name_regex", t.BranchRegex, maxPattern},
		{"author_email_regex", t.EmailRegex, maxPattern},
		{"file_name_regex", t.FileRegex, maxPattern},
	} {
		if utf8.RuneCountInString(p.text) > p.most {
			fields = append(fields, errs.Field{Name: p.name, Messages: []string{fmt.Sprintf("is too long (maximum is %d characters)", p.most)}})
		} else if _, err := pattern.Compile(p.text); err != nil {
			fields = append(fields, errs.Field{Name: p.name, Messages: []string{"not valid RE2 syntax: " + err.Error()}})
		}
	}
	if t.MaxFileSize < 0 {
		fields = append(fields, errs.Field{Name: "max_file_size", Messages: []string{"must be greater than or equal to 0"}})
	}
	if len(fields) > 0 {
		return &errs.Error{Kind: errs.Invalid, Fields: fields}
	}
	return nil
}

// secrets are the names of files that are known to hold keys and passwords.
var secrets = []func() *regexp.Regexp{
	pattern.New(`aws/credentials$`),
	pattern.New(`(^|/)\.?id_(rsa|dsa|ed25519|ed25519_sk|ecdsa|ecdsa_sk)$`),
	pattern.New(`(ssh|config)/(personal|server)_(rsa|dsa|ed\d+|ed\d+_sk|ecdsa|ecdsa_sk)$`),
	pattern.New(`\.(pem|key)$`),
	pattern.New(`[._]history$`),
}

// maxMessage is how much of a message is looked at, in bytes.
const maxMessage = 64 << 10

// Checks are a rule made ready to look at a push.
type Checks struct {
	Terms
	message, negative, branch, email, file *regexp.Regexp
}

// ready compiles the patterns of a stored rule.
func (t *Terms) ready() (*Checks, error) {
	c := &Checks{Terms: *t}
	for to, text := range map[**regexp.Regexp]string{
		&c.message: multiline(t.MessageRegex), &c.negative: multiline(t.MessageNegative),
		&c.branch: t.BranchRegex, &c.email: t.EmailRegex, &c.file: t.FileRegex,
	} {
		var err error
		if *to, err = pattern.Compile(text); err != nil {
			return nil, fmt.Errorf("compile push rule: %w", err)
		}
	}
	return c, nil
}

// multiline makes ^ and $ match at lines.
func multiline(pattern string) string {
	if pattern == "" {
		return ""
	}
	return "(?m)" + pattern
}

// Branch returns the refusal of a branch name, "" where it may be.
func (c *Checks) Branch(name string) string {
	if c.branch == nil || c.branch.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("Branch name '%s' does not follow the pattern '%s'", name, c.BranchRegex)
}

// Commits reports whether the rule asks anything of commits.
func (c *Checks) Commits() bool {
	return c.message != nil || c.negative != nil || c.email != nil || c.MemberCheck || c.CommitterCheck || c.CommitterName ||
		c.RejectUnsigned || c.RejectWithoutDCO
}

// Files reports whether the rule asks anything of files.
func (c *Checks) Files() bool { return c.file != nil || c.PreventSecrets || c.MaxFileSize > 0 }

// People is what the checks of persons compare with.
type People struct {
	Name  string          // of who pushes
	Own   map[string]bool // folded addresses of who pushes
	Known map[string]bool // folded addresses of every user
}

// Commit returns the refusal of a commit, "" where it may be. One that git pushes may have
// to be signed; what the server makes is not.
func (c *Checks) Commit(commit *gitstore.Commit, who People, pushed bool) string {
	message := commit.Message
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	author, committer := commit.Author.Email, commit.Committer.Email
	switch {
	case c.message != nil && !c.message.MatchString(message):
		return fmt.Sprintf("Commit message does not follow the pattern '%s'", c.MessageRegex)
	case c.negative != nil && c.negative.MatchString(message):
		return fmt.Sprintf("Commit message contains the forbidden pattern '%s'", c.MessageNegative)
	case c.email != nil && !c.email.MatchString(committer):
		return fmt.Sprintf("Committer's email '%s' does not follow the pattern '%s'", committer, c.EmailRegex)
	case c.email != nil && !c.email.MatchString(author):
		return fmt.Sprintf("Author's email '%s' does not follow the pattern '%s'", author, c.EmailRegex)
	case c.CommitterCheck && !who.Own[db.Fold(committer)]:
		return fmt.Sprintf("You cannot push commits for '%s'. "+
			"You can only push commits if the committer email is one of your own verified emails.", committer)
	case c.CommitterName && db.Fold(commit.Committer.Name) != db.Fold(who.Name):
		return "Your git username is inconsistent with GitLab account name"
	case c.RejectUnsigned && pushed && commit.Signed == "":
		return "Commit must be signed with a GPG key"
	case c.RejectWithoutDCO && !signedOff(message):
		return "Commit message must contain a DCO signoff"
	case c.MemberCheck && !who.Known[db.Fold(author)]:
		return fmt.Sprintf("Author '%s' is not a member of team", author)
	case c.MemberCheck && !who.Known[db.Fold(committer)]:
		return fmt.Sprintf("Committer '%s' is not a member of team", committer)
	}
	return ""
}

// signedOff looks for a line that begins with "Signed-off-by: ".
func signedOff(message string) bool {
	for line := range strings.SplitSeq(message, "\n") {
		if who, ok := strings.CutPrefix(line, "Signed-off-by:"); ok && strings.TrimSpace(who) != "" {
			return true
		}
	}
	return false
}

// File returns the refusal of the name of a new file, "" where it may be.
func (c *Checks) File(path string) string {
	const text = "File name %s was prohibited by the pattern \"%s\"."
	if c.file != nil && c.file.MatchString(path) {
		return fmt.Sprintf(text, path, c.FileRegex)
	}
	if c.PreventSecrets {
		for _, re := range secrets {
			if re().MatchString(path) {
				return fmt.Sprintf(text, path, re())
			}
		}
	}
	return ""
}

// TooLarge returns the refusal of a file of a size in bytes, "" where it may be.
func (c *Checks) TooLarge(path string, size int64) string {
	const megabyte = 1 << 20
	if c.MaxFileSize == 0 || (size-1)/megabyte < c.MaxFileSize { // a shift to the left would lose a large limit
		return ""
	}
	return fmt.Sprintf("File \"%s\" is larger than the allowed size of %d MB. Use Git LFS to manage this file.", path, c.MaxFileSize)
}
