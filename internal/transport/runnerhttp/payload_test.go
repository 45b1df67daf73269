package runnerhttp

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

func TestHandler_payload(t *testing.T) {
	t.Parallel()
	h := New(Deps{Services: &core.Services{URLs: weburl.New(&url.URL{Scheme: "http", Host: "tenon.test"}, ""), Settings: setting.New(nil, time.Now)}})
	sha, zeros := strings.Repeat("a", 40), strings.Repeat("0", 40)
	for name, row := range map[string]struct {
		of            ci.Pipeline
		depth         int
		kind, fetches string
	}{
		"branch":     {ci.Pipeline{Ref: "topic"}, 20, "branch", "+refs/pipelines/7:refs/pipelines/7 +refs/heads/topic:refs/remotes/origin/topic"},
		"tag":        {ci.Pipeline{Ref: "v1", Tag: true}, 20, "tag", "+refs/pipelines/7:refs/pipelines/7 +refs/tags/v1:refs/tags/v1"},
		"everything": {ci.Pipeline{Ref: "topic"}, 0, "branch", "+refs/pipelines/7:refs/pipelines/7 +refs/heads/*:refs/remotes/origin/* +refs/tags/*:refs/tags/*"},
		// The commit of a merge request may be on no branch, and its branch may be gone.
		"merge request": {ci.Pipeline{Ref: "refs/merge-requests/3/merge", SourceSHA: &sha}, 20, "branch", "+refs/pipelines/7:refs/pipelines/7"},
		"fork":          {ci.Pipeline{Ref: "topic", SourceSHA: &sha}, 20, "branch", "+refs/pipelines/7:refs/pipelines/7"},
	} {
		row.of.ID, row.of.SHA = 7, sha
		p := &project.Project{FullPath: "group/shop", Path: "shop"}
		got := h.payload(&ci.Assignment{Job: &ci.Job{}, Config: &ciconfig.Job{}, Pipeline: &row.of, Project: p, Token: "t", GitDepth: row.depth}).GitInfo
		if got.Ref != row.of.Ref || got.SHA != sha || got.BeforeSHA != zeros || got.RefType != row.kind || strings.Join(got.Refspecs, " ") != row.fetches {
			t.Errorf("%s: got %+v, want a %s and %s", name, got, row.kind, row.fetches)
		}
	}
}

func TestImageOf(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		of   ciconfig.Image
		want string
	}{
		"plain":      {ciconfig.Image{}, "null"},
		"docker":     {ciconfig.Image{Platform: "linux/arm64", User: "dave"}, `{"docker":{"platform":"linux/arm64","user":"dave"}}`},
		"kubernetes": {ciconfig.Image{Kubernetes: "1001"}, `{"kubernetes":{"user":"1001"}}`},
		"both":       {ciconfig.Image{User: "dave", Kubernetes: "1001"}, `{"docker":{"user":"dave"},"kubernetes":{"user":"1001"}}`},
	} {
		if got, err := json.Marshal(imageOf(&row.of).ExecutorOpts); err != nil || string(got) != row.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, row.want)
		}
	}
}
