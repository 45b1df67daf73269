package app

import (
	"maps"
	"net/http"
)

// aRelease is what a release of a new tag is made of. No rule protects the tag.
func aRelease(tag string) obj {
	return obj{"tag_name": tag, "ref": "main", "name": "Release of " + tag, "description": "What is *new*"}
}

// projectRelease makes a release of a project.
func (w *world) projectRelease(p *place, path string) {
	with := aRelease("r1")
	with["assets"] = obj{"links": []obj{{"name": "tool", "url": "https://example.com/tool", "direct_asset_path": "/bin/tool", "link_type": "package"}}}
	made := w.do("owner", "POST", path+"/releases", with)
	link := made["assets"].(map[string]any)["links"].([]any)[0].(map[string]any)
	maps.Copy(p.values, map[string]string{"releases/:tag_name": "r1", ":link_id": number(link, "id"), ":direct_asset_path": "bin/tool", ":suffix_path": "assets/links"})
}

// releaseSamples has samples for releases.
func releaseSamples() map[string][]sample {
	const path, one = "/projects/:id/releases", "/projects/:id/releases/:tag_name"
	return map[string][]sample{
		"POST " + path:                      {{body: aRelease("r2")}},
		"PUT " + one:                        {{body: obj{"name": "Other"}}},
		"DELETE " + one:                     {{}},
		"GET " + path + "/permalink/latest": {{status: http.StatusFound}},
		"GET " + path + "/permalink/latest/*suffix_path": {{status: http.StatusFound}},
		"GET " + one + "/downloads/*direct_asset_path":   {{status: http.StatusFound}},
		"POST " + one + "/evidence":                      {{}},
		"POST " + one + "/assets/links":                  {{body: obj{"name": "other", "url": "https://example.com/other"}}},
		"PUT " + one + "/assets/links/:link_id":          {{body: obj{"name": "other"}}},
		"DELETE " + one + "/assets/links/:link_id":       {{}},
	}
}
