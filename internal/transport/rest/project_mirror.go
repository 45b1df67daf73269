package rest

import "tenon/internal/core/project"

// mirrorParams ask for a project that pulls from elsewhere.
type mirrorParams struct {
	Mirror        *bool   `param:"mirror" doc:"Enable pull mirroring; not supported, only false is accepted"`
	TriggerBuilds *bool   `param:"mirror_trigger_builds" doc:"Trigger pipelines for mirror updates; only false is accepted"`
	OnlyProtected *bool   `param:"only_mirror_protected_branches" doc:"Mirror only protected branches; only false is accepted"`
	Overwrites    *bool   `param:"mirror_overwrites_diverged_branches" doc:"Overwrite diverged branches of the pull mirror; only false is accepted"`
	User          *int64  `param:"mirror_user_id" doc:"ID of the user of the pull mirror; not supported"`
	Branches      *string `param:"mirror_branch_regex" doc:"Regular expression of branches to mirror; only an empty one is accepted"`
}

func (p *mirrorParams) mirror() project.Mirror {
	var m project.Mirror
	for _, option := range []struct {
		name string
		on   bool
	}{
		{"mirror", p.Mirror != nil && *p.Mirror},
		{"mirror_trigger_builds", p.TriggerBuilds != nil && *p.TriggerBuilds},
		{"only_mirror_protected_branches", p.OnlyProtected != nil && *p.OnlyProtected},
		{"mirror_overwrites_diverged_branches", p.Overwrites != nil && *p.Overwrites},
		{"mirror_user_id", p.User != nil},
		{"mirror_branch_regex", p.Branches != nil && *p.Branches != ""},
	} {
		if option.on {
			m.Asked = append(m.Asked, option.name)
		}
	}
	return m
}
