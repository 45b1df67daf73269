package ciconfig

import (
	"fmt"
	"slices"
	"strings"
)

// maxCaches is how many caches a job may have.
const maxCaches = 4

func (b *builder) image(where string, v *value) *Image {
	if v.isNull() {
		return nil
	}
	if v.isScalar() {
		return &Image{Name: v.scalarText()}
	}
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash or a string")
		return nil
	}
	b.knows(where, v, []string{"name", "entrypoint", "pull_policy", "docker", "kubernetes", "ports"})
	i := b.container(where, v)
	return &i
}

// container reads what images and services have alike.
func (b *builder) container(where string, v *value) Image {
	if v.get("name").isNull() {
		b.bad(v.at, where+" name can't be blank")
	}
	out := Image{
		Name: b.text(where+" name", v.get("name")), Entrypoint: b.textOrTexts(where+" entrypoint", v.get("entrypoint")),
		PullPolicy: b.textOrTexts(where+":pull_policy config", v.get("pull_policy")),
	}
	for _, p := range out.PullPolicy {
		if p != "always" && p != "if-not-present" && p != "never" {
			b.bad(v.get("pull_policy").at, where+":pull_policy config should be one of: always, if-not-present, never")
		}
	}
	if d := v.get("docker"); !d.isNull() && b.hash(where+":docker", d, "platform", "user") {
		out.Platform, out.User = b.text(where+":docker platform", d.get("platform")), b.text(where+":docker user", d.get("user"))
	}
	if k := v.get("kubernetes"); !k.isNull() && b.hash(where+":kubernetes", k, "user") {
		out.Kubernetes = b.text(where+":kubernetes user", k.get("user"))
	}
	return out
}

func (b *builder) services(where string, v *value) []ServiceImage {
	if v.isNull() {
		return nil
	}
	if v.kind != sequence {
		b.bad(v.at, where+" config should be an array")
		return nil
	}
	out := make([]ServiceImage, 0, len(v.items))
	for _, i := range v.items {
		switch {
		case i.isScalar():
			out = append(out, ServiceImage{Image: Image{Name: i.scalarText()}})
		case i.kind == mapping:
			at := where + ":service"
			b.knows(at, i, []string{"name", "entrypoint", "pull_policy", "docker", "kubernetes", "ports", "alias", "command", "variables"})
			out = append(out, ServiceImage{
				Image: b.container(at, i), Alias: b.text(at+" alias", i.get("alias")), Command: b.textOrTexts(at+" command", i.get("command")),
				Variables: b.variables(at+":variables", i.get("variables")),
			})
		default:
			b.bad(i.at, where+":service config should be a hash or a string")
		}
	}
	return out
}

func (b *builder) artifacts(where string, v *value) *Artifacts {
	if v.isNull() || !b.hash(where, v, "name", "untracked", "paths", "reports", "when", "expire_in", "expose_as", "exclude", "public", "access") {
		return nil
	}
	out := &Artifacts{
		Name: b.text(where+" name", v.get("name")), Paths: b.texts(where+" paths", v.get("paths")), Exclude: b.texts(where+" exclude", v.get("exclude")),
		Untracked: b.boolean(where+" untracked", v.get("untracked")), When: b.oneOf(where+" when", v.get("when"), "on_success", "on_failure", "always"),
		ExpireIn: b.text(where+" expire in", v.get("expire_in")), ExposeAs: b.pure(where+" expose as", v.get("expose_as")),
		Access: b.oneOf(where+" access", v.get("access"), "all", "developer", "maintainer", "none"),
	}
	if _, ok := ParseDuration(out.ExpireIn); out.ExpireIn != "" && out.ExpireIn != "never" && !ok {
		b.bad(v.get("expire_in").at, where+" expire in should be a duration")
	}
	if out.ExposeAs != "" && out.Paths == nil {
		b.bad(v.at, where+" paths can't be blank")
	}
	if p := v.get("public"); !p.isNull() {
		if out.Access != "" {
			b.bad(p.at, where+" config these keys cannot be used together: access, public")
		} else if !b.boolean(where+" public", p) {
			out.Access = "developer"
		}
	}
	if r := v.get("reports"); !r.isNull() {
		out.Reports = b.reports(where+":reports", r)
	}
	return out
}

func (b *builder) caches(where string, v *value) []Cache {
	if v.isNull() {
		return nil
	}
	items := []*value{v}
	if v.kind == sequence {
		items = v.items
	}
	if len(items) > maxCaches {
		b.bad(v.at, fmt.Sprintf("%s config no more than %d caches can be created", where, maxCaches))
	}
	var out []Cache
	for _, i := range items {
		if i.kind == mapping && len(i.keys) == 0 {
			continue // a job that takes over no cache
		}
		if b.hash(where, i, "key", "paths", "untracked", "policy", "when", "fallback_keys", "unprotect") {
			out = append(out, b.cache(where, i))
		}
	}
	return out
}

func (b *builder) cache(where string, v *value) Cache {
	out := Cache{
		Paths: b.texts(where+":paths config", v.get("paths")), Untracked: b.boolean(where+":untracked config", v.get("untracked")),
		Policy: b.text(where+" policy", v.get("policy")), When: b.oneOf(where+" when", v.get("when"), "on_success", "on_failure", "always"),
		FallbackKeys: b.texts(where+":fallback_keys config", v.get("fallback_keys")), Unprotect: b.boolean(where+":unprotect config", v.get("unprotect")),
	}
	if p := out.Policy; p != "" && p != "pull" && p != "push" && p != "pull-push" && !strings.HasPrefix(p, "$") {
		b.bad(v.get("policy").at, where+" policy should be a variable or one of: pull-push, push, pull")
	}
	if len(out.FallbackKeys) > 5 {
		b.bad(v.get("fallback_keys").at, where+":fallback_keys config has too many entries (maximum 5)")
	}
	k := v.get("key")
	switch at := where + ":key"; {
	case k.isNull():
	case k.isScalar():
		if out.Key = k.scalarText(); strings.Contains(out.Key, "/") || out.Key == "." || out.Key == ".." {
			b.bad(k.at, at+" should not be one of: . or .., or contain: /")
		}
	case k.kind != mapping:
		b.bad(k.at, at+" should be a hash, a string or a symbol")
	default:
		b.knows(at, k, []string{"files", "files_commits", "prefix"})
		out.KeyPrefix = b.text(at+" prefix", k.get("prefix"))
		out.KeyFiles = slices.Concat(b.texts(at+":files config", k.get("files")), b.texts(at+":files_commits config", k.get("files_commits")))
		if len(out.KeyFiles) == 0 || len(out.KeyFiles) > 2 {
			b.bad(k.at, at+":files config requires 1 to 2 items")
		}
	}
	return out
}

func (b *builder) environment(where string, v *value) *Environment {
	if v.isNull() {
		return nil
	}
	if v.isScalar() {
		return &Environment{Name: v.scalarText()}
	}
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash or a string")
		return nil
	}
	b.knows(where, v, []string{"name", "url", "action", "on_stop", "auto_stop_in", "kubernetes", "deployment_tier"})
	e := &Environment{
		Name: b.text(where+" name", v.get("name")), URL: b.pure(where+" url", v.get("url")), OnStop: b.pure(where+" on stop", v.get("on_stop")),
		AutoStopIn: b.text(where+" auto stop in", v.get("auto_stop_in")),
		Action:     b.pure(where+" action", v.get("action")), Tier: b.pure(where+" deployment tier", v.get("deployment_tier")),
	}
	if e.Name == "" {
		b.bad(v.at, where+" name can't be blank")
	}
	if e.Action != "" && !slices.Contains([]string{"start", "stop", "prepare", "verify", "access"}, e.Action) {
		b.bad(v.get("action").at, where+" action should be start, stop, prepare, verify, or access")
	}
	if e.Tier != "" && !strings.Contains(e.Tier, "$") && !slices.Contains([]string{"production", "staging", "testing", "development", "other"}, e.Tier) {
		b.bad(v.get("deployment_tier").at, where+" deployment tier must be one of production, staging, testing, development, other")
	}
	if _, ok := ParseDuration(e.AutoStopIn); e.AutoStopIn != "" && e.AutoStopIn != "never" && !strings.Contains(e.AutoStopIn, "$") && !ok {
		b.bad(v.get("auto_stop_in").at, where+" auto stop in should be a duration")
	}
	if k := v.get("kubernetes"); !k.isNull() && b.hash(where+":kubernetes", k, "namespace", "agent", "flux_resource_path", "managed_resources", "dashboard") {
		e.Namespace = b.text(where+":kubernetes namespace", k.get("namespace"))
	}
	return e
}

func (b *builder) release(where string, v *value) *Release {
	if v.isNull() || !b.hash(where, v, "tag_name", "tag_message", "name", "description", "ref", "milestones", "released_at", "assets") {
		return nil
	}
	r := &Release{
		TagName: b.text(where+" tag name", v.get("tag_name")), TagMessage: b.text(where+" tag message", v.get("tag_message")), Name: b.text(where+" name", v.get("name")),
		Description: b.text(where+" description", v.get("description")), Ref: b.text(where+" ref", v.get("ref")),
		Milestones: b.textOrTexts(where+" milestones", v.get("milestones")), ReleasedAt: b.text(where+" released at", v.get("released_at")),
	}
	if r.TagName == "" {
		b.bad(v.at, where+" tag name can't be blank")
	}
	if r.Description == "" {
		b.bad(v.at, where+" description can't be blank")
	}
	assets := v.get("assets")
	if assets.isNull() || !b.hash(where+":assets", assets, "links") {
		return r
	}
	links := assets.get("links")
	if links.isNull() || links.kind != sequence {
		b.bad(assets.at, where+":assets links should be an array of hashes")
		return r
	}
	for _, l := range links.items {
		at := where + ":assets:links:link"
		if b.hash(at, l, "name", "url", "filepath", "link_type") {
			r.Links = append(r.Links, ReleaseLink{
				Name: b.text(at+" name", l.get("name")), URL: b.text(at+" url", l.get("url")), FilePath: b.text(at+" filepath", l.get("filepath")),
				Type: b.oneOf(at+" link type", l.get("link_type"), "other", "runbook", "image", "package"),
			})
		}
	}
	return r
}

func (b *builder) idTokens(where string, v *value) []IDToken {
	if v.isNull() {
		return nil
	}
	if v.kind != mapping {
		b.bad(v.at, where+" config should be a hash")
		return nil
	}
	var out []IDToken
	for i, k := range v.keys {
		at := where + ":" + k.name
		if !b.hash(at, v.items[i], "aud") {
			continue
		}
		audience := b.textOrTexts(at+" aud", v.items[i].get("aud"))
		if len(audience) == 0 {
			b.bad(v.items[i].at, at+" config missing required keys: aud")
		}
		out = append(out, IDToken{k.name, audience})
	}
	return out
}

// retryReasons are the failures after which a job may start again.
var retryReasons = []string{
	"always", "unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure", "runner_system_failure", "runner_unsupported",
	"stale_schedule", "job_execution_timeout", "archived_failure", "unmet_prerequisites", "scheduler_failure", "data_integrity_failure",
}

func (b *builder) retry(where string, v *value) Retry {
	switch {
	case v.isNull():
		return Retry{}
	case v.kind == integer:
		return Retry{Max: b.integer(where+" config", v, 0, 2)}
	case v.kind != mapping:
		b.bad(v.at, where+" config has to be either an integer or a hash")
		return Retry{}
	}
	b.knows(where, v, []string{"max", "when", "exit_codes"})
	r := Retry{Max: 2, When: b.textOrTexts(where+" when", v.get("when")), ExitCodes: b.exitCodes(where+" exit codes", v.get("exit_codes"))}
	if m := v.get("max"); !m.isNull() {
		r.Max = b.integer(where+" max", m, 0, 2)
	}
	for _, w := range r.When {
		if !slices.Contains(retryReasons, w) {
			b.bad(v.get("when").at, where+" when unknown value: "+w)
		}
	}
	if slices.Contains(r.When, "always") {
		r.When, r.ExitCodes = nil, nil
	}
	return r
}

// exitCodes reads one code or a list of them.
func (b *builder) exitCodes(what string, v *value) []int {
	if v.isNull() {
		return nil
	}
	items := []*value{v}
	if v.kind == sequence {
		items = v.items
	}
	out := make([]int, 0, len(items))
	for _, i := range items {
		if i.kind != integer {
			b.bad(i.at, what+" should be an array of integers or an integer")
			return nil
		}
		out = append(out, b.integer(what, i, 0, 1<<32-1))
	}
	return out
}
