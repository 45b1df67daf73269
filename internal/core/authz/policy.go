package authz

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// NamespaceID identifies a user's, group's or project's namespace. A group's id is
// its namespace id.
type NamespaceID int64

// Subject is what an ability is asked about: the instance (the zero value), a group
// or a project, with what the table needs to know of it.
type Subject struct {
	Noun       string      // public name for the 404: "Project", "Group", "" for the bare one
	Namespace  NamespaceID // of the group, or the project's own; zero for the instance
	Visibility Visibility
	Closed     bool           // nothing is written there: it is archived or marked for deletion, or a group above it is
	Features   Features       // of a project
	Within     *FeatureAccess // of the part of a project that the subject is, such as its releases; nil where it is none with an access of its own
	IsProject  bool
	Personal   bool   // a thing of one user, in no namespace: Own says whether the actor is that user
	Settings   string // of a project, as JSON: they have its classification label

	// Level is the actor's level here where Known says that it was read together
	// with the subject; otherwise Require reads it.
	Level Level
	Known bool

	// Of an item inside the project:
	Feature      Feature // that it belongs to, for abilities that name none
	Own          bool    // the actor is its author or assignee
	Confidential bool    // an issue hidden from all but planners, author and assignees
}

// Reading is the subject for a call that only reads with an ability to write: what is archived or
// marked for deletion is read as before.
func (s Subject) Reading() Subject {
	s.Closed = false
	return s
}

// Policy answers questions of permission. It is safe for concurrent use.
type Policy struct {
	db        *db.DB
	now       func() time.Time
	addresses *atomic.Bool // groups restrict them

	// OnCheck, where set, is told each ability that is asked for; the permission
	// matrix compares it with what the routes declare.
	OnCheck func(Ability)

	// CloseProjects, where set and true, has projects admit the jobs of the projects that they list alone, also where a project is
	// open to all.
	CloseProjects func() bool

	// Everywhere, where set, reports whether an address reaches every group, whatever the groups restrict.
	Everywhere func(address string) bool

	// External, where set, decides about projects too.
	External External
}

// New builds the policy over the memberships in d.
func New(d *db.DB, now func() time.Time) *Policy {
	return &Policy{db: d, now: now, addresses: new(atomic.Bool)}
}

// Require returns nil when the actor may do it, NotFound when it may not even see the
// subject, Unauthorized for an anonymous caller, Forbidden otherwise.
func (p *Policy) Require(ctx context.Context, as Actor, ability Ability, s Subject) error {
	if p.OnCheck != nil {
		p.OnCheck(ability)
	}
	rule, ok := Rules[ability]
	if !ok {
		return fmt.Errorf("authz: no rule for ability %q", ability)
	}
	level, err := p.levelFor(ctx, as, ability, s)
	if err != nil {
		return err
	}
	visible, err := p.visible(ctx, as, s, level)
	if err != nil {
		return err
	}
	switch {
	case !visible:
		return errs.Missing(s.Noun)
	case s.Confidential && !as.Admin && !as.Auditor && level < Planner && !s.Own:
		return errs.Missing("")
	case rule.allows(as, s, level):
		return nil
	case !as.Known() && !as.Admin:
		return errs.New(errs.Unauthorized, "")
	default:
		return errs.Denied("")
	}
}

// Can reports whether Require would allow it; only failures of the database are errors.
func (p *Policy) Can(ctx context.Context, as Actor, ability Ability, s Subject) (bool, error) {
	rule, ok := Rules[ability]
	if !ok {
		return false, fmt.Errorf("authz: no rule for ability %q", ability)
	}
	level, err := p.levelFor(ctx, as, ability, s)
	if err != nil {
		return false, err
	}
	visible, err := p.visible(ctx, as, s, level)
	if err != nil || !visible {
		return false, err
	}
	if s.Confidential && !as.Admin && !as.Auditor && level < Planner && !s.Own {
		return false, nil
	}
	return rule.allows(as, s, level), nil
}

// allows applies a row of the table to an actor that sees the subject.
func (r Rule) allows(as Actor, s Subject, level Level) bool {
	if r.Write && s.Closed || as.Deploys() && !r.Deploy || as.Bot && r.Person {
		return false
	}
	if as.Job.ID != 0 && !r.Job && !(r.JobPush && as.Job.Pushes && as.Job.Place == s.Namespace) {
		return false
	}
	if r.Feature == NoFeature {
		r.Feature = s.Feature
	}
	if as.Auditor && !as.Admin && (r.Write || r.Change) {
		if as.Auditor = false; !open(as, s, level) {
			return false
		}
	}
	if s.IsProject && (r.Feature != NoFeature && !s.Features.Of(r.Feature).admits(as, level) || s.Within != nil && !s.Within.admits(as, level)) {
		return false
	}
	if as.Admin {
		return true
	}
	if as.Auditor && r.Min <= Owner {
		return true
	}
	if r.Code && !codeOpen(s, level) {
		return false
	}
	switch {
	case r.Anyone:
		return true
	case r.SignedIn && as.SignedIn(), r.Visitors && as.Visitor:
		return true
	case r.Own && s.Own && as.SignedIn():
		return true
	case r.Also != 0 && level == r.Also:
		return true
	case r.Token != "" && as.Deploy.TokenID != 0 && level >= Reporter && as.Scopes.Has(r.Token):
		return true
	}
	return r.Min != 0 && level >= r.Min
}

// open says whether the actor sees the subject without being an auditor. It overlooks
// private groups that are seen for what is inside them; they are not written to anyway.
func open(as Actor, s Subject, level Level) bool {
	switch {
	case s.Confidential && level < Planner && !s.Own:
		return false
	case s.Namespace == 0 && !s.Personal, s.Personal && s.Own, level >= Guest, s.Visibility == Public:
		return true
	}
	return s.Visibility == Internal && !as.External
}

// codeOpen says whether this level sees code: guests of private projects do not, nor
// guests where the repository is for members only.
func codeOpen(s Subject, level Level) bool {
	if level >= Planner {
		return true
	}
	return s.Visibility != Private && s.Features.RepositoryAccess == FeatureEnabled
}

// visible says whether the actor may know that the subject exists.
func (p *Policy) visible(ctx context.Context, as Actor, s Subject, level Level) (bool, error) {
	switch {
	case level == Barred, s.IsProject && p.decides(as) && !p.External.Grants(ctx, as, s.Settings):
		return false, nil
	case s.Namespace == 0 && !s.Personal, s.Personal && s.Own && as.SignedIn(), as.Admin, as.Auditor, s.Visibility == Public:
		return true, nil
	case s.Visibility == Internal && as.SignedIn() && !as.External && as.Job.ID == 0:
		return true, nil
	case level >= Guest, level >= Minimal && !s.IsProject:
		return true, nil
	case s.IsProject || s.Personal || !as.SignedIn() || as.Job.ID != 0:
		return false, nil
	}
	// A private group shows itself to members of something inside it.
	reached, args := p.reachSQL(as)
	inside, err := db.Get[bool](ctx, p.db, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors d
		WHERE d.ancestor_id = ? AND d.namespace_id IN (`+reached+`))`, append([]any{s.Namespace}, args...)...)
	if err != nil {
		return false, fmt.Errorf("look inside group: %w", err)
	}
	return inside, nil
}

// Level returns the actor's level of membership in the subject: its own, inherited or
// through a share; Owner for administrators, NoAccess for strangers, Barred where it is not reached from the
// actor's address.
func (p *Policy) Level(ctx context.Context, as Actor, s Subject) (Level, error) {
	switch {
	case s.Namespace == 0:
		return NoAccess, nil
	case p.holds(as): // LevelSQL asks for the address
	case as.Admin:
		return Owner, nil
	case !as.Known():
		return NoAccess, nil
	case as.Job.ID != 0 && as.Job.Place != s.Namespace:
		if admitted, err := p.admits(ctx, as.Job, s); err != nil || !admitted {
			return NoAccess, err
		}
	}
	if s.Known {
		return s.Level, nil
	}
	expr, args := p.LevelSQL(as, "n.id")
	level, err := db.Get[int64](ctx, p.db, "SELECT "+expr+" FROM namespaces n WHERE n.id = ?", append(args, s.Namespace)...)
	if errors.Is(err, db.ErrNotFound) {
		return NoAccess, nil
	}
	if err != nil {
		return NoAccess, fmt.Errorf("read access level: %w", err)
	}
	return Level(level), nil
}

// levelFor is Level for an ability: administrators and owners of a group keep theirs for some, whatever its own ranges of addresses are.
func (p *Policy) levelFor(ctx context.Context, as Actor, ability Ability, s Subject) (Level, error) {
	level, err := p.Level(ctx, as, s)
	if err != nil || level != Barred || s.IsProject || !owned(ability) {
		return level, err
	}
	above, args := barredSQL(as, "n.id", 1)
	expr, more := p.memberSQL(as, "n.id")
	held, err := db.Get[int64](ctx, p.db, "SELECT CASE WHEN "+above+" THEN 0 ELSE "+expr+" END FROM namespaces n WHERE n.id = ?", append(append(args, more...), s.Namespace)...)
	if errors.Is(err, db.ErrNotFound) {
		return Barred, nil
	}
	if err != nil {
		return Barred, fmt.Errorf("read access level: %w", err)
	}
	if Level(held) < Owner {
		return Barred, nil
	}
	return Level(held), nil
}

// admits reports whether a project lets the jobs of another one in.
func (p *Policy) admits(ctx context.Context, job JobCredential, s Subject) (bool, error) {
	if !s.IsProject || job.Confined {
		return false, nil
	}
	query, args := `SELECT EXISTS (SELECT 1 FROM job_token_allowlist a
		JOIN namespace_ancestors n ON n.ancestor_id = a.allowed_id WHERE a.namespace_id = ? AND n.namespace_id = ?)`, []any{s.Namespace, job.Place}
	if p.CloseProjects == nil || !p.CloseProjects() {
		query, args = query+" OR EXISTS (SELECT 1 FROM job_token_open o WHERE o.namespace_id = ?)", append(args, s.Namespace)
	}
	in, err := db.Get[bool](ctx, p.db, query, args...)
	if err != nil {
		return false, fmt.Errorf("look for job token in allowlist: %w", err)
	}
	return in, nil
}

// AdmittedSQL returns a condition on a row of namespaces (alias) that holds for the projects that let the token of a job in: its own one among
// them.
func (p *Policy) AdmittedSQL(job JobCredential, alias string) (cond string, args []any) {
	if job.Confined {
		return alias + ".id = ?", []any{job.Place}
	}
	cond = alias + `.id = ? OR EXISTS (SELECT 1 FROM job_token_allowlist aj JOIN namespace_ancestors nj ON nj.ancestor_id = aj.allowed_id
		WHERE aj.namespace_id = ` + alias + `.id AND nj.namespace_id = ?)`
	if p.CloseProjects == nil || !p.CloseProjects() {
		cond += " OR EXISTS (SELECT 1 FROM job_token_open oj WHERE oj.namespace_id = " + alias + ".id)"
	}
	return "(" + cond + ")", []any{job.Place, job.Place}
}

func (p *Policy) today() string { return p.now().UTC().Format(time.DateOnly) }
