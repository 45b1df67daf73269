package importexport

import (
	"strings"
	"time"

	"tenon/internal/core/authz"
)

// version is that of the format.
const version = "0.2.4"

// format is the release whose archives these are like.
const format = "16.0.0-ee"

// file is one file of the tree.
type file struct {
	name   string
	single bool // one object or null
}

// files are those of a project, in the order in which an importer reads them. Those that no package describes are empty.
var files = []file{
	{"project_members", false},
	{"labels", false},
	{"milestones", false},
	{"issues", false},
	{"snippets", false},
	{"releases", false},
	{"merge_requests", false},
	{"external_pull_requests", false},
	{"commit_notes", false},
	{"ci_pipelines", false},
	{"auto_devops", true},
	{"pipeline_schedules", false},
	{"container_expiration_policy", true},
	{"protected_branches", false},
	{"protected_tags", false},
	{"project_feature", true},
	{"custom_attributes", false},
	{"prometheus_metrics", false},
	{"project_badges", false},
	{"ci_cd_settings", true},
	{"error_tracking_setting", true},
	{"metrics_setting", true},
	{"boards", false},
	{"service_desk_setting", true},
	{"protected_environments", false},
	{"security_setting", true},
	{"push_rule", true},
	{"approval_rules", false},
}

// laterFiles are those that only later releases write, of areas that this server does not have. They are counted as lost.
var laterFiles = []file{{"vulnerabilities", false}}

// countedFiles are those of what archives of projects name and do not have, so that an import counts it as lost. Importers of other servers pass over them.
var countedFiles = []file{{"packages", false}}

// groupFiles are those of each group, in the same order.
var groupFiles = []file{
	{"members", false},
	{"labels", false},
	{"milestones", false},
	{"badges", false},
	{"iterations_cadences", false},
	{"epics", false},
	{"boards", false},
	{"epic_boards", false},
	{"namespace_settings", true},
}

// The relations of the project or group itself, which have files of their own places.
const (
	root      = "project"
	groupRoot = "group"
)

// maxFileName bounds the first part of the name of an archive, as the format does.
const maxFileName = 51

// fileName is the name that an archive has for those who download it.
func fileName(at authz.Place, now time.Time) string {
	name := strings.ReplaceAll(now.UTC().Format("2006-01-02_15-04-.000_"), ".", "") + strings.ReplaceAll(at.Path, "/", "_")
	return name[:min(len(name), maxFileName)] + "_export.tar.gz"
}
