package repo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/pushrule"
)

// maxJudging bounds the time that looking at pushed commits may take.
const maxJudging = 5 * time.Minute

const (
	textDeleteTagRule = "You cannot delete a tag"
	textTooLong       = "The pushed commits could not be checked in time. Push fewer of them at once."
)

// content holds what a change brings against the push rule of the project: names of
// branches, new commits, and the files that those add or change. However
// many commits there are, they take two processes.
func (j *judge) content(ctx context.Context, changes []RefChange) error {
	if j.source == byServer {
		return nil
	}
	rule, err := j.service.PushRules.Checks(ctx, j.project.ID)
	if err != nil || rule == nil {
		return err
	}
	var tips []gitstore.ObjectID
	for _, c := range changes {
		switch {
		case c.Deleted() && c.Ref.IsTag() && rule.DenyDeleteTag && j.source == ByPush:
			return refuse(c.Ref, textDeleteTagRule)
		case c.Deleted():
			continue
		case c.Ref.IsBranch() && !j.isDefault(c.Ref.Short()):
			if text := rule.Branch(c.Ref.Short()); text != "" {
				return refuse(c.Ref, text)
			}
		}
		tips = append(tips, c.New)
	}
	if len(tips) == 0 || !rule.Commits() && !rule.Files() {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, maxJudging)
	defer cancel()
	text, err := j.commits(within, rule, tips)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		text, err = textTooLong, nil
	}
	if err != nil {
		return fmt.Errorf("look at pushed commits: %w", err)
	}
	if text != "" {
		return refuse("", text)
	}
	return nil
}

// isDefault reports whether a branch is the default one, whose name no rule judges.
func (j *judge) isDefault(branch string) bool {
	if j.project.DefaultBranch == nil {
		return branch == j.service.firstBranch(j.project)
	}
	return branch == *j.project.DefaultBranch
}

// commits returns the first refusal of a new commit or file, "" where all may be.
func (j *judge) commits(ctx context.Context, rule *pushrule.Checks, tips []gitstore.ObjectID) (string, error) {
	ids, err := j.repo.NewCommits(ctx, tips)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	if rule.Commits() {
		who, err := j.people(ctx, rule, ids)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			c, err := j.repo.Commit(ctx, id)
			if err != nil {
				return "", err
			}
			if text := rule.Commit(c, who, j.source == ByPush); text != "" {
				return text, nil
			}
		}
	}
	if !rule.Files() {
		return "", nil
	}
	return j.files(ctx, rule, ids)
}

// people reads whose addresses the checks of persons compare with.
func (j *judge) people(ctx context.Context, rule *pushrule.Checks, ids []gitstore.ObjectID) (pushrule.People, error) {
	var out pushrule.People
	if rule.CommitterName {
		users, err := j.service.Accounts.Load(ctx, []authz.UserID{j.as.UserID})
		if err != nil {
			return out, err
		}
		if u := users[j.as.UserID]; u != nil {
			out.Name = u.Name
		}
	}
	var err error
	if rule.CommitterCheck {
		if out.Own, err = j.service.Accounts.OwnAddresses(ctx, j.as.UserID); err != nil {
			return out, err
		}
	}
	if !rule.MemberCheck {
		return out, nil
	}
	var emails []string
	seen := map[string]bool{}
	for _, id := range ids {
		c, err := j.repo.Commit(ctx, id)
		if err != nil {
			return out, err
		}
		for _, email := range []string{db.Fold(c.Author.Email), db.Fold(c.Committer.Email)} {
			if !seen[email] {
				seen[email] = true
				emails = append(emails, email)
			}
		}
	}
	out.Known, err = j.service.Accounts.KnownAddresses(ctx, emails)
	return out, err
}

// errStop ends a walk that has found what it looked for.
var errStop = errors.New("found")

// files returns the first refusal of a file, "" where all may be.
func (j *judge) files(ctx context.Context, rule *pushrule.Checks, ids []gitstore.ObjectID) (string, error) {
	kept, err := j.service.Open(ctx, j.project)
	if err != nil {
		return "", err
	}
	text := ""
	sized := map[gitstore.ObjectID]bool{}
	err = j.repo.CommitFiles(ctx, ids, func(f gitcmd.CommitFile) error {
		if f.Added {
			text = rule.File(f.Path)
		}
		if text == "" && rule.MaxFileSize > 0 && f.Mode != gitstore.ModeSubmodule && !sized[f.ID] {
			sized[f.ID] = true
			info, err := j.repo.Info(ctx, f.ID)
			if err != nil {
				return fmt.Errorf("size of file: %w", err)
			}
			if text = rule.TooLarge(f.Path, info.Size); text != "" {
				if _, err := kept.Info(ctx, f.ID); err == nil {
					text = "" // it is in the repository already
				}
			}
		}
		if text != "" {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return text, nil
	}
	return "", err
}
