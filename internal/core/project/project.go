// Package project holds projects: where they stand, who sees them and how they are set up.
package project

import (
	"encoding/json"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a project. It is not the id of the project's namespace.
type ID int64

// How merge requests are merged.
const (
	MergeCommit = "merge"        // always with a merge commit
	MergeRebase = "rebase_merge" // merge commit on a source that could be fast-forwarded
	MergeFF     = "ff"           // fast-forward only
)

// Whether merge requests are squashed.
const (
	SquashNever      = "never"
	SquashAlways     = "always"
	SquashDefaultOn  = "default_on"
	SquashDefaultOff = "default_off"
)

// Project is one project with its place and, where it was read for an actor, that
// actor's level in it. What is readonly is in other tables, or is computed.
type Project struct {
	ID            ID                `db:"id"`
	NamespaceID   authz.NamespaceID `db:"namespace_id"` // its own twin of kind project
	ParentID      authz.NamespaceID `db:"parent_id"`    // the group or personal namespace it is in
	CreatorID     *authz.UserID     `db:"creator_id"`
	ForkedFromID  *ID               `db:"forked_from_id"` // nil also where that project is gone
	ForkRootID    *ID               `db:"fork_root_id"`   // of a fork, see Root
	Name          string            `db:"name" fold:"name_fold"`
	Path          string            `db:"path"`               // last part of FullPath
	FullPath      string            `db:"full_path,readonly"` // "group/project"
	FullName      string            `db:"full_name,readonly"` // "Group / Project"
	Description   *string           `db:"description" fold:"description_fold"`
	Avatar        string            `db:"avatar"`         // stored file name, "" for none
	DefaultBranch *string           `db:"default_branch"` // nil while the repository has no branch
	Storage       string            `db:"storage"`
	Visibility    authz.Visibility  `db:"visibility,readonly"`
	Archived      bool              `db:"archived_anywhere,readonly"` // itself or a group that it is in
	ArchivedSelf  bool              `db:"archived"`                   // itself
	Personal      bool              `db:"personal,readonly"`          // is in a user's namespace

	TopicsJSON   string  `db:"topics"`              // see Topics
	ExternalJSON *string `db:"external" change:"-"` // see External

	RepositoryInfo
	Counts
	authz.Features
	MergeSettings
	OtherSettings
	Deletion
	ImportState

	LastActivityAt db.Time `db:"last_activity_at"`
	CreatedAt      db.Time `db:"created_at"`
	UpdatedAt      db.Time `db:"updated_at"`

	// Level is the actor's level of membership where LevelKnown says that the project
	// was read for an actor.
	Level      authz.Level `db:"actor_level,readonly" change:"-"`
	LevelKnown bool        `db:"-"`
}

// RepositoryInfo is what was found in the repository of a project, at most a moment after the
// last push.
type RepositoryInfo struct {
	CommitCount    int64  `db:"commit_count,readonly"`    // of the default branch
	RepositorySize int64  `db:"repository_size,readonly"` // bytes
	ReadmePath     string `db:"readme_path,readonly"`     // "" for none
	LicensePath    string `db:"license_path,readonly"`    // "" for none
	LicenseKey     string `db:"license_key,readonly"`     // small SPDX id, "other" for one that is not known
}

// Counts are what a project has, counted when it changes.
type Counts struct {
	StarCount       int64 `db:"star_count"`
	ForksCount      int64 `db:"forks_count"`
	OpenIssuesCount int64 `db:"open_issues_count"`        // see OpenIssues
	PublicIssues    int64 `db:"public_open_issues_count"` // those among them that are not confidential
}

// MergeSettings say how merge requests of a project are merged.
type MergeSettings struct {
	MergeMethod                     string  `db:"merge_method"`
	SquashOption                    string  `db:"squash_option"`
	OnlyMergeIfPipelineSucceeds     bool    `db:"only_allow_merge_if_pipeline_succeeds"`
	MergeNeedsPipeline              bool    `db:"merge_needs_pipeline,readonly"` // the same, or a group that it is in says so
	MergeTakesSkipped               bool    `db:"merge_takes_skipped,readonly"`  // AllowMergeOnSkippedPipeline, or a group that it is in says so
	AllowMergeOnSkippedPipeline     *bool   `db:"allow_merge_on_skipped_pipeline"`
	OnlyMergeIfDiscussionsResolved  bool    `db:"only_allow_merge_if_all_discussions_are_resolved"`
	MergeNeedsResolved              bool    `db:"merge_needs_resolved,readonly"` // the same, or a group that it is in says so
	RemoveSourceBranchAfterMerge    bool    `db:"remove_source_branch_after_merge"`
	PrintingMergeRequestLinkEnabled bool    `db:"printing_merge_request_link_enabled"`
	MergeCommitTemplate             *string `db:"merge_commit_template"`
	SquashCommitTemplate            *string `db:"squash_commit_template"`
	SuggestionCommitMessage         *string `db:"suggestion_commit_message"`
	ApprovalsBeforeMerge            int64   `db:"approvals_before_merge"`
}

// SquashFixed reports whether the project decides about squashing, and merge requests do not.
func (m *MergeSettings) SquashFixed() bool {
	return m.SquashOption == SquashAlways || m.SquashOption == SquashNever
}

// OtherSettings are what else is set for a project.
type OtherSettings struct {
	IssueBranchTemplate       *string `db:"issue_branch_template"`
	RequestAccessEnabled      bool    `db:"request_access_enabled"`
	LFSEnabled                bool    `db:"lfs_enabled"`
	RepositorySizeLimit       *int64  `db:"repository_size_limit"` // bytes with large objects; nil is what the group above or the instance says, 0 any
	AutocloseReferencedIssues bool    `db:"autoclose_referenced_issues"`
	EmailsEnabled             bool    `db:"emails_enabled"`
	FeaturesJSON              string  `db:"features"`               // see OtherFeatures
	SettingsJSON              string  `db:"settings"`               // see Settings
	SharedRunnersEnabled      bool    `db:"shared_runners_enabled"` // instance runners may run its jobs
	GroupRunnersEnabled       bool    `db:"group_runners_enabled"`  // runners of the groups above may run its jobs
}

// Deletion says whether a project is to be deleted, see Marked.
type Deletion struct {
	MarkedForDeletionOn *string `db:"marked_for_deletion_on"`
	MarkedAbove         bool    `db:"marked_above,readonly"` // a group that it is in is marked for deletion
	PendingDelete       bool    `db:"pending_delete"`
}

// ImportState says how the import of a project stands.
type ImportState struct {
	ImportStatus string  `db:"import_status"` // see ImportNone and the others
	ImportError  *string `db:"import_error"`
}

// Subject is what permissions are asked about.
func (p *Project) Subject() authz.Subject {
	return authz.Subject{
		Noun:       "Project",
		Namespace:  p.NamespaceID,
		Visibility: p.Visibility,
		Closed:     p.Archived || p.Marked(),
		Features:   p.Features,
		IsProject:  true,
		Settings:   p.SettingsJSON,
		Level:      p.Level,
		Known:      p.LevelKnown,
	}
}

// OpenIssues is the number of open issues that the actor is told: confidential ones count
// for those who may read all of them, not for other authors and assignees.
func (p *Project) OpenIssues(as authz.Actor) int64 {
	if authz.SeesConfidential(as, p.Subject()) {
		return p.OpenIssuesCount
	}
	return p.PublicIssues
}

// Marked reports whether the project is to be deleted, itself or with a group that it
// is in: no user writes to it or forks it until that is taken back.
func (p *Project) Marked() bool { return p.MarkedForDeletionOn != nil || p.MarkedAbove }

// About names the project.
func (p Project) About() change.Subject {
	return change.Subject{Type: "Project", ID: int64(p.ID), Title: p.Name}
}

// Place is the project as somewhere that things belong to.
func (p *Project) Place() authz.Place {
	return authz.Place{
		Namespace: p.NamespaceID, Parent: &p.ParentID, ID: int64(p.ID), Name: p.Name, Path: p.FullPath, FullName: p.FullName,
		Personal: p.Personal, Requests: p.RequestAccessEnabled, Subject: p.Subject(), Row: p,
	}
}

// IDOf is the id of the project that a place is, nil for a group and the instance.
func IDOf(at authz.Place) *ID {
	if !at.IsProject() {
		return nil
	}
	id := ID(at.ID)
	return &id
}

// Of returns the project that a place was made of, nil for a group and the instance.
func Of(at authz.Place) *Project {
	p, _ := at.Row.(*Project)
	return p
}

// Topics lists the project's topics.
func (p *Project) Topics() []string {
	topics := []string{}
	if p.TopicsJSON != "" && json.Unmarshal([]byte(p.TopicsJSON), &topics) != nil {
		return []string{}
	}
	return topics
}
