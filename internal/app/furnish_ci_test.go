package app

import "maps"

// aVariable has a key of its own in each place.
func aVariable(of string) obj { return obj{"key": "KEY_" + of, "value": "value"} }

// furnishCI makes what the instance has for jobs, and notes what samples name of it.
func (w *world) furnishCI(common map[string]string) {
	w.do("admin", "POST", "/admin/ci/variables", aVariable("instance"))
	made := w.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type", "description": "Of all"})
	common["visitors"] = number(w.do("owner", "POST", "/groups", obj{"name": "Visitors", "path": "visitors", "visibility": "public"}), "id")
	spare := w.do("owner", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": common["own"]})
	common["runners/:id"], common["runner token"] = number(made, "id"), made["token"].(string)
	common["spare runner"], common["variables/:key"] = number(spare, "id"), "KEY_instance"
	common["registration token"] = w.do("admin", "POST", "/runners/reset_registration_token", nil)["token"].(string)
	w.do("", "POST", "/runners/verify", obj{"token": common["runner token"], "system_id": "s_1"})
}

// projectCI makes what a project has for jobs.
func (w *world) projectCI(p *place, path, id string) {
	w.do("owner", "POST", path+"/variables", aVariable(p.name))
	made := w.do("owner", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": id})
	w.do("admin", "POST", "/projects/"+p.values["own"]+"/runners", obj{"runner_id": number(made, "id")})
	trigger := w.do("owner", "POST", path+"/triggers", obj{"description": "Nightly"})
	file := w.do("owner", "POST", path+"/secure_files", obj{"name": "upload-keystore.jks", "file": attached{"upload-keystore.jks", "content"}})
	visitor := w.do("owner", "POST", "/projects", obj{"name": "Visitor of " + p.name, "visibility": "public"})
	visitors := w.do("owner", "POST", "/groups", obj{"name": "Visitors of " + p.name, "path": "visitors-" + p.name, "visibility": "public"})
	w.do("owner", "POST", path+"/job_token_scope/allowlist", obj{"target_project_id": visitor["id"]})
	w.do("owner", "POST", path+"/job_token_scope/groups_allowlist", obj{"target_group_id": visitors["id"]})
	schedule := w.do("owner", "POST", path+"/pipeline_schedules", obj{"description": "Nightly of " + p.name, "ref": "main", "cron": "0 1 1 1 *"})
	w.do("owner", "POST", path+"/pipeline_schedules/"+number(schedule, "id")+"/variables", aVariable(p.name))
	w.environments(p, path)
	list := w.do("owner", "POST", path+"/feature_flags_user_lists", obj{"name": "Friends", "user_xids": "ann,bob"})
	w.do("owner", "POST", path+"/feature_flags_user_lists", obj{"name": "Spare", "user_xids": "carl"})
	w.do("owner", "POST", path+"/feature_flags", obj{"name": "checkout", "version": "new_version_flag", "strategies": []obj{
		{"name": "gitlabUserList", "parameters": obj{}, "user_list_id": list["id"], "scopes": []obj{{"environment_scope": "production"}}},
	}})
	client := w.do("owner", "POST", path+"/feature_flags_client", nil)
	maps.Copy(p.values, map[string]string{
		":feature_flag_name": "checkout", "feature_flags_user_lists/:iid": "2", "flags client": client["instance_id"].(string), "flags project": id,
		":pipeline_schedule_id": number(schedule, "id"), ":target_project_id": number(visitor, "id"), ":target_group_id": number(visitors, "id"),
		"variables/:key": "KEY_" + p.name, ":runner_id": number(made, "id"), ":trigger_id": number(trigger, "id"), ":secure_file_id": number(file, "id"),
	})
}

// environments makes environments of a project with deployments.
func (w *world) environments(p *place, path string) {
	head := w.do("owner", "GET", path+"/repository/commits/main", nil)["id"].(string)
	deploy := func(status string) map[string]any {
		return w.do("owner", "POST", path+"/deployments", obj{"environment": "production", "sha": head, "ref": "main", "tag": false, "status": status})
	}
	failed, last := deploy("failed"), deploy("success")
	stopped := w.do("owner", "POST", path+"/environments", obj{"name": "review/old"})
	w.do("owner", "POST", path+"/protected_environments", obj{"name": "guarded", "deploy_access_levels": []obj{{"access_level": 40}}})
	freeze := w.do("owner", "POST", path+"/freeze_periods", obj{"freeze_start": "0 23 * * 5", "freeze_end": "0 7 * * 1"})
	w.do("owner", "POST", path+"/environments/"+number(stopped, "id")+"/stop", nil)
	maps.Copy(p.values, map[string]string{
		":environment_id": number(last["environment"].(map[string]any), "id"), "stopped environment": number(stopped, "id"),
		"protected_environments/:name": "guarded", ":freeze_period_id": number(freeze, "id"), ":deployment_id": number(last, "id"), "failed deployment": number(failed, "id"), "deployed": head,
	})
}
