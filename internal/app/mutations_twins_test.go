package app

// twin says which route does the same as a mutation, and with what it is run.
type twin struct {
	route string // title of a row of the permission matrix
	alone string // why there is no such route
	in    string // group or project where there is none; the instance otherwise

	input   obj               // of the mutation; names in braces stand for values of the place
	body    obj               // of the route instead of that of its sample
	first   string            // what the administrator does before both
	never   string            // why it succeeds for no caller with this input
	differs map[string]string // why it is refused otherwise, by place or column
	kept    string            // what the route leaves as it is for the author of an issue
}

// Why a mutation has no route that does the same.
const (
	readOnly  = "REST only reads iterations"
	quickOnly = "REST does so by quick actions in notes"
)

// hiddenPlace is why REST answers otherwise.
const hiddenPlace = "REST says 400 of a place that the caller does not see"

// twins returns a line to each mutation.
func twins() map[string]twin {
	const (
		issues, requests, ofIssue, ofRequest = "/projects/:id/issues/:issue_iid", "/projects/:id/merge_requests/:merge_request_iid", "/projects/:id/issues/:noteable_id", "/projects/:id/merge_requests/:noteable_id"
		issue, request                       = "gid://gitlab/Issue/{issues/:id}", "gid://gitlab/MergeRequest/{request id}"
		change, board, epics                 = "PUT " + issues + " (guest's)", "/projects/:id/boards/:board_id", "/groups/:id/epics/:epic_iid"
		pipeline, job, schedule              = "/projects/:id/pipelines/:pipeline_id", "/projects/:id/jobs/:job_id", "/projects/:id/pipeline_schedules/:pipeline_schedule_id"
		build, runner                        = "gid://gitlab/Ci::Build/{:job_id}", "gid://gitlab/Ci::Runner/{:runner_id}"
		environment, ofRelease               = "/projects/:id/environments/:environment_id", "/projects/:id/releases/:tag_name"
		aPackage, packageFile                = "/projects/:id/packages/:package_id", "/projects/:id/packages/:package_id/package_files/:package_file_id"
	)
	onIssue := func(more obj) obj { return both(obj{"projectPath": "{full_path}", "iid": "{:issue_iid}"}, more) }
	onRequest := func(more obj) obj {
		return both(obj{"projectPath": "{full_path}", "iid": "{:merge_request_iid}"}, more)
	}
	onEpic := func(more obj) obj { return both(obj{"groupPath": "{full_path}", "iid": "{:epic_iid}"}, more) }
	released := obj{"projectPath": "{full_path}", "tagName": "{releases/:tag_name}"}
	scheduled := obj{"id": "gid://gitlab/Ci::PipelineSchedule/{:pipeline_schedule_id}"}
	award := obj{"awardableId": issue, "name": "rocket"}
	position := obj{"headSha": "{head_sha}", "baseSha": "{base_sha}", "startSha": "{start_sha}", "paths": obj{"oldPath": "feature.md", "newPath": "feature.md"}}
	return map[string]twin{
		"echoCreate": {alone: "it changes nothing", input: obj{}},

		"awardEmojiAdd":    {route: "POST " + ofIssue + "/award_emoji", body: obj{"name": "rocket"}, input: award},
		"awardEmojiRemove": {route: "POST " + ofIssue + "/award_emoji", body: obj{"name": "rocket"}, input: award, never: "it removes a reaction of the caller's own"},
		"awardEmojiToggle": {route: "POST " + ofIssue + "/award_emoji", body: obj{"name": "rocket"}, input: award},

		"workItemCreate":  {route: "POST /projects/:id/issues", body: obj{"title": "New"}, input: obj{"projectPath": "{full_path}", "title": "New", "workItemTypeId": "gid://gitlab/WorkItems::Type/1"}},
		"workItemUpdate":  {route: change, input: obj{"id": "gid://gitlab/WorkItem/{issues/:id}", "title": "Other"}},
		"workItemDelete":  {route: "DELETE " + issues, input: obj{"id": "gid://gitlab/WorkItem/{issues/:id}"}},
		"workItemConvert": {route: change, body: obj{"issue_type": "incident"}, input: obj{"id": "gid://gitlab/WorkItem/{issues/:id}", "workItemTypeId": "gid://gitlab/WorkItems::Type/2"}},

		"iterationCadenceCreate":  {alone: readOnly, in: "group", input: obj{"groupPath": "{full_path}", "title": "New", "active": true, "automatic": false}},
		"iterationCadenceUpdate":  {alone: readOnly, in: "group", input: obj{"id": "{cadence}", "title": "Other"}},
		"iterationCadenceDestroy": {alone: readOnly, in: "group", input: obj{"id": "{cadence}"}},
		"iterationCreate":         {alone: readOnly, in: "group", input: obj{"groupPath": "{full_path}", "iterationsCadenceId": "{cadence}", "startDate": "2031-01-01", "dueDate": "2031-01-08"}},
		"createIteration":         {alone: readOnly, in: "group", input: obj{"groupPath": "{full_path}", "iterationsCadenceId": "{cadence}", "startDate": "2031-01-01", "dueDate": "2031-01-08"}},
		"updateIteration":         {alone: readOnly, in: "group", input: obj{"groupPath": "{full_path}", "id": "{iteration}", "title": "Other"}},
		"iterationDelete":         {alone: readOnly, in: "group", input: obj{"id": "{iteration}"}},

		"createEpic":          {route: "POST /groups/:id/epics", input: obj{"groupPath": "{full_path}", "title": "New"}},
		"updateEpic":          {route: "PUT " + epics, body: obj{"title": "Other"}, input: onEpic(obj{"title": "Other"})},
		"epicAddIssue":        {route: "POST " + epics + "/issues/:issue_id (of any project)", input: onEpic(obj{"projectPath": "{loose issue's project}", "issueIid": "{loose issue's iid}"})},
		"epicSetSubscription": {alone: quickOnly, in: "group", input: onEpic(obj{"subscribedState": true})},
		"epicTreeReorder": {route: "PUT " + epics + "/epics/:child_epic_id", input: obj{"baseEpicId": "gid://gitlab/Epic/{epics/:noteable_id}", "moved": obj{
			"id": "gid://gitlab/Epic/{:child_epic_id}", "adjacentReferenceId": "gid://gitlab/Epic/{second child}", "relativePosition": "after",
		}}},
		"promoteToEpic": {alone: quickOnly, in: "project", input: onIssue(nil)},

		"createSnippet":  {route: "POST /projects/:id/snippets", input: obj{"projectPath": "{full_path}", "title": "New", "visibilityLevel": "private", "blobActions": []any{obj{"action": "create", "filePath": "a", "content": "x"}}}},
		"updateSnippet":  {route: "PUT /projects/:id/snippets/:snippet_id (reporter's)", input: obj{"id": "gid://gitlab/ProjectSnippet/{:snippet_id}", "title": "Other"}},
		"destroySnippet": {route: "DELETE /projects/:id/snippets/:snippet_id (reporter's)", input: obj{"id": "gid://gitlab/ProjectSnippet/{:snippet_id}"}},

		"createIssue":          {route: "POST /projects/:id/issues", body: obj{"title": "New"}, input: obj{"projectPath": "{full_path}", "title": "New"}},
		"updateIssue":          {route: change, input: onIssue(obj{"title": "Other"})},
		"issueMove":            {route: "POST " + issues + "/move", body: obj{"to_project_id": "{own}"}, input: onIssue(obj{"targetProjectPath": "{own path}"})},
		"issueSetAssignees":    {route: change, body: obj{"assignee_ids": []any{"{:user_id}"}}, input: onIssue(obj{"assigneeUsernames": []any{"mate"}}), kept: "assignees"},
		"issueSetConfidential": {route: change, body: obj{"confidential": true}, input: onIssue(obj{"confidential": true}), kept: "confidential"},
		"issueSetDueDate":      {route: change, body: obj{"due_date": "2030-01-01"}, input: onIssue(obj{"dueDate": "2030-01-01"}), kept: "due_date"},
		"issueSetEpic":         {route: change, body: obj{"epic_id": "{epics/:noteable_id}"}, input: onIssue(obj{"epicId": "gid://gitlab/Epic/{epics/:noteable_id}"}), kept: "epic", differs: with{"personal": "there is no group with epics"}},
		"issueSetIteration":    {alone: quickOnly, in: "project", input: onIssue(obj{"iterationId": nil})},
		"issueSetLocked":       {route: change, body: obj{"discussion_locked": true}, input: onIssue(obj{"locked": true}), kept: "discussion_locked"},
		"issueSetSeverity":     {alone: quickOnly, in: "project", input: onIssue(obj{"severity": "HIGH"}), never: "it is no incident"},
		"issueSetSubscription": {route: "POST " + issues + "/subscribe", input: onIssue(obj{"subscribedState": true})},
		"issueSetWeight":       {route: change, body: obj{"weight": 3}, input: onIssue(obj{"weight": 3}), kept: "weight"},

		"labelCreate":   {route: "POST /projects/:id/labels", input: obj{"projectPath": "{full_path}", "title": "fresh"}},
		"timelogCreate": {route: "POST " + issues + "/add_spent_time", input: obj{"issuableId": issue, "timeSpent": "1h", "spentAt": "2022-01-01", "summary": "Read"}},
		"timelogDelete": {alone: "REST takes back all times of an issue at once", in: "project", input: obj{"id": "gid://gitlab/Timelog/{timelog}"}},

		"commitCreate": {route: "POST /projects/:id/repository/commits (to spare)", input: obj{"projectPath": "{full_path}", "branch": "spare", "message": "New", "actions": []any{obj{"action": "CREATE", "filePath": "fresh.txt", "content": "x"}}}},
		"createBranch": {route: "POST /projects/:id/repository/branches", input: obj{"projectPath": "{full_path}", "name": "new", "ref": "main"}},

		"pipelineScheduleCreate":        {route: "POST /projects/:id/pipeline_schedules", input: obj{"projectPath": "{full_path}", "description": "Weekly", "cron": "0 1 * * 0", "ref": "main"}},
		"pipelineScheduleUpdate":        {route: "PUT " + schedule, input: both(scheduled, obj{"description": "Monthly"})},
		"pipelineScheduleDelete":        {route: "DELETE " + schedule, input: scheduled},
		"pipelineSchedulePlay":          {route: "POST " + schedule + "/play", input: scheduled},
		"pipelineScheduleTakeOwnership": {route: "POST " + schedule + "/take_ownership", input: scheduled},

		"createBoard":                 {route: "POST /projects/:id/boards", input: obj{"projectPath": "{full_path}", "name": "new"}},
		"updateBoard":                 {route: "PUT " + board, input: obj{"id": "gid://gitlab/Board/{:board_id}", "name": "other"}},
		"destroyBoard":                {route: "DELETE " + board, input: obj{"id": "gid://gitlab/Board/{:board_id}"}},
		"boardListCreate":             {route: "POST " + board + "/lists", input: obj{"boardId": "gid://gitlab/Board/{:board_id}", "milestoneId": "gid://gitlab/Milestone/{:milestone_id}"}},
		"updateBoardList":             {route: "PUT " + board + "/lists/:list_id", input: obj{"listId": "gid://gitlab/List/{:list_id}", "position": 0}},
		"boardListUpdateLimitMetrics": {route: "PUT " + board + "/lists/:list_id", input: obj{"listId": "gid://gitlab/List/{:list_id}", "maxIssueCount": 5}},
		"destroyBoardList":            {route: "DELETE " + board + "/lists/:list_id", input: obj{"listId": "gid://gitlab/List/{:list_id}"}},
		"issueMoveList":               {route: "PUT " + issues + "/reorder", input: onIssue(obj{"boardId": "gid://gitlab/Board/{:board_id}", "moveAfterId": "{loose id}"}), body: obj{"move_after_id": "{loose id}"}, differs: with{"guest": "lists of a board set labels, which an author may not"}},

		"mergeRequestCreate":             {route: "POST /projects/:id/merge_requests", input: obj{"projectPath": "{full_path}", "title": "New", "sourceBranch": "spare", "targetBranch": "main"}},
		"mergeRequestUpdate":             {route: "PUT " + requests, body: obj{"title": "Other"}, input: onRequest(obj{"title": "Other"})},
		"mergeRequestAccept":             {route: "PUT " + requests + "/merge", input: onRequest(obj{"sha": "{head of merge request}"})},
		"mergeRequestSetAssignees":       {route: "PUT " + requests, body: obj{"assignee_ids": []any{"{:user_id}"}}, input: onRequest(obj{"assigneeUsernames": []any{"mate"}})},
		"mergeRequestSetReviewers":       {route: "PUT " + requests, body: obj{"reviewer_ids": []any{"{:user_id}"}}, input: onRequest(obj{"reviewerUsernames": []any{"mate"}})},
		"mergeRequestSetLabels":          {route: "PUT " + requests, body: obj{"labels": "{:name}"}, input: onRequest(obj{"labelIds": []any{"gid://gitlab/ProjectLabel/{label id}"}})},
		"mergeRequestSetMilestone":       {route: "PUT " + requests, body: obj{"milestone_id": "{:milestone_id}"}, input: onRequest(obj{"milestoneId": "gid://gitlab/Milestone/{:milestone_id}"})},
		"mergeRequestSetDraft":           {route: "PUT " + requests, body: obj{"title": "Draft: Other"}, input: onRequest(obj{"draft": true})},
		"mergeRequestSetLocked":          {route: "PUT " + requests, body: obj{"discussion_locked": true}, input: onRequest(obj{"locked": true})},
		"mergeRequestSetSubscription":    {route: "POST " + requests + "/subscribe", input: onRequest(obj{"subscribedState": true})},
		"mergeRequestReviewerRereview":   {alone: quickOnly, in: "project", input: onRequest(obj{"userId": "gid://gitlab/User/{:user_id}"}), never: "the user is no reviewer"},
		"mergeRequestUpdateApprovalRule": {route: "PUT " + requests + "/approval_rules/:approval_rule_id", input: onRequest(obj{"approvalRuleId": "number {rule of merge request}", "approvalsRequired": 1, "name": "other"})},

		"ciLint":              {route: "POST /projects/:id/ci/lint", input: obj{"projectPath": "{full_path}", "content": "x: {script: [a]}"}, body: obj{"content": "x: {script: [a]}"}},
		"pipelineCreate":      {route: "POST /projects/:id/pipeline", input: obj{"projectPath": "{full_path}", "ref": "main"}, never: "its branch has no configuration"},
		"pipelineCancel":      {route: "POST " + pipeline + "/cancel", input: obj{"id": "gid://gitlab/Ci::Pipeline/{:pipeline_id}"}},
		"pipelineRetry":       {route: "POST " + pipeline + "/retry", input: obj{"id": "gid://gitlab/Ci::Pipeline/{:pipeline_id}"}},
		"pipelineDestroy":     {route: "DELETE " + pipeline, input: obj{"id": "gid://gitlab/Ci::Pipeline/{:pipeline_id}"}},
		"jobPlay":             {route: "POST " + job + "/play", input: obj{"id": "gid://gitlab/Ci::Build/{manual job}"}},
		"jobRetry":            {route: "POST " + job + "/retry", input: obj{"id": build}},
		"jobCancel":           {route: "POST " + job + "/cancel", input: obj{"id": build}},
		"jobArtifactsDestroy": {route: "DELETE " + job + "/artifacts", input: obj{"id": build}},
		"jobUnschedule":       {alone: "REST starts jobs that wait for their time at once", in: "project", input: obj{"id": build}, never: "the job waits for no time"},

		"runnerCreate":                  {route: "POST /user/runners (project)", input: obj{"runnerType": "PROJECT_TYPE", "projectId": "gid://gitlab/Project/{projects/:id}"}, differs: with{"strng": hiddenPlace, "extrn": hiddenPlace, "minim": hiddenPlace}},
		"runnerUpdate":                  {route: "PUT /runners/:id (of a project)", input: obj{"id": runner, "paused": true}},
		"runnerDelete":                  {route: "DELETE /runners/:id", input: obj{"id": "gid://gitlab/Ci::Runner/{runners/:id}"}},
		"bulkRunnerDelete":              {route: "DELETE /runners/:id", input: obj{"ids": []any{"gid://gitlab/Ci::Runner/{runners/:id}"}}},
		"runnersRegistrationTokenReset": {route: "POST /projects/:id/runners/reset_registration_token", input: obj{"type": "PROJECT_TYPE", "id": "gid://gitlab/Project/{projects/:id}"}},

		"destroyPackage":      {route: "DELETE " + aPackage, input: obj{"id": "gid://gitlab/Packages::Package/{:package_id}"}},
		"destroyPackages":     {route: "DELETE " + aPackage, input: obj{"ids": []any{"gid://gitlab/Packages::Package/{:package_id}"}}},
		"destroyPackageFile":  {route: "DELETE " + packageFile, input: obj{"id": "gid://gitlab/Packages::PackageFile/{:package_file_id}"}},
		"destroyPackageFiles": {route: "DELETE " + packageFile, input: obj{"projectPath": "{full_path}", "ids": []any{"gid://gitlab/Packages::PackageFile/{:package_file_id}"}}},

		"environmentCreate": {route: "POST /projects/:id/environments", input: obj{"projectPath": "{full_path}", "name": "staging"}},
		"environmentUpdate": {route: "PUT " + environment, input: obj{"id": "gid://gitlab/Environment/{:environment_id}", "externalUrl": "https://shop.example"}},
		"environmentStop":   {route: "POST " + environment + "/stop", input: obj{"id": "gid://gitlab/Environment/{:environment_id}"}},
		"environmentDelete": {route: "DELETE " + environment, input: obj{"id": "gid://gitlab/Environment/{stopped environment}"}},

		"releaseCreate":          {route: "POST /projects/:id/releases", input: both(released, obj{"tagName": "r2", "ref": "main"})},
		"releaseUpdate":          {route: "PUT " + ofRelease, input: both(released, obj{"name": "Other"})},
		"releaseDelete":          {route: "DELETE " + ofRelease, input: released},
		"releaseAssetLinkCreate": {route: "POST " + ofRelease + "/assets/links", input: both(released, obj{"name": "other", "url": "https://example.com/other"})},
		"releaseAssetLinkUpdate": {route: "PUT " + ofRelease + "/assets/links/:link_id", input: obj{"id": "gid://gitlab/Releases::Link/{:link_id}", "name": "other"}},
		"releaseAssetLinkDelete": {route: "DELETE " + ofRelease + "/assets/links/:link_id", input: obj{"id": "gid://gitlab/Releases::Link/{:link_id}"}},

		"userPreferencesUpdate": {route: "PUT /user/preferences", input: obj{"issuesSort": "UPDATED_DESC"}},

		"todoCreate":       {route: "POST " + requests + "/todo", input: obj{"targetId": request}},
		"todoMarkDone":     {route: "POST /todos/:id/mark_as_done", input: obj{"id": "gid://gitlab/Todo/{todos/:id}"}},
		"todoRestore":      {alone: "REST does not restore to-do items", in: "project", input: obj{"id": "gid://gitlab/Todo/{todos/:id}"}},
		"todoRestoreMany":  {alone: "REST does not restore to-do items", in: "project", input: obj{"ids": []any{"gid://gitlab/Todo/{todos/:id}"}}},
		"todosMarkAllDone": {route: "POST /todos/mark_as_done", input: obj{}},

		"createNote":              {route: "POST " + ofIssue + "/notes", input: obj{"noteableId": issue, "body": "New"}},
		"createDiscussion":        {route: "POST " + ofIssue + "/discussions", input: obj{"noteableId": issue, "body": "New"}},
		"createDiffNote":          {route: "POST " + ofRequest + "/discussions", input: obj{"noteableId": request, "body": "New", "position": both(position, obj{"newLine": 1})}},
		"createImageDiffNote":     {route: "POST " + ofRequest + "/discussions", input: obj{"noteableId": request, "body": "New", "position": both(position, obj{"x": 1, "y": 1, "width": 10, "height": 10})}, never: "the file is no picture"},
		"updateNote":              {route: "PUT " + ofIssue + "/notes/:note_id (guest's)", input: obj{"id": "gid://gitlab/Note/{issues/:note_id}", "body": "Other"}},
		"destroyNote":             {route: "DELETE " + ofIssue + "/notes/:note_id (guest's)", input: obj{"id": "gid://gitlab/Note/{issues/:note_id}"}},
		"discussionToggleResolve": {route: "PUT " + ofRequest + "/discussions/:discussion_id", input: obj{"id": "gid://gitlab/Discussion/{merge_requests/:discussion_id}", "resolve": true}},
	}
}

// both is one object of two.
func both(a, b obj) obj {
	out := obj{}
	for _, o := range []obj{a, b} {
		for name, v := range o {
			out[name] = v
		}
	}
	return out
}
