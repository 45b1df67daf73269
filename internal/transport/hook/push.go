package hook

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/repo"
)

// Register makes a push known and gives the environment for its git process; call
// release when that process has ended.
func (s *Server) Register(p *repo.Push) (env []string, release func()) {
	return s.register(repoPush{p})
}

// repoPush speaks the wire's types for a push of the core.
type repoPush struct{ push *repo.Push }

// Check passes the question on.
func (p repoPush) Check(ctx context.Context, call Call) (string, error) {
	changes, refusal := refChanges(call.Changes)
	if refusal != "" {
		return refusal, nil
	}
	return p.push.Check(ctx, call.Objects, changes, call.Options) //nolint:wrapcheck // the same sentence with other types
}

// Apply passes the order on.
func (p repoPush) Apply(ctx context.Context, changes []Change) ([]Verdict, string, error) {
	moves, refusal := refChanges(changes)
	if refusal != "" {
		return nil, "", fmt.Errorf("unchecked references: %s", refusal)
	}
	results, message, err := p.push.Apply(ctx, moves)
	if err != nil {
		return nil, "", err //nolint:wrapcheck // the same sentence with other types
	}
	verdicts := make([]Verdict, len(results))
	for i, r := range results {
		verdicts[i] = Verdict{Ref: string(r.Ref), Reason: r.Reason}
	}
	return verdicts, message, nil
}

// refChanges reads what git sent. A name that git takes and we do not is refused.
func refChanges(changes []Change) (out []repo.RefChange, refusal string) {
	out = make([]repo.RefChange, 0, len(changes))
	for _, c := range changes {
		ref, err := gitcmd.ParseRefName(c.Ref)
		if err != nil {
			return nil, "GitLab: You cannot create a branch with an invalid name."
		}
		before, err1 := gitcmd.ParseObjectID(c.Old)
		after, err2 := gitcmd.ParseObjectID(c.New)
		if err1 != nil || err2 != nil {
			return nil, "GitLab: Object ids must have 40 hexadecimal digits."
		}
		out = append(out, repo.RefChange{Ref: ref, Old: before, New: after})
	}
	return out, ""
}
