package namespace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
)

// Group is one group with its place and, where it was read for an actor, that actor's
// level in it. What is readonly is in its row of namespaces, or is computed.
type Group struct {
	ID         ID               `db:"namespace_id"`
	ParentID   *ID              `db:"parent_id,readonly"`
	Path       string           `db:"path,readonly"` // last part of FullPath
	Name       string           `db:"name,readonly"`
	FullPath   string           `db:"full_path,readonly"`
	FullName   string           `db:"full_name,readonly"`
	Visibility authz.Visibility `db:"visibility,readonly"`
	CreatedAt  db.Time          `db:"created_at,readonly"`
	UpdatedAt  db.Time          `db:"updated_at,readonly"`

	CreatorID               *authz.UserID `db:"creator_id"`
	Description             *string       `db:"description"`
	Avatar                  string        `db:"avatar"` // stored file name, "" for none
	ShareWithGroupLock      bool          `db:"share_with_group_lock"`
	RequireTwoFactor        bool          `db:"require_two_factor_authentication"`
	TwoFactorGracePeriod    int64         `db:"two_factor_grace_period"` // hours
	ProjectCreationLevel    string        `db:"project_creation_level"`  // noone, owner, maintainer, developer, administrator
	SubgroupCreationLevel   string        `db:"subgroup_creation_level"` // owner, maintainer
	AutoDevopsEnabled       *bool         `db:"auto_devops_enabled"`
	EmailsEnabled           bool          `db:"emails_enabled"`
	MentionsDisabled        *bool         `db:"mentions_disabled"`
	LFSEnabled              bool          `db:"lfs_enabled"`
	RequestAccessEnabled    bool          `db:"request_access_enabled"`
	DefaultBranch           *string       `db:"default_branch"`
	DefaultBranchProtection *int64        `db:"default_branch_protection"` // nil inherits the instance's
	SharedRunnersSetting    string        `db:"shared_runners_setting"`    // see SharedRunners
	RepositorySizeLimit     *int64        `db:"repository_size_limit"`     // bytes, of each project inside; see SizeLimit

	// For all projects inside, whatever they say themselves.
	OnlyMergeIfPipelineSucceeds    bool `db:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline    bool `db:"allow_merge_on_skipped_pipeline"`
	OnlyMergeIfDiscussionsResolved bool `db:"only_allow_merge_if_all_discussions_are_resolved"`

	Archived            bool    `db:"archived_anywhere,readonly"` // itself or a group that it is in
	ArchivedSelf        bool    `db:"archived"`
	SettingsJSON        string  `db:"settings"`               // see Settings
	MarkedForDeletionOn *string `db:"marked_for_deletion_on"` // YYYY-MM-DD
	MarkedAbove         bool    `db:"marked_above,readonly"`  // itself or a group that it is in

	Level      authz.Level `db:"actor_level,readonly" change:"-"`
	LevelKnown bool        `db:"-"`
}

// GroupSettings are those of a group that only later areas read.
type GroupSettings struct {
	DefaultBranchProtectionDefaults      json.RawMessage `json:"default_branch_protection_defaults,omitempty"`
	PreventSharingGroupsOutsideHierarchy bool            `json:"prevent_sharing_groups_outside_hierarchy,omitempty"`
	PreventForkingOutsideGroup           *bool           `json:"prevent_forking_outside_group,omitempty"`
	MembershipLock                       bool            `json:"membership_lock,omitempty"`
	MaxArtifactsSize                     *int64          `json:"max_artifacts_size,omitempty"`
	SharedRunnersMinutesLimit            *int64          `json:"shared_runners_minutes_limit,omitempty"`
	ExtraSharedRunnersMinutesLimit       *int64          `json:"extra_shared_runners_minutes_limit,omitempty"`
	FileTemplateProjectID                *int64          `json:"file_template_project_id,omitempty"`
	WikiAccessLevel                      string          `json:"wiki_access_level,omitempty"`
	IPRestrictionRanges                  *string         `json:"ip_restriction_ranges,omitempty"`
	AllowedEmailDomainsList              *string         `json:"allowed_email_domains_list,omitempty"`
	EnabledGitAccessProtocol             *string         `json:"enabled_git_access_protocol,omitempty"`
	ShowDiffPreviewInEmail               *bool           `json:"show_diff_preview_in_email,omitempty"`
	MathRenderingLimitsEnabled           *bool           `json:"math_rendering_limits_enabled,omitempty"`
	LockMathRenderingLimitsEnabled       bool            `json:"lock_math_rendering_limits_enabled,omitempty"`

	// ServiceTokensExpire makes the tokens of the group's service accounts expire where the instance does not ask for it; core/token reads it.
	ServiceTokensExpire bool `json:"service_access_tokens_expiration_enforced,omitempty"`
}

// groupColumns are those of Group but for the actor's level, over the aliases of groupTables.
var groupColumns = db.Columns[Group]("g") + `, n.parent_id, n.path, n.name, r.path AS full_path, r.name AS full_name, n.visibility,
	n.created_at, n.updated_at, ` + ArchivedAbove("n.id") + ` AS archived_anywhere, ` + MarkedAbove("n.id") + ` AS marked_above`

const (
	groupTables = "namespaces n JOIN groups g ON g.namespace_id = n.id JOIN routes r ON r.namespace_id = n.id"
	groupFrom   = " FROM " + groupTables
)

// Subject is what permissions are asked about.
func (g *Group) Subject() authz.Subject {
	return authz.Subject{
		Noun: "Group", Namespace: g.ID, Visibility: g.Visibility, Closed: g.Archived || g.MarkedAbove,
		Level: g.Level, Known: g.LevelKnown,
	}
}

// About names the group.
func (g Group) About() change.Subject {
	return change.Subject{Type: "Group", ID: int64(g.ID), Title: g.Name}
}

// Place is the group as somewhere that things belong to.
func (g *Group) Place() authz.Place {
	return authz.Place{
		Namespace: g.ID, Parent: g.ParentID, Group: true, ID: int64(g.ID), Name: g.Name, Path: g.FullPath, FullName: g.FullName,
		Requests: g.RequestAccessEnabled, Subject: g.Subject(), Row: g,
	}
}

// Of returns the group that a place was made of, nil for a project and the instance.
func Of(at authz.Place) *Group {
	g, _ := at.Row.(*Group)
	return g
}

// SharedRunners reports whether instance runners are switched on in the group.
func (g *Group) SharedRunners() bool { return g.SharedRunnersSetting == "enabled" }

// Settings reads what SettingsJSON holds.
func (g *Group) Settings() GroupSettings {
	var out GroupSettings
	if json.Unmarshal([]byte(g.SettingsJSON), &out) != nil {
		return GroupSettings{}
	}
	if out.FileTemplateProjectID != nil && *out.FileTemplateProjectID == 0 {
		out.FileTemplateProjectID = nil
	}
	return out
}

// Find returns the group that ref names, an id in digits or a full path, with the
// actor's level, in one statement. It requires ReadGroup.
func (s *Service) Find(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	level, args := s.Policy.LevelSQL(as, "n.id")
	cond, arg := byRef(ref)
	g, err := db.Get[Group](ctx, s.DB, "SELECT "+groupColumns+", "+level+" AS actor_level"+groupFrom+" WHERE "+cond, append(args, arg)...)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, errs.Missing("Group")
	case err != nil:
		return nil, fmt.Errorf("find group: %w", err)
	}
	g.LevelKnown = true
	if err := s.Policy.Require(ctx, as, authz.ReadGroup, g.Subject()); err != nil {
		return nil, err
	}
	return &g, nil
}

// Moved returns the full path of the group that had a path before a rename or a transfer. It returns NotFound
// if there is none, or the actor may not read it.
func (s *Service) Moved(ctx context.Context, as authz.Actor, path string) (string, error) {
	id, err := db.Get[ID](ctx, s.DB, `SELECT o.namespace_id FROM redirect_routes o JOIN groups g ON g.namespace_id = o.namespace_id
		WHERE o.path_fold = ?`, db.Fold(path))
	switch {
	case errors.Is(err, db.ErrNotFound):
		return "", errs.Missing("Group")
	case err != nil:
		return "", fmt.Errorf("find moved group: %w", err)
	}
	g, err := s.FindByID(ctx, as, id)
	if err != nil {
		return "", err
	}
	return g.FullPath, nil
}

// FindByID is Find for an id.
func (s *Service) FindByID(ctx context.Context, as authz.Actor, id ID) (*Group, error) {
	return s.Find(ctx, as, fmt.Sprint(int64(id)))
}

// GroupFilter selects from a list of groups.
type GroupFilter struct {
	Parent         *ID         // direct subgroups of it
	Ancestor       *ID         // everything below it
	SharedWith     *ID         // those that this group is invited into
	InvitedTo      *ID         // those invited into this place
	Inherited      bool        // with those invited into what is above that place
	NotDirect      bool        // and without those invited there itself
	NotInvited     *ID         // those not invited into this place itself
	Above          *ID         // those that this place is in
	NotAbove       *ID         // none that this place is in
	AndShared      bool        // and those invited into it
	SharedLevel    authz.Level // with at least this level there
	Receiver       authz.Level // those where the actor has this level and may move something to
	TakesProjects  bool        // those where the actor may create projects
	TakesTransfers bool        // those that the actor may transfer projects to
	But            *ID         // not this one
	ButBelow       *ID         // nor this one and those below it
	Search         string
	Visibility     *authz.Visibility
	MemberOnly     bool         // leave out what the actor sees without being a member of it or of something inside
	Reachable      bool         // MemberOnly, but for those who read everything
	Owned          bool         // those that the actor owns
	DirectOf       authz.UserID // those that this user is a direct member of: the actor, or anyone for administrators
	MinLevel       authz.Level
	TopLevel       bool
	Skip           []ID
	Archived       *bool
	Active         *bool             // neither archived nor marked for deletion
	Attributes     map[string]string // all of them, by key; administrators only
	MarkedOn       string            // marked for deletion on this day, YYYY-MM-DD
	OrderBy        string            // name, path, id, similarity; "" is name
	Desc           bool
	WithinBatch    []ID // where not nil, only these
	Part           bool // of an answer about something else, so that it is not counted as a list of groups
	Levels         bool // read the actor's level in each
	page.Range
}

var groupOrders = page.Orders{
	"":     {page.Text("name", "n.name"), page.ID("n.id")},
	"path": {page.Text("path", "n.path"), page.ID("n.id")},
	"id":   {page.ID("n.id")},
}

// Similarity is the SQL that says how near a name, folded, and a path are to what is
// searched for, the nearest with the highest number, and its arguments.
func Similarity(nameFold, path, search string) (string, []any) {
	fold := db.Fold(search)
	begin := db.LikePattern(fold) + "%"
	return "(CASE WHEN " + nameFold + " = ? OR LOWER(" + path + ") = ? THEN 3 WHEN " + nameFold + ` LIKE ? ESCAPE '\' OR LOWER(` + path + `) LIKE ? ESCAPE '\' THEN 2
		WHEN ` + nameFold + ` LIKE ? ESCAPE '\' OR LOWER(` + path + `) LIKE ? ESCAPE '\' THEN 1 ELSE 0 END)`,
		[]any{fold, fold, begin, begin, "%" + begin, "%" + begin}
}

// order returns what a list is sorted by.
func (f GroupFilter) order() page.Order {
	if f.OrderBy == "similarity" && f.Search != "" {
		score, args := Similarity("n.name_fold", "n.path", f.Search)
		return page.Order{page.Computed(score, args...).Desc(), page.ID("n.id").Desc()}
	}
	if f.Desc {
		return groupOrders.By(f.OrderBy).Desc()
	}
	return groupOrders.By(f.OrderBy)
}

// everywhere reports whether the filter is of a list of the groups of the instance.
func (f *GroupFilter) everywhere() bool {
	for _, place := range []*ID{f.Parent, f.Ancestor, f.SharedWith, f.InvitedTo, f.NotInvited, f.Above, f.NotAbove, f.But} {
		if place != nil {
			return false
		}
	}
	return !f.Part && f.WithinBatch == nil && f.DirectOf == 0 && f.Receiver == 0
}

// List returns the groups that the actor may see.
func (s *Service) List(ctx context.Context, as authz.Actor, f GroupFilter) (page.Page[Group], error) {
	if err := s.Policy.Require(ctx, as, authz.ListGroups, authz.Subject{}); err != nil {
		return page.Page[Group]{}, err
	}
	if f.Search != "" && f.Parent == nil {
		if err := s.Settings.Searchable(as.SignedIn() || as.Admin); err != nil {
			return page.Page[Group]{}, err
		}
	}
	if f.everywhere() {
		if err := s.Limits.Check(limit.GroupsList, as); err != nil {
			return page.Page[Group]{}, err
		}
	}
	level, args := "0", []any(nil)
	if f.Levels {
		level, args = s.Policy.LevelSQL(as, "n.id")
	}
	list, err := page.Select[Group](ctx, s.DB, page.Query{
		Columns: groupColumns + ", " + level + " AS actor_level", ColumnArgs: args, From: groupTables,
		Where: s.groupConditions(as, f), Order: f.order(), Key: "n.id", Narrow: "namespaces n JOIN groups g ON g.namespace_id = n.id",
		Candidates: []page.Candidates{{SQL: "SELECT namespace_id AS id FROM groups"}},
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list groups: %w", err)
	}
	for i := range list.Items {
		list.Items[i].LevelKnown = f.Levels
	}
	return list, nil
}

func (s *Service) groupConditions(as authz.Actor, f GroupFilter) db.Where {
	var w db.Where
	seen, args := s.Policy.VisibleGroupsSQL(as, "n")
	w.And(seen, args...)
	if (f.MemberOnly || f.Reachable && !as.Admin && !as.Auditor) && as.SignedIn() {
		reach, args := s.Policy.ReachSQL(as, authz.Minimal)
		w.And("n.id IN (SELECT u.ancestor_id FROM namespace_ancestors u WHERE u.namespace_id IN ("+reach+"))", args...)
	}
	if f.Owned {
		f.MinLevel = authz.Owner
	}
	if f.MinLevel > 0 {
		reach, args := s.Policy.ReachSQL(as, f.MinLevel)
		w.And("n.id IN ("+reach+")", args...)
	}
	if f.Parent != nil {
		w.And("n.parent_id = ?", *f.Parent)
	}
	if f.Ancestor != nil {
		w.And("n.id IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ? AND depth > 0)", *f.Ancestor)
	}
	if f.SharedWith != nil {
		w.And("n.id IN (SELECT s.namespace_id FROM shares s WHERE s.group_id = ? AND (s.expires_on IS NULL OR s.expires_on > ?))",
			*f.SharedWith, s.today())
	}
	if f.Above != nil {
		cond, args := "n.id IN "+AboveSQL, []any{*f.Above}
		if f.AndShared {
			cond += ` OR n.id IN (SELECT s.group_id FROM shares s WHERE s.namespace_id = ? AND s.access_level >= ?
				AND (s.expires_on IS NULL OR s.expires_on > ?))`
			args = append(args, *f.Above, f.SharedLevel, s.today())
		}
		w.And("("+cond+")", args...)
	}
	if f.DirectOf != 0 {
		w.And("n.id IN (SELECT m.namespace_id FROM members m WHERE m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?))", f.DirectOf, s.today())
		if !as.Admin && !as.Is(f.DirectOf) {
			w.Raw("1 = 0")
		}
	}
	s.groupsFor(&w, as, f)
	f.groupState(&w)
	attribute.Having(&w, as, attribute.Group, "n.id", f.Attributes)
	return w
}

// groupsFor adds the conditions that say what a group is sought for.
func (s *Service) groupsFor(w *db.Where, as authz.Actor, f GroupFilter) {
	if f.TakesTransfers {
		f.Receiver = max(f.Receiver, authz.Maintainer)
	}
	if f.Receiver > 0 {
		w.Raw("NOT " + InArchived("n.id") + " AND NOT " + InMarked("n.id"))
		if !as.Admin {
			reach, args := s.Policy.ReachSQL(as, f.Receiver)
			w.And("n.id IN ("+reach+")", args...)
		}
	}
	if f.TakesProjects {
		s.takesProjects(w, as)
	}
	if f.But != nil {
		w.And("n.id <> ?", *f.But)
	}
	if f.NotAbove != nil {
		w.And("n.id NOT IN "+AboveSQL, *f.NotAbove)
	}
	if f.ButBelow != nil {
		w.And("n.id NOT IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)", *f.ButBelow)
	}
	if f.NotInvited != nil {
		w.And("n.id NOT IN (SELECT s.group_id FROM shares s WHERE s.namespace_id = ? AND (s.expires_on IS NULL OR s.expires_on > ?))",
			*f.NotInvited, s.today())
	}
	if f.InvitedTo != nil {
		depth := "a.depth = 0"
		switch {
		case f.Inherited && f.NotDirect:
			depth = "a.depth > 0"
		case f.Inherited:
			depth = "a.depth >= 0"
		}
		w.And(`n.id IN (SELECT s.group_id FROM shares s JOIN namespace_ancestors a ON a.ancestor_id = s.namespace_id
			WHERE a.namespace_id = ? AND `+depth+` AND (s.expires_on IS NULL OR s.expires_on > ?))`, *f.InvitedTo, s.today())
	}
}

// takesProjects adds that the actor may create projects in a group, as its setting says.
func (s *Service) takesProjects(w *db.Where, as authz.Actor) {
	w.Raw("NOT " + InArchived("n.id") + " AND NOT " + InMarked("n.id"))
	if as.Admin {
		return
	}
	var conds []string
	var all []any
	for _, level := range []struct {
		setting string
		least   authz.Level
	}{{"developer", authz.Developer}, {"maintainer", authz.Maintainer}, {"owner", authz.Owner}} {
		reach, args := s.Policy.ReachSQL(as, level.least)
		conds = append(conds, "g.project_creation_level = ? AND n.id IN ("+reach+")")
		all = append(append(all, level.setting), args...)
	}
	w.And("("+strings.Join(conds, " OR ")+")", all...)
}

// groupState adds the conditions on the group itself.
func (f *GroupFilter) groupState(w *db.Where) {
	if f.TopLevel {
		w.Raw("n.parent_id IS NULL")
	}
	if f.Search != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Search)) + "%"
		w.And(`(n.name_fold LIKE ? ESCAPE '\' OR LOWER(n.path) LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	if f.Visibility != nil {
		w.And("n.visibility = ?", *f.Visibility)
	}
	if len(f.Skip) > 0 {
		w.NotIn("n.id", f.Skip)
	}
	if f.WithinBatch != nil {
		w.In("n.id", f.WithinBatch)
	}
	if f.Archived != nil {
		w.Raw(map[bool]string{true: "", false: "NOT "}[*f.Archived] + InArchived("n.id"))
	}
	if f.Active != nil {
		if *f.Active {
			w.Raw("NOT " + InArchived("n.id") + " AND NOT " + InMarked("n.id"))
		} else {
			w.Raw("(" + InArchived("n.id") + " OR " + InMarked("n.id") + ")")
		}
	}
	if f.MarkedOn != "" {
		w.And("g.marked_for_deletion_on = ?", f.MarkedOn)
	}
}
