package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/signature"
	"tenon/internal/core/sshkey"
	"tenon/internal/transport/graphql/exec"
)

// commit is a commit of a project whose code the caller may read.
type commit struct {
	*gitstore.Commit
	project *project.Project
}

// noMessage is the title of a commit without a message.
const noMessage = "--no commit message"

// The title is cut from this many characters on, to shortTitle.
const longTitle, shortTitle = 100, 80

func (c *commit) fullTitle() string {
	if title := c.Title(); title != "" {
		return title
	}
	return noMessage
}

func (c *commit) title() string {
	full := []rune(c.fullTitle())
	if len(full) < longTitle {
		return string(full)
	}
	cut := string(full[:shortTitle-2])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "..."
}

// description is the message without its title, nil for none.
func (c *commit) description() *string {
	return text(c.Description())
}

// commits binds commits.
func (b *binder) commits() {
	value(b, "Commit.id", func(c *commit) string { return gid("Commit", c.ID.String()) })
	value(b, "Commit.sha", func(c *commit) string { return c.ID.String() })
	value(b, "Commit.shortId", func(c *commit) string { return c.ID.Short() })
	value(b, "Commit.message", func(c *commit) string { return c.Message })
	value(b, "Commit.title", (*commit).title)
	value(b, "Commit.fullTitle", (*commit).fullTitle)
	value(b, "Commit.description", (*commit).description)
	renderedTitle(b, "Commit.titleHtml", func(c *commit) (reference.Scope, *string) { return reference.Of(c.project), new(c.title()) })
	renderedTitle(b, "Commit.fullTitleHtml", func(c *commit) (reference.Scope, *string) { return reference.Of(c.project), new(c.fullTitle()) })
	rendered(b, "Commit.descriptionHtml", func(c *commit) (reference.Scope, *string) { return reference.Of(c.project), c.description() })
	value(b, "Commit.authoredDate", func(c *commit) any { return c.Author.When })
	value(b, "Commit.authorName", func(c *commit) string { return c.Author.Name })
	value(b, "Commit.authorEmail", func(c *commit) string { return c.Author.Email })
	value(b, "Commit.authorGravatar", func(c *commit) *string { return b.Accounts.Gravatar(c.Author.Email, 40) })
	value(b, "Commit.webUrl", func(c *commit) string { return b.URLs.Commit(c.project.FullPath, c.ID.String()) })
	value(b, "Commit.webPath", func(c *commit) string { return b.URLs.Path(b.URLs.Commit(c.project.FullPath, c.ID.String())) })
	one(b, "Commit.author", "authors of commits", func(c *commit) string { return c.Author.Email }, func(ctx context.Context, _ authz.Actor, emails []string) (map[string]*user, error) {
		return b.Accounts.ByAddresses(ctx, emails)
	})
	exec.Connection[*commit](b.Schema, "Commit")
	b.signatures()
}

// signed is a commit with its signature.
type signed struct {
	*signature.Signature
	of *commit
}

// signatures binds who signed commits.
func (b *binder) signatures() {
	types := map[signature.Kind]string{signature.PGP: "GpgSignature", signature.SSH: "SshSignature"}
	exec.Batch(b.Schema, "Commit.signature", func(ctx context.Context, c *exec.Call[exec.None], of []*commit) ([]any, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, made *commit) (any, error) {
			found, err := b.Signatures.OfCommit(ctx, c.As, made.project, made.ID.String())
			if err != nil {
				return nil, err
			}
			return exec.As(types[found.Kind], &signed{found, made}), nil
		})
	}, exec.ReadsGit)
	value(b, "CommitSignature.commitSha", func(s *signed) string { return s.of.ID.String() })
	value(b, "CommitSignature.project", func(s *signed) *project.Project { return s.of.project })
	value(b, "CommitSignature.verificationStatus", func(s *signed) string { return strings.ToUpper(string(s.Status)) })
	value(b, "GpgSignature.gpgKeyPrimaryKeyid", func(s *signed) *string { return text(s.PGP.KeyID) })
	value(b, "GpgSignature.gpgKeyUserName", func(s *signed) *string { return s.PGP.Name })
	value(b, "GpgSignature.gpgKeyUserEmail", func(s *signed) *string { return s.PGP.Email })
	one(b, "GpgSignature.user", "users", func(s *signed) authz.UserID { return zeroOr(s.PGP.UserID) }, b.usersByIDs)
	one(b, "SshSignature.user", "users", func(s *signed) authz.UserID {
		if s.SSH == nil {
			return 0
		}
		return zeroOr(s.SSH.UserID)
	}, b.usersByIDs)
	value(b, "SshSignature.key", func(s *signed) *sshkey.Key { return s.SSH })
	value(b, "SshSignature.keyFingerprintSha256", func(s *signed) *string {
		if s.SSH == nil {
			return nil
		}
		return text(strings.TrimPrefix(s.SSH.SHA256, "SHA256:"))
	})
	value(b, "Key.id", func(k *sshkey.Key) string { return gid("Key", k.ID) })
	value(b, "Key.key", func(k *sshkey.Key) string { return strings.TrimSpace(k.PublicKey + " " + k.Comment) })
	exec.Struct[*sshkey.Key](b.Schema, "Key")
}
