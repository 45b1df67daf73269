package runner

// ServesSQL returns a condition on rows of projects (alias) that holds for the projects whose
// jobs a runner may run, as far as the project and the runner's place say; whether their
// builds are enabled, and what else a job asks for, is for the caller to add.
func ServesSQL(r *Runner, project string) (cond string, args []any) {
	switch r.Type {
	case InstanceType:
		return project + ".shared_runners_enabled AND " + letsInstanceRunnersSQL(project+".namespace_id"), nil
	case GroupType:
		return "(" + project + ".group_runners_enabled AND EXISTS (SELECT 1 FROM namespace_ancestors served WHERE served.namespace_id = " +
			project + ".namespace_id AND served.ancestor_id = ?))", []any{r.NamespaceID}
	}
	return "EXISTS (SELECT 1 FROM runner_projects served WHERE served.project_id = " + project + ".id AND served.runner_id = ?)", []any{r.ID}
}

// letsInstanceRunnersSQL returns a condition that holds for the namespace in column where no group above it keeps instance runners out of
// all its projects.
func letsInstanceRunnersSQL(column string) string {
	return "NOT EXISTS (SELECT 1 FROM namespace_ancestors la JOIN groups lg ON lg.namespace_id = la.ancestor_id WHERE la.namespace_id = " + column +
		" AND lg.shared_runners_setting = 'disabled_and_unoverridable')"
}

// servedBySQL returns a condition on rows of runners (alias r) that holds for those that serve a
// project, with all that it is made of.
var servedBySQL = `(r.runner_type = 'instance_type' AND EXISTS (SELECT 1 FROM projects sp WHERE sp.id = ? AND sp.shared_runners_enabled AND ` + letsInstanceRunnersSQL("sp.namespace_id") + `)
	OR r.runner_type = 'group_type' AND EXISTS (SELECT 1 FROM projects sp JOIN namespace_ancestors sa ON sa.namespace_id = sp.namespace_id
		WHERE sp.id = ? AND sp.group_runners_enabled AND sa.ancestor_id = r.namespace_id)
	OR r.runner_type = 'project_type' AND EXISTS (SELECT 1 FROM runner_projects sr WHERE sr.runner_id = r.id AND sr.project_id = ?))`
