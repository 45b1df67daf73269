package graphql

import (
	"context"
	"strconv"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/transport/graphql/exec"
)

// metadata is what the server says of itself to those who are signed in.
type metadata struct {
	Version, Revision string
	Enterprise        bool
	Kas               kas
}

// kas is the server of agents for Kubernetes, which there is none of.
type kas struct {
	Enabled     bool
	ExternalURL *string
	Version     *string
}

// roots binds the fields that belong to no subject.
func (b *binder) roots() {
	type echoed struct{ Text string }
	exec.Root(b.Schema, "echo", func(_ context.Context, c *exec.Call[echoed]) (string, error) {
		if utf8.RuneCountInString(c.Args.Text) > maxText {
			return "", argumentError("Text is too long")
		}
		who := "nil"
		if c.As.SignedIn() {
			who = c.As.Username
		}
		return strconv.Quote(who) + " says: " + c.Args.Text, nil
	})
	exec.Root(b.Schema, "metadata", func(ctx context.Context, c *exec.Call[exec.None]) (*metadata, error) {
		if err := b.Instance.RequireVersion(ctx, c.As); err != nil {
			return nil, hidden(err)
		}
		return &metadata{Version: b.Version, Revision: b.Revision, Enterprise: true}, nil
	})
	exec.Struct[*metadata](b.Schema, "Metadata")
	exec.Struct[kas](b.Schema, "Kas")

	type complexity struct{ Score, Limit int }
	exec.Batch(b.Schema, "Query.queryComplexity", func(_ context.Context, c *exec.Call[exec.None], _ []exec.RootValue) ([]complexity, error) {
		op := c.Operation()
		return []complexity{{op.Score, op.Limit}}, nil
	})
	exec.Struct[complexity](b.Schema, "QueryComplexity")

	type echo struct {
		Errors, Messages []string
	}
	type echoes struct{ Echoes []string }
	exec.Mutation(b.Schema, "echoCreate", func(_ context.Context, c *exec.Call[echo]) (echoes, error) {
		if len(c.Args.Errors) > 0 {
			return echoes{c.Args.Messages}, errs.Sentences(errs.Invalid, c.Args.Errors...)
		}
		return echoes{c.Args.Messages}, nil
	})
}
