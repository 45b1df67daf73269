package app

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenon/internal/transport/rest/api"
)

// sample is a request that a route accepts from callers who may do it.
type sample struct {
	note   string            // tells it from the route's other samples
	in     string            // group or project where the path does not say; the instance otherwise
	values map[string]string // what is in the path instead of the ordinary; "=x" is the value x of the place
	query  string
	body   map[string]any // "=x" is the value x of the place
	first  string         // what the administrator does before, "DELETE /groups/=groups/:id"
	status int            // of success where it is not 2xx for the administrator everywhere: the route refuses on its own account
}

type (
	obj  = map[string]any
	with = map[string]string
)

// samples returns what each route is asked with. A route that only reads and needs no
// parameter has one without standing here; the test fails for every other one that is
// missing.
func samples() map[string][]sample {
	noted := []sample{{}, {note: "internal", values: with{"note_id": "=internal"}}}
	said := []sample{{body: obj{"body": "New"}}}
	unleash := []sample{{in: "project", values: with{"project_id": "=flags project"}, query: "instance_id==flags client"}}
	label := []sample{{body: obj{"new_name": "fault"}}}
	named := []sample{{body: obj{"name": "=:name", "new_name": "fault"}}}
	all := map[string][]sample{
		"POST /users":                              {{body: obj{"email": "new@example.com", "name": "New", "username": "new", "force_random_password": true}}},
		"PUT /application/settings":                {{body: obj{"search_rate_limit": 31}}},
		"PUT /application/plan_limits":             {{body: obj{"plan_name": "gold", "ci_active_jobs": 5}}},
		"PUT /application/appearance":              {{body: obj{"title": "Shipyard"}}},
		"POST /broadcast_messages":                 {{body: obj{"message": "Back at noon"}}},
		"GET /broadcast_messages/:id":              {{}},
		"PUT /broadcast_messages/:id":              {{body: obj{"message": "Back at one"}}},
		"DELETE /broadcast_messages/:id":           {{}},
		"POST /service_accounts":                   {{}},
		"PATCH /service_accounts/:id":              {{body: obj{"name": "Other"}}},
		"POST /features/:name":                     {{values: with{"name": "new_thing"}, body: obj{"value": "true", "user": "owner"}}},
		"DELETE /features/:name":                   {{values: with{"name": "changelog_commits_limitation"}}},
		"GET /license/:id":                         {{values: with{"id": "1"}}},
		"POST /license":                            {{body: obj{"license": "none"}, status: http.StatusBadRequest}},
		"DELETE /license/:id":                      {{values: with{"id": "1"}, status: http.StatusForbidden}},
		"PUT /license/:id/refresh_billable_users":  {{values: with{"id": "1"}, status: http.StatusAccepted}},
		"PUT /users/:id/custom_attributes/:key":    {{body: obj{"value": "two"}}},
		"DELETE /users/:id/custom_attributes/:key": {{}},
		"GET /templates/licenses/:name":            {{values: with{"name": "mit"}}},
		"GET /templates/gitignores/:name":          {{values: with{"name": "Go"}}},
		"GET /templates/dockerfiles/:name":         {{values: with{"name": "Golang"}}},
		"GET /templates/gitlab_ci_ymls/:name":      {{values: with{"name": "Go"}}},
		"GET /projects/:id/templates/:type":        {{values: with{"type": "issues"}}, {values: with{"type": "licenses"}}},
		"GET /projects/:id/templates/:type/:name":  {{values: with{"type": "issues", "name": "Bug"}, status: http.StatusNotFound}, {values: with{"type": "licenses", "name": "mit"}}},
		"POST /projects/import":                    {{body: obj{"path": "from-file", "file": attached{"x.tar.gz", "x"}}}},
		"POST /projects/remote-import":             {{body: obj{"path": "from-url", "url": "http://example.com/a.tar.gz"}, status: http.StatusBadRequest}},
		"POST /projects/remote-import-s3":          {{body: obj{"path": "from-bucket", "region": "-", "bucket_name": "moves", "file_key": "a.tar.gz", "access_key_id": "a", "secret_access_key": "b"}, status: http.StatusBadRequest}},
		"POST /topics":                             {{body: obj{"name": "new", "title": "New"}}},
		"POST /topics/merge":                       {{body: obj{"source_topic_id": "=topics/:id", "target_topic_id": "=topics/:id"}, status: http.StatusBadRequest}},
		"PUT /topics/:id":                          {{body: obj{"title": "Other"}}},
		"DELETE /topics/:id":                       {{}},
		"PUT /users/:id":                           {{body: obj{"name": "Other"}}},
		"DELETE /users/:id":                        {{}, {note: "hard", query: "hard_delete=true"}},
		"POST /users/:id/reject":                   {{status: http.StatusConflict}}, // waits for nothing
		"POST /users/:id/follow":                   {{}},
		"POST /users/:id/unfollow":                 {{status: http.StatusNotModified}},
		"PUT /user/avatar":                         {{body: obj{"avatar": attached{"me.png", onePixel()}}}},
		"GET /avatar":                              {{query: "email=nobody@example.org"}},
		"GET /groups/:id/avatar":                   {{}},
		"GET /projects/:id/avatar":                 {{}},
		"PUT /user/preferences":                    {{body: obj{"view_diffs_file_by_file": true}}},
		"POST /users/:id/block":                    {{}},
		"POST /users/:id/unblock":                  {{first: "POST /users/=users/:id/block"}},
		"POST /users/:id/activate":                 {{values: with{"id": "=newcomer"}, first: "POST /users/=newcomer/deactivate"}},
		"POST /users/:id/deactivate":               {{values: with{"id": "=newcomer"}}},
		"POST /users/:id/ban":                      {{}},
		"POST /users/:id/unban":                    {{first: "POST /users/=users/:id/ban"}},
		"GET /users/:user_id/projects":             {{}},
		"POST /projects/user/:user_id":             {{body: obj{"name": "Given"}}},
		"GET /personal_access_tokens":              {{}, {note: "of another", query: "user_id==:user_id"}},
		"GET /users":                               {{}},
		"GET /search":                              {{note: "projects", query: "scope=projects&search=app"}, {note: "issues", query: "scope=issues&search=iss"}, {query: "scope=notes&search=note"}, {note: "blobs", query: "scope=blobs&search=x", status: http.StatusBadRequest}},
		"GET /groups/:id/search":                   {{note: "users", query: "scope=users&search=own"}, {query: "scope=merge_requests&search=req"}, {note: "milestones", query: "scope=milestones&search=one"}},
		"GET /projects/:id/search":                 {{query: "scope=issues&search=iss"}, {note: "merge requests", query: "scope=merge_requests&search=req"}, {note: "notes", query: "scope=notes&search=note"}, {note: "commits", query: "scope=commits&search=init"}, {note: "blobs", query: "scope=blobs&search=read"}, {note: "wiki", query: "scope=wiki_blobs&search=welcome"}},
		"GET /issues/:id":                          {{in: "project"}},
		"GET /namespaces/:id":                      {{in: "group"}},
		"GET /namespaces/:id/exists":               {{in: "group", values: with{"id": "=full_path"}}},
		"POST /bulk_imports": {{body: obj{
			"configuration": obj{"url": "https://10.0.0.1", "access_token": "x"},
			"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": "moved", "destination_namespace": ""}},
		}, status: http.StatusUnprocessableEntity}},
		"GET /bulk_imports":                                         {{}},
		"GET /bulk_imports/entities":                                {{}},
		"GET /bulk_imports/:import_id":                              {{}},
		"GET /bulk_imports/:import_id/report":                       {{}},
		"GET /bulk_imports/:import_id/report.ndjson":                {{}},
		"POST /bulk_imports/:import_id/cancel":                      {{}},
		"GET /bulk_imports/:import_id/entities":                     {{}},
		"GET /bulk_imports/:import_id/entities/:entity_id":          {{}},
		"GET /bulk_imports/:import_id/entities/:entity_id/failures": {{}},
		"POST /groups/import": {
			{body: obj{"name": "From file", "path": "from-file", "file": attached{"x.tar.gz", "x"}}},
			{note: "inside", in: "group", body: obj{"name": "From file", "path": "from-file", "parent_id": "=groups/:id", "file": attached{"x.tar.gz", "x"}}},
		},

		"GET /user/emails/:email_id":             {{values: with{"email_id": "=own email"}}},
		"POST /user/emails":                      {{body: obj{"email": "more@example.com"}}},
		"DELETE /user/emails/:email_id":          {{values: with{"email_id": "=own email"}}},
		"POST /users/:id/emails":                 {{body: obj{"email": "more@example.com"}}},
		"DELETE /users/:id/emails/:email_id":     {{}},
		"POST /users/:id/approve":                {{status: http.StatusConflict}}, // waits for nothing
		"DELETE /users/:id/identities/:provider": {{values: with{"provider": "saml"}, status: http.StatusNotFound}},
		"PUT /user/status":                       {{body: obj{"message": "At lunch"}}},
		"PATCH /user/status":                     {{body: obj{"message": "At lunch"}}},

		"GET /user/keys/:key_id":                  {{values: with{"key_id": "=own key"}}},
		"POST /user/keys":                         {{body: obj{"title": "desk", "key": newKey}}},
		"POST /markdown":                          {{body: obj{"text": "a #1", "gfm": true}}},
		"DELETE /user/keys/:key_id":               {{values: with{"key_id": "=own key"}}},
		"POST /users/:id/keys":                    {{body: obj{"title": "desk", "key": newKey}}},
		"DELETE /users/:id/keys/:key_id":          {{}},
		"GET /user/gpg_keys/:key_id":              {{values: with{"key_id": "=own gpg key"}}},
		"POST /user/gpg_keys":                     {{body: obj{"key": newGPGKey()}}},
		"DELETE /user/gpg_keys/:key_id":           {{values: with{"key_id": "=own gpg key"}}},
		"POST /user/gpg_keys/:key_id/revoke":      {{values: with{"key_id": "=own gpg key"}}},
		"POST /users/:id/gpg_keys":                {{body: obj{"key": newGPGKey()}}},
		"DELETE /users/:id/gpg_keys/:key_id":      {{}},
		"POST /users/:id/gpg_keys/:key_id/revoke": {{}},
		"GET /keys":                               {{query: "fingerprint=SHA256:" + ownFingerprint}},

		"POST /users/:user_id/personal_access_tokens": {{body: obj{"name": "ci", "scopes": []string{"api"}}}},
		"DELETE /personal_access_tokens/self":         {{}},
		"DELETE /personal_access_tokens/:id":          {{}},
		"POST /personal_access_tokens/self/rotate":    {{}},
		"POST /personal_access_tokens/:id/rotate":     {{}},

		"POST /user/personal_access_tokens":                                   {{body: obj{"name": "ci", "scopes": []string{"self_rotate"}}}},
		"GET /personal_access_tokens/self/associations":                       {{}},
		"POST /users/:user_id/impersonation_tokens":                           {{body: obj{"name": "ci", "scopes": []string{"api"}}}},
		"GET /users/:user_id/impersonation_tokens/:impersonation_token_id":    {{}},
		"DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id": {{}},
		"POST /groups/:id/deploy_tokens":                                      {{body: obj{"name": "ci", "scopes": []string{"read_repository"}}}},
		"DELETE /groups/:id/deploy_tokens/:token_id":                          {{}},
		"POST /projects/:id/deploy_tokens":                                    {{body: obj{"name": "ci", "scopes": []string{"read_repository"}}}},
		"DELETE /projects/:id/deploy_tokens/:token_id":                        {{}},
		"POST /deploy_keys":                                                   {{body: obj{"title": "ci", "key": newKey}}},
		"GET /users/:user_id/project_deploy_keys":                             {{}},
		"POST /projects/:id/deploy_keys":                                      {{body: obj{"title": "ci", "key": newKey}}},
		"PUT /projects/:id/deploy_keys/:key_id":                               {{body: obj{"can_push": true}}, {note: "title", body: obj{"title": "Other"}}},
		"DELETE /projects/:id/deploy_keys/:key_id":                            {{}},
		"POST /projects/:id/deploy_keys/:key_id/enable":                       {{note: "public", values: with{"key_id": "=public key"}}},

		"POST /groups":                                                                       {{body: obj{"name": "G", "path": "g-new"}}, {note: "inside", in: "group", body: obj{"name": "G", "path": "g-new", "parent_id": "=groups/:id"}}},
		"PUT /groups/:id":                                                                    {{body: obj{"name": "Other"}}},
		"DELETE /groups/:id":                                                                 {{}},
		"POST /groups/:id/restore":                                                           {{first: "DELETE /groups/=groups/:id"}},
		"POST /groups/:id/archive":                                                           {{}},
		"POST /groups/:id/unarchive":                                                         {{first: "POST /groups/=groups/:id/archive"}},
		"DELETE /groups/:id/billable_members/:user_id":                                       {{}, {note: "reporter's", values: with{"user_id": "=reporter"}}},
		"POST /groups/:id/members":                                                           {{body: obj{"user_id": "=newcomer", "access_level": 30}}},
		"PUT /groups/:id/members/:user_id":                                                   {{body: obj{"access_level": 40}}},
		"DELETE /groups/:id/members/:user_id":                                                {{}, {note: "reporter's", values: with{"user_id": "=reporter"}}},
		"PUT /groups/:id/members/:member_id/approve":                                         {{values: with{"member_id": "99999"}, status: http.StatusNotFound}},
		"POST /groups/:id/members/approve_all":                                               {{status: http.StatusBadRequest}}, // no membership is pending
		"POST /groups/:id/access_requests":                                                   {{status: http.StatusForbidden}},
		"PUT /groups/:id/access_requests/:user_id/approve":                                   {{values: with{"user_id": "=requester"}}},
		"DELETE /groups/:id/access_requests/:user_id":                                        {{values: with{"user_id": "=requester"}}},
		"POST /groups/:id/invitations":                                                       {{body: obj{"email": "new@example.com", "access_level": 30}}},
		"PUT /groups/:id/invitations/:email":                                                 {{body: obj{"access_level": 20}}},
		"DELETE /groups/:id/invitations/:email":                                              {{}},
		"POST /groups/:id/access_tokens":                                                     {{body: obj{"name": "ci", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()}}},
		"DELETE /groups/:id/access_tokens/:token_id":                                         {{}},
		"POST /groups/:id/access_tokens/self/rotate":                                         {{status: http.StatusNotFound}},
		"POST /groups/:id/access_tokens/:token_id/rotate":                                    {{}},
		"GET /groups/:id/service_accounts/:user_id/personal_access_tokens":                   {{}},
		"POST /groups/:id/service_accounts":                                                  {{}},
		"PATCH /groups/:id/service_accounts/:user_id":                                        {{body: obj{"name": "Other"}}},
		"DELETE /groups/:id/service_accounts/:user_id":                                       {{}},
		"POST /groups/:id/service_accounts/:user_id/personal_access_tokens":                  {{body: obj{"name": "ci", "scopes": []string{"api"}}}},
		"DELETE /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id":      {{}},
		"POST /groups/:id/service_accounts/:user_id/personal_access_tokens/:token_id/rotate": {{}},
		"POST /groups/:id/protected_branches":                                                {{body: obj{"name": "ship/*"}}},
		"PATCH /groups/:id/protected_branches/:name":                                         {{body: obj{"allow_force_push": true}}},
		"DELETE /groups/:id/protected_branches/:name":                                        {{}},
		"POST /groups/:id/uploads":                                                           {{body: obj{"file": attached{"logo.png", "not a picture"}}}},
		"DELETE /groups/:id/uploads/:upload_id":                                              {{}},
		"DELETE /groups/:id/uploads/:secret/:filename":                                       {{}},
		"POST /groups/:id/share":                                                             {{body: obj{"group_id": "=guests", "group_access": 30}}},
		"DELETE /groups/:id/share/:group_id":                                                 {{}},
		"POST /runners":                                                                      {{body: obj{"token": "=registration token"}}},
		"DELETE /runners":                                                                    {{body: obj{"token": "=runner token"}}},
		"DELETE /runners/managers":                                                           {{body: obj{"token": "=runner token", "system_id": "s_1"}}},
		"POST /runners/verify":                                                               {{body: obj{"token": "=runner token"}}},
		"POST /runners/reset_authentication_token":                                           {{body: obj{"token": "=runner token"}}},
		"PUT /runners/:id":                                                                   {{body: obj{"paused": true}}, {note: "of a project", in: "project", values: with{"id": "=:runner_id"}, body: obj{"paused": true}}},
		"GET /runners/:id":                                                                   {{}, {note: "of a project", in: "project", values: with{"id": "=:runner_id"}}},
		"GET /runners/:id/managers":                                                          {{}, {note: "of a project", in: "project", values: with{"id": "=:runner_id"}}},
		"GET /runners/:id/jobs":                                                              {{}, {note: "of a project", in: "project", values: with{"id": "=:runner_id"}}},
		"GET /runners/:id/projects":                                                          {{}, {note: "of a project", in: "project", values: with{"id": "=:runner_id"}}},
		"DELETE /runners/:id":                                                                {{}},
		"POST /runners/:id/reset_authentication_token":                                       {{}},
		"POST /runners/reset_registration_token":                                             {{}},
		"POST /groups/:id/runners/reset_registration_token":                                  {{}},
		"POST /projects/:id/runners/reset_registration_token":                                {{}},
		"POST /projects/:id/runners":                                                         {{body: obj{"runner_id": "=spare runner"}}},
		"DELETE /projects/:id/runners/:runner_id":                                            {{}},
		"POST /user/runners": {
			{body: obj{"runner_type": "instance_type"}},
			{note: "group", in: "group", body: obj{"runner_type": "group_type", "group_id": "=groups/:id"}},
			{note: "project", in: "project", body: obj{"runner_type": "project_type", "project_id": "=projects/:id"}},
		},
		"POST /groups/:id/variables":                                             {{body: obj{"key": "NEW", "value": "x"}}},
		"PUT /groups/:id/variables/:key":                                         {{body: obj{"value": "y"}}},
		"DELETE /groups/:id/variables/:key":                                      {{}},
		"POST /projects/:id/variables":                                           {{body: obj{"key": "NEW", "value": "x"}}},
		"PUT /projects/:id/variables/:key":                                       {{body: obj{"value": "y"}}},
		"DELETE /projects/:id/variables/:key":                                    {{}},
		"POST /admin/ci/variables":                                               {{body: obj{"key": "NEW", "value": "x"}}},
		"PUT /admin/ci/variables/:key":                                           {{body: obj{"value": "y"}}},
		"DELETE /admin/ci/variables/:key":                                        {{}},
		"POST /projects/:id/triggers":                                            {{body: obj{"description": "Nightly"}}},
		"PUT /projects/:id/triggers/:trigger_id":                                 {{body: obj{"description": "Weekly"}}},
		"DELETE /projects/:id/triggers/:trigger_id":                              {{}},
		"POST /projects/:id/feature_flags":                                       {{body: obj{"name": "new_flag", "strategies": []obj{{"name": "default", "parameters": obj{}}}}}},
		"PUT /projects/:id/feature_flags/:feature_flag_name":                     {{body: obj{"active": false}}},
		"DELETE /projects/:id/feature_flags/:feature_flag_name":                  {{}},
		"POST /projects/:id/feature_flags_user_lists":                            {{body: obj{"name": "Testers", "user_xids": "dan"}}},
		"PUT /projects/:id/feature_flags_user_lists/:iid":                        {{body: obj{"user_xids": "erin"}}},
		"DELETE /projects/:id/feature_flags_user_lists/:iid":                     {{}},
		"POST /projects/:id/feature_flags_client":                                {{}},
		"DELETE /projects/:id/feature_flags_client":                              {{}},
		"GET /feature_flags/unleash/:project_id":                                 unleash,
		"GET /feature_flags/unleash/:project_id/features":                        unleash,
		"GET /feature_flags/unleash/:project_id/client/features":                 unleash,
		"POST /feature_flags/unleash/:project_id/client/register":                unleash,
		"POST /feature_flags/unleash/:project_id/client/metrics":                 unleash,
		"PATCH /projects/:id/job_token_scope":                                    {{body: obj{"enabled": false}}},
		"POST /projects/:id/job_token_scope/allowlist":                           {{body: obj{"target_project_id": "=own"}}},
		"DELETE /projects/:id/job_token_scope/allowlist/:target_project_id":      {{}},
		"POST /projects/:id/job_token_scope/groups_allowlist":                    {{body: obj{"target_group_id": "=visitors"}}},
		"DELETE /projects/:id/job_token_scope/groups_allowlist/:target_group_id": {{}},
		"POST /projects/:id/secure_files":                                        {{body: obj{"name": "new.jks", "file": attached{"new.jks", "content"}}}},
		"DELETE /projects/:id/secure_files/:secure_file_id":                      {{}},

		"POST /groups/:id/badges":                            {{body: aBadge()}},
		"GET /groups/:id/badges/render":                      {{query: "link_url=https://a.example&image_url=https://b.example"}},
		"PUT /groups/:id/badges/:badge_id":                   {{body: obj{"name": "other"}}},
		"DELETE /groups/:id/badges/:badge_id":                {{}},
		"PUT /groups/:id/custom_attributes/:key":             {{body: obj{"value": "two"}}},
		"DELETE /groups/:id/custom_attributes/:key":          {{}},
		"POST /groups/:id/milestones":                        {{body: obj{"title": "new"}}},
		"PUT /groups/:id/milestones/:milestone_id":           {{body: obj{"title": "other"}}, {note: "close", body: obj{"state_event": "close"}}},
		"DELETE /groups/:id/milestones/:milestone_id":        {{}},
		"POST /groups/:id/boards":                            {{body: obj{"name": "new"}}},
		"PUT /groups/:id/boards/:board_id":                   {{body: obj{"name": "other"}}},
		"DELETE /groups/:id/boards/:board_id":                {{}},
		"POST /groups/:id/boards/:board_id/lists":            {{body: obj{"milestone_id": "=:milestone_id"}}},
		"PUT /groups/:id/boards/:board_id/lists/:list_id":    {{body: obj{"position": 0}}},
		"DELETE /groups/:id/boards/:board_id/lists/:list_id": {{}},
		"POST /groups/:id/labels":                            {{body: obj{"name": "new", "color": "#00ff00"}}},
		"PUT /groups/:id/labels/:name":                       label,
		"PUT /groups/:id/labels":                             named,
		"DELETE /groups/:id/labels/:name":                    {{}},
		"DELETE /groups/:id/labels":                          {{query: "name==:name"}},

		"POST /projects":                                        {{body: obj{"name": "Fresh"}}, {note: "inside", in: "group", body: obj{"name": "Fresh", "namespace_id": "=groups/:id"}}},
		"PUT /projects/:id":                                     {{body: obj{"description": "Other"}}, {note: "branch", body: obj{"default_branch": ""}}, {note: "visibility", body: obj{"visibility": "private"}}},
		"DELETE /projects/:id":                                  {{}},
		"POST /projects/:id/restore":                            {{status: http.StatusBadRequest}}, // is not marked for deletion
		"POST /projects/:id/housekeeping":                       {{}},
		"POST /projects/:id/archive":                            {{}},
		"POST /projects/:id/unarchive":                          {{}},
		"POST /projects/:id/members":                            {{body: obj{"user_id": "=newcomer", "access_level": 30}}},
		"PUT /projects/:id/members/:user_id":                    {{body: obj{"access_level": 50}}, {note: "maintainer", body: obj{"access_level": 40}}},
		"DELETE /projects/:id/members/:user_id":                 {{}, {note: "reporter's", values: with{"user_id": "=reporter"}}},
		"POST /projects/:id/access_requests":                    {{status: http.StatusForbidden}},
		"PUT /projects/:id/access_requests/:user_id/approve":    {{values: with{"user_id": "=requester"}}},
		"DELETE /projects/:id/access_requests/:user_id":         {{values: with{"user_id": "=requester"}}},
		"POST /projects/:id/invitations":                        {{body: obj{"email": "new@example.com", "access_level": 30}}},
		"PUT /projects/:id/invitations/:email":                  {{body: obj{"access_level": 20}}},
		"DELETE /projects/:id/invitations/:email":               {{}},
		"POST /projects/:id/star":                               {{}},
		"POST /projects/:id/export":                             {{}},
		"POST /groups/:id/export":                               {{}},
		"POST /projects/:id/export_relations":                   {{}},
		"POST /groups/:id/export_relations":                     {{}},
		"GET /projects/:id/export_relations/download":           {{query: "relation=labels"}},
		"GET /groups/:id/export_relations/download":             {{query: "relation=labels"}},
		"POST /projects/:id/unstar":                             {{status: http.StatusNotModified}},
		"GET /users/:user_id/starred_projects":                  {{}},
		"GET /users/:user_id/contributed_projects":              {{}},
		"POST /projects/:id/fork":                               {{body: obj{"name": "Copy", "path": "copy"}}, {note: "into a group", body: obj{"name": "Copy", "path": "copy", "namespace_path": "guests"}}},
		"DELETE /projects/:id/fork":                             {{status: http.StatusNotModified}}, // it is none
		"POST /projects/:id/fork/:forked_from_id":               {{values: with{"forked_from_id": "=own"}}},
		"PUT /projects/:id/transfer":                            {{body: obj{"namespace": "guests"}}},
		"POST /groups/:id/projects/:project_id":                 {{values: with{"project_id": "=own"}}},
		"POST /groups/:id/transfer":                             {{body: obj{"group_id": "=guests"}}},
		"POST /projects/:id/import_project_members/:project_id": {{values: with{"project_id": "=projects/:id"}}},
		"POST /projects/:id/access_tokens":                      {{body: obj{"name": "ci", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()}}},
		"DELETE /projects/:id/access_tokens/:token_id":          {{}},
		"POST /projects/:id/access_tokens/self/rotate":          {{status: http.StatusNotFound}},
		"POST /projects/:id/access_tokens/:token_id/rotate":     {{}},
		"POST /projects/:id/uploads":                            {{body: obj{"file": attached{"logo.png", "not a picture"}}}},
		"DELETE /projects/:id/uploads/:upload_id":               {{}},
		"DELETE /projects/:id/uploads/:secret/:filename":        {{}},
		"POST /projects/:id/share":                              {{body: obj{"group_id": "=guests", "group_access": 30}}},
		"DELETE /projects/:id/share/:group_id":                  {{}},
		"POST /projects/:id/badges":                             {{body: aBadge()}},
		"GET /projects/:id/badges/render":                       {{query: "link_url=https://a.example&image_url=https://b.example"}},
		"PUT /projects/:id/badges/:badge_id":                    {{body: obj{"name": "other"}}},
		"DELETE /projects/:id/badges/:badge_id":                 {{}},
		"PUT /projects/:id/custom_attributes/:key":              {{body: obj{"value": "two"}}},
		"DELETE /projects/:id/custom_attributes/:key":           {{}},
		"POST /projects/:id/milestones":                         {{body: obj{"title": "new"}}},
		"PUT /projects/:id/milestones/:milestone_id":            {{body: obj{"title": "other"}}, {note: "close", body: obj{"state_event": "close"}}},
		"DELETE /projects/:id/milestones/:milestone_id":         {{}},
		"POST /projects/:id/milestones/:milestone_id/promote":   {{}},
		"POST /projects/:id/boards":                             {{body: obj{"name": "new"}}},
		"PUT /projects/:id/boards/:board_id":                    {{body: obj{"name": "other"}}},
		"DELETE /projects/:id/boards/:board_id":                 {{}},
		"POST /projects/:id/boards/:board_id/lists":             {{body: obj{"milestone_id": "=:milestone_id"}}},
		"PUT /projects/:id/boards/:board_id/lists/:list_id":     {{body: obj{"position": 0}}},
		"DELETE /projects/:id/boards/:board_id/lists/:list_id":  {{}},
		"PUT /projects/:id/labels/:name/promote":                {{}},
		"POST /projects/:id/labels":                             {{body: obj{"name": "new", "color": "#00ff00"}}},
		"PUT /projects/:id/labels/:name":                        label,
		"PUT /projects/:id/labels":                              named,
		"DELETE /projects/:id/labels/:name":                     {{}},
		"DELETE /projects/:id/labels":                           {{query: "name==:name"}},

		"POST /projects/:id/repository/branches":                                   {{body: obj{"branch": "new", "ref": "main"}}},
		"DELETE /projects/:id/repository/branches/:branch":                         {{}, {note: "default", values: with{"branch": "main"}, status: http.StatusBadRequest}},
		"DELETE /projects/:id/repository/merged_branches":                          {{}},
		"POST /projects/:id/repository/tags":                                       {{body: obj{"tag_name": "v2", "ref": "main"}}},
		"DELETE /projects/:id/repository/tags/:tag_name":                           {{}},
		"POST /projects/:id/protected_branches":                                    {{body: obj{"name": "spare"}}},
		"PATCH /projects/:id/protected_branches/:name":                             {{body: obj{"allow_force_push": true}}},
		"DELETE /projects/:id/protected_branches/:name":                            {{}},
		"PUT /projects/:id/repository/branches/:branch/protect":                    {{}},
		"PUT /projects/:id/repository/branches/:branch/unprotect":                  {{}},
		"POST /projects/:id/protected_tags":                                        {{body: obj{"name": "w*"}}},
		"DELETE /projects/:id/protected_tags/:name":                                {{}},
		"POST /projects/:id/repository/commits":                                    {commits("spare"), commits("main")},
		"PUT /projects/:id/repository/submodules/:submodule":                       {{note: "none there", values: with{"submodule": "lib"}, body: obj{"branch": "spare", "commit_sha": strings.Repeat("1a", 20)}, status: http.StatusBadRequest}},
		"GET /projects/:id/repository/files/:file_path":                            {{query: "ref=main"}},
		"GET /projects/:id/repository/files/:file_path/raw":                        {{query: "ref=main"}},
		"POST /projects/:id/repository/files/:file_path":                           {file("spare", "new.md"), file("main", "new.md")},
		"PUT /projects/:id/repository/files/:file_path":                            {file("spare", "README.md"), file("main", "README.md")},
		"DELETE /projects/:id/repository/files/:file_path":                         {file("spare", "README.md"), file("main", "README.md")},
		"GET /projects/:id/repository/compare":                                     {{query: "from=main&to=feature"}},
		"GET /projects/:id/repository/merge_base":                                  {{query: "refs[]=main&refs[]=feature"}},
		"GET /projects/:id/repository/commits/:sha/diff":                           {{}},
		"HEAD /projects/:id/repository/branches/:branch":                           {{}},
		"GET /projects/:id/repository/files/:file_path/blame":                      {{query: "ref=main"}},
		"GET /projects/:id/repository/commits/:sha/signature":                      {{status: http.StatusNotFound}}, // unsigned
		"GET /projects/:id/repository/tags/:tag_name/signature":                    {{status: http.StatusNotFound}},
		"POST /projects/:id/repository/commits/:sha/cherry_pick":                   {{note: "onto spare", body: obj{"branch": "spare"}}, {note: "onto main", body: obj{"branch": "main", "dry_run": true}}},
		"POST /projects/:id/repository/commits/:sha/revert":                        {{note: "on feature", body: obj{"branch": "feature"}}},
		"POST /projects/:id/repository/commits/:sha/comments":                      {{body: obj{"note": "New"}}},
		"POST /projects/:id/push_rule":                                             {{body: obj{"member_check": true}, status: http.StatusUnprocessableEntity}}, // it has one
		"PUT /projects/:id/push_rule":                                              {{body: obj{"deny_delete_tag": true}}},
		"DELETE /projects/:id/push_rule":                                           {{}},
		"GET /groups/:id/push_rule":                                                {{status: http.StatusNotFound}},
		"POST /groups/:id/push_rule":                                               {{body: obj{"member_check": true}}},
		"PUT /groups/:id/push_rule":                                                {{first: "POST /groups/=groups/:id/push_rule", body: obj{"deny_delete_tag": true}}},
		"DELETE /groups/:id/push_rule":                                             {{first: "POST /groups/=groups/:id/push_rule"}},
		"POST /projects/:id/statuses/:sha":                                         {{body: obj{"state": "success"}}},
		"GET /projects/:id/repository/changelog":                                   {{query: "version=2.0.0&from=main"}},
		"POST /projects/:id/repository/changelog":                                  {{body: obj{"version": "2.0.0", "from": "main"}}},
		"GET /projects/:id/merge_requests/:merge_request_iid/versions/:version_id": {{}},

		"POST /projects/:id/merge_requests/:merge_request_iid/context_commits":   {{body: obj{"commits": "=:sha"}}},
		"DELETE /projects/:id/merge_requests/:merge_request_iid/context_commits": {{query: "commits=none", status: http.StatusBadRequest}},
		"PUT /suggestions/:id/apply":   {{in: "project"}},
		"PUT /suggestions/batch_apply": {{in: "project", body: obj{"ids": "=suggestions/:id"}}},

		"GET /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id":         {{note: "admin's"}},
		"POST /projects/:id/merge_requests/:merge_request_iid/draft_notes":                       {{body: obj{"note": "Kept back"}}},
		"PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id":         {{note: "admin's", body: obj{"note": "Other"}}},
		"DELETE /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id":      {{note: "admin's"}},
		"PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id/publish": {{note: "admin's"}},
		"POST /projects/:id/merge_requests/:merge_request_iid/draft_notes/bulk_publish":          {{}},

		"GET /projects/:id/issues/:issue_iid":                                      {{}, {note: "confidential", values: with{"issue_iid": "=confidential"}}},
		"POST /projects/:id/issues":                                                {{body: obj{"title": "New"}}, {note: "iid", body: obj{"title": "New", "iid": 77}}},
		"PUT /projects/:id/issues/:issue_iid":                                      {{note: "guest's", body: obj{"title": "Other"}}, {note: "confidential", values: with{"issue_iid": "=confidential"}, body: obj{"title": "Other"}}, {note: "labels", body: obj{"add_labels": "x"}}},
		"DELETE /projects/:id/issues/:issue_iid":                                   {{}},
		"PUT /projects/:id/issues/:issue_iid/reorder":                              {{body: obj{"move_after_id": "=issues/:id", "move_before_id": "=secret"}}},
		"POST /projects/:id/issues/:issue_iid/links":                               {{body: obj{"target_project_id": "=projects/:id", "target_issue_iid": "=loose"}}},
		"DELETE /projects/:id/issues/:issue_iid/links/:issue_link_id":              {{}},
		"GET /projects/:id/issues/:issue_iid/metric_images":                        {{values: with{"issue_iid": "=incident"}}},
		"POST /projects/:id/issues/:issue_iid/metric_images":                       {{values: with{"issue_iid": "=incident"}, body: obj{"file": attached{"load.png", onePixel()}}}},
		"PUT /projects/:id/issues/:issue_iid/metric_images/:image_id":              {{values: with{"issue_iid": "=incident"}, body: obj{"url": "https://example.com"}}},
		"DELETE /projects/:id/issues/:issue_iid/metric_images/:image_id":           {{values: with{"issue_iid": "=incident"}}},
		"POST /projects/:id/issues/import_csv":                                     {{body: obj{"file": attached{"issues.csv", "title\nImported\n"}}}},
		"POST /projects/:id/issues/:issue_iid/move":                                {{body: obj{"to_project_id": "=projects/:id"}, status: http.StatusBadRequest}},
		"POST /projects/:id/issues/:issue_iid/clone":                               {{body: obj{"to_project_id": "=projects/:id"}}},
		"GET /projects/:id/issues/:issue_iid/user_agent_detail":                    {{status: http.StatusNotFound}},
		"POST /projects/:id/issues/:issue_iid/time_estimate":                       {{body: obj{"duration": "3h"}}},
		"POST /projects/:id/issues/:issue_iid/reset_time_estimate":                 {{}},
		"POST /projects/:id/issues/:issue_iid/add_spent_time":                      {{body: obj{"duration": "1h", "summary": "Read"}}},
		"POST /projects/:id/issues/:issue_iid/reset_spent_time":                    {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/time_estimate":       {{body: obj{"duration": "3h"}}},
		"POST /projects/:id/merge_requests/:merge_request_iid/reset_time_estimate": {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/add_spent_time":      {{body: obj{"duration": "1h"}}},
		"POST /projects/:id/merge_requests/:merge_request_iid/reset_spent_time":    {{}},

		"GET /projects/:id/issues/:noteable_id/notes":                                                    {{}, {note: "confidential", values: with{"noteable_id": "=confidential"}}},
		"GET /projects/:id/issues/:noteable_id/notes/:note_id":                                           noted,
		"POST /projects/:id/issues/:noteable_id/notes":                                                   {{body: obj{"body": "New"}}, {note: "confidential", values: with{"noteable_id": "=confidential"}, body: obj{"body": "New"}}},
		"PUT /projects/:id/issues/:noteable_id/notes/:note_id":                                           {{note: "guest's", body: obj{"body": "Other"}}, {note: "internal", values: with{"note_id": "=internal"}, body: obj{"body": "Other"}}},
		"DELETE /projects/:id/issues/:noteable_id/notes/:note_id":                                        {{note: "guest's"}, {note: "internal", values: with{"note_id": "=internal"}}},
		"POST /projects/:id/merge_requests/:noteable_id/notes":                                           {{body: obj{"body": "New"}}},
		"POST /projects/:id/issues/:noteable_id/discussions":                                             said,
		"POST /projects/:id/issues/:noteable_id/discussions/:discussion_id/notes":                        said,
		"PUT /projects/:id/issues/:noteable_id/discussions/:discussion_id/notes/:note_id":                {{note: "guest's", body: obj{"body": "Other"}}},
		"DELETE /projects/:id/issues/:noteable_id/discussions/:discussion_id/notes/:note_id":             {{note: "guest's"}},
		"POST /projects/:id/merge_requests/:noteable_id/discussions":                                     said,
		"POST /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id/notes":                said,
		"PUT /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id/notes/:note_id":        {{note: "developer's", body: obj{"body": "Other"}}, {note: "developer's, resolved", body: obj{"resolved": true}}},
		"DELETE /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id/notes/:note_id":     {{note: "developer's"}},
		"PUT /projects/:id/merge_requests/:noteable_id/discussions/:discussion_id":                       {{body: obj{"resolved": true}}},
		"GET /projects/:id/snippets/:noteable_id/notes":                                                  {{}, {note: "private", values: with{"noteable_id": "=private"}}},
		"POST /projects/:id/snippets/:noteable_id/notes":                                                 {{body: obj{"body": "New"}}, {note: "private", values: with{"noteable_id": "=private"}, body: obj{"body": "New"}}},
		"PUT /projects/:id/snippets/:noteable_id/notes/:note_id":                                         {{note: "developer's", body: obj{"body": "Other"}}},
		"DELETE /projects/:id/snippets/:noteable_id/notes/:note_id":                                      {{note: "developer's"}},
		"POST /projects/:id/snippets/:noteable_id/discussions":                                           said,
		"POST /projects/:id/snippets/:noteable_id/discussions/:discussion_id/notes":                      said,
		"PUT /projects/:id/snippets/:noteable_id/discussions/:discussion_id/notes/:note_id":              {{note: "developer's", body: obj{"body": "Other"}}},
		"DELETE /projects/:id/snippets/:noteable_id/discussions/:discussion_id/notes/:note_id":           {{note: "developer's"}},
		"POST /projects/:id/snippets/:noteable_id/award_emoji":                                           {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/snippets/:noteable_id/award_emoji/:award_id":                               {{note: "developer's"}},
		"POST /projects/:id/snippets/:noteable_id/notes/:note_id/award_emoji":                            {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/snippets/:noteable_id/notes/:note_id/award_emoji/:award_id":                {{note: "developer's", values: with{"award_id": "=award on a note of a snippet"}}},
		"GET /projects/:id/snippets/:noteable_id/notes/:note_id/award_emoji/:award_id":                   {{note: "developer's", values: with{"award_id": "=award on a note of a snippet"}}},
		"POST /projects/:id/repository/commits/:noteable_id/discussions":                                 said,
		"POST /projects/:id/repository/commits/:noteable_id/discussions/:discussion_id/notes":            said,
		"PUT /projects/:id/repository/commits/:noteable_id/discussions/:discussion_id/notes/:note_id":    {{note: "developer's", body: obj{"body": "Other"}}},
		"DELETE /projects/:id/repository/commits/:noteable_id/discussions/:discussion_id/notes/:note_id": {{note: "developer's"}},
		"GET /projects/:id/merge_requests/:eventable_id/resource_label_events/:event_id":                 {{note: "of a request", values: with{"event_id": "=label event of a request"}}},
		"GET /projects/:id/merge_requests/:eventable_id/resource_state_events/:event_id":                 {{note: "of a request", values: with{"event_id": "=state event of a request"}}},
		"GET /projects/:id/issues/:eventable_id/resource_iteration_events/:event_id":                     {{status: http.StatusNotFound}},
		"GET /projects/:id/merge_requests/:eventable_id/resource_milestone_events/:event_id":             {{note: "of a request", values: with{"event_id": "=milestone event of a request"}}},
		"POST /projects/:id/issues/:noteable_id/award_emoji":                                             {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/issues/:noteable_id/award_emoji/:award_id":                                 {{note: "developer's"}},
		"POST /projects/:id/issues/:noteable_id/notes/:note_id/award_emoji":                              {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/issues/:noteable_id/notes/:note_id/award_emoji/:award_id":                  {{note: "developer's"}},
		"POST /projects/:id/merge_requests/:noteable_id/award_emoji":                                     {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/merge_requests/:noteable_id/award_emoji/:award_id":                         {{note: "developer's"}},
		"POST /projects/:id/merge_requests/:noteable_id/notes/:note_id/award_emoji":                      {{body: obj{"name": "heart"}}},
		"DELETE /projects/:id/merge_requests/:noteable_id/notes/:note_id/award_emoji/:award_id":          {{note: "developer's", values: with{"award_id": "=award on a note of a request"}}},
		"GET /projects/:id/merge_requests/:noteable_id/notes/:note_id/award_emoji/:award_id":             {{note: "developer's", values: with{"award_id": "=award on a note of a request"}}},
		"PUT /projects/:id/merge_requests/:noteable_id/notes/:note_id":                                   {{note: "developer's", body: obj{"body": "Other"}}},
		"DELETE /projects/:id/merge_requests/:noteable_id/notes/:note_id":                                {{note: "developer's"}},

		"POST /projects/:id/issues/:issue_iid/subscribe":                   {{}, {note: "confidential", values: with{"issue_iid": "=confidential"}}},
		"POST /projects/:id/issues/:issue_iid/unsubscribe":                 {{status: http.StatusNotModified}},
		"POST /projects/:id/issues/:issue_iid/todo":                        {{note: "confidential", values: with{"issue_iid": "=confidential"}}},
		"POST /projects/:id/merge_requests/:merge_request_iid/subscribe":   {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/unsubscribe": {{status: http.StatusNotModified}},
		"POST /projects/:id/merge_requests/:merge_request_iid/todo":        {{}},
		"POST /projects/:id/labels/:name/subscribe":                        {{}},
		"POST /projects/:id/labels/:name/unsubscribe":                      {{status: http.StatusNotModified}},
		"POST /groups/:id/labels/:name/subscribe":                          {{}},
		"POST /groups/:id/labels/:name/unsubscribe":                        {{status: http.StatusNotModified}},
		"POST /todos/:id/mark_as_done":                                     {{in: "project"}},
		"PUT /notification_settings":                                       {{body: obj{"level": "watch"}}},
		"PUT /groups/:id/notification_settings":                            {{body: obj{"level": "custom", "new_note": true}}},
		"PUT /projects/:id/notification_settings":                          {{body: obj{"level": "mention"}}},
		"GET /users/:id/events":                                            {{}},
		"POST /todos/mark_as_done":                                         {{}},
		"POST /snippets":                                                   {{body: aSnippet("private")}},
		"GET /snippets/:id":                                                {{}, {note: "private", values: with{"id": "=private snippet"}}},
		"PUT /snippets/:id":                                                {{body: obj{"title": "Other"}}, {note: "private", values: with{"id": "=private snippet"}, body: obj{"title": "Other"}}},
		"DELETE /snippets/:id":                                             {{}, {note: "private", values: with{"id": "=private snippet"}}},
		"GET /snippets/:id/raw":                                            {{}, {note: "private", values: with{"id": "=private snippet"}}},
		"GET /snippets/:id/files/:ref/:file_path/raw":                      {{values: with{"ref": "main", "file_path": "hello.txt"}}},
		"GET /snippets/:id/user_agent_detail":                              {{status: http.StatusNotFound}}, // created without one
		"GET /projects/:id/snippets/:snippet_id/user_agent_detail":         {{status: http.StatusNotFound}},
		"POST /projects/:id/snippets":                                      {{body: aSnippet("private")}},
		"GET /projects/:id/snippets/:snippet_id":                           {{}, {note: "private", values: with{"snippet_id": "=private"}}},
		"PUT /projects/:id/snippets/:snippet_id":                           {{note: "reporter's", body: obj{"title": "Other"}}, {note: "private", values: with{"snippet_id": "=private"}, body: obj{"title": "Other"}}},
		"DELETE /projects/:id/snippets/:snippet_id":                        {{note: "reporter's"}, {note: "private", values: with{"snippet_id": "=private"}}},
		"GET /projects/:id/snippets/:snippet_id/raw":                       {{}, {note: "private", values: with{"snippet_id": "=private"}}},
		"GET /projects/:id/snippets/:snippet_id/files/:ref/:file_path/raw": {{values: with{"ref": "main", "file_path": "hello.txt"}}},
		"POST /projects/:id/wikis":                                         {{body: obj{"title": "new", "content": "x"}}},
		"PUT /projects/:id/wikis/:slug":                                    {{body: obj{"content": "other"}}},
		"DELETE /projects/:id/wikis/:slug":                                 {{}},
		"POST /projects/:id/wikis/attachments":                             {{body: obj{"file": attached{"logo.png", "not a picture"}}}},
		"POST /groups/:id/wikis":                                           {{body: obj{"title": "new", "content": "x"}}},
		"PUT /groups/:id/wikis/:slug":                                      {{body: obj{"content": "other"}}},
		"DELETE /groups/:id/wikis/:slug":                                   {{}},
		"POST /groups/:id/wikis/attachments":                               {{body: obj{"file": attached{"logo.png", "not a picture"}}}},

		"POST /projects/:id/merge_requests":                                                                  {{body: obj{"title": "New", "source_branch": "spare", "target_branch": "main"}}},
		"PUT /projects/:id/merge_requests/:merge_request_iid":                                                {{body: obj{"title": "Other"}}},
		"DELETE /projects/:id/merge_requests/:merge_request_iid":                                             {{}},
		"POST /projects/:id/approvals":                                                                       {{body: obj{"reset_approvals_on_push": false}}},
		"PUT /projects/:id/merge_request_approval_setting":                                                   {{body: obj{"allow_author_approval": true}}},
		"PUT /groups/:id/merge_request_approval_setting":                                                     {{body: obj{"allow_author_approval": true}}},
		"POST /projects/:id/approval_rules":                                                                  {{body: obj{"name": "new", "approvals_required": 1}}},
		"PUT /projects/:id/approval_rules/:approval_rule_id":                                                 {{body: obj{"name": "other"}}},
		"DELETE /projects/:id/approval_rules/:approval_rule_id":                                              {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/approval_rules":                                {{body: obj{"name": "new", "approvals_required": 1}}},
		"PUT /projects/:id/merge_requests/:merge_request_iid/approval_rules/:approval_rule_id":               {{values: with{"approval_rule_id": "=rule of merge request"}, body: obj{"name": "other"}}},
		"DELETE /projects/:id/merge_requests/:merge_request_iid/approval_rules/:approval_rule_id":            {{values: with{"approval_rule_id": "=rule of merge request"}}},
		"GET /projects/:id/merge_requests/:merge_request_iid/approval_rules/:approval_rule_id":               {{values: with{"approval_rule_id": "=rule of merge request"}}},
		"POST /projects/:id/merge_requests/:merge_request_iid/blocks":                                        {{body: obj{"blocking_merge_request_id": "=other merge request"}}},
		"DELETE /projects/:id/merge_requests/:merge_request_iid/blocks/:block_id":                            {{}},
		"GET /projects/:id/integrations/:slug":                                                               {{values: with{"slug": "asana"}}},
		"GET /groups/:id/integrations/:slug":                                                                 {{values: with{"slug": "asana"}}},
		"DELETE /groups/:id/integrations/:slug":                                                              {{values: with{"slug": "asana"}}},
		"DELETE /projects/:id/integrations/:slug":                                                            {{values: with{"slug": "asana"}}},
		"POST /projects/:id/external_status_checks":                                                          {{body: obj{"name": "new", "external_url": "https://checks.invalid/new"}}},
		"PUT /projects/:id/external_status_checks/:check_id":                                                 {{body: obj{"name": "other"}}},
		"DELETE /projects/:id/external_status_checks/:check_id":                                              {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/status_check_responses":                        {{body: obj{"sha": "=head of merge request", "external_status_check_id": "=:check_id", "status": "passed"}}},
		"POST /projects/:id/merge_requests/:merge_request_iid/status_checks/:external_status_check_id/retry": {{status: http.StatusUnprocessableEntity}}, // it did not fail
		"POST /projects/:id/merge_trains/merge_requests/:merge_request_iid":                                  {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/approve":                                       {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/unapprove":                                     {{status: http.StatusNotFound}},
		"PUT /projects/:id/merge_requests/:merge_request_iid/reset_approvals":                                {{status: http.StatusUnauthorized}}, // for bots
		"PUT /projects/:id/merge_requests/:merge_request_iid/merge":                                          {{}},
		"PUT /projects/:id/merge_requests/:merge_request_iid/rebase":                                         {{}},
		"POST /projects/:id/merge_requests/:merge_request_iid/cancel_merge_when_pipeline_succeeds":           {{status: http.StatusNotAcceptable}},
	}
	maps.Copy(all, epicSamples())
	maps.Copy(all, integrationSamples())
	maps.Copy(all, hookSamples())
	maps.Copy(all, releaseSamples())
	maps.Copy(all, packageSamples())
	maps.Copy(all, registrySamples())
	pipelineSamples(all)
	return all
}

// Public keys without their private halves.
const (
	newKey         = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOpWpGgWYrjJ1RmbwQ4eHvwrLSqOB6vKOWc6K3v/Ucj8"
	ownFingerprint = "cmFUXO0NTK28xcpIfSj441aNcnvuu5jYr7cwqJnlgWs"
)

func commits(branch string) sample {
	return sample{note: "to " + branch, body: obj{
		"branch": branch, "commit_message": "New", "actions": []obj{{"action": "create", "file_path": "new.md", "content": "x"}},
	}}
}

func file(branch, path string) sample {
	return sample{note: "to " + branch, values: with{"file_path": path}, body: obj{
		"branch": branch, "commit_message": "New", "content": "other",
	}}
}

// nextMonth is a day on which what was made today may still be used.
func nextMonth() string { return time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly) }

// row is one line of the matrix to be: a sample of a route in a place.
type row struct {
	route  api.Info
	sample sample
	place  *place
}

// reads reports whether the route changes nothing.
func reads(r api.Info) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// key is the route's name in tables.
func key(r api.Info) string { return r.Method + " " + r.Path }

// title names the row without its place.
func (r row) title() string {
	if r.sample.note == "" {
		return key(r.route)
	}
	return key(r.route) + " (" + r.sample.note + ")"
}

// rows returns every sample of a route in every place it is for; no sample, no rows.
func (w *world) rows(route api.Info, all map[string][]sample) []row {
	list, ok := all[key(route)]
	if !ok && reads(route) {
		list = []sample{{}}
		for _, p := range route.Params {
			if p.Required && !p.InPath {
				list = nil
			}
		}
	}
	var out []row
	for _, s := range list {
		places := w.instance
		switch {
		case s.in == "group" || strings.HasPrefix(route.Path, "/groups/:id"):
			places = w.groups
		case s.in == "project" || strings.HasPrefix(route.Path, "/projects/:id"):
			places = w.projects
		}
		for _, p := range places {
			out = append(out, row{route, s, p})
		}
	}
	return out
}

// before makes the request that the administrator makes before that of the row.
func (r row) before() *request {
	method, path, ok := strings.Cut(r.sample.first, " ")
	if !ok {
		return nil
	}
	for name, value := range r.place.values {
		path = strings.ReplaceAll(path, "="+name, value)
	}
	return &request{as: "admin", method: method, path: path}
}

// request makes the request of a row; missing names a part of the path that nothing is
// known for.
func (r row) request() (q request, missing string) {
	var words, path []string
	for part := range strings.SplitSeq(strings.TrimPrefix(r.route.Path, "/"), "/") {
		part, _, _ = strings.Cut(part, "{.") // a suffix may be left out
		name, captured := strings.CutPrefix(part, ":")
		if !captured {
			name, captured = strings.CutPrefix(part, "*") // all that follows
		}
		if !captured {
			words, path = append(words, part), append(path, part)
			continue
		}
		value := r.look(r.sample.values[name])
		for i := len(words) - 1; i >= 0 && value == ""; i-- {
			value = r.place.values[words[i]+"/:"+name]
			if name == "id" {
				break
			}
		}
		if value == "" {
			value = r.place.values[":"+name]
		}
		if value == "" {
			return q, name
		}
		path = append(path, url.PathEscape(value))
	}
	q = request{method: r.route.Method, path: "/" + strings.Join(path, "/")}
	if r.sample.query != "" {
		name, value, _ := strings.Cut(r.sample.query, "=")
		if strings.HasPrefix(value, "=") {
			value = url.QueryEscape(r.look(value))
		}
		q.path += "?" + name + "=" + value
	}
	if r.sample.body != nil {
		q.body = obj{}
		for name, value := range r.sample.body {
			if s, ok := value.(string); ok {
				value = r.look(s)
			}
			q.body[name] = value
		}
	}
	return q, ""
}

// look returns a value of the place for "=name", and anything else as it is.
func (r row) look(value string) string {
	if name, ok := strings.CutPrefix(value, "="); ok {
		return r.place.values[name]
	}
	return value
}
