package weburl

import (
	"net/url"
	"strconv"
)

// Tag is a tag of a project.
func (s *Site) Tag(path, tag string) string { return s.inside(path, "tags/"+escaped(tag)) }

// Releases lists the releases of a project.
func (s *Site) Releases(path string) string { return s.inside(path, "releases") }

// Release is the release of a tag.
func (s *Site) Release(path, tag string) string { return s.Releases(path) + "/" + url.PathEscape(tag) }

// EditRelease changes the release of a tag.
func (s *Site) EditRelease(path, tag string) string { return s.Release(path, tag) + "/edit" }

// ReleaseDownload leads to what a link of a release leads to, by its path, which begins with a slash.
func (s *Site) ReleaseDownload(path, tag, file string) string {
	return s.Release(path, tag) + "/downloads" + escaped(file)
}

// ReleaseEvidence is a piece of evidence of a release.
func (s *Site) ReleaseEvidence(path, tag string, id int64) string {
	return s.Release(path, tag) + "/evidences/" + strconv.FormatInt(id, 10) + ".json"
}

// ReleaseIssues lists the issues of the milestones of a release that are in a state.
func (s *Site) ReleaseIssues(path, tag, state string) string {
	return s.Issues(path) + "?" + url.Values{"release_tag": {tag}, "scope": {"all"}, "state": {state}}.Encode()
}

// ReleaseMergeRequests lists the merge requests of the milestones of a release that are in a state.
func (s *Site) ReleaseMergeRequests(path, tag, state string) string {
	return s.MergeRequests(path) + "?" + url.Values{"release_tag": {tag}, "scope": {"all"}, "state": {state}}.Encode()
}
