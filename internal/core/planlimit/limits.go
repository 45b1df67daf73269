package planlimit

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"tenon/internal/base/errs"
)

// Limits are what a plan allows; 0 is no limit. Each field is a limit, and its tags are all that there is to know of it:
//
//	json     its name
//	default  its value in a plan that was not changed
//	doc      what it means
//
// and where it is in force, exactly one of:
//
//	effect   what obeys it, beside the server's own bound where that has a number in own
//	area     it is stored, because the server does not have this area
//	later    it is stored, because this area is not there yet
type Limits struct {
	CIPipelineSize             int64 `json:"ci_pipeline_size" default:"0" own:"500" effect:"configurations" doc:"Maximum number of jobs in a pipeline"`
	CIActiveJobs               int64 `json:"ci_active_jobs" default:"0" effect:"new pipelines" doc:"Maximum number of jobs in the active pipelines of a project"`
	CIActivePipelines          int64 `json:"ci_active_pipelines" default:"0" effect:"new pipelines" doc:"Maximum number of active pipelines of a project"`
	CIProjectSubscriptions     int64 `json:"ci_project_subscriptions" default:"2" area:"pipeline subscriptions" doc:"Maximum number of pipeline subscriptions of a project"`
	CIPipelineSchedules        int64 `json:"ci_pipeline_schedules" default:"10" own:"50" effect:"new pipeline schedules" doc:"Maximum number of pipeline schedules of a project"`
	CINeedsSizeLimit           int64 `json:"ci_needs_size_limit" default:"50" own:"50" effect:"configurations" doc:"Maximum number of needs of a job"`
	CIRegisteredGroupRunners   int64 `json:"ci_registered_group_runners" default:"1000" effect:"new runners" doc:"Maximum number of runners of a group"`
	CIRegisteredProjectRunners int64 `json:"ci_registered_project_runners" default:"1000" effect:"runners that are assigned" doc:"Maximum number of runners of a project"`
	ConanMaxFileSize           int64 `json:"conan_max_file_size" default:"3221225472" later:"packages of further types" doc:"Maximum size of a Conan package file in bytes"`
	GenericPackagesMaxFileSize int64 `json:"generic_packages_max_file_size" default:"5368709120" own:"5368709120" effect:"uploads of generic packages" doc:"Maximum size of a generic package file in bytes"`
	HelmMaxFileSize            int64 `json:"helm_max_file_size" default:"5242880" later:"packages of further types" doc:"Maximum size of a Helm chart file in bytes"`
	MavenMaxFileSize           int64 `json:"maven_max_file_size" default:"3221225472" effect:"uploads of Maven packages" doc:"Maximum size of a Maven package file in bytes"`
	NPMMaxFileSize             int64 `json:"npm_max_file_size" default:"524288000" own:"524288000" effect:"uploads of npm packages" doc:"Maximum size of an NPM package file in bytes"`
	NuGetMaxFileSize           int64 `json:"nuget_max_file_size" default:"524288000" later:"packages of further types" doc:"Maximum size of a NuGet package file in bytes"`
	PipelineHierarchySize      int64 `json:"pipeline_hierarchy_size" default:"1000" effect:"jobs that trigger pipelines" doc:"Maximum number of pipelines in the hierarchy of a pipeline"`
	PyPIMaxFileSize            int64 `json:"pypi_max_file_size" default:"3221225472" effect:"uploads of Python packages" doc:"Maximum size of a PyPI package file in bytes"`
	TerraformModuleMaxFileSize int64 `json:"terraform_module_max_file_size" default:"1073741824" later:"packages of further types" doc:"Maximum size of a Terraform module file in bytes"`
	StorageSizeLimit           int64 `json:"storage_size_limit" default:"0" area:"purchased storage" doc:"Maximum storage of a top-level group in megabytes"`
}

// mostValue is the largest value of a limit, which every client reads as it is.
const mostValue = 1<<53 - 1

// Entry is a limit as the table has it.
type Entry struct {
	Name    string
	Default int64
	Own     int64 // the server's own bound, 0 where there is none or it counts something else
	Doc     string
	Effect  string // what obeys it; "" where it is only stored
	Area    string // that the server does not have
	Later   string // area that is not there yet

	index int
}

// Value returns the value in limits.
func (e *Entry) Value(l *Limits) int64 { return reflect.ValueOf(l).Elem().Field(e.index).Int() }

func (e *Entry) set(l *Limits, to int64) { reflect.ValueOf(l).Elem().Field(e.index).SetInt(to) }

// Table lists all limits in the order in which they are answered.
var Table = sync.OnceValue(func() []*Entry {
	number := func(tag reflect.StructTag, name string) int64 {
		text, ok := tag.Lookup(name)
		if !ok {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("planlimit: %s %q: %v", name, text, err))
		}
		return n
	}
	t := reflect.TypeFor[Limits]()
	var all []*Entry
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		all = append(all, &Entry{
			Name: tag.Get("json"), Default: number(tag, "default"), Own: number(tag, "own"), Doc: tag.Get("doc"),
			Effect: tag.Get("effect"), Area: tag.Get("area"), Later: tag.Get("later"), index: i,
		})
	}
	return all
})

// defaults are the limits of a plan that was not changed.
func defaults() Limits {
	var l Limits
	for _, e := range Table() {
		e.set(&l, e.Default)
	}
	return l
}

// apply sets limits by their names.
func (l *Limits) apply(values map[string]int64) error {
	var f errs.Fields
	for _, e := range Table() {
		value, ok := values[e.Name]
		if !ok {
			continue
		}
		f.Check(value >= 0, e.Name, "must be greater than or equal to 0")
		f.Check(value <= mostValue, e.Name, fmt.Sprintf("must be less than or equal to %d", mostValue))
		e.set(l, value)
	}
	return f.Err()
}

// Value is the text that is stored.
func (l Limits) Value() (driver.Value, error) {
	type plain Limits
	text, err := json.Marshal(plain(l))
	return string(text), err
}

// Scan reads the text. Limits that it lacks have their defaults.
func (l *Limits) Scan(src any) error {
	type plain Limits
	out := plain(defaults())
	var text []byte
	switch src := src.(type) {
	case string:
		text = []byte(src)
	case []byte:
		text = src
	default:
		return fmt.Errorf("read limits: %T is no text", src)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	*l = Limits(out)
	return nil
}

// Least returns the lower one of a limit and the server's own bound; a limit of 0 leaves that.
func Least(limit int64, own int) int {
	if limit <= 0 || limit > int64(own) {
		return own
	}
	return int(limit)
}
