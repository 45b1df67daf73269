package audit

import "tenon/internal/base/event"

const name = "audit"

// Subscribe registers all that is recorded.
func (r *Recorder) Subscribe(b *event.Bus) {
	event.On(b, name, r.SettingChanged)
	r.subscribePeople(b)
	r.subscribeGroups(b)
	r.subscribeProjects(b)
	r.subscribeCI(b)
}

// subscribePeople is about users and what they sign in with.
func (r *Recorder) subscribePeople(b *event.Bus) {
	event.On(b, name, r.UserCreated)
	event.On(b, name, r.UserStateChanged)
	event.On(b, name, r.AccessLocked)
	event.On(b, name, r.AccessUnlocked)
	event.On(b, name, r.UserRemoved)
	event.On(b, name, r.TokenCreated)
	event.On(b, name, r.TokenRevoked)
	event.On(b, name, r.KeyAdded)
	event.On(b, name, r.KeyRemoved)
	event.On(b, name, r.GPGKeyAdded)
	event.On(b, name, r.GPGKeyRemoved)
}

// subscribeGroups is about groups, and the members of groups and projects.
func (r *Recorder) subscribeGroups(b *event.Bus) {
	event.On(b, name, r.GroupCreated)
	event.On(b, name, r.GroupMarked)
	event.On(b, name, r.GroupArchived)
	event.On(b, name, r.GroupDeleted)
	event.On(b, name, r.GroupTransferred)
	event.On(b, name, r.MemberAdded)
	event.On(b, name, r.MemberChanged)
	event.On(b, name, r.MemberRemoved)
	event.On(b, name, r.AccessDenied)
	event.On(b, name, r.Invited)
	event.On(b, name, r.InvitationRemoved)
	event.On(b, name, r.GroupShared)
	event.On(b, name, r.GroupUnshared)
}

// subscribeProjects is about projects and what belongs to one.
func (r *Recorder) subscribeProjects(b *event.Bus) {
	event.On(b, name, r.ProjectCreated)
	event.On(b, name, r.ProjectUpdated)
	event.On(b, name, r.ProjectArchived)
	event.On(b, name, r.ProjectMarked)
	event.On(b, name, r.ProjectDeleted)
	event.On(b, name, r.ProjectTransferred)
	event.On(b, name, r.ProjectForked)
	event.On(b, name, r.ForkLinked)
	event.On(b, name, r.ProjectUnforked)
	event.On(b, name, r.UploadDeleted)
	event.On(b, name, r.BotTokenCreated)
	event.On(b, name, r.BotTokenRevoked)
	event.On(b, name, r.DeployTokenCreated)
	event.On(b, name, r.DeployTokenDestroyed)
	event.On(b, name, r.DeployKeyAdded)
	event.On(b, name, r.DeployKeyUpdated)
	event.On(b, name, r.DeployKeyRemoved)
	event.On(b, name, r.PublicDeployKeyAdded)
	event.On(b, name, r.PushRuleCreated)
	event.On(b, name, r.PushRuleUpdated)
	event.On(b, name, r.PushRuleDeleted)
	event.On(b, name, r.BranchProtected)
	event.On(b, name, r.BranchProtectionUpdated)
	event.On(b, name, r.BranchUnprotected)
	event.On(b, name, r.TagProtected)
	event.On(b, name, r.TagUnprotected)
	event.On(b, name, r.RequestMerged)
	event.On(b, name, r.ApprovalSettingsChanged)
	event.On(b, name, r.ApprovalRuleCreated)
	event.On(b, name, r.ApprovalRuleUpdated)
	event.On(b, name, r.ApprovalRuleDeleted)
	event.On(b, name, r.StatusCheckCreated)
	event.On(b, name, r.StatusCheckUpdated)
	event.On(b, name, r.StatusCheckDeleted)
	event.On(b, name, r.StatusCheckResponded)
}
