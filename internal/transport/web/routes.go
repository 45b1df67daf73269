package web

import (
	"slices"

	"tenon/internal/core/weburl"
)

// routes lists all pages; of two that fit, the first counts.
func routes() []route {
	return slices.Concat(accountRoutes(), siteRoutes(), groupRoutes(), projectRoutes())
}

// accountRoutes are those of the sign-on and of a user's own things.
func accountRoutes() []route {
	var here weburl.Site
	sign, profile, token, key, session := here.SignIn(""), here.Profile(), here.ProfileTokens(), here.ProfileKeys(), here.ProfileSessions()
	return []route{
		get(sign, (*visit).getSignIn),
		protected(always(post(sign, (*visit).postSignIn))),
		always(post(here.SignOut(), (*visit).postSignOut)),
		get(here.ForgottenPassword(), (*visit).getForgotten),
		get(here.ChoosePassword(""), (*visit).getChoose),
		protected(post(here.ChoosePassword(""), (*visit).postChoose)),
		get(here.ExpiredPassword(), (*visit).getExpired),
		protected(post(here.ExpiredPassword(), (*visit).postExpired)),
		protected(get(here.Confirmation(), (*visit).getConfirmation)),

		get(here.Unsubscribe("{key}"), (*visit).getUnsubscribe),
		signed(post(here.Unsubscribe("{key}"), (*visit).postUnsubscribe)),

		own(get(profile, (*visit).getProfile)),
		own(post(profile, (*visit).postProfile)),
		own(get(here.ProfileDeletion(), (*visit).getDeletion)),
		protected(own(post(here.ProfileDeletion(), (*visit).postDeletion))),
		own(get(token, (*visit).getTokens)),
		own(post(token, (*visit).postToken)),
		own(post(token+"/{id}/revoke", (*visit).postRevokeToken)),
		own(get(key, (*visit).getKeys)),
		own(post(key, (*visit).postKey)),
		own(post(key+"/{id}/delete", (*visit).postDeleteKey)),
		own(get(session, (*visit).getSessions)),
		own(post(session+"/{id}/revoke", (*visit).postRevokeSession)),
		own(get(here.ProfilePassword(), (*visit).getPassword)),
		protected(own(post(here.ProfilePassword(), (*visit).postPassword))),
	}
}

// siteRoutes are those of the whole server.
func siteRoutes() []route {
	var here weburl.Site
	return []route{
		get(here.Home(), (*visit).getHome),
		get(here.Explore(), (*visit).getExplore),
		get(here.GraphQLExplorer(), (*visit).getExplorer),
		get("/help", (*visit).getHelp),
		get("/help/{page...}", (*visit).getHelpPage),

		own(get(here.NewSnippet(""), (*visit).getNewSnippet)),
		own(post(here.NewSnippet(""), (*visit).postSnippet)),
		get("/-/snippets/{id}", (*visit).getSnippet),
		get("/-/snippets/{id}/raw", (*visit).getSnippetRaw),
		get("/-/snippets/{id}/raw/{rest...}", (*visit).getSnippetRaw),
	}
}

// groupRoutes are those of groups.
func groupRoutes() []route {
	return []route{
		get("/groups/{group...}/-/group_members", (*visit).getGroupMembers),
		get("/groups/{group...}/-/download_export", (*visit).getGroupExport),
		get("/groups/{group...}/-/import_report", (*visit).getGroupImportReport),
		get("/groups/{group...}/-/issues", (*visit).getGroupIssues),
		get("/groups/{group...}/-/milestones", (*visit).getMilestones),
		get("/groups/{group...}/-/milestones/{iid}", (*visit).getMilestone),
		get("/groups/{group...}/-/epics", (*visit).getEpics),
		get("/groups/{group...}/-/epics/{iid}", (*visit).getEpic),
		get("/groups/{group...}/-/epics/{iid}/edit", (*visit).getEpicForm),
		get("/groups/{group...}/-/iterations", (*visit).getIterations),
		get("/groups/{group...}/-/iterations/{iid}", (*visit).getIteration),
		get("/groups/{group...}/-/packages", (*visit).getGroupPackages),
		get("/groups/{group...}/-/wikis", (*visit).getWiki),
		get("/groups/{group...}/-/wikis/{rest...}", (*visit).getWikiPage),
		get("/groups/{group...}", (*visit).getGroup),
	}
}

// projectRoutes are those of projects, and the one for whatever is at a path.
func projectRoutes() []route {
	return []route{
		get("/{project...}/-/project_members", (*visit).getProjectMembers),
		get("/{project...}/-/tree/{rest...}", (*visit).getTree),
		get("/{project...}/-/blob/{rest...}", (*visit).getBlob),
		programs(get("/{project...}/-/raw/{rest...}", (*visit).getRaw)),
		programs(get("/{project...}/-/archive/{rest...}", (*visit).getArchive)),
		get("/{project...}/-/commits/{rest...}", (*visit).getCommits),
		get("/{project...}/-/commit/{sha}", (*visit).getCommit),
		get("/{project...}/-/compare/{rest...}", (*visit).getCompare),
		get("/{project...}/-/branches", (*visit).getBranches),
		get("/{project...}/-/tags", (*visit).getTags),
		get("/{project...}/-/tags/{rest...}", (*visit).getTag),
		get("/{project...}/-/issues", (*visit).getIssues),
		get("/{project...}/-/issues/{iid}", (*visit).getIssue),
		get("/{project...}/-/work_items/{iid}", (*visit).getIssue),
		get("/{project...}/-/merge_requests", (*visit).getRequests),
		own(long(post("/{project...}/-/merge_requests", (*visit).postRequest))),
		get("/{project...}/-/merge_requests/new", (*visit).getNewRequest),
		get("/{project...}/-/merge_requests/{iid}", (*visit).getRequest),
		get("/{project...}/-/merge_requests/{iid}/commits", (*visit).getRequestCommits),
		get("/{project...}/-/merge_requests/{iid}/diffs", (*visit).getRequestChanges),
		get("/{project...}/-/pipelines/{id}", (*visit).getPipeline),
		get("/{project...}/-/jobs/{id}", (*visit).getJob),
		programs(get("/{project...}/-/jobs/{id}/raw", (*visit).getJobLog)),
		programs(get("/{project...}/-/jobs/artifacts/{rest...}", (*visit).getLatestArtifacts)),
		programs(get("/{project...}/-/jobs/{id}/artifacts/download", (*visit).getArtifacts)),
		programs(get("/{project...}/-/jobs/{id}/artifacts/raw/{rest...}", (*visit).getArtifactRaw)),
		get("/{project...}/-/jobs/{id}/artifacts/file/{rest...}", (*visit).getArtifactFile),
		get("/{project...}/-/jobs/{id}/artifacts/browse", (*visit).getArtifactFolder),
		get("/{project...}/-/jobs/{id}/artifacts/browse/{rest...}", (*visit).getArtifactFolder),
		get("/{project...}/-/badges/{rest...}", (*visit).getBadge),
		get("/{project...}/-/download_export", (*visit).getProjectExport),
		get("/{project...}/-/import_report", (*visit).getProjectImportReport),

		get("/{project...}/-/environments", (*visit).getEnvironments),
		get("/{project...}/-/environments/{id}", (*visit).getEnvironment),
		get("/{project...}/-/packages", (*visit).getPackages),
		get("/{project...}/-/packages/{id}", (*visit).getPackage),
		get("/{project...}/-/releases", (*visit).getReleases),
		programs(get("/{project...}/-/releases/{rest...}", (*visit).getRelease)),
		own(long(post("/{project...}/-/releases/{rest...}", (*visit).postRelease))),

		get("/{project...}/-/milestones", (*visit).getMilestones),
		get("/{project...}/-/milestones/{iid}", (*visit).getMilestone),
		get("/{project...}/-/wikis", (*visit).getWiki),
		get("/{project...}/-/wikis/{rest...}", (*visit).getWikiPage),
		get("/{project...}/-/snippets", (*visit).getSnippets),
		get("/{project...}/-/snippets/new", (*visit).getNewSnippet),
		own(post("/{project...}/-/snippets/new", (*visit).postSnippet)),
		get("/{project...}/-/settings/ci_cd", (*visit).getProjectCI),
		own(post("/{project...}/-/settings/ci_cd", (*visit).postProjectVariable)),
		get("/{project...}/-/hooks", (*visit).getHooks),
		get("/{project...}/-/hooks/{id}/edit", (*visit).getHook),
		own(post("/{project...}/-/hooks/{id}/test", (*visit).postHookTest)),
		get("/{project...}/-/hooks/{id}/hook_logs/{log}", (*visit).getHookDelivery),
		own(post("/{project...}/-/hooks/{id}/hook_logs/{log}/retry", (*visit).postHookResend)),
		get("/{project...}/-/snippets/{id}", (*visit).getSnippet),
		get("/{project...}/-/snippets/{id}/raw", (*visit).getSnippetRaw),
		get("/{project...}/-/snippets/{id}/raw/{rest...}", (*visit).getSnippetRaw),

		get("/{place...}", (*visit).getPlace),
	}
}
