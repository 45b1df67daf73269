package audit

import (
	"context"
	"fmt"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// UserCreated records a new account.
func (r *Recorder) UserCreated(ctx context.Context, e account.UserCreated) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: User, EntityID: int64(e.User.ID), EntityPath: e.User.Username, Event: "user_created",
		Message: "User " + e.User.Username + " created", TargetType: User, TargetID: int64(e.User.ID), TargetDetails: e.User.Name,
		Details: map[string]any{"add": "user"},
	})
}

// UserStateChanged records that an account may act again or no more.
func (r *Recorder) UserStateChanged(ctx context.Context, e account.UserStateChanged) error {
	out := Entry{
		By: e.By, EntityType: User, EntityID: int64(e.User.ID), EntityPath: e.User.Username,
		TargetType: User, TargetID: int64(e.User.ID), TargetDetails: e.User.Username,
	}
	switch {
	case e.User.State == account.Blocked:
		out.Event, out.Message = "user_blocked", "Blocked user"
	case e.User.State == account.Deactivated:
		out.Event, out.Message = "user_deactivate", "Deactivated user"
	case e.User.State == account.Active && e.Before.State == account.Blocked:
		out.Event, out.Message = "user_unblocked", "Unblocked user"
	case e.User.State == account.Active && e.Before.State == account.PendingApproval:
		out.Event, out.Message = "user_approved", "Instance access request approved"
	case e.User.State == account.Active:
		out.Event, out.Message = "user_activate", "Activated user"
	default:
		out.Event = "user_state_updated"
		out.Message = fmt.Sprintf("Changed state from %s to %s", e.Before.State, e.User.State)
	}
	return r.Record(ctx, out)
}

// AccessLocked records that there were too many wrong passwords.
func (r *Recorder) AccessLocked(ctx context.Context, e account.AccessLocked) error {
	return r.Record(ctx, Entry{
		By: authz.System(), EntityType: User, EntityID: int64(e.UserID), EntityPath: e.Username, Event: "user_access_locked",
		Message: "User access locked", TargetType: User, TargetID: int64(e.UserID), TargetDetails: e.Username,
	})
}

// AccessUnlocked records that an administrator let a locked account in again.
func (r *Recorder) AccessUnlocked(ctx context.Context, e account.AccessUnlocked) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: User, EntityID: int64(e.UserID), EntityPath: e.Username, Event: "user_access_unlocked",
		Message: "User access unlocked", TargetType: User, TargetID: int64(e.UserID), TargetDetails: e.Username,
	})
}

// UserRemoved records that the deletion of an account began.
func (r *Recorder) UserRemoved(ctx context.Context, e account.UserRemoved) error {
	out := Entry{
		By: e.By, EntityType: User, EntityID: int64(e.User.ID), EntityPath: e.User.Username,
		TargetType: User, TargetID: int64(e.User.ID), TargetDetails: e.User.Name, Details: map[string]any{"remove": "user"},
		Event: "user_destroyed", Message: "User " + e.User.Username + " scheduled for deletion",
	}
	if e.Rejected {
		out.Event, out.Message = "user_rejected", "Instance access request rejected"
	}
	return r.Record(ctx, out)
}

// TokenCreated records a new access token.
func (r *Recorder) TokenCreated(ctx context.Context, e token.Created) error {
	if e.Token.Kind == token.Project || e.Token.Kind == token.Group {
		return nil // their place records them
	}
	return r.token(ctx, e.By, e.Token.UserID, int64(e.Token.ID), "personal_access_token_created",
		fmt.Sprintf("Created personal access token with id %d", e.Token.ID))
}

// TokenRevoked records that a token is useless now.
func (r *Recorder) TokenRevoked(ctx context.Context, e token.Revoked) error {
	if e.Token.Kind == token.Project || e.Token.Kind == token.Group {
		return nil // their place records them
	}
	return r.token(ctx, e.By, e.Token.UserID, int64(e.Token.ID), "personal_access_token_revoked",
		fmt.Sprintf("Revoked personal access token with id %d", e.Token.ID))
}

func (r *Recorder) token(ctx context.Context, by authz.Actor, user authz.UserID, token int64, event, message string) error {
	return r.Record(ctx, Entry{
		By: by, EntityType: User, EntityID: int64(user), Event: event, Message: message,
		TargetType: "PersonalAccessToken", TargetID: token,
	})
}

// KeyAdded records a new SSH key of a user.
func (r *Recorder) KeyAdded(ctx context.Context, e sshkey.Added) error {
	out := aboutKey(e.By, &e.Key)
	out.Event, out.Message = "add_ssh_key", "Added SSH key"
	return r.Record(ctx, out)
}

// KeyRemoved records that a user's SSH key is gone.
func (r *Recorder) KeyRemoved(ctx context.Context, e sshkey.Removed) error {
	out := aboutKey(e.By, &e.Key)
	out.Event, out.Message = "remove_ssh_key", "Removed SSH key"
	return r.Record(ctx, out)
}

func aboutKey(by authz.Actor, k *sshkey.Key) Entry {
	return Entry{
		By: by, EntityType: User, EntityID: int64(*k.UserID), TargetType: "Key", TargetID: int64(k.ID), TargetDetails: k.SHA256,
	}
}

// GPGKeyAdded records a new OpenPGP key of a user.
func (r *Recorder) GPGKeyAdded(ctx context.Context, e gpgkey.Added) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: User, EntityID: int64(e.Key.UserID), Event: "add_gpg_key", Message: "Added GPG key",
		TargetType: "GpgKey", TargetID: int64(e.Key.ID), TargetDetails: e.Key.Fingerprint,
	})
}

// GPGKeyRemoved records that a user's OpenPGP key is gone.
func (r *Recorder) GPGKeyRemoved(ctx context.Context, e gpgkey.Removed) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: User, EntityID: int64(e.Key.UserID), Event: "remove_gpg_key", Message: "Removed GPG key",
		TargetType: "GpgKey", TargetID: int64(e.Key.ID), TargetDetails: e.Key.Fingerprint,
	})
}

func at(p authz.Place) Entry {
	e := Entry{EntityType: Project, EntityID: p.ID, EntityPath: p.Path, TargetType: User}
	if p.Group {
		e.EntityType = Group
	}
	return e
}

// MemberAdded records a new membership.
func (r *Recorder) MemberAdded(ctx context.Context, e namespace.MemberAdded) error {
	out := at(e.Place)
	out.By, out.Event, out.Message, out.TargetID = e.By, "member_created", "Membership created", int64(e.Member.UserID)
	out.Details = map[string]any{"add": "user_access", "as": e.Member.Level.Name()}
	return r.Record(ctx, out)
}

// MemberChanged records another level or date of expiry.
func (r *Recorder) MemberChanged(ctx context.Context, e namespace.MemberChanged) error {
	out := at(e.Place)
	out.By, out.Event, out.Message, out.TargetID = e.By, "member_updated", "Membership updated", int64(e.Member.UserID)
	out.Details = map[string]any{
		"change": "access_level", "from": e.Before.Level.Name(), "to": e.Member.Level.Name(), "as": e.Member.Level.Name(),
		"expiry_to": e.Member.ExpiresOn,
	}
	return r.Record(ctx, out)
}

// MemberRemoved records the end of a membership.
func (r *Recorder) MemberRemoved(ctx context.Context, e namespace.MemberRemoved) error {
	out := at(e.Place)
	out.By, out.Event, out.Message, out.TargetID = e.By, "member_destroyed", "Membership destroyed", int64(e.Member.UserID)
	out.Details = map[string]any{"remove": "user_access"}
	return r.Record(ctx, out)
}

// group is about a group under the name and path that g has.
func group(by authz.Actor, g *namespace.Group, event, message string) Entry {
	return Entry{
		By: by, EntityType: Group, EntityID: int64(g.ID), EntityPath: g.FullPath, Event: event, Message: message,
		TargetType: Group, TargetID: int64(g.ID), TargetDetails: g.Name,
	}
}

// GroupCreated records a new group.
func (r *Recorder) GroupCreated(ctx context.Context, e namespace.GroupCreated) error {
	return r.Record(ctx, group(e.By, &e.Group, "group_created", "Added group"))
}

// GroupMarked records that a group will be deleted, or that it will not.
func (r *Recorder) GroupMarked(ctx context.Context, e namespace.GroupMarked) error {
	if e.Restored {
		out := group(e.By, &e.Group, "group_restored", "Group restored")
		out.EntityPath = e.Before.FullPath
		return r.Record(ctx, out)
	}
	return r.Record(ctx, group(e.By, e.Before, "group_deletion_marked", "Group marked for deletion"))
}

// GroupArchived records that a group was made read-only, or writable again.
func (r *Recorder) GroupArchived(ctx context.Context, e namespace.GroupArchived) error {
	if e.Undone {
		return r.Record(ctx, group(e.By, &e.Group, "group_unarchived", "Group unarchived"))
	}
	return r.Record(ctx, group(e.By, &e.Group, "group_archived", "Group archived"))
}

// GroupDeleted records that a group is gone.
func (r *Recorder) GroupDeleted(ctx context.Context, e namespace.GroupDeleted) error {
	return r.Record(ctx, group(e.By, &e.Group, "group_destroyed", "Group destroyed"))
}

// projectAt is about a project under a path that it had or has.
func projectAt(f *project.Fact, path, event, message string) Entry {
	return aboutProject(f.By, f.Project.ID, f.Project.Name, path, event, message)
}

func aboutProject(by authz.Actor, id project.ID, name, path, event, message string) Entry {
	return Entry{
		By: by, EntityType: Project, EntityID: int64(id), EntityPath: path, Event: event, Message: message,
		TargetType: Project, TargetID: int64(id), TargetDetails: name,
	}
}

// ProjectCreated records a new project.
func (r *Recorder) ProjectCreated(ctx context.Context, e project.Created) error {
	return r.Record(ctx, projectAt(&e.Fact, e.Project.FullPath, "project_created", "Added project"))
}

// ProjectUpdated records each attribute that changed.
func (r *Recorder) ProjectUpdated(ctx context.Context, e project.Updated) error {
	for _, name := range e.Attributes {
		out := projectAt(&e.Fact, e.Before.FullPath, "project_"+name+"_updated", "Changed "+name)
		out.Details = map[string]any{"change": name}
		if err := r.Record(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// ProjectArchived records that a project was made read-only, or writable again.
func (r *Recorder) ProjectArchived(ctx context.Context, e project.Archived) error {
	event, message := "project_archived", "Project archived"
	if e.Undone {
		event, message = "project_unarchived", "Project unarchived"
	}
	return r.Record(ctx, projectAt(&e.Fact, e.Project.FullPath, event, message))
}

// ProjectMarked records that a project will be deleted, or that it will not.
func (r *Recorder) ProjectMarked(ctx context.Context, e project.Marked) error {
	if e.Restored {
		return r.Record(ctx, projectAt(&e.Fact, e.Before.FullPath, "project_restored", "Project restored"))
	}
	return r.Record(ctx, aboutProject(e.By, e.Project.ID, e.Before.Name, e.Before.FullPath, "project_deletion_marked", "Project marked for deletion"))
}

// ProjectDeleted records that a project is gone.
func (r *Recorder) ProjectDeleted(ctx context.Context, e project.Deleted) error {
	return r.Record(ctx, projectAt(&e.Fact, e.Project.FullPath, "project_destroyed",
		"Project '"+e.Project.FullPath+"' was deleted"))
}

// RequestMerged records a merge.
func (r *Recorder) RequestMerged(ctx context.Context, e mergerequest.Merged) error {
	out := aboutProject(e.By, e.Project.ID, e.MergeRequest.Title, e.Project.FullPath, "merge_request_merged", "Merge request merged")
	out.TargetType, out.TargetID = "MergeRequest", int64(e.MergeRequest.ID)
	return r.Record(ctx, out)
}
