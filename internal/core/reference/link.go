package reference

import (
	"net/url"
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/core/weburl"
)

// link returns the address that a relative link or picture of a text leads to: an uploaded file,
// a page of the project, or a file of its default branch.
func (s *Service) link(in Scope, address string, picture bool) string {
	upload := strings.HasPrefix(address, "/uploads/")
	switch {
	case in.Base != nil:
		return in.Base.Link(address)
	case in.Project != nil && upload:
		return s.URLs.UploadOfProject(int64(in.Project.ID), address)
	case in.Project != nil:
		if s.URLs.IsPage(in.Project.FullPath, address) || address == "" || in.Project.DefaultBranch == nil {
			return address
		}
		if file := InTree(s.URLs, in.Project.FullPath, *in.Project.DefaultBranch, "", address, picture); file != "" {
			return file
		}
	case in.Group != 0 && upload:
		return s.URLs.UploadOfGroup(int64(in.Group), address)
	}
	return address
}

// Description renders the description of a project, a group or a topic. Relative links lead where
// those of other texts of the place lead; references stay text.
func (s *Service) Description(in Scope, text string) string {
	return markdown.Description(text, func(address string, picture bool) string { return s.link(in, address, picture) })
}

// InTree resolves an address in a text in a folder of a project at a branch, tag or commit: it leads to the page of a file, or to the file itself for a picture. It is "" for
// addresses outside of the repository.
func InTree(urls *weburl.Site, path, ref, folder, address string, picture bool) string {
	u, err := url.Parse(address)
	if err != nil || ref == "" {
		return ""
	}
	file := strings.TrimPrefix(u.Path, "/")
	if !strings.HasPrefix(u.Path, "/") && folder != "" {
		file = folder + "/" + file
	}
	file, ok := CleanPath(file)
	if !ok || file == "" {
		return ""
	}
	if picture {
		return urls.Raw(path, ref, file)
	}
	to := urls.Blob(path, ref, file)
	if u.Fragment != "" {
		to += "#user-content-" + url.PathEscape(u.Fragment)
	}
	return to
}

// CleanPath resolves the dots in a path. It is false for one that leaves the repository.
func CleanPath(path string) (string, bool) {
	var out []string
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(out) == 0 {
				return "", false
			}
			out = out[:len(out)-1]
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, "/"), true
}
