package rest

import "tenon/internal/core/project"

// mirrorParams ask for a project that pulls from elsewhere.
type mirrorParams struct {
	Mirror        *bool   `param:"mirror" doc:"Pull from elsewhere; there are no pull mirrors, so only false is taken"`
	TriggerBuilds *bool   `param:"mirror_trigger_builds" doc:"Run pipelines for what was pulled; only false is taken"`
	OnlyProtected *bool   `param:"only_mirror_protected_branches" doc:"Pull protected branches only; only false is taken"`
	Overwrites    *bool   `param:"mirror_overwrites_diverged_branches" doc:"Overwrite branches that went another way; only false is taken"`
	User          *int64  `param:"mirror_user_id" doc:"In whose name to pull; not taken"`
	Branches      *string `param:"mirror_branch_regex" doc:"Names of branches to pull; only an empty one is taken"`
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
